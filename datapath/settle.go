package datapath

import "github.com/gvswitch/gvswitch/packet"

// What came in by a port in modeWords or modeFixed hit the same rules, whatever it was: so the rules
// are told once in a while what the port's own counters say, and nothing is counted
// for them per packet. seen is up to where they have been told.

// skip says that packets that in counts hit no rule, or other ones.
func (in *inCounters) skip(packets, bytes uint64) {
	in.seenPackets += packets
	in.seenBytes += bytes
}

// settle tells the rules of port id what came in by it, but for n packets of the burst, which hand
// counts.
func (t *thread) settle(id uint16, hand *inCounters, n int) {
	for _, q := range t.w.rxqs {
		if q.id == id {
			t.settleIn(&t.pr[id], &q.in, hand, n)
		}
	}
	if int(id) < len(t.tx) && t.tx[id] != nil {
		t.settleIn(&t.pr[id], &t.tx[id].tc.in, hand, n)
	}
}

func (t *thread) settleIn(pr *portRun, in, hand *inCounters, n int) {
	packets, bytes := in.Packets.Load(), in.Bytes.Load()
	if in == hand {
		packets -= uint64(n)
		for i := range n {
			bytes -= uint64(t.burst.Pkts[i].Len)
		}
	}
	if (pr.mode == modeWords || pr.mode == modeFixed) && packets != in.seenPackets {
		t.fl.progs.all[pr.prog].count(packets-in.seenPackets, bytes-in.seenBytes, t.ms)
	}
	in.seenPackets, in.seenBytes = packets, bytes
}

// settleAll is settle for all ports, between bursts.
func (t *thread) settleAll() {
	for _, q := range t.w.rxqs {
		if int(q.id) < len(t.pr) {
			t.settleIn(&t.pr[q.id], &q.in, nil, 0)
		}
	}
	for id, o := range t.tx {
		if o != nil && id < len(t.pr) {
			t.settleIn(&t.pr[id], &o.tc.in, nil, 0)
		}
	}
}

// refused is what becomes of a burst that comes in by a port that takes nothing.
func (t *thread) refused(n int, in *inCounters, why packet.DropReason) {
	t.dropBurst(in, why, n)
	var bytes uint64
	for i := range n {
		bytes += uint64(t.burst.Pkts[i].Len)
	}
	in.skip(uint64(n), bytes)
}
