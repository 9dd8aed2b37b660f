package datapath_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/dummy"
)

// Ports of a real device type that come, work and go, again and again, leave
// nothing behind.
func TestPortsComeAndGo(t *testing.T) {
	d := datapath.New(datapath.Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	defer d.Close()
	round := func() {
		b, err := d.AddBridge("br0", datapath.BridgeConfig{})
		if err != nil {
			t.Fatal(err)
		}
		var devs []*dummy.Device
		for i := range 64 {
			name := fmt.Sprint("p", i)
			p, err := b.AddPort(name, datapath.PortConfig{Tag: -1, AdminUp: true})
			if err != nil {
				t.Fatal(err)
			}
			dev, err := dummy.Open(name, netdev.Options{}, d)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Attach(dev); err != nil {
				t.Fatal(err)
			}
			devs = append(devs, dev.(*dummy.Device))
		}
		for i, dev := range devs {
			f := make([]byte, 60)
			copy(f, []byte{255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, byte(i), 8, 0})
			dev.Receive(f)
		}
		end := time.Now().Add(60 * time.Second)
		for i, dev := range devs {
			for len(dev.Transmitted()) != 63 {
				if time.Now().After(end) {
					t.Fatalf("port %d got %d frames", i, len(dev.Transmitted()))
				}
				time.Sleep(50 * time.Microsecond)
			}
		}
		if n := len(b.MACTable()); n != 64 {
			t.Errorf("%d addresses", n)
		}
		if c, err := d.Conservation(); err != nil {
			t.Errorf("%v\n%+v", err, c)
		}
		for _, p := range b.Ports() {
			dev := p.Detach()
			p.Remove()
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
		}
		b.Remove()
	}
	round()
	fds, gos := openFiles(t), runtime.NumGoroutine()
	heap := liveHeap()
	// What grows with each round is a leak; less than that the run time may have for itself.
	const rounds = 10
	for range rounds {
		round()
	}
	if n := openFiles(t); n >= fds+rounds {
		t.Errorf("%d descriptors left", n-fds)
	}
	if n := runtime.NumGoroutine(); n >= gos+rounds {
		t.Errorf("%d goroutines left", n-gos)
	}
	// A thread that sleeps may hold what the last round left, too.
	left := liveHeap()
	for i := 0; i < rounds && left > heap+1<<20; i++ {
		round()
		left = min(left, liveHeap())
	}
	if left > heap+1<<20 {
		t.Errorf("%d bytes left", left-heap)
	}
}

func openFiles(t *testing.T) int {
	l, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(l)
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
