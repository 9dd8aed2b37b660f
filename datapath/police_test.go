package datapath

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/packet"
)

// What passes is in order, and what does not has a name; whatever way the port's packets are decided by.
func TestPolice(t *testing.T) {
	for name, rules := range map[string][]string{
		"words": {"actions=normal"}, "fixed": {"actions=2"}, "flows": {"udp,tp_dst=9,actions=drop", "priority=1,actions=2"},
	} {
		t.Run(name, func(t *testing.T) {
			d, b := newSwitch(t)
			c := trunk
			c.Police = Policing{Rate: 1, Burst: 800} // 100,000 bytes, and then 125 a second
			p1, d1 := plug(t, b, "p1", c)
			_, d2 := plug(t, b, "p2", trunk)
			delFlows(t, b, "")
			addFlows(t, b, rules...)
			var sent [][]byte
			for i := range 300 {
				f := append(eth(2, 1), make([]byte, 940)...)
				f[20] = byte(i)
				f[21] = byte(i >> 8)
				sent = append(sent, f)
			}
			d1.send(sent...)
			settle(t, d1)
			d.Synchronize()
			got := d2.sent()
			if len(got) < 100 || len(got) > 101 {
				t.Fatalf("%d of 300 passed, want 100", len(got))
			}
			for i := range 100 {
				if !bytes.Equal(got[i], sent[i]) {
					t.Fatalf("frame %d is another", i)
				}
			}
			if s := p1.Stats(); s.RxDrops[packet.Policing] != 300-uint64(len(got)) || s.RxPackets != 300 {
				t.Errorf("%d received, %d dropped", s.RxPackets, s.RxDrops[packet.Policing])
			}
			// Rules count what passed only.
			n := fmt.Sprintf("%d:%d/%d ", map[string]int{"words": 32768, "fixed": 32768, "flows": 1}[name], len(got), len(got)*1000)
			if s := counts(b); !bytes.Contains([]byte(s), []byte(n)) {
				t.Errorf("counted %s, want %s", s, n)
			}
			// 800 seconds fill the bucket.
			d.Warp(800_000)
			d1.send(sent[:90]...)
			settle(t, d1)
			d.Synchronize()
			if n := len(d2.sent()); n != 90 {
				t.Errorf("%d of 90 passed after a rest", n)
			}
			// Not policed any more.
			if err := p1.Configure(trunk); err != nil {
				t.Fatal(err)
			}
			d1.send(sent...)
			settle(t, d1)
			d.Synchronize()
			if n := len(d2.sent()); n != 300 {
				t.Errorf("%d of 300 passed without a rate", n)
			}
		})
	}
}

// Packets that are explained are policed as all others are.
func TestPoliceExplained(t *testing.T) {
	d, b := newSwitch(t)
	c := trunk
	c.Police = Policing{Rate: 1, Burst: 800} // 100,000 bytes, and then 125 a second
	p1, d1 := plug(t, b, "p1", c)
	_, d2 := plug(t, b, "p2", trunk)
	x, err := d.Explain(ExplainConfig{Bridge: b})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for range 300 {
		d1.send(append(eth(2, 1), make([]byte, 940)...))
	}
	settle(t, d1)
	d.Synchronize()
	got := uint64(d2.count())
	if s := p1.Stats(); got < 100 || got > 101 || s.RxDrops[packet.Policing] != 300-got {
		t.Errorf("%d of 300 passed, %d dropped", got, s.RxDrops[packet.Policing])
	}
}

// A burst is shared by all threads, and never less than the longest packet: a legal rate lets big packets pass, and
// charges them as what they are on the wire.
func TestPoliceBigPackets(t *testing.T) {
	now := time.Now().UnixMicro()
	for _, c := range []Policing{{Rate: 10_000, Burst: 1}, {Rate: 10_000, Burst: 1000}, {Rate: 10_000}, {Rate: 64, Burst: 1}} {
		p := newPolicer(c, 0)
		big := packet.Packet{Len: 65_226, GSOType: packet.GSOTCPv4, GSOSize: 1448, CsumStart: 34, HdrLen: 66}
		packets, size := onWire(&big)
		if packets != 45 || size != 65_226+44*66 {
			t.Fatalf("%d packets of %d bytes", packets, size)
		}
		var passed uint64
		const seconds = 1000
		for us := int64(0); us < seconds*1_000_000; us += 700 { // 750 Mbit/s are offered
			if p.take(now+us, packets, size) {
				passed += size
			}
		}
		want := float64(c.Rate) * 1000 / 8 * seconds
		if got := float64(passed); got < want*0.99 || got > want*1.01+1_100_000 {
			t.Errorf("%+v: %.0f bytes passed, want %.0f", c, got, want)
		}
	}
}

// So many thousand packets a second, whatever their size; and both bounds at once.
func TestPolicePackets(t *testing.T) {
	for _, c := range []struct {
		conf  Policing
		bytes uint64
		want  float64 // a second
	}{
		{Policing{KpktsRate: 10}, 60, 10_000},
		{Policing{KpktsRate: 10}, 60_000, 10_000},
		{Policing{KpktsRate: 10, KpktsBurst: 1, Rate: 8000}, 60, 10_000},
		{Policing{KpktsRate: 10, KpktsBurst: 1, Rate: 8000}, 1000, 1000},
	} {
		p := newPolicer(c.conf, 0)
		passed := 0
		const seconds = 100
		for us := int64(0); us < seconds*1_000_000; us += 20 {
			if p.take(us, 1, c.bytes) {
				passed++
			}
		}
		if got := float64(passed) / seconds; got < c.want*0.99 || got > c.want*1.01+170 {
			t.Errorf("%+v: %.0f packets of %d bytes a second, want %.0f", c.conf, got, c.bytes, c.want)
		}
	}
}

// Two queues that offer the same get the same.
func TestPoliceFair(t *testing.T) {
	p := newPolicer(Policing{Rate: 1000, Burst: 1}, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	var passed [2]int
	for us := int64(0); us < 100_000_000; us += 100 {
		i := rng.IntN(2)
		for k := range 2 {
			if p.take(us, 1, 1000) {
				passed[(i+k)%2]++
			}
		}
	}
	if a, b := passed[0], passed[1]; a+b < 12_400 || a < b*8/10 || b < a*8/10 {
		t.Errorf("%v", passed)
	}
}

func TestPolicingAllocatesNothing(t *testing.T) {
	_, br, th := bare(t)
	flowPair(t, br, th, 1024, "in_port=1,actions=2", "in_port=2,actions=1")
	c := trunk
	c.Police = Policing{Rate: 1000, KpktsRate: 1}
	p := br.Ports()[0]
	if err := p.Configure(c); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		th.iterate()
	}
	if n := testing.AllocsPerRun(200, th.iterate); n != 0 {
		t.Errorf("%v allocations an iteration", n)
	}
	if s := p.Stats(); s.RxDrops[packet.Policing] == 0 {
		t.Error("nothing was dropped")
	}
}

func TestPolicingRefused(t *testing.T) {
	_, b := newSwitch(t)
	c := trunk
	c.Police.KpktsRate = MaxKpkts + 1
	if _, err := b.AddPort("p", c); err == nil {
		t.Error("accepted")
	}
}
