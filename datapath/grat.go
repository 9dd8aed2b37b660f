package datapath

import "sync/atomic"

// gratLocks remembers, for each bridge with a bond that may give back what it sent, which addresses said lately by an
// ARP at another port that they are there. The same ARP may come back by the bond, and would else move the
// address. An address may displace another one's lock: then its next packet puts things right.
type gratLocks [256]struct{ key, until atomic.Uint64 }

// gratLock is how long an address stays, in milliseconds, as in Open vSwitch.
const gratLock = 5000

func (l *gratLocks) at(key uint64) int { return int(mix(key, 0) >> 56) }

func (l *gratLocks) lock(key uint64, now int64) {
	s := &l[l.at(key)]
	s.key.Store(key)
	s.until.Store(uint64(now + gratLock))
}

func (l *gratLocks) locked(key uint64, now int64) bool {
	s := &l[l.at(key)]
	return s.key.Load() == key && int64(s.until.Load()) > now
}
