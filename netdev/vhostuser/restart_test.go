package vhostuser

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// numbered sends n frames with numbers from first on and checks that they arrive
// once each and in order.
func numbered(t *testing.T, from, to *frontend.Queue, first, n int) {
	t.Helper()
	for i := first; i < first+n; i++ {
		if !from.Send(frame(i, 100)) {
			t.Fatal("transmit ring is full")
		}
		sameFrame(t, to, frame(i, 100))
	}
}

// B10: a stopped ring stands where it says, goes on from there, and a guest that reboots
// starts at 0.
func TestStopAndResume(t *testing.T) {
	splitAndPacked(t, func(t *testing.T, packed bool) {
		l := newLab(t, nil)
		a := attach(t, l.paths[0], frontend.Config{Packed: packed})
		b := attach(t, l.paths[1], frontend.Config{})
		qa, qb := a.Queues[0], b.Queues[0]
		numbered(t, qa, qb, 0, 300)
		numbered(t, qb, qa, 1000, 300)
		kickRX, callRX, kickTX, callTX := qa.FDs()
		var base [2]uint32
		for vring, ring := range []*ring2{qa.RX, qa.TX} {
			for range 2 {
				n, err := a.Base(vring)
				qa.Reclaim()
				if err != nil || n != ring.Standing() || !packed && vring == 1 && n != 300 {
					t.Fatalf("vring %d: base %#x, want %#x, %v", vring, n, ring.Standing(), err)
				}
				base[vring] = n
			}
		}
		// Nothing moves while stopped, and ENABLE starts nothing.
		if err := a.Vring(vhostuser.SetVringEnable, 1, 1); err != nil {
			t.Fatal(err)
		}
		qa.Send(frame(300, 100))
		time.Sleep(20 * time.Millisecond)
		if qa.TX.Pending() != 0 {
			t.Fatal("the device used what it found in a stopped ring")
		}
		if err := a.StartRing(0, qa.RX, kickRX, callRX, base[0]); err != nil {
			t.Fatal(err)
		}
		if err := a.StartRing(1, qa.TX, kickTX, callTX, base[1]); err != nil {
			t.Fatal(err)
		}
		sameFrame(t, qb, frame(300, 100))
		numbered(t, qa, qb, 301, 300)
		numbered(t, qb, qa, 1300, 300)

		// Reboot: the rings are zeroed and set up again with nobody having stopped them.
		for i := range 3 {
			for vring, ring := range []*ring2{qa.RX, qa.TX} {
				if err := a.Vring(vhostuser.SetVringBase, vring, ring.Base(ring.Start())); err != nil {
					t.Fatal(err)
				}
			}
			qa.ResetRings(qa.TX.Start(), qa.RX.Start())
			qa.Fill()
			if err := a.Start(qa); err != nil {
				t.Fatal(err)
			}
			numbered(t, qa, qb, 2000+1000*i, 270)
			numbered(t, qb, qa, 2500+1000*i, 270)
		}
		a.Close()
		b.Close()
		l.alive()
	})
}

// B10 (4): stop and resume under traffic. No frame is lost on the way from this guest,
// none comes twice or out of order.
func TestStopUnderTraffic(t *testing.T) {
	splitAndPacked(t, func(t *testing.T, packed bool) {
		l := newLab(t, nil)
		a := attach(t, l.paths[0], frontend.Config{Packed: packed})
		b := attach(t, l.paths[1], frontend.Config{})
		qa, qb := a.Queues[0], b.Queues[0]
		var stop atomic.Bool
		sent := make(chan int)
		_, _, kick, call := qa.FDs()
		go func() {
			n := 0
			for !stop.Load() {
				if qa.InFlight() < 100 && qa.Send(frame(n, 100)) {
					n++
				}
				time.Sleep(50 * time.Microsecond)
			}
			sent <- n
		}()
		got := 0
		receive := func(timeout time.Duration) bool {
			f, err := qb.Recv(timeout)
			if err != nil {
				return false
			}
			if want := fmt.Sprintf("%08d", got); string(f.Data[14:22]) != want {
				t.Fatalf("frame %s arrived, want %s", f.Data[14:22], want)
			}
			got++
			return true
		}
		for range many(50, 2000) {
			for range 20 {
				receive(time.Second)
			}
			base, err := a.Base(1)
			if err != nil {
				t.Fatal(err)
			}
			if used := qa.TX.UsedIdx; !packed && uint32(used()) != base {
				t.Fatalf("base %d, used index %d", base, used())
			}
			if err := a.StartRing(1, qa.TX, kick, call, base); err != nil {
				t.Fatal(err)
			}
		}
		stop.Store(true)
		n := <-sent
		frontend.Signal(kick)
		for got < n && receive(limit(time.Second)) {
		}
		if got != n {
			t.Errorf("%d frames sent, %d arrived", n, got)
		}
		a.Close()
		b.Close()
		l.alive()
	})
}

// B11: messages that must not disturb a running ring.
func TestUndisturbed(t *testing.T) {
	splitAndPacked(t, func(t *testing.T, packed bool) {
		l := newLab(t, nil)
		a := attach(t, l.paths[0], frontend.Config{Packed: packed})
		b := attach(t, l.paths[1], frontend.Config{})
		qa, qb := a.Queues[0], b.Queues[0]
		pass(t, a, b)
		features := func(f uint64) error { return a.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, f)) }
		kick, err := frontend.EventFD()
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(kick)
		l.before.fds++
		n := 0
		check := func(what string) {
			t.Helper()
			numbered(t, qa, qb, n, 2)
			numbered(t, qb, qa, n, 2)
			n += 2
			if t.Failed() {
				t.Fatal(what)
			}
		}
		if err := features(a.Features); err != nil {
			t.Fatal(err)
		}
		check("the same features")
		for _, f := range []uint64{a.Features | vhostuser.FeatureLogAll, a.Features} {
			if err := features(f); err != nil {
				t.Fatal(err)
			}
			check("LOG_ALL switched")
		}
		if err := features(a.Features &^ virtio.FEventIdx); !errors.Is(err, frontend.ErrRefused) {
			t.Fatalf("another ring format on a live ring: %v", err)
		}
		check("refused features")
		if err := a.RAM.Table(a.Conn); err != nil {
			t.Fatal(err)
		}
		check("the same memory")
		for range 3 {
			if err := a.Addr(1, qa.TX); err != nil {
				t.Fatal(err)
			}
			if err := a.Vring(vhostuser.SetVringEnable, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		check("the same address")
		// Another kick descriptor: the old one is not listened to any more.
		if err := a.Kick(1, kick); err != nil {
			t.Fatal(err)
		}
		if !qa.Net.Send(hdr{}, frame(n, 100), shape{}) {
			t.Fatal("ring full")
		}
		frontend.Signal(kick)
		sameFrame(t, qb, frame(n, 100))
		// A descriptor for calls, again and again, as interrupts are masked.
		_, callRX, _, callTX := qa.FDs()
		for range 20 {
			if err := a.Call(0, callRX); err != nil {
				t.Fatal(err)
			}
			if err := a.Call(1, callTX); err != nil {
				t.Fatal(err)
			}
			numbered(t, qb, qa, n, 1)
		}
		a.Close()
		b.Close()
		l.alive()
	})
}

// B16: pairs come and go with the guest's driver, and the neighbours lose nothing.
func TestRebindStorm(t *testing.T) {
	l := newLab(t, map[string]string{"vhost-max-queue-pairs": "8"})
	a := attach(t, l.paths[0], frontend.Config{Pairs: 8, QueueSize: 64})
	var stop atomic.Bool
	done := make(chan error)
	go func() { // neighbours
		for i := 0; !stop.Load(); i++ {
			l.in[0].Queues[0].Send(frame(i, 100))
			f, err := l.in[1].Queues[0].Recv(limit(time.Second))
			if err != nil || binary.BigEndian.Uint64(f.Data[14:]) != binary.BigEndian.Uint64([]byte(fmt.Sprintf("%08d", i))) {
				done <- fmt.Errorf("frame %d of the neighbours: %w", i, errors.Join(err, errors.New("lost")))
				return
			}
		}
		done <- nil
	}()
	for i := range many(10, 1000) {
		for vring := range 16 {
			if _, err := a.Base(vring); err != nil {
				t.Fatal(err)
			}
		}
		f := a.Features
		if i%2 == 0 {
			f &^= virtio.NetFMQ
		}
		if err := a.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, f)); err != nil {
			t.Fatal(err)
		}
		for _, q := range a.Queues {
			q.ResetRings(0, 0)
			q.Fill()
			if err := a.Start(q); err != nil {
				t.Fatal(err)
			}
		}
		want := "8"
		if i%2 == 0 {
			want = "1"
		}
		if got := l.ports[0].dev.Info().Status["n_rxq"]; got != want {
			t.Fatalf("%s rx queues, want %s", got, want)
		}
	}
	// Without MQ on rings that run: refused.
	if err := a.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, a.Features&^virtio.NetFMQ)); !errors.Is(err, frontend.ErrRefused) {
		t.Errorf("features of running rings changed: %v", err)
	}
	stop.Store(true)
	if err := <-done; err != nil {
		t.Error(err)
	}
	a.Close()
	l.alive()
}
