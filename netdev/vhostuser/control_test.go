package vhostuser

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/packet"
)

// controlGuest is a guest of two pairs that hands its control queue to the switch.
type controlGuest struct {
	*frontend.Guest
	*frontend.Control
	l *lab
}

// controlLab has such a guest on one port, and another guest beside it.
func controlLab(t *testing.T, packed bool) (*controlGuest, *frontend.Guest) {
	t.Helper()
	l := newLab(t, map[string]string{"vhost-max-queue-pairs": "2", "vhost-offload": "true", "virtio-features": "+GUEST_ANNOUNCE"})
	g := &controlGuest{l: l, Guest: attach(t, l.paths[0], frontend.Config{Pairs: 2, QueueSize: 64, Packed: packed})}
	g.start(t)
	return g, attach(t, l.paths[1], frontend.Config{})
}

func (g *controlGuest) start(t *testing.T) {
	t.Helper()
	base := uint32(0)
	if g.Features&virtio.FRingPacked != 0 {
		base = 1<<31 | 1<<15
	}
	var err error
	if g.Control, err = g.StartControl(4, base); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Control.Close)
}

// do has a command obeyed, or refused.
func (g *controlGuest) do(t *testing.T, cmd string, ok bool) {
	t.Helper()
	ack, err := g.Do([]byte(cmd), 2)
	want := byte(virtio.CtrlOK)
	if !ok {
		want = virtio.CtrlErr
	}
	if err != nil || ack != want {
		t.Fatalf("command %x: answer %d, %v; want %d", cmd, ack, err, want)
	}
}

func (g *controlGuest) expect(t *testing.T, values map[string]string) {
	t.Helper()
	s := g.l.ports[0].dev.Info().Status
	for k, want := range values {
		if s[k] != want {
			t.Errorf("%s is %q, want %q", k, s[k], want)
		}
	}
}

// to is a frame to an address.
func to(mac string, n int) []byte {
	f := frame(n, 100)
	copy(f, mac)
	return f
}

// arrive checks which frames reach the guest. A broadcast behind them says that no more will come.
func (g *controlGuest) arrive(t *testing.T, from *frontend.Guest, frames [][]byte, want ...int) {
	t.Helper()
	for _, f := range frames {
		if !from.Queues[0].Send(f) {
			t.Fatal("ring full")
		}
	}
	for _, i := range want {
		sameFrame(t, g.Queues[0], frames[i])
	}
}

const (
	ownMAC  = "\x02\x00\x00\x00\x00\x07"
	pairs1  = "\x04\x00\x01\x00"
	pairs2  = "\x04\x00\x02\x00"
	promisc = "\x00\x00\x01"
	noProm  = "\x00\x00\x00"
)

func bothRings(t *testing.T, test func(t *testing.T, packed bool)) {
	t.Run("split", func(t *testing.T) { test(t, false) })
	t.Run("packed", func(t *testing.T) { test(t, true) })
}

// What the guest says by the control queue is so before it has the answer.
func TestControl(t *testing.T) {
	bothRings(t, func(t *testing.T, packed bool) {
		g, b := controlLab(t, packed)
		d := g.l.ports[0].dev.(*Device)
		rxQueues := func() int { rx, _ := d.Queues(); return len(rx) }
		txQueues := func() int { _, tx := d.Queues(); return len(tx) }
		running := func() int { return d.running() }
		g.expect(t, map[string]string{"control-queue": "served", "queue-pairs-in-use": "1", "guest-receives": "everything"})
		if n, m := running(), txQueues(); n != 1 || m != 1 {
			t.Errorf("%d rx queues run, %d tx queues, before the guest asked for more", n, m)
		}
		g.do(t, pairs2, true)
		if n, m := running(), txQueues(); n != 2 || m != 2 {
			t.Errorf("with two pairs %d rx queues run, %d tx queues", n, m)
		}
		g.do(t, "\x04\x00\x03\x00", false)
		numbered(t, g.Queues[1], b.Queues[0], 0, 10)
		g.do(t, pairs1, true)
		if n, m := running(), txQueues(); n != 1 || m != 1 || rxQueues() != 2 {
			t.Errorf("with one pair again %d rx queues run, %d tx queues", n, m)
		}

		// Addresses.
		frames := [][]byte{to(ownMAC, 1), to("\x02\x00\x00\x00\x00\x08", 2), to("\x33\x33\x00\x00\x00\x01", 3), to("\x33\x33\x00\x00\x00\x02", 4), to("\xff\xff\xff\xff\xff\xff", 5)}
		g.arrive(t, b, frames, 0, 1, 2, 3, 4)
		g.do(t, "\x01\x01"+ownMAC, true)
		g.arrive(t, b, frames, 0, 1, 2, 3, 4)
		g.do(t, noProm, true)
		g.arrive(t, b, frames, 0, 4)
		g.do(t, "\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x33\x33\x00\x00\x00\x02", true)
		g.arrive(t, b, frames, 0, 3, 4)
		if n := g.l.ports[0].tx.Drops[packet.TxFiltered].Load(); n != 5 {
			t.Errorf("%d frames filtered, want 5", n)
		}
		g.expect(t, map[string]string{"guest-mac": "02:00:00:00:00:07", "guest-receives": "its own unicast, 1 more addresses, broadcast"})
		g.do(t, promisc, true)
		g.arrive(t, b, frames, 0, 1, 2, 3, 4)

		// Offloads: all that poll threads see is another queue.
		caps := func() (csum, tso bool) {
			_, tx := d.Queues()
			c := tx[0].Caps()
			return c.Csum, c.TSO4
		}
		if csum, tso := caps(); !csum || !tso {
			t.Error("the guest's offloads are not used")
		}
		g.do(t, "\x05\x00\x02\x00\x00\x00\x00\x00\x00\x00", true)
		if csum, tso := caps(); !csum || tso {
			t.Errorf("with checksums alone: %v, segments %v", csum, tso)
		}
		g.expect(t, map[string]string{"guest-offloads-off": "GUEST_TSO4 GUEST_TSO6 GUEST_ECN"})
		g.do(t, "\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00", true)
		if csum, tso := caps(); csum || tso {
			t.Errorf("without offloads: checksums %v, segments %v", csum, tso)
		}
		g.arrive(t, b, frames, 0, 1, 2, 3, 4)

		// The configuration space has the guest's address, until a reset.
		mac := func() []byte {
			p, err := g.Get(vhostuser.GetConfig, vhostuser.ConfigSpace{Data: make([]byte, 6)}.Append(nil))
			if err != nil {
				t.Fatal(err)
			}
			return p[12:]
		}
		if got := mac(); !bytes.Equal(got, []byte(ownMAC)) {
			t.Errorf("address in the configuration space %x", got)
		}
		if err := g.Set(vhostuser.ResetDevice, nil); err != nil {
			t.Fatal(err)
		}
		if got := mac(); bytes.Equal(got, []byte(ownMAC)) {
			t.Errorf("address after a reset %x", got)
		}
		g.expect(t, map[string]string{"guest-mac": "", "guest-offloads-off": "", "n_rxq": "0"})
		g.Control.Close()
		g.start(t)
		g.do(t, noProm, true)
		g.Control.Close()
		g.Guest.Close()
		b.Close()
		g.l.alive()
	})
}

// running is how many rx queues forward frames.
func (d *Device) running() (n int) {
	rx, _ := d.Queues()
	for _, q := range rx {
		if !q.(*rxQueue).discard {
			n++
		}
	}
	return n
}

// The switch asks the guest to announce itself by the configuration space, once the front end can hear.
func TestAnnounce(t *testing.T) {
	g, b := controlLab(t, false)
	d := g.l.ports[0].dev.(*Device)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	status := func() uint16 {
		p, err := g.Get(vhostuser.GetConfig, vhostuser.ConfigSpace{Data: make([]byte, 8)}.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		return binary.LittleEndian.Uint16(p[12+6:])
	}
	// Nobody listens and no address is known: it cannot be done.
	if err := (&Device{}).Announce(); err == nil {
		t.Error("announced without a guest")
	}
	if err := d.Announce(); err != nil { // the configuration space's own address is known
		t.Errorf("by RARP: %v", err)
	}
	if n := len(g.l.ports[0].injected); n != 1 {
		t.Errorf("%d frames injected, want one RARP", n)
	}
	if err := g.Set(vhostuser.SetBackendReqFD, nil, pair[1]); err != nil {
		t.Fatal(err)
	}
	unix.Close(pair[1])
	if err := d.Announce(); err != nil {
		t.Error(err)
	}
	var m [64]byte
	n, err := unix.Read(pair[0], m[:])
	if err != nil || n != vhostuser.HeaderSize || m[0] != byte(vhostuser.ConfigChange) || m[4] != byte(vhostuser.Version) {
		t.Errorf("on the back end's channel: %x, %v", m[:max(n, 0)], err)
	}
	if s := status(); s != linkUp|announce {
		t.Errorf("status %d, want link up and announce", s)
	}
	g.do(t, "\x03\x00", true)
	if s := status(); s != linkUp {
		t.Errorf("status %d after the announcement", s)
	}
	// A front end that has closed its end, or does not read, holds nobody up.
	for range 10000 {
		if err := d.Announce(); err != nil {
			t.Fatal(err)
		}
	}
	unix.Shutdown(pair[0], unix.SHUT_RDWR)
	if err := d.Announce(); err != nil {
		t.Error(err)
	}
	g.Guest.Close()
	b.Close()
	eventually(t, "the guest is gone", func() bool { return d.Announce() != nil })
}

// A guest whose control queue is nonsense hurts itself alone.
func TestHostileControl(t *testing.T) {
	bothRings(t, func(t *testing.T, packed bool) {
		g, b := controlLab(t, packed)
		write := elem{Addr: g.Buf, Len: 1, Write: true}
		read := elem{Addr: g.Buf, Len: 3}
		for _, c := range []struct {
			name  string
			chain []elem
			want  uint32 // bytes written
		}{
			{"no room for an answer", []elem{read}, 0},
			{"no command", []elem{write}, 1},
			{"an answer before the command", []elem{write, read}, 0},
			{"outside", []elem{{Addr: 1 << 60, Len: 8}, write}, 0},
			{"answer outside", []elem{read, {Addr: 1 << 60, Len: 8, Write: true}}, 0},
			{"nothing", []elem{{Addr: g.Buf, Len: 0}}, 0},
			{"the whole memory", []elem{{Addr: g.Config.Base, Len: uint32(g.RAM.Regions[0].Size)}, write}, 1},
		} {
			if n, err := g.Post(c.chain); err != nil || n != c.want {
				t.Errorf("%s: %d bytes written, %v; want %d", c.name, n, err, c.want)
			}
		}
		g.do(t, noProm, true)
		// Noise: commands at random, and kicks without any.
		rng := rand.New(rand.NewPCG(1, 2))
		for range many(300, 5000) {
			cmd := make([]byte, 1+rng.IntN(20))
			for i := range cmd {
				cmd[i] = byte(rng.IntN(7))
			}
			if _, err := g.Do(cmd, rng.IntN(4), rng.IntN(4)); err != nil {
				t.Fatalf("%x: %v", cmd, err)
			}
			frontend.Signal(g.Control.Kick)
		}
		g.do(t, pairs1, true)
		g.do(t, promisc, true)
		g.arrive(t, b, [][]byte{to(ownMAC, 1)}, 0)
		// Its memory vanishes under the control goroutine: the port stops, and no other.
		if err := unix.Ftruncate(g.RAM.FDs()[0], 0); err != nil {
			t.Fatal(err)
		}
		frontend.Signal(g.Control.Kick)
		eventually(t, "the port has stopped", func() bool { return g.l.ports[0].dev.Info().Fault != "" })
		g.Control.Close()
		g.Guest.Close()
		b.Close()
		g.l.alive()
	})
}

// A control queue without descriptors is looked at now and then; one that is taken away and given
// back goes on where it stood; and a port can be deleted under it.
func TestControlLife(t *testing.T) {
	g, b := controlLab(t, false)
	g.do(t, noProm, true)
	base, err := g.Base(4)
	if err != nil || base != 1 {
		t.Fatalf("base %d, %v", base, err)
	}
	if err := g.StartRing(4, g.Control.Ring, -1, -1, base); err != nil {
		t.Fatal(err)
	}
	frames := [][]byte{to("\x33\x33\x00\x00\x00\x02", 4), to("\xff\xff\xff\xff\xff\xff", 5)}
	g.arrive(t, b, frames, 1) // as it was set before
	g.do(t, promisc, true)
	g.arrive(t, b, frames, 0, 1)
	// With other memory, which parks all rings, and with a kick again.
	if err := g.RAM.Table(g.Conn); err != nil {
		t.Fatal(err)
	}
	if err := g.Guest.Kick(4, g.Control.Kick); err != nil {
		t.Fatal(err)
	}
	g.do(t, pairs2, true)
	if n := g.l.ports[0].dev.(*Device).running(); n != 2 {
		t.Errorf("%d rx queues run", n)
	}
	// Features while it runs.
	if err := g.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, g.Features&^virtio.NetFCtrlVQ)); !errors.Is(err, frontend.ErrRefused) {
		t.Errorf("another device while rings run: %v", err)
	}
	g.Patience = 200 * time.Millisecond
	done := make(chan struct{})
	go func() {
		defer close(done)
		for err := error(nil); err == nil; {
			_, err = g.Do([]byte(noProm), 2)
		}
	}()
	time.Sleep(5 * time.Millisecond)
	g.l.remove(t, g.l.ports[0])
	<-done
}

// A guest that has a control queue and has said nothing by it costs a burst one load; a filter allocates nothing.
func TestFilterAllocatesNothing(t *testing.T) {
	g, _ := controlLab(t, false)
	_, tx := g.l.ports[0].dev.Queues()
	q, ok := tx[0].(*filteredTx)
	if !ok {
		t.Fatalf("transmit queue is a %T", tx[0])
	}
	f := virtio.RxFilter{ByAddr: true, Own: 1}
	q.want.Store(&f)
	var b packet.Burst
	b.Start(1)
	b.Pkts[0].Reset()
	b.Pkts[0].SetHead(copy(b.Pkts[0].Room(), frame(1, 100)))
	list := []uint16{0}
	st := &g.l.ports[0].tx
	before := st.Drops[packet.TxFiltered].Load()
	if n := testing.AllocsPerRun(100, func() { q.Send(&b, list, st) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := st.Drops[packet.TxFiltered].Load() - before; n != 101 {
		t.Errorf("%d frames filtered, want 101", n)
	}
}
