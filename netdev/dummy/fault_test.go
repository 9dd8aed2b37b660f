package dummy_test

import (
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/packet"
)

// A frame whose lent tail is gone faults, and the poll thread recovers from that; the device must be of use afterwards.
func TestVanishedTail(t *testing.T) {
	d, p, _ := open(t)
	fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 4096); err != nil {
		t.Fatal(err)
	}
	lent, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(lent) }()
	if err := unix.Ftruncate(fd, 0); err != nil {
		t.Fatal(err)
	}
	b := new(packet.Burst)
	b.Pkts[0].SetBytes(netdevtest.Frame(64, 1))
	b.Pkts[0].AddSeg(mem.AddrOf(lent), 1000)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no fault: this tests nothing")
			}
		}()
		_, txs := d.Queues()
		txs[0].Send(b, []uint16{0}, p.TxSt)
	}()
	want := netdevtest.Frame(100, 2)
	p.Send(netdevtest.Offload{}, want)
	if got := d.Transmitted(); len(got) != 1 || string(got[0]) != string(want) {
		t.Errorf("%d frames after the fault, want the one sent then", len(got))
	}
}
