package datapath

import (
	"fmt"

	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// Policing bounds what a port may receive from its device (ingress_policing_rate and the columns beside it, in
// ovs-vswitchd.conf.db(5)). What is beyond is dropped as packet.Policing before anything is decided about it.
//
// Bytes are those of frames as they are on a wire, without preamble and checksum: a packet that is still to be cut
// to segments counts as these, each with its headers.
type Policing struct {
	Rate       uint32 // kbit/s; 0: not bounded
	Burst      uint32 // kbit that may come at once; 0: DefaultPolicingBurst
	KpktsRate  uint32 // 1000 packets a second; 0: not bounded
	KpktsBurst uint32 // 1000 packets; 0: DefaultPolicingKpktsBurst
}

// Defaults of a Policing's bursts, as in Open vSwitch. A smaller burst is raised to the longest packet, which
// could never pass otherwise.
const (
	DefaultPolicingBurst      = 8000
	DefaultPolicingKpktsBurst = 16

	// MaxKpkts is the highest rate or burst of packets.
	MaxKpkts = (1<<32 - 1) / 1000
)

func (c *Policing) check() error {
	if c.KpktsRate > MaxKpkts || c.KpktsBurst > MaxKpkts {
		return fmt.Errorf("policing of %d kpkts/s, burst %d: more than %d", c.KpktsRate, c.KpktsBurst, MaxKpkts)
	}
	return nil
}

// policer is what all threads that receive from a port share.
type policer struct {
	bytes, packets *rules.Meter // nil: not bounded
}

// newPolicer makes one with full buckets; nil if nothing is bounded. now is in ms.
func newPolicer(c Policing, now int64) *policer {
	if c.Rate == 0 && c.KpktsRate == 0 {
		return nil
	}
	p := &policer{}
	if c.Rate != 0 {
		burst := c.Burst
		if burst == 0 {
			burst = DefaultPolicingBurst
		}
		p.bytes = rules.NewMeter(ofp.MeterDef{Burst: true, Bands: []ofp.Band{{Rate: c.Rate, Burst: burst}}}, now)
	}
	if c.KpktsRate != 0 {
		burst := c.KpktsBurst
		if burst == 0 {
			burst = DefaultPolicingKpktsBurst
		}
		p.packets = rules.NewMeter(ofp.MeterDef{Packets: true, Burst: true, Bands: []ofp.Band{{Rate: c.KpktsRate * 1000, Burst: burst * 1000}}}, now)
	}
	return p
}

// take tells whether a packet may pass. now is in microseconds.
func (p *policer) take(now int64, packets, bytes uint64) bool {
	if m := p.packets; m != nil && !m.Charge(now, packets, bytes) {
		return false
	}
	return p.bytes == nil || p.bytes.Charge(now, packets, bytes)
}

// police drops those of the burst's first n packets that are beyond the port's rate, moves the others to the front in
// their order, and says how many these are.
func (t *thread) police(v *portView, n int, in *inCounters) int {
	now := t.d.clock.micros(t.now)
	pkts := t.burst.Pkts[:n]
	left := 0
	for i := range pkts {
		p := &pkts[i]
		p.InPort = uint32(v.id)
		packets, size := onWire(p)
		if !v.police.take(now, packets, size) {
			t.drop(in, packet.Policing, p)
			in.skip(1, uint64(p.Len))
			continue
		}
		if left != i {
			pkts[left].CloneFrom(p)
		}
		left++
	}
	return left
}
