package rules

import (
	"math/rand/v2"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// world makes random rules and packets with few values, so that they meet.
type world struct{ *rand.Rand }

func newWorld(seed uint64) world { return world{rand.New(rand.NewPCG(seed, 7))} }

func (w world) one(vals ...uint64) uint64 { return vals[w.IntN(len(vals))] }

// bits is a value of n bits in which only few bits vary.
func (w world) value(n uint) uint64 {
	v := uint64(0x0a5a0f3c965a0a01) >> (64 - n)
	for range w.IntN(3) {
		v ^= 1 << w.UintN(n)
	}
	if w.IntN(3) > 0 {
		v ^= w.Uint64N(4)
	}
	return v
}

func (w world) key() (k flow.Key) {
	k[flow.WordPort] = w.Uint64N(3) << 32
	k[flow.WordDst] = w.value(48) << 16
	k[flow.WordSrc] = w.value(48)<<16 | w.one(0x0800, 0x0800, 0x86dd, 0x0806)
	if w.IntN(2) == 0 {
		k[flow.WordVLAN] = 0x8100<<48 | w.Uint64N(3)<<32
	}
	k[flow.WordIP] = w.one(6, 17, 1)<<56 | w.one(0, 4)<<48 | 64<<40
	switch k.EthType() {
	case 0x86dd:
		for i := flow.WordIPSrc; i <= flow.WordIPDstLo; i++ {
			k[i] = w.value(64)
		}
	default:
		k[flow.WordIPSrc] = w.value(32)<<32 | w.value(32)
	}
	k[flow.WordTP] = w.value(16)<<48 | w.value(16)<<32
	k[flow.WordMeta] = w.Uint64N(3)
	k[flow.WordReg] = w.Uint64N(2) << 32
	return k
}

// prefix is a mask of n first bits of a field of width bits, at the end of a word.
func (w world) prefix(width uint) uint64 {
	n := w.UintN(width + 1)
	if w.IntN(2) == 0 {
		n = uint(w.one(uint64(width), uint64(width)/2, uint64(width)-1))
	}
	m := ^uint64(0) << (width - n)
	if width < 64 {
		m &= 1<<width - 1
	}
	if w.IntN(12) == 0 {
		m ^= 1 << w.UintN(width) // not a prefix
	}
	return m
}

// match is what a packet like k may be asked.
func (w world) match() (m flow.Match) {
	k := w.key()
	p := &m.Mask
	if w.IntN(3) == 0 {
		p[flow.WordPort] = 0xffffffff << 32
	}
	if w.IntN(5) == 0 {
		p[flow.WordMeta] = w.one(^uint64(0), 1)
	}
	if w.IntN(8) == 0 {
		p[flow.WordReg] = 0xffffffff << 32
	}
	if w.IntN(5) == 0 {
		p[flow.WordDst] = w.prefix(48) << 16
	}
	if w.IntN(6) == 0 {
		p[flow.WordVLAN] = w.one(0xffff<<48, 0xffff0fff<<32)
	}
	if w.IntN(5) > 0 {
		p[flow.WordSrc] |= 0xffff
		if k.EthType() == 0x86dd {
			if w.IntN(2) == 0 {
				p[flow.WordIPSrc] = ^uint64(0)
				p[flow.WordIPSrcLo] = w.prefix(64)
			} else if w.IntN(2) == 0 {
				p[flow.WordIPSrc] = w.prefix(64)
			}
			if w.IntN(3) == 0 {
				p[flow.WordIPDst] = w.prefix(64)
			}
		} else {
			p[flow.WordIPSrc] |= w.prefix(32) << 32 * w.Uint64N(2)
			p[flow.WordIPSrc] |= w.prefix(32) * w.Uint64N(2)
		}
		if w.IntN(2) == 0 {
			p[flow.WordIP] = 0xff << 56
			p[flow.WordTP] |= w.prefix(16) << 48 * w.Uint64N(2)
			p[flow.WordTP] |= w.prefix(16) << 32 * w.Uint64N(2)
		}
	}
	for i := range k {
		m.Key[i] = k[i] & p[i]
	}
	return m
}

// flows are n flows of table 0 with different priorities, some of them about conjunctive matches; in them, the
// clauses of one id have one priority.
func (w world) flows(n int, conj bool) []ofp.Flow {
	all := make([]ofp.Flow, n)
	perm := w.Perm(n)
	for i := range all {
		f := &all[i]
		f.Priority = uint16(perm[i]*8 + 8)
		f.Match = w.match()
		if i%3 == 0 && i > 0 { // the same match at several priorities
			f.Match = all[w.IntN(i)].Match
		}
		f.Actions = []ofp.Action{ofp.Output{Port: uint32(i)}}
		if !conj {
			continue
		}
		switch w.IntN(6) {
		case 0, 1, 2:
			id := w.Uint32N(3)
			n := uint8(2 + id%2)
			f.Priority = uint16(id+1)*2*uint16(len(all)) + 1
			f.Actions = []ofp.Action{ofp.Conjunction{ID: id, N: n, Clause: uint8(w.IntN(int(n)))}}
			f.Match = flow.Match{}
			m := w.match()
			i := w.one(flow.WordIPSrc, flow.WordTP, flow.WordPort)
			f.Match.Mask[i], f.Match.Key[i] = m.Mask[i], m.Key[i]
			if w.IntN(4) == 0 {
				f.Actions = append(f.Actions, ofp.Conjunction{ID: id + 1, N: 2 + uint8(id+1)%2, Clause: 0})
			}
		case 3:
			f.Match = flow.Match{}
			f.Match.Mask[flow.WordPipe] = 0xffffffff << 32
			f.Match.Key[flow.WordPipe] = w.Uint64N(4) << 32
		}
	}
	return all
}

func adds(flows []ofp.Flow) []ofp.FlowMod {
	mods := make([]ofp.FlowMod, len(flows))
	for i := range flows {
		mods[i] = ofp.FlowMod{Flow: flows[i], OutPort: ofp.PortNone, OutGroup: ofp.GroupAny}
	}
	return mods
}
