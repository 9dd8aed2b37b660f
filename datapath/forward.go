package datapath

import (
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/tso"
)

// forward decides what becomes of the burst's first n packets, which came in at v,
// and puts them on the lists of the ports they leave by, in one of three ways. Packets are
// taken in order and each is on its list, hit or miss, before the next is looked at,
// so the order of any flow is kept.
func (t *thread) forward(v *portView, n int, in *inCounters) {
	t.received, t.longest, t.flags = n, 0, 0
	if t.obs != nil {
		t.observe(v, n)
	}
	if v == nil || !v.up {
		t.refused(n, in, packet.PortDown)
		return
	}
	pr := &t.pr[v.id]
	if pr.epoch != t.ep.now || v.br.tables.Version() != pr.br.seen {
		t.renew(v, in, n)
	}
	if v.police != nil && t.cur >= 0 { // what control code makes is not policed
		if n = t.police(v, n, in); n == 0 {
			return
		}
	}
	shortest := t.survey(t.burst.Pkts[:n], uint32(v.id))
	if t.obs != nil && t.explain(v, n, in) {
		return
	}
	switch {
	case pr.mode == modeFlows:
		t.forwardFlows(v, n, in)
	case pr.mode == modeFixed:
		t.forwardFixed(n, shortest, pr, in)
	case shortest < minTagged || t.flags != 0:
		t.forwardSlowly(t.burst.Pkts[:n], v, in)
	default:
		t.forwardWords(v, n, in)
	}
}

// forwardWords is forward while NORMAL is all that the bridge does with v's packets.
//
// The common case is straight: the words are those of the packet before, or the
// cache knows them, and the packet goes to a device, perhaps with another tag.
// Whenever anything else is to be done, the counters are brought up to date
// first, so that a fault there finds them true.
func (t *thread) forwardWords(v *portView, n int, in *inCounters) {
	pkts := t.burst.Pkts[:n]
	var (
		c      = t.cache
		tx     = t.tx
		stamp  = t.stamp | uint64(v.id)
		m0, m1 uint64  // words of the packet before
		act    action  // what was done with it
		out    *txPort // where it went; nil: m0, m1 say nothing
		done   int     // packets that are counted
	)
	for i := range pkts {
		w0, w1 := words(&pkts[i])
		if w0 != m0 || w1 != m1 || out == nil {
			j := set(w0, w1) * 2
			if (c[j].w0^w0)|(c[j].w1^w1)|(c[j].stamp^stamp) != 0 {
				j++
			}
			e := &c[j]
			if e.w0 != w0 || e.w1 != w1 || e.stamp != stamp || !e.act.direct() {
				in.forwarded.Add(uint64(i - done))
				in.copies.Add(uint64(i - done))
				done = i + 1
				out = nil
				t.slow(i, v, in, w0, w1)
				continue
			}
			m0, m1, act = w0, w1, e.act
			out = tx[act.port()]
		}
		if !act.plain() && !t.edit(i, act) {
			in.forwarded.Add(uint64(i - done))
			in.copies.Add(uint64(i - done))
			done = i + 1
			t.drop(in, packet.NoRoom, &pkts[i])
			continue
		}
		k := out.n & (listCap - 1) // push left room for a burst
		out.list[k] = uint16(i)
		out.n = k + 1
		if k == 0 {
			t.list(out)
		}
	}
	in.forwarded.Add(uint64(n - done))
	in.copies.Add(uint64(n - done))
}

// forwardSlowly is forward for a burst with frames that are very short, or that ask for
// offload work. What such a frame asks for must fit it: a checksum that
// is finished somewhere else would overwrite what was decided by.
func (t *thread) forwardSlowly(pkts []packet.Packet, v *portView, in *inCounters) {
	for i := range pkts {
		p := &pkts[i]
		if !tso.Sanity(p) {
			t.refuse(in, p)
			continue
		}
		w0, w1 := words(p)
		t.slow(i, v, in, w0, w1)
	}
}

// survey notes what the packets have in common and gives the length of the
// shortest head.
func (t *thread) survey(pkts []packet.Packet, in uint32) uint16 {
	var flags uint8
	var longest uint32
	shortest := uint16(minTagged)
	for i := range pkts {
		p := &pkts[i]
		p.InPort = in
		flags |= p.Flags&packet.CsumPartial | uint8(p.GSOType)<<4
		longest = max(longest, p.Len)
		shortest = min(shortest, p.HeadLen)
	}
	t.flags, t.longest = flags, longest
	return shortest
}

// slow handles packet i, whose first words are given, when the cache does not know
// it or its action is more than sending it on.
func (t *thread) slow(i int, v *portView, in *inCounters, w0, w1 uint64) {
	p := &t.burst.Pkts[i]
	stamp := t.stamp | uint64(v.id)
	cacheable := p.HeadLen >= minTagged
	if cacheable {
		if act, ok := t.cache.get(w0, w1, stamp); ok {
			t.one(i, v, act, in, 0)
			return
		}
	}
	act := t.decide(v, p)
	if cacheable && act.op() != opFlood {
		t.cache.put(w0, w1, stamp, act)
	}
	t.stats.slow.Add(1)
	if act.op() < opDrop {
		t.stats.tableHits.Add(1)
	}
	t.one(i, v, act, in, 0)
}

// one does with packet i, which came in at v, what act says. The packet is nobody
// else's yet. depth counts the patches that it came through.
func (t *thread) one(i int, v *portView, act action, in *inCounters, depth int) {
	switch act.op() {
	case opDrop:
		t.drop(in, packet.DropReason(act.arg()), &t.burst.Pkts[i])
		return
	case opFlood:
		t.flood(i, v, in, depth)
		return
	case opNone:
	default:
		if !t.edit(i, act) {
			t.drop(in, packet.NoRoom, &t.burst.Pkts[i])
			return
		}
	}
	in.forwarded.Add(1)
	in.copies.Add(1)
	if act&viaPatch != 0 {
		t.patch(i, t.tx[act.port()], depth)
	} else {
		t.push(t.tx[act.port()], i)
	}
}

// edit changes packet i's tag.
func (t *thread) edit(i int, act action) bool {
	p := &t.burst.Pkts[i]
	ok := edit(p, act)
	t.longest = max(t.longest, p.Len)
	return ok
}

// clone makes a copy of packet i's head. If there is no room for free more after it,
// what is on the lists is sent first. Packets up to hi are in use by the caller
// and those that called it; -1: no room at all.
func (t *thread) clone(i, hi, free int) int {
	if t.burst.Free() <= free {
		t.flush()
		t.burst.Reclaim(max(hi+1, t.received))
	}
	j, ok := t.burst.Clone(i)
	if !ok {
		return -1
	}
	return j
}

// behindPatch is how many heads a flood may need behind a patch while what it
// has so far is in use: one for itself and three ways to look, in each
// further bridge.
const behindPatch = 4 * maxPatches

// flood sends packet i, which came in at v, to every other port of the bridge that
// carries its VLAN. There is one head for each way that the frame must look;
// ports that want it the same way share it.
func (t *thread) flood(i int, v *portView, in *inCounters, depth int) {
	var heads [8]int // by operation, and whether the VLAN is 0; index + 1
	d := t.dec       // decisions behind patches use t.dec again
	hi, n := i, 0
	for _, id := range v.br.flood {
		o := t.w.ports[id]
		if o.bond != nil {
			if o = o.bond.first(); o == nil {
				continue
			}
		}
		if o.lid == v.lid || !o.carries(d.vid) || v.protected && o.protected {
			continue
		}
		out := t.tx[o.id]
		act := o.encap(&d)
		j, why := i, packet.DropNone
		if op := act.op(); op != opNone {
			h := &heads[op<<1&7]
			if act.arg() != 0 {
				h = &heads[(op<<1|1)&7]
			}
			if *h == 0 {
				if j = t.clone(i, hi, 0); j < 0 {
					why = packet.NoMemory
				} else {
					hi = j
					if t.edit(j, act) {
						*h = j + 1
					} else {
						why = packet.NoRoom
					}
				}
			}
			j = *h - 1
		}
		if o.peer != nil && why == packet.DropNone {
			if j = t.clone(j, hi, behindPatch); j < 0 { // the other bridge may change it
				why = packet.NoMemory
			}
		}
		// A clone may have sent what was on the lists and met a fault there, so only
		// now is the copy counted; what follows counts it for out before anything else.
		if n == 0 {
			in.forwarded.Add(1)
		}
		n++
		in.copies.Add(1)
		switch {
		case why != packet.DropNone:
			t.lose(out, why, &t.burst.Pkts[i])
		case o.peer == nil:
			t.push(out, j)
		default:
			t.patch(j, out, depth)
		}
	}
	if n == 0 {
		t.drop(in, packet.NoOutput, &t.burst.Pkts[i])
	}
}

// maxPatches is how many patches a packet may pass, for two bridges may be
// joined twice.
const maxPatches = 8

// patch lets packet i leave by patch port o and enter the bridge of its peer, in
// the same burst. The packet is nobody else's.
func (t *thread) patch(i int, o *txPort, depth int) {
	p := &t.burst.Pkts[i]
	peer := t.w.ports[o.id].peer
	if peer == nil || !peer.up || o.why == packet.PortDown {
		t.lose(o, packet.PortDown, p)
		return
	}
	in := &t.tx[peer.id].tc.in
	pr := &t.pr[peer.id]
	if pr.epoch != t.ep.now || peer.br.tables.Version() != pr.br.seen {
		t.renew(peer, in, 0)
	}
	o.c.copies.Add(1)
	o.c.Packets.Add(1)
	o.c.Bytes.Add(uint64(p.Len))
	in.Packets.Add(1)
	in.Bytes.Add(uint64(p.Len))
	t.stats.recirc.Add(1)
	if t.obs != nil {
		t.sawPatch(p, o.id, peer.id)
	}
	if depth+1 >= maxPatches {
		t.drop(in, packet.PatchLoop, p)
		return
	}
	if pr.mode != modeWords {
		t.enter(i, peer, in)
		return
	}
	t.one(i, peer, t.decide(peer, p), in, depth+1)
}
