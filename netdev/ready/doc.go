// Package ready tells poll threads which kernel descriptors have something to
// read, without a system call on their side.
//
// Asking an empty tap by reading it costs some 480 cycles, and every bridge has
// an internal port, so devices without memory to look at are never polled that
// way. One goroutine of this package sleeps in epoll over all of them and
// sets a descriptor's Word when it becomes readable.
//
//	poll thread                               helper goroutine
//	  Ready? ---- no ---> nothing to do         epoll_wait
//	   | yes                                       | readable: disarmed by the
//	   read ... read until EAGAIN                  | kernel (EPOLLONESHOT)
//	   Rearm ------------------------------------> set the word
//
// A descriptor fires once and is then left alone until Rearm, so that the helper
// sleeps while a busy queue is being read, instead of waking for each
// frame. Nothing is lost between the last read and Rearm: arming looks at
// the descriptor's state, as level-triggered epoll does, and fires at once if
// something is there.
//
// A thread that goes to sleep waits on the descriptor itself and calls Mute, so
// that a frame does not wake two threads.
package ready
