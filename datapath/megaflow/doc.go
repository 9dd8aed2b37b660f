// Package megaflow is one poll thread's table of megaflows: which list of actions a packet's key
// leads to, found without asking the tables of the bridge.
//
// A megaflow is a key, a mask of the bits that were looked at when it was made, and a value
// that the owner gives it. Megaflows with the same mask are a subtable, a hash table over the
// words that the mask has bits in; a lookup asks one subtable after the other, those with
// most hits first. In front of them a signature cache leads from the hash of the whole key to a
// megaflow, which then has to agree with the key under its own mask: what the cache says is
// never wrong, only sometimes useless. So megaflows have to be disjoint, or
// where they overlap say the same. How large the cache is, and whether it is asked at all, follows
// the traffic.
//
// It refuses to know packets, actions and clocks: a value is a number, and so is a time.
//
// A Table belongs to one thread, which alone calls its methods. The exceptions say so in
// their comments: Counters and Subtables read without a lock from any goroutine.
// Entries, hash tables and caches are outside the Go heap and hold no pointers.
package megaflow
