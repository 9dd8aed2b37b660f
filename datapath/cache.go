package datapath

import "math/bits"

// The exact-match cache of a thread. What a learning bridge does with a frame
// depends on the port it came from, its addresses and its outermost
// tag; all but the port are in the first 16 bytes of the frame, and these are the
// key as they stand. (Without a tag two bytes of payload are part
// of it, for IP the version and the traffic class, so that a host pair needs an
// entry for each class that it uses.)
//
// An entry is good for the port, the generation (of the configuration and of lost
// addresses, see lossGen) and the second in its stamp. So each pair is looked up
// in the MAC table once a second, which keeps the source's entry there fresh
// and bounds how long anything can be wrong.
//
// Two entries are a set, one cache line.
type cache [cacheSets * 2]cached

const (
	cacheBits = 12
	cacheSets = 1 << cacheBits
)

type cached struct {
	w0, w1 uint64
	stamp  uint64
	act    action
	_      uint32
}

// stampOf combines a generation and a second. The lowest 16 bits are for the
// port. It repeats after 12 days if the generation stayed the same: then
// what the entry says is still right.
func stampOf(gen, sec uint32) uint64 {
	return uint64(gen)<<36 | uint64(sec&0xfffff)<<16
}

// set is where a key's entries are.
func set(w0, w1 uint64) uint64 {
	return (w0*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(w1*0xc2b2ae3d27d4eb4f, 32)) >> (64 - cacheBits)
}

// A key whose set is full of good entries is put into a second set, where only get
// looks: with a few thousand pairs in use some sets always get more than two.
func second(i uint64) uint64 { return i ^ 0x5a5&(cacheSets-1) }

// get is the action for a key.
func (c *cache) get(w0, w1, stamp uint64) (action, bool) {
	i := set(w0, w1)
	for _, k := range [2]uint64{i, second(i)} {
		for j := 2 * k; j < 2*k+2; j++ {
			if e := &c[j]; e.w0 == w0 && e.w1 == w1 && e.stamp == stamp {
				return e.act, true
			}
		}
	}
	return 0, false
}

// put stores an action where the key was or an entry is not good any more, or
// in place of any.
func (c *cache) put(w0, w1, stamp uint64, act action) {
	i := set(w0, w1)
	best := 2*i + w0>>40&1
	for _, k := range [2]uint64{second(i), i} {
		for j := 2*k + 1; j+1 > 2*k; j-- {
			if e := &c[j]; e.stamp>>16 != stamp>>16 || e.w0 == w0 && e.w1 == w1 && e.stamp == stamp {
				best = j
			}
		}
	}
	c[best] = cached{w0: w0, w1: w1, stamp: stamp, act: act}
}

// action is what to do with a frame, in 32 bits.
//
//	15..0   port
//	27..16  VLAN, or the reason of a drop
//	30..28  operation
//	31      the port is a patch
type action uint32

const (
	opNone   = iota // send it as it is
	opPop           // take the tag off
	opPush          // push a tag with the VLAN
	opSetVID        // change the tag's VLAN
	opDrop
	opFlood
)

const viaPatch action = 1 << 31

func (a action) port() uint16 { return uint16(a) }
func (a action) arg() uint16  { return uint16(a >> 16 & 0xfff) }
func (a action) op() int      { return int(a >> 28 & 7) }

// direct: send the frame to the port's device, perhaps with another tag.
func (a action) direct() bool { return a < opDrop<<28 }

// plain: send the frame as it is to the port's device.
func (a action) plain() bool { return a>>16 == 0 }
