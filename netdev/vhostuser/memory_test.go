package vhostuser

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
)

// B15: other memory under a running ring, many times, under traffic.
func TestNewMemory(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], frontend.Config{})
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { // traffic toward the guest whose memory changes
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				b.Queues[0].Send(frame(i, 1000))
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	for i := range many(60, 1000) {
		// The guest moves: new memfds, new addresses, old ones gone.
		old := a.RAM
		sizes := make([]int, len(old.Mem))
		for k, r := range old.Mem {
			sizes[k] = len(r.B)
		}
		ram, err := frontend.NewRAM(uint64(i%2)<<32, sizes...)
		if err != nil {
			t.Fatal(err)
		}
		for k, r := range old.Mem {
			copy(ram.Mem[k].B, r.B)
		}
		if err := ram.Table(a.Conn); err != nil {
			t.Fatal(err)
		}
		a.RAM = ram
		for k := range old.Mem { // whatever still uses it will fault
			if err := unix.Ftruncate(old.Regions[k].FD.Num, 0); err != nil {
				t.Fatal(err)
			}
		}
		from := old.Regions[0].Guest
		old.Close()
		q := a.Queues[0]
		q.Move(ram.Mem, uint64(i%2)<<32-from)
		if err := a.Addr(0, q.RX); err != nil {
			t.Fatal(err)
		}
		if err := a.Addr(1, q.TX); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
	if f := l.ports[0].dev.Info().Fault; f != "" {
		t.Errorf("fault: %s", f)
	}
	a.Close()
	b.Close()
	l.alive()
}

// B15, B23: regions come and go one by one; without that of the ring, the ring
// stops and nothing else happens.
func TestAddAndRemoveRegions(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{Regions: 12})
	b := attach(t, l.paths[1], frontend.Config{})
	pass(t, a, b)
	extra, err := frontend.NewRAM(1<<40, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	l.before.fds++
	l.before.mappings++
	remove := func(r vhostuser.Region) error {
		return a.Set(vhostuser.RemMemReg, vhostuser.AppendMemReg(nil, r), r.FD.Num)
	}
	for i := range many(50, 1000) {
		if err := extra.Add(a.Conn); err != nil {
			t.Fatal(err)
		}
		numbered(t, a.Queues[0], b.Queues[0], i, 1)
		if err := remove(extra.Regions[0]); err != nil {
			t.Fatal(err)
		}
		numbered(t, b.Queues[0], a.Queues[0], i, 1)
	}
	if err := remove(a.RAM.Regions[0]); err != nil {
		t.Fatal(err)
	}
	if l.ports[0].dev.Info().Link {
		t.Error("link is up without the ring's memory")
	}
	b.Queues[0].Send(frame(1, 100))
	// A table of more than 8 is refused with the limit.
	err = a.RAM.Table(a.Conn)
	if err == nil {
		t.Error("12 regions in one table")
	}
	a.Close()
	b.Close()
	l.alive()
}

// B23: the text names the limit.
func TestTooManyRegions(t *testing.T) {
	l := newLab(t, nil)
	c := l.dial()
	ram, err := frontend.NewRAM(0, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer ram.Close()
	l.before.fds++
	l.before.mappings++
	if err := c.SetProtocol(vhostuser.ProtoConfigureMemSlots | vhostuser.ProtoReplyAck); err != nil {
		t.Fatal(err)
	}
	slots, err := c.GetU64(vhostuser.GetMaxMemSlots)
	if err != nil || slots != vhostuser.MaxMemSlots {
		t.Fatalf("%d slots, %v", slots, err)
	}
	r := ram.Regions[0]
	for i := range slots {
		r.Guest, r.User = i<<20, i<<20
		if err := c.Set(vhostuser.AddMemReg, vhostuser.AppendMemReg(nil, r), r.FD.Num); err != nil {
			t.Fatalf("region %d: %v", i, err)
		}
	}
	r.Guest, r.User = slots<<20, slots<<20
	if err := c.Set(vhostuser.AddMemReg, vhostuser.AppendMemReg(nil, r), r.FD.Num); !errors.Is(err, frontend.ErrRefused) {
		t.Errorf("one too many: %v", err)
	}
	if err := c.Set(vhostuser.SetMemTable, []byte{9, 0, 0, 0, 0, 0, 0, 0}); err == nil || strings.Contains(err.Error(), "refused") {
		t.Errorf("table of 9: %v", err)
	}
	c.Close()
	l.alive()
}
