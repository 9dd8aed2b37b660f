package datapath

import (
	"math/bits"
	"slices"

	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// program is a translation as a thread keeps it: what to do, and what counts the packets that it was
// done with. Megaflows with the same one share it.
type program struct {
	acts    []odp.Action
	rules   []*rules.Rule
	groups  []*rules.Group
	buckets []*rules.Bucket
	meters  []*rules.Meter
	mirrors []*xlate.MirrorStats
	hash    uint64
	next    int32             // in its chain, 0: none
	refs    int32             // megaflows and ports
	only    int32             // the one port that it outputs to, nothing else being done; -1
	drop    packet.DropReason // all that it does
	learns  bool              // a learn action
}

// count adds packets, the last of which came at now, to all that the program hits.
func (p *program) count(packets, bytes uint64, now int64) {
	for _, r := range p.rules {
		r.Add(packets, bytes, now)
	}
	for _, g := range p.groups {
		g.Add(packets, bytes)
	}
	for _, b := range p.buckets {
		b.Add(packets, bytes)
	}
	for _, m := range p.mirrors {
		m.Add(packets, bytes)
	}
}

// programs are those of a thread, each once. Memory is taken when there are more than ever before, and then
// used again, so that in the long run a miss allocates nothing.
type programs struct {
	all   []*program // by number; 0 is none
	free  []int32
	heads heads
	ids   map[*rules.Rule]ruleID
	last  uint32
}

// ruleID stands for a rule in hashes.
type ruleID struct {
	id   uint32
	refs int32 // programs that have it, each as often as it does
}

func (s *programs) init() {
	s.all = append(make([]*program, 0, 1024), nil)
	s.heads.init()
	s.ids = make(map[*rules.Rule]ruleID, 1024)
}

// intern is the number of the program for a translation. The caller has a reference.
func (s *programs) intern(r *xlate.Result) int32 {
	h := uint64(len(r.Actions))
	for i := range r.Actions {
		a := &r.Actions[i]
		h = mix(h, uint64(a.Op)<<56^uint64(a.Word)<<40^uint64(a.Jump)<<24^uint64(a.Port)^uint64(a.Reason)<<16)
		h = mix(mix(h, a.Value), a.Mask)
	}
	for _, x := range r.Rules {
		h = mix(h, uint64(s.ids[x].id))
	}
	for n := *s.heads.of(h); n != 0; n = s.all[n].next {
		if p := s.all[n]; p.hash == h && p.is(r) {
			p.refs++
			return n
		}
	}
	for _, x := range r.Rules {
		if id := s.ids[x]; id.id == 0 {
			return s.add(r)
		}
	}
	return s.insert(r, h)
}

// add numbers the rules that have no number, then interns.
func (s *programs) add(r *xlate.Result) int32 {
	for _, x := range r.Rules {
		if s.ids[x].id == 0 {
			s.last++
			s.ids[x] = ruleID{id: s.last}
		}
	}
	return s.intern(r)
}

func (s *programs) insert(r *xlate.Result, h uint64) int32 {
	var n int32
	if k := len(s.free); k > 0 {
		n = s.free[k-1]
		s.free = s.free[:k-1]
	} else {
		n = int32(len(s.all))
		s.all = append(s.all, &program{acts: make([]odp.Action, 0, 4), rules: make([]*rules.Rule, 0, 2)})
	}
	p := s.all[n]
	p.acts = append(p.acts[:0], r.Actions...)
	p.rules = append(p.rules[:0], r.Rules...)
	p.groups = append(p.groups[:0], r.Groups...)
	p.buckets = append(p.buckets[:0], r.Buckets...)
	p.meters = append(p.meters[:0], r.Meters...)
	p.mirrors = append(p.mirrors[:0], r.Mirrors...)
	p.hash, p.refs, p.learns = h, 1, r.Learns
	p.only, p.drop = -1, packet.DropNone
	switch {
	case len(p.acts) == 0:
		p.drop = r.Why
		if p.drop == packet.DropNone {
			p.drop = packet.NoOutput
		}
	case p.acts[0].Op == odp.Drop:
		p.drop = p.acts[0].Reason
	case p.acts[0].Op == odp.Output && (len(p.acts) == 1 || p.acts[1].Op == odp.Stop):
		p.only = int32(p.acts[0].Port)
	}
	for _, x := range p.rules {
		id := s.ids[x]
		id.refs++
		s.ids[x] = id
	}
	head := s.heads.of(h)
	p.next, *head = *head, n
	if live := len(s.all) - 1 - len(s.free); live > int(s.heads.n) {
		s.heads.divide(s.all)
	}
	return n
}

// release gives a reference back.
func (s *programs) release(n int32) {
	p := s.all[n]
	if p.refs--; p.refs > 0 {
		return
	}
	link := s.heads.of(p.hash)
	for *link != n {
		link = &s.all[*link].next
	}
	*link = p.next
	for _, x := range p.rules {
		id := s.ids[x]
		if id.refs--; id.refs <= 0 {
			delete(s.ids, x)
		} else {
			s.ids[x] = id
		}
	}
	clear(p.rules)
	clear(p.groups)
	clear(p.buckets)
	clear(p.meters)
	clear(p.mirrors)
	s.free = append(s.free, n)
}

// is tells whether the program is that of a translation.
func (p *program) is(r *xlate.Result) bool {
	return p.learns == r.Learns && slices.Equal(p.acts, r.Actions) && slices.Equal(p.rules, r.Rules) &&
		slices.Equal(p.groups, r.Groups) && slices.Equal(p.buckets, r.Buckets) && slices.Equal(p.meters, r.Meters) &&
		slices.Equal(p.mirrors, r.Mirrors)
}

func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f)
	return hi ^ lo
}
