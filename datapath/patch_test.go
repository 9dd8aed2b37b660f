package datapath

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

// join connects two bridges by a patch, with the VLAN settings given.
func join(t testing.TB, a, b *Bridge, name, specA, specB string) (*Port, *Port) {
	t.Helper()
	ca, cb := portSpec(specA), portSpec(specB)
	ca.Peer, cb.Peer = name+"b", name+"a"
	pa, err := a.AddPort(name+"a", ca)
	if err != nil {
		t.Fatal(err)
	}
	pb, err := b.AddPort(name+"b", cb)
	if err != nil {
		t.Fatal(err)
	}
	return pa, pb
}

func addBridge(t testing.TB, d *Datapath, name string) *Bridge {
	t.Helper()
	b, err := d.AddBridge(name, BridgeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPatch(t *testing.T) {
	d, b0 := newSwitch(t)
	b1 := addBridge(t, d, "br1")
	_, d1 := plug(t, b0, "p1", portSpec("access 10"))
	_, d2 := plug(t, b1, "p2", portSpec("access 20"))
	_, d3 := plug(t, b0, "p3", portSpec("trunk"))
	pa, pb := join(t, b0, b1, "x", "access 10", "access 20")
	if !pa.Info().Link {
		t.Errorf("%+v", pa.Info())
	}

	d1.send(tagSpec(2, 1, "-"))
	settle(t, d1)
	if got := d2.sent(); len(got) != 1 || !bytes.Equal(got[0], tagSpec(2, 1, "-")) {
		t.Fatalf("flooded through the patch: %x", got)
	}
	d3.sent()
	d2.send(tagSpec(1, 2, "-"))
	settle(t, d2)
	if got := d1.sent(); len(got) != 1 || !bytes.Equal(got[0], tagSpec(1, 2, "-")) {
		t.Fatalf("back: %x", got)
	}
	for range 3 {
		d1.send(tagSpec(2, 1, "-"))
	}
	settle(t, d1)
	if d2.count() != 3 || d3.count() != 0 {
		t.Errorf("known host behind the patch: %d frames there, %d elsewhere", d2.count(), d3.count())
	}
	if m := b1.MACTable(); len(m) != 2 || m[0].Port != pb || m[0].VLAN != 20 {
		t.Errorf("%+v", m)
	}
	if a, b := pa.Stats(), pb.Stats(); a.TxPackets != 4 || b.RxPackets != 4 || a.RxPackets != 1 || b.TxPackets != 1 {
		t.Errorf("patch counters %+v %+v", a, b)
	}

	// One end goes.
	pb.Remove()
	if i := pa.Info(); i.Link || i.Fault == "" {
		t.Errorf("%+v", i)
	}
	d1.send(tagSpec(2, 1, "-"))
	settle(t, d1)
	if s := pa.Stats(); s.TxDrops.Total() != 0 || d3.count() != 1 {
		t.Errorf("frames still go to a patch without a peer: %v", s.TxDrops)
	}
}

// Two bridges joined twice: a flood ends after some rounds, and is counted.
func TestPatchLoop(t *testing.T) {
	d, b0 := newSwitch(t)
	b1 := addBridge(t, d, "br1")
	_, d1 := plug(t, b0, "p1", trunk)
	_, d2 := plug(t, b1, "p2", trunk)
	join(t, b0, b1, "x", "trunk", "trunk")
	join(t, b0, b1, "y", "trunk", "trunk")
	d1.send(eth(-1, 1))
	settle(t, d1)
	if n := d2.count(); n == 0 || n > 1<<maxPatches {
		t.Errorf("%d copies", n)
	}
	var lost uint64
	for _, p := range append(b0.Ports(), b1.Ports()...) {
		lost += p.Stats().RxDrops[packet.PatchLoop]
	}
	if lost == 0 {
		t.Error("nothing was lost as patch_loop")
	}
}

// A burst that needs more heads than there are is sent in several turns.
func TestFloodArenaFull(t *testing.T) {
	d, b0, th := bare(t)
	in := newFake(t, 1)
	plugDev(t, b0, "in", trunk, in)
	var devs []*fake
	for i := range 5 {
		b := addBridge(t, d, fmt.Sprint("br", i+1))
		join(t, b0, b, fmt.Sprint("x", i), "trunk", "native-untagged 7")
		for k, spec := range []string{"trunk", "access 7"} {
			dev := newFake(t, 1)
			devs = append(devs, dev)
			plugDev(t, b, fmt.Sprint("p", i, k), portSpec(spec), dev)
		}
	}
	const n = 100
	for i := range n {
		in.send(tagSpec(-1, 1+i, "0/1"))
	}
	for range 10 {
		th.iterate()
	}
	for k, dev := range devs {
		got := dev.sent()
		if len(got) != n {
			t.Fatalf("device %d: %d of %d frames", k, len(got), n)
		}
		for i, f := range got {
			want := tagSpec(-1, 1+i, "7")
			if k%2 == 1 {
				want = tagSpec(-1, 1+i, "-")
			}
			if !bytes.Equal(f, want) {
				t.Fatalf("device %d, frame %d: %x, want %x", k, i, f, want)
			}
		}
	}
}
