package vhostuser

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
)

// A descriptor's O_NONBLOCK is the guest's, too. One that takes it away holds the poll
// thread up for a moment at most, and loses its port.
func TestBlockingDescriptors(t *testing.T) {
	for _, which := range []string{"kick", "call"} {
		t.Run(which, func(t *testing.T) {
			l := newLab(t, nil)
			a := attach(t, l.paths[0], frontend.Config{})
			b := attach(t, l.paths[1], frontend.Config{})
			_, _, kick, call := a.Queues[0].FDs()
			full := binary.NativeEndian.AppendUint64(nil, 1<<64-2)
			fd := kick
			if which == "call" {
				fd = call
			}
			// The n-th time it is too much.
			block := func() {
				if err := unix.SetNonblock(fd, false); err != nil {
					t.Fatal(err)
				}
				if which == "call" {
					p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
					if n, _ := unix.Poll(p, 0); n == 1 {
						_, _ = unix.Write(fd, full)
					}
				}
				a.Queues[0].Send(frame(1, 100))
			}
			block()
			time.Sleep(20 * time.Millisecond) // the thread sleeps and wakes
			a.Queues[0].Send(frame(2, 100))
			numbered(t, l.in[0].Queues[0], l.in[1].Queues[0], 1000, 1)
			if f := l.ports[0].dev.Info().Fault; f != "" {
				t.Errorf("stopped at the first time: %s", f)
			}
			eventually(t, "the port has a fault", func() bool {
				block()
				return strings.Contains(l.ports[0].dev.Info().Fault, "O_NONBLOCK")
			})
			numbered(t, l.in[0].Queues[0], l.in[1].Queues[0], 2000, 1)
			a.Close()
			b.Close()
			l.alive()
		})
	}
}

// The Go runtime stops all goroutines now and then. It must not wait then for a thread that waits in
// a descriptor: the goroutine that would let that thread go is among them.
func TestBlockedThreadStopsNobody(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	_, _, _, call := a.Queues[0].FDs()
	for range 3 {
		var old [8]byte
		_, _ = unix.Read(call, old[:])
		if _, err := unix.Write(call, binary.NativeEndian.AppendUint64(nil, 1<<64-2)); err != nil {
			t.Fatal(err)
		}
		if err := unix.SetNonblock(call, false); err != nil {
			t.Fatal(err)
		}
		a.Queues[0].Send(frame(1, 100))
		time.Sleep(20 * time.Millisecond)
		runtime.GC()
		numbered(t, l.in[0].Queues[0], l.in[1].Queues[0], 1000, 1)
		if err := unix.SetNonblock(call, true); err != nil {
			t.Fatal(err)
		}
		a.Queues[0].Reclaim()
	}
	a.Close()
}

// A call that is due when a ring begins, for what a switch before had given back, holds up nobody either.
func TestBlockingFromTheBeginning(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	q := a.Queues[0]
	_, _, _, call := q.FDs()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		full := binary.NativeEndian.AppendUint64(nil, 1<<64-2)
		for {
			select {
			case <-stop:
				return
			default:
				if unix.SetNonblock(call, true) == nil {
					_, _ = unix.Write(call, full)
				}
				_ = unix.SetNonblock(call, false)
			}
		}
	}()
	defer func() { close(stop); <-done }()
	const part = 16 + 16*256 + 48
	for range 100 {
		fd, err := unix.MemfdCreate("table", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		table := make([]byte, 2*part)
		table[versionField], table[part+versionField] = inflightVersion, inflightVersion
		if _, err := unix.Write(fd, table); err != nil {
			t.Fatal(err)
		}
		err = a.Set(vhostuser.SetInflightFD, vhostuser.InflightArea{Size: 2 * part, Queues: 2, QueueSize: 256}.Append(nil), fd)
		_ = unix.Close(fd)
		if err != nil {
			break // the port was stopped for it
		}
	}
	l.remove(t, l.ports[0])
	pass(t, l.in[0], l.in[1])
}
