// Package pager fetches pages of guest memory that are still on another machine, during a
// postcopy migration, without that anybody here waits for them or has to trust who brings them.
//
// Touching such a page blocks the thread until the front end has it, which may be never, and
// a thread of a Go program that blocks so stops the whole program at the next garbage
// collection. The front end brings pages by a userfaultfd, which lets its holder write to, and block,
// all memory of the process that made it. So both happen in a process of their own, that has
// nothing but the guest's memory: the switch asks it to touch pages, and hears when one
// is there.
//
// A Pager is that process as the switch sees it. Its methods may be called from any goroutine; those
// that return what the process answered, one at a time. The program's main must call Main first thing.
package pager
