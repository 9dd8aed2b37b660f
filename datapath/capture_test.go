package datapath

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
)

// seen is a captured packet that is kept.
type seen struct {
	dir  Direction
	drop packet.DropReason
	data []byte
	at   int64
}

func readAll(c *Capture) (l []seen) {
	c.Read(func(p *Captured) bool {
		l = append(l, seen{p.Dir, p.Drop, slices.Clone(p.Data), p.Time})
		return true
	})
	return l
}

func capture(t testing.TB, d *Datapath, c CaptureConfig) *Capture {
	t.Helper()
	x, err := d.Capture(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// What a port receives and sends is captured as it is, whichever way packets are decided about.
func TestCapture(t *testing.T) {
	for _, flows := range []string{"", "priority=1,in_port=1,actions=output:2", "priority=1,arp,actions=drop"} {
		t.Run("flows="+flows, func(t *testing.T) {
			d, b := newSwitch(t)
			p1, a := plug(t, b, "p1", trunk)
			p2, z := plug(t, b, "p2", trunk)
			if flows != "" {
				addFlows(t, b, flows)
			}
			all := capture(t, d, CaptureConfig{Port: p1, Received: true, Sent: true, Dropped: true})
			out := capture(t, d, CaptureConfig{Port: p2, Sent: true, Snaplen: 20})
			before := time.Now().UnixNano()
			frame, back := eth(2, 1), append(eth(1, 2), make([]byte, 2000)...)
			a.send(frame)
			settle(t, a, z)
			eventually(t, "sent", func() bool { return z.count() == 1 })
			z.send(back)
			settle(t, a, z)
			eventually(t, "sent back", func() bool { return a.count() == 1 })
			d.Synchronize()
			got := readAll(all)
			if len(got) != 2 || got[0].dir != In || got[1].dir != Out || got[0].drop|got[1].drop != 0 ||
				!bytes.Equal(got[0].data, frame) || !bytes.Equal(got[1].data, back) {
				t.Errorf("captured %v", got)
			}
			for _, g := range got {
				if now := time.Now().UnixNano(); g.at < before-1e6 || g.at > now {
					t.Errorf("time %d is not in %d..%d", g.at, before, now)
				}
			}
			if got := readAll(out); len(got) != 1 || !bytes.Equal(got[0].data, frame[:20]) {
				t.Errorf("with snaplen: %v", got)
			}
			if all.Missed()+out.Missed() != 0 {
				t.Error("some were missed")
			}
		})
	}
}

// A dropped packet has its reason, at the port that counts it.
func TestCaptureDrops(t *testing.T) {
	for _, c := range []struct {
		name, flows string
		prepare     func(b *Bridge, p1, p2 *Port, z *fake)
		frame       []byte
		why         packet.DropReason
		dir         Direction
	}{
		{"no rule", "priority=7,arp,actions=drop", nil, eth(2, 1), packet.NoRule, In},
		{"rule", "priority=7,ip,actions=drop", nil, eth(2, 1), packet.RuleDrop, In},
		{"fixed", "priority=7,actions=drop", nil, eth(2, 1), packet.RuleDrop, In},
		{"reserved", "", nil, append([]byte{1, 0x80, 0xc2, 0, 0, 0}, eth(0, 1)[6:]...), packet.ReservedMAC, In},
		{"bad tag", "", nil, append(eth(2, 1)[:12], 0x81, 0), packet.RxBadTag, In},
		{"no output", "", func(_ *Bridge, _, p2 *Port, _ *fake) { p2.Remove() }, eth(2, 1), packet.NoOutput, In},
		{"down", "", func(_ *Bridge, p1, _ *Port, _ *fake) { _ = p1.SetOpenFlowConfig(OFConfig{Down: true}) }, eth(2, 1), packet.PortDown, In},
		{"no receive", "", func(_ *Bridge, p1, _ *Port, _ *fake) { _ = p1.SetOpenFlowConfig(OFConfig{NoRecv: true}) }, eth(2, 1), packet.PortNoRecv, In},
		{"oversize", "", nil, append(eth(2, 1), make([]byte, 1500)...), packet.TxOversize, Out},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, b := newSwitch(t)
			p1, a := plug(t, b, "p1", trunk)
			z := newFake(t, 1)
			z.info.MTU = 1400
			p2 := plugDev(t, b, "p2", trunk, z)
			if c.flows != "" {
				delFlows(t, b, "")
				addFlows(t, b, c.flows)
			}
			if c.prepare != nil {
				c.prepare(b, p1, p2, z)
			}
			port := p1
			if c.dir == Out {
				port = p2
			}
			x := capture(t, d, CaptureConfig{Port: port, Dropped: true})
			a.send(c.frame)
			settle(t, a)
			d.Synchronize()
			got := readAll(x)
			if len(got) != 1 || got[0].dir != c.dir || got[0].drop != c.why || !bytes.Equal(got[0].data, c.frame) {
				t.Errorf("captured %v, want %v %v", got, c.dir, c.why)
			}
		})
	}
}

// A filter chooses, and one that cannot be is refused.
func TestCaptureFilter(t *testing.T) {
	d, b := newSwitch(t)
	p1, a := plug(t, b, "p1", trunk)
	p2, z := plug(t, b, "p2", trunk)
	match := func(text string) *flow.Match {
		m := &flow.Match{}
		if err := m.Parse(text, nil); err != nil {
			t.Fatal(err)
		}
		return m
	}
	in := capture(t, d, CaptureConfig{Port: p1, Received: true, Filter: match("dl_src=02:00:00:00:00:03")})
	out := capture(t, d, CaptureConfig{Port: p2, Sent: true, Filter: match("in_port=1,dl_src=02:00:00:00:00:04")})
	none := capture(t, d, CaptureConfig{Port: p2, Sent: true, Filter: match("in_port=2")})
	for i := range 100 {
		a.send(eth(99, i%10))
	}
	settle(t, a, z)
	d.Synchronize()
	for _, c := range []struct {
		x    *Capture
		want int
	}{{in, 10}, {out, 10}, {none, 0}} {
		if got := readAll(c.x); len(got) != c.want {
			t.Errorf("%d packets, want %d", len(got), c.want)
		}
	}
	for _, c := range []struct {
		cfg  CaptureConfig
		want string
	}{
		{CaptureConfig{Port: p1, Received: true, Filter: match("reg0=1")}, "reg0: packets do not come with this field"},
		{CaptureConfig{Port: p1}, "neither received, sent nor dropped"},
		{CaptureConfig{Port: p1, Received: true, Snaplen: 3}, "snaplen 3: not in"},
		{CaptureConfig{Received: true}, "no port"},
	} {
		if x, err := d.Capture(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
			if err == nil {
				x.Close()
			}
		}
	}
}

// A reader that stands still stops nobody; what does not fit is counted, and what fits is not damaged.
func TestCaptureStalledReader(t *testing.T) {
	d, b, th := bare(t)
	pair(t, b, th, 1024, 1, 64, trunk)
	p1 := b.Ports()[0]
	x := capture(t, d, CaptureConfig{Port: p1, Received: true, Buffer: 1 << 14})
	before := p1.Stats()
	const rounds = 100
	for range rounds {
		th.iterate()
	}
	after := p1.Stats()
	if n := after.RxPackets - before.RxPackets; n != rounds*packet.MaxBurst || after.TxDrops.Total()+after.RxDrops.Total() != 0 {
		t.Errorf("%d packets received, drops %v %v", n, after.RxDrops, after.TxDrops)
	}
	got := readAll(x)
	if n := uint64(len(got)) + x.Missed(); n != rounds*packet.MaxBurst || len(got) < 100 {
		t.Errorf("%d captured, %d missed", len(got), x.Missed())
	}
	for _, g := range got {
		if len(g.data) != 64 {
			t.Fatalf("a packet of %d bytes", len(g.data))
		}
	}
	for range rounds { // the reader comes back, and the ring wraps many times
		th.iterate()
		if got := readAll(x); len(got) != packet.MaxBurst {
			t.Fatalf("%d packets after a stall", len(got))
		}
	}
	x.Stop()
	missed := x.Missed()
	th.iterate()
	if got := readAll(x); len(got) != 0 || x.Missed() != missed {
		t.Errorf("after Stop: %d packets", len(got))
	}
}

// Nothing is allocated, with a capture or without.
func TestCaptureAllocatesNothing(t *testing.T) {
	d, b, th := bare(t)
	pair(t, b, th, 1024, 1, 64, trunk)
	p1 := b.Ports()[0]
	m := &flow.Match{}
	if err := m.Parse("ip", nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []CaptureConfig{{}, {Port: p1, Received: true, Sent: true, Dropped: true}, {Port: p1, Sent: true, Filter: m}} {
		var x *Capture
		if c.Port != nil {
			x = capture(t, d, c)
		}
		if n := testing.AllocsPerRun(100, th.iterate); n != 0 {
			t.Errorf("%+v: %v allocations", c, n)
		}
		if x != nil {
			if len(readAll(x)) == 0 {
				t.Error("nothing captured")
			}
			x.Close()
		}
	}
}

// Threads may come and go while a capture goes on, and the port may be removed.
func TestCaptureThreads(t *testing.T) {
	d, b := newSwitch(t)
	p1, a := plug(t, b, "p1", trunk)
	_, z := plug(t, b, "p2", trunk)
	x := capture(t, d, CaptureConfig{Port: p1, Received: true})
	n := 0
	for i := range 6 {
		c := ThreadConfig{RxqIsolate: true}
		if i%2 == 0 {
			c.CPUs = []int{0}
		}
		if err := d.SetThreads(c); err != nil {
			t.Fatal(err)
		}
		a.send(eth(2, 1), eth(2, 1))
		settle(t, a, z)
		d.Synchronize()
		if i%3 == 2 { // also what threads took that have ended
			n += len(readAll(x))
		}
	}
	if n != 12 {
		t.Errorf("%d packets, want 12", n)
	}
	if x.PortGone() {
		t.Error("the port is there")
	}
	p1.Remove()
	if !x.PortGone() {
		t.Error("the port is gone")
	}
}

func TestCaptureLimit(t *testing.T) {
	d, b := newSwitch(t)
	p1, _ := plug(t, b, "p1", trunk)
	for range maxCaptures {
		capture(t, d, CaptureConfig{Port: p1, Received: true, Buffer: 4096})
	}
	if _, err := d.Capture(CaptureConfig{Port: p1, Received: true}); err == nil {
		t.Error("no limit")
	}
}

func BenchmarkCapture(b *testing.B) {
	for _, dir := range []string{"none", "other port", "rx", "rx+tx"} {
		b.Run(fmt.Sprintf("size=64/%s", dir), func(b *testing.B) {
			d, br, th := bare(b)
			pair(b, br, th, 1024, 1, 64, trunk)
			c := CaptureConfig{Port: br.Ports()[0], Received: true, Sent: dir == "rx+tx"}
			if dir == "other port" {
				p, err := br.AddPort("q", trunk)
				if err != nil {
					b.Fatal(err)
				}
				c.Port = p
			}
			var x *Capture
			if dir != "none" {
				x = capture(b, d, c)
			}
			n := 0
			report(b, func() {
				th.iterate()
				if n++; x != nil && n%64 == 0 {
					x.Read(func(*Captured) bool { return true })
				}
			})
		})
	}
}
