package main

import (
	"fmt"
	"math/rand/v2"
)

// shape is the mask of a rule over a 5-tuple. The protocol is always matched.
type shape struct {
	srcBits, dstBits     int // of prefix
	sportMask, dportMask uint16
}

// rule matches the tuples that agree with its tuple where its shape has bits.
type rule struct {
	shape
	tuple
	priority int
}

// shapes is n different masks, in an order that looks like none.
func shapes(n int, rng *rand.Rand) ([]shape, error) {
	var all []shape
	for _, src := range []int{0, 8, 16, 20, 24, 28, 32} {
		for _, dst := range []int{0, 8, 16, 20, 24, 28, 32} {
			for _, sport := range []uint16{0, 0xfc00, 0xffff} {
				for _, dport := range []uint16{0, 0xff00, 0xfff0, 0xffff} {
					// A rule must be narrow enough for fifty of its shape to differ.
					if src+dst >= 32 {
						all = append(all, shape{src, dst, sport, dport})
					}
				}
			}
		}
	}
	if n > len(all) {
		return nil, fmt.Errorf("%d masks: at most %d", n, len(all))
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n], nil
}

// acl is an access list of so many rules with exactly so many different masks, and flows that each meet one of them at
// least. The same arguments give the same list. Addresses lie in a few networks of 10.0.0.0/8, as those of a site do.
func acl(rules, masks, flows int) ([]string, *flowset, error) {
	rng := rand.New(rand.NewPCG(uint64(rules), uint64(masks)))
	sh, err := shapes(masks, rng)
	if err != nil {
		return nil, nil, err
	}
	list := make([]rule, 0, rules)
	have := map[rule]bool{}
	for tries := 0; len(list) < rules; tries++ {
		if tries > 20*rules {
			return nil, nil, fmt.Errorf("%d rules do not find room under %d masks", rules, masks)
		}
		r := rule{shape: sh[len(list)%masks], tuple: someTuple(rng)}
		r.tuple = r.mix(r.tuple, tuple{proto: r.proto})
		if have[r] { // before the priority is chosen: a second rule of the same match would never be met
			continue
		}
		have[r] = true
		list = append(list, r)
	}
	for i, p := range rng.Perm(rules) {
		list[i].priority = 100 + p
	}
	set := &flowset{name: fmt.Sprintf("acl%d-%d-%d", rules, masks, flows)}
	seen := map[tuple]bool{}
	for tries := 0; len(seen) < flows; tries++ {
		if tries > 20*flows {
			return nil, nil, fmt.Errorf("%d flows do not find room under %d rules", flows, rules)
		}
		r := list[len(seen)%rules]
		t := r.mix(r.tuple, someTuple(rng))
		t.proto = r.proto
		if seen[t] {
			// A narrow rule has few flows; another of its neighbours' is as good.
			r = list[rng.IntN(rules)]
			t = r.mix(r.tuple, someTuple(rng))
			t.proto = r.proto
		}
		if !seen[t] {
			seen[t] = true
			set.sides[0] = append(set.sides[0], t)
		}
	}
	set.sides[1] = set.sides[0]
	lines := make([]string, 0, rules+2)
	for _, r := range list {
		lines = append(lines, r.String()+",actions=resubmit(,1)")
	}
	return append(lines, "table=1,in_port=1,actions=output:2", "table=1,in_port=2,actions=output:1"), set, nil
}

func someTuple(rng *rand.Rand) tuple {
	addr := func() uint32 { return 10<<24 | rng.Uint32N(32)<<16 | rng.Uint32N(1<<16) }
	t := tuple{addr(), addr(), uint16(1024 + rng.IntN(64512)), uint16(rng.IntN(1 << 15)), 6}
	if rng.IntN(2) == 0 {
		t.proto = 17
	}
	return t
}

// mix is a where the shape has bits and b where it has not.
func (s shape) mix(a, b tuple) tuple {
	bits := func(m, a, b uint32) uint32 { return a&m | b&^m }
	src, dst := ^uint32(0)<<(32-s.srcBits), ^uint32(0)<<(32-s.dstBits)
	return tuple{
		bits(src, a.src, b.src), bits(dst, a.dst, b.dst),
		uint16(bits(uint32(s.sportMask), uint32(a.sport), uint32(b.sport))),
		uint16(bits(uint32(s.dportMask), uint32(a.dport), uint32(b.dport))), a.proto,
	}
}

// String is the rule without actions, in ovs-ofctl's language.
func (r rule) String() string {
	s := fmt.Sprintf("priority=%d,%s", r.priority, map[byte]string{6: "tcp", 17: "udp"}[r.proto])
	addr := func(name string, a uint32, bits int) {
		if bits > 0 {
			s += fmt.Sprintf(",%s=%d.%d.%d.%d/%d", name, a>>24, a>>16&255, a>>8&255, a&255, bits)
		}
	}
	port := func(name string, p, mask uint16) {
		if mask != 0 {
			s += fmt.Sprintf(",%s=%#x/%#x", name, p, mask)
		}
	}
	addr("nw_src", r.src, r.srcBits)
	addr("nw_dst", r.dst, r.dstBits)
	port("tp_src", r.sport, r.sportMask)
	port("tp_dst", r.dport, r.dportMask)
	return s
}
