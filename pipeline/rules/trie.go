package rules

import (
	"math/bits"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/flow"
)

// numTries is how many tries a table has.
const numTries = 6

// trieField says which bits of a key a trie is about, and of which packets.
type trieField struct {
	word      uint8
	shift     uint8  // from the first bit of the word
	width     uint8  // bits; above 64 it goes on in the next word
	stage     uint8  // that its words belong to
	etherType uint16 // of the packets it is for, 0: all
}

// tries are the fields with tries. IPv4 and IPv6 addresses have the same words of a key but tries
// of their own: prefixes of one kind would only make the other's answers longer.
var tries = [numTries]trieField{
	{flow.WordIPSrc, 0, 32, 2, 0x0800},
	{flow.WordIPSrc, 32, 32, 2, 0x0800},
	{flow.WordIPSrc, 0, 128, 2, 0x86dd},
	{flow.WordIPDst, 0, 128, 2, 0x86dd},
	{flow.WordTP, 0, 16, 3, 0},
	{flow.WordTP, 16, 16, 3, 0},
}

// get is the field's value, from the first bit of hi on.
func (f *trieField) get(k *flow.Key) (hi, lo uint64) {
	if f.width > 64 {
		return k[f.word], k[f.word+1]
	}
	return k[f.word] << f.shift & top(f.width), 0
}

// prefix is how many of the field's first bits are set in m.
func (f *trieField) prefix(m *flow.Key) uint8 {
	hi, lo := f.get(m)
	n := uint8(bits.LeadingZeros64(^hi))
	if n == 64 {
		n += uint8(bits.LeadingZeros64(^lo))
	}
	return n
}

// look sets the field's first n bits in wc.
func (f *trieField) look(wc *flow.Key, n uint8) {
	if n > 64 {
		wc[f.word+1] |= top(n - 64)
		n = 64
	}
	wc[f.word] |= top(n) >> f.shift
}

// top is n first bits.
func top(n uint8) uint64 { return ^(^uint64(0) >> n) }

// trie knows which prefixes of a field the rules of a table ask for. With it a lookup can tell
// that no rule of a subtable can match, and how few bits of the packet say so. Each node has its whole
// prefix and never changes but for its count and its children, so readers need no lock. The zero
// value is empty.
type trie struct{ root atomic.Pointer[node] }

type node struct {
	hi, lo uint64
	kids   [2]atomic.Pointer[node]
	rules  atomic.Uint32 // that ask for just this prefix
	plen   uint8
}

// common is how many first bits two values have in common.
func common(ahi, alo, bhi, blo uint64) uint8 {
	if x := ahi ^ bhi; x != 0 {
		return uint8(bits.LeadingZeros64(x))
	}
	return 64 + uint8(bits.LeadingZeros64(alo^blo))
}

// bit is bit i of a value.
func bit(hi, lo uint64, i uint8) uint8 {
	if i < 64 {
		return uint8(hi >> (63 - i) & 1)
	}
	return uint8(lo >> (127 - i) & 1)
}

// cut is the value with all but its first n bits zero.
func cut(hi, lo uint64, n uint8) (uint64, uint64) {
	if n > 64 {
		return hi, lo & top(n-64)
	}
	return hi & top(n), 0
}

// found is what a trie says of a packet.
type found struct {
	plens [3]uint64 // bit n: there is a prefix of length n that the packet has
	bits  uint8     // so many bits of it say so for all lengths
}

// has tells whether the packet has a prefix of a length.
func (f *found) has(plen uint8) bool { return f.plens[plen>>6]>>(plen&63)&1 != 0 }

// find looks a value up.
func (t *trie) find(hi, lo uint64, width uint8, f *found) {
	*f = found{}
	n := t.root.Load()
	for n != nil {
		if c := common(hi, lo, n.hi, n.lo); c < n.plen {
			f.bits = c + 1
			return
		}
		if n.rules.Load() != 0 {
			f.plens[n.plen>>6] |= 1 << (n.plen & 63)
		}
		f.bits = n.plen
		if n.plen >= width {
			return
		}
		b := bit(hi, lo, n.plen)
		kid := n.kids[b].Load()
		if kid != nil || n.kids[1-b].Load() != nil {
			f.bits++
		}
		n = kid
	}
}

// add counts a rule that asks for a prefix.
func (t *trie) add(hi, lo uint64, plen uint8) {
	hi, lo = cut(hi, lo, plen)
	at := &t.root
	for {
		n := at.Load()
		if n == nil {
			at.Store(newNode(hi, lo, plen, 1))
			return
		}
		c := min(common(hi, lo, n.hi, n.lo), plen, n.plen)
		switch {
		case c == n.plen && c == plen:
			n.rules.Add(1)
			return
		case c == n.plen:
			at = &n.kids[bit(hi, lo, c)]
			continue
		}
		// The new prefix ends above n, or branches off.
		if c == plen {
			p := newNode(hi, lo, plen, 1)
			p.kids[bit(n.hi, n.lo, c)].Store(n)
			at.Store(p)
			return
		}
		chi, clo := cut(hi, lo, c)
		p := newNode(chi, clo, c, 0)
		p.kids[bit(n.hi, n.lo, c)].Store(n)
		p.kids[bit(hi, lo, c)].Store(newNode(hi, lo, plen, 1))
		at.Store(p)
		return
	}
}

func newNode(hi, lo uint64, plen uint8, rules uint32) *node {
	n := &node{hi: hi, lo: lo, plen: plen}
	n.rules.Store(rules)
	return n
}

// remove takes an add back.
func (t *trie) remove(hi, lo uint64, plen uint8) {
	hi, lo = cut(hi, lo, plen)
	var above *atomic.Pointer[node] // where the node above is kept
	at := &t.root
	n := at.Load()
	for n.plen != plen {
		above, at = at, &n.kids[bit(hi, lo, n.plen)]
		n = at.Load()
	}
	n.rules.Add(^uint32(0))
	t.prune(at)
	if at.Load() == nil && above != nil {
		t.prune(above)
	}
}

// prune takes away the node at a place if it is of no more use.
func (t *trie) prune(at *atomic.Pointer[node]) {
	n := at.Load()
	if n.rules.Load() != 0 {
		return
	}
	a, b := n.kids[0].Load(), n.kids[1].Load()
	switch {
	case a == nil:
		at.Store(b)
	case b == nil:
		at.Store(a)
	}
}
