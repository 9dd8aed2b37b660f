package gen

import (
	"bytes"
	"math/rand/v2"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
)

// A payload behind its mark is made of two pieces of the pattern: up to where the sender's head ends, always the same one, which stands in the
// packets from the beginning; then one that begins where the sequence number says, so that a piece of another frame does not pass for the right one.
const (
	rotations  = 64
	rotateStep = 64 // bytes
	patternLen = (packet.MaxFrame + rotations*rotateStep) &^ 1
)

// pattern is random bytes, and sums of them.
type pattern struct {
	bytes []byte
	sums  []uint32 // sums[i] is the sum of the first i 16-bit words, in network order
}

func newPattern() *pattern {
	p := &pattern{bytes: make([]byte, patternLen), sums: make([]uint32, patternLen/2+1)}
	r := rand.New(rand.NewPCG(2, 3))
	for i := range p.bytes {
		p.bytes[i] = byte(r.Uint32())
	}
	for i := range len(p.bytes) / 2 {
		p.sums[i+1] = p.sums[i] + uint32(p.bytes[2*i])<<8 + uint32(p.bytes[2*i+1])
	}
	return p
}

// rotation is where the second piece of a frame begins.
func rotation(seq uint32) int { return int(seq%rotations) * rotateStep }

// sum is the sum of n bytes at an even position, as of 16-bit words with a zero byte behind the last odd one. It fits 32 bits.
func (p *pattern) sum(at, n int) uint32 {
	s := p.sums[(at+n)/2] - p.sums[at/2]
	if n%2 != 0 {
		s += uint32(p.bytes[at+n-1]) << 8
	}
	return s
}

// total is the folded sum of the n bytes behind a mark, the first piece being front bytes long if there are that many.
func (p *pattern) total(n, front int, seq uint32) uint32 {
	s := fold(p.sum(0, min(n, front)))
	if n > front {
		s += fold(p.sum(rotation(seq), n-front))
	}
	return s
}

// matches reports whether what is behind the mark is what was sent. The frame is whole.
func (p *pattern) matches(q *packet.Packet, v *view, front int, seq uint32) bool {
	at := v.at + markLen(v.tcp)
	left := v.data - markLen(v.tcp)
	if head := q.Head(); left <= front && at+left <= len(head) { // all of it, in most short frames
		return string(head[at:at+left]) == string(p.bytes[:left])
	}
	c := comparison{p: p.bytes, front: front, rotation: rotation(seq), left: left}
	if !c.next(q.Head()[at:]) {
		return false
	}
	for _, s := range q.Segs() {
		if !c.next(mem.Bytes(s.Addr, int(s.Len))) {
			return false
		}
	}
	return true
}

// comparison goes over a payload piece by piece.
type comparison struct {
	p        []byte
	at       int // how much was compared
	front    int
	rotation int
	left     int // what is still to be compared; behind that is padding
}

// next compares the next bytes, as far as they are not padding.
func (c *comparison) next(b []byte) bool {
	b = b[:min(len(b), c.left)]
	c.left -= len(b)
	if n := min(c.front-c.at, len(b)); n > 0 {
		if !bytes.Equal(b[:n], c.p[c.at:c.at+n]) {
			return false
		}
		b = b[n:]
		c.at += n
	}
	if len(b) == 0 {
		return true
	}
	from := c.rotation + c.at - c.front
	c.at += len(b)
	return bytes.Equal(b, c.p[from:from+len(b)])
}
