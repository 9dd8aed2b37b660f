package datapath

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// flows adds flows, in ovs-ofctl's syntax.
func addFlows(t testing.TB, b *Bridge, l ...string) {
	t.Helper()
	var mods []ofp.FlowMod
	for _, s := range l {
		m, err := ofp.ParseFlow(s, nil, ofp.Add)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		mods = append(mods, m)
	}
	if _, err := b.Tables().Apply(mods, rules.Options{Now: b.d.Now()}); err != nil {
		t.Fatal(err)
	}
}

func delFlows(t testing.TB, b *Bridge, l ...string) {
	t.Helper()
	for _, s := range l {
		m, err := ofp.ParseFlow(s, nil, ofp.Delete)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if _, err := b.Tables().Apply([]ofp.FlowMod{m}, rules.Options{Now: b.d.Now()}); err != nil {
			t.Fatal(err)
		}
	}
}

// counts is what the flows have counted, "priority:packets" each.
func counts(b *Bridge) string {
	b.SyncFlowStats()
	s := ""
	for _, r := range b.Tables().Flows(nil) {
		s += fmt.Sprintf("%d:%d/%d ", r.Priority, r.Packets(), r.Bytes())
	}
	return s
}

// udp is an IPv4 frame with ports.
func udp(dst, src, sport, dport int) []byte {
	f := eth(dst, src, 0x08, 0x00, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, byte(src), 10, 0, 0, byte(dst),
		byte(sport>>8), byte(sport), byte(dport>>8), byte(dport), 0, 26, 0, 0)
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(f[i])<<8 | uint32(f[i+1])
	}
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	f[24], f[25] = byte(^sum>>8), byte(^sum)
	return f
}

func TestFlowsDecide(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	_, d3 := plug(t, b, "p3", trunk)
	get := func(want ...int) {
		t.Helper()
		settle(t, d1, d2, d3)
		d.Synchronize()
		for i, x := range []*fake{d1, d2, d3} {
			if n := len(x.sent()); n != want[i] {
				t.Errorf("port %d got %d frames, want %d", i+1, n, want[i])
			}
		}
	}
	f := udp(2, 1, 1000, 80)
	d1.send(f)
	get(0, 1, 1)
	if s := counts(b); s != "0:1/60 " {
		t.Errorf("NORMAL counted %s", s)
	}
	delFlows(t, b, "")
	d1.send(f)
	get(0, 0, 0)
	addFlows(t, b, "priority=1,in_port=1,actions=2", "priority=2,in_port=2,actions=output:1,output:3")
	d1.send(f, f)
	d2.send(f)
	get(1, 2, 1)
	if s := counts(b); s != "2:1/60 1:2/120 " {
		t.Errorf("fixed lists counted %s", s)
	}
	addFlows(t, b, "priority=9,udp,tp_dst=80,actions=mod_dl_dst:aa:bb:cc:dd:ee:ff,3")
	d1.send(f, udp(2, 1, 1000, 81), f)
	settle(t, d1)
	d.Synchronize()
	if got := d3.sent(); len(got) != 2 || !bytes.Equal(got[0][:6], []byte{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}) {
		t.Errorf("%x", got)
	}
	get(0, 1, 0)
	if s := counts(b); s != "9:2/120 2:1/60 1:3/180 " {
		t.Errorf("megaflows counted %s", s)
	}
	if l := d.DumpMegaflows(); len(l) != 2 {
		t.Errorf("%+v", l)
	}
	delFlows(t, b, "udp")
	d1.send(f)
	get(0, 1, 0)
}

// A list that sends and edits by turns sends each frame as it was then.
func TestExecCopies(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	delFlows(t, b, "")
	acts := ""
	for i := range 200 {
		acts += fmt.Sprintf("mod_dl_src:00:00:00:00:00:%02x,2,", i)
	}
	addFlows(t, b, "actions="+acts+"in_port")
	f := udp(2, 1, 1000, 80)
	for range 40 {
		d1.send(f)
	}
	settle(t, d1)
	d.Synchronize()
	got := d2.sent()
	if len(got) != 40*200 {
		t.Fatalf("%d frames", len(got))
	}
	for i, g := range got {
		if g[11] != byte(i%200) {
			t.Fatalf("frame %d has source %x", i, g[6:12])
		}
	}
	if n := len(d1.sent()); n != 40 {
		t.Errorf("%d came back", n)
	}
}

var _ = packet.DropNone
