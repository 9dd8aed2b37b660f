package vhostuser

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
)

// Guests of every kind forward to each other.
func TestForward(t *testing.T) {
	for name, cfg := range map[string]frontend.Config{
		"linux":          {},
		"poll":           {Poll: true},
		"no event idx":   {Clear: virtio.FEventIdx},
		"no mergeable":   {Clear: virtio.NetFMrgRxbuf, BufSize: 4096},
		"small buffers":  {BufSize: 256},
		"legacy":         {Clear: virtio.FVersion1 | virtio.NetFMrgRxbuf},
		"no protocol":    {Clear: virtio.FProtocolFeatures},
		"no reply ack":   {Protocol: vhostuser.ProtocolFeatures &^ vhostuser.ProtoReplyAck},
		"small ring":     {QueueSize: 64, Buffers: 64},
		"large ring":     {QueueSize: 32768, Buffers: 300},
		"8 regions":      {Regions: 8},
		"9 regions":      {Regions: 9},
		"32 regions":     {Regions: 32, Base: 1 << 32},
		"split receive":  {RxCuts: []int{12, 700}},
		"like UML":       {Protocol: vhostuser.ProtoReplyAck | vhostuser.ProtoBackendReq | vhostuser.ProtoConfig, RxCuts: []int{12}},
		"pretty minimal": {Clear: ^virtio.FVersion1},

		"packed":               {Packed: true},
		"packed, any order":    {Packed: true, Clear: virtio.FInOrder},
		"packed, poll":         {Packed: true, Poll: true},
		"packed, no event":     {Packed: true, Clear: virtio.FEventIdx},
		"packed, no mergeable": {Packed: true, Clear: virtio.NetFMrgRxbuf, BufSize: 4096},
		"packed, small":        {Packed: true, BufSize: 256},
		"packed, ring of 2":    {Packed: true, QueueSize: 2},
		"packed, ring of 3":    {Packed: true, QueueSize: 3},
		"packed, ring of 7":    {Packed: true, QueueSize: 7},
		"packed, large ring":   {Packed: true, QueueSize: 32768, Buffers: 300},
		"packed, 32 regions":   {Packed: true, Regions: 32, Base: 1 << 32},
		"packed, cut":          {Packed: true, RxCuts: []int{12, 700}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			a := attach(t, l.paths[0], cfg)
			b := attach(t, l.paths[1], frontend.Config{BufSize: cfg.BufSize})
			pass(t, a, b)
			a.Close()
			b.Close()
			l.alive()
		})
	}
}

func TestMultiqueue(t *testing.T) {
	l := newLab(t, map[string]string{"vhost-max-queue-pairs": "4"})
	a := attach(t, l.paths[0], frontend.Config{Pairs: 4})
	b := attach(t, l.paths[1], frontend.Config{Pairs: 2})
	for i := range a.Queues {
		a.Queues[i].Send(frame(i, 100))
		sameFrame(t, b.Queues[0], frame(i, 100))
	}
	if s := l.ports[0].dev.Info().Status; s["n_rxq"] != "4" || s["n_txq"] != "4" || s["num_of_vrings"] != "8" {
		t.Errorf("status %v", s)
	}
	// The guest gives up one queue: it is emptied, but nothing passes.
	_, tx := a.Queues[3].Vrings()
	if err := a.Vring(vhostuser.SetVringEnable, tx, 0); err != nil {
		t.Fatal(err)
	}
	a.Queues[3].Send(frame(1, 100))
	eventually(t, "frames of a disabled queue are taken", func() bool { return a.Queues[3].InFlight() == 0 })
	a.Queues[0].Send(frame(2, 100))
	sameFrame(t, b.Queues[0], frame(2, 100))
	a.Close()
	b.Close()
	l.alive()
}

// The link follows the guest, and comes back (B27).
func TestLink(t *testing.T) {
	l := newLab(t, nil)
	info := func() netdev.Info { return l.ports[0].dev.Info() }
	if i := info(); i.Link || i.Status["status"] != "disconnected" || i.Status["mode"] != "server" || i.Status["socket"] != l.paths[0] {
		t.Errorf("before a guest: %+v", i)
	}
	for range 3 {
		a := attach(t, l.paths[0], frontend.Config{})
		if i := info(); !i.Link || i.Status["status"] != "connected" || i.Status["vring_0_size"] != "256" || i.MTU != 1500 || len(i.MAC) != 6 {
			t.Errorf("with a guest: %+v", i)
		}
		if err := a.Vring(vhostuser.SetVringEnable, 0, 0); err != nil {
			t.Fatal(err)
		}
		if info().Link {
			t.Error("link up with a queue disabled")
		}
		a.Close()
		eventually(t, "guest is gone", func() bool { i := info(); return !i.Link && i.Status["status"] == "disconnected" })
	}
}

// A client port finds its guest whenever that is there.
func TestClient(t *testing.T) {
	l := newLab(t, nil)
	path := filepath.Join(t.TempDir(), "guest.sock")
	p := l.add(t, OpenClient, "client", netdev.Options{Map: map[string]string{"vhost-server-path": path}})
	l.add(t, OpenServer, "other", netdev.Options{RunDir: l.dir})
	b := attach(t, filepath.Join(l.dir, "other"), frontend.Config{})
	time.Sleep(100 * time.Millisecond)
	for i := range 3 {
		ln := listenUnix(t, path)
		c, err := frontend.Accept(ln, limit(time.Second))
		if err != nil {
			t.Fatalf("try %d: %v", i, err)
		}
		a, err := frontend.NewGuest(c, frontend.Config{})
		if err != nil {
			t.Fatal(err)
		}
		pass(t, a, b)
		if p.dev.Info().Status["mode"] != "client" {
			t.Error("not a client")
		}
		a.Close()
		ln.Close()
	}
	l.remove(t, p)
	ln := listenUnix(t, path)
	if c, err := frontend.Accept(ln, 3*maxBackoff); err == nil {
		c.Close()
		t.Error("a closed port connects")
	}
	ln.Close()
}

func TestConfigSpace(t *testing.T) {
	l := newSwitch(t)
	dir := t.TempDir()
	l.add(t, OpenServer, "vm0", netdev.Options{RunDir: dir, MTU: 9000, MAC: "02:11:22:33:44:55", Map: map[string]string{"n_rxq": "3"}})
	c, err := frontend.Dial(filepath.Join(dir, "vm0"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetProtocol(vhostuser.ProtoConfig | vhostuser.ProtoMQ); err != nil {
		t.Fatal(err)
	}
	p, err := c.Get(vhostuser.GetConfig, vhostuser.ConfigSpace{Data: make([]byte, 12)}.Append(nil))
	if err != nil || fmt.Sprintf("%x", p[12:]) != "021122334455"+"0100"+"0300"+"2823" {
		t.Errorf("config %x, %v", p, err)
	}
	if n, err := c.GetU64(vhostuser.GetQueueNum); n != 3 || err != nil {
		t.Errorf("%d queue pairs, %v", n, err)
	}
}
