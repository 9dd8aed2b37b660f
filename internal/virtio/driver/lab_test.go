package driver

import (
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

const (
	testGuest  = 0x40000000
	testHeader = 12
	testRoom   = 300 // bytes of a buffer
	testTable  = 320
	testStride = testTable + 16*(MaxPieces+1) + 16
)

// kind is one combination of what a ring can be.
type kind struct {
	packed, order, event, indirect bool
}

func (k kind) features() uint64 {
	f := virtio.FVersion1 | virtio.FIndirectDesc
	if k.packed {
		f |= virtio.FRingPacked
	}
	if k.order {
		f |= virtio.FInOrder
	}
	if k.event {
		f |= virtio.FEventIdx
	}
	return f
}

func (k kind) String() string {
	s := "split"
	if k.packed {
		s = "packed"
	}
	for word, on := range map[string]bool{" order": k.order, " event": k.event, " indirect": k.indirect} {
		if on {
			s += word
		}
	}
	return s
}

// kinds is every combination.
func kinds() (all []kind) {
	for i := range 16 {
		all = append(all, kind{i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0})
	}
	return all
}

// base is a random place to start at.
func (k kind) base(r *rand.Rand, size int) uint32 {
	if !k.packed {
		return uint32(r.IntN(1 << 16))
	}
	at := uint32(r.IntN(size) | r.IntN(2)<<15)
	return at | at<<16
}

// lab is the memory of one ring, the device on the Go heap.
type lab struct {
	config Config
	device virtio.Ring
	memory []byte
}

// newLab lays out a ring. The device is made when the driver is.
func newLab(t testing.TB, k kind, size int, base uint32) *lab {
	t.Helper()
	desc, avail, used := virtio.Sizes(k.features(), size)
	up := func(n int) int { return (n + 63) &^ 63 }
	rings := up(desc) + up(avail) + up(used)
	l := &lab{memory: make([]byte, rings+size*testStride+64)}
	at := (mem.AddrOf(l.memory) + 63) &^ 63
	l.config = Config{
		Size: size, Features: k.features(), Base: base,
		Desc: at, Avail: at + uintptr(up(desc)), Used: at + uintptr(up(desc)+up(avail)),
		Buffers: at + uintptr(rings), Guest: testGuest, Stride: testStride,
		Len: testRoom, Header: testHeader,
	}
	if k.indirect {
		l.config.Table = testTable
	}
	return l
}

func (l *lab) attach(t testing.TB, deviceWrites bool) {
	t.Helper()
	c := &l.config
	m, err := mem.NewMap([]mem.Region{{Guest: c.Guest, Size: uint64(c.Size) * uint64(c.Stride), Host: c.Buffers}})
	if err != nil {
		t.Fatal(err)
	}
	l.device, err = virtio.New(virtio.Config{
		Size: c.Size, Desc: c.Desc, Avail: c.Avail, Used: c.Used, Features: c.Features, Mem: m, Base: c.Base, DeviceWrites: deviceWrites,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (l *lab) rx(t testing.TB) Rx {
	t.Helper()
	d, err := NewRx(l.config)
	if err != nil {
		t.Fatal(err)
	}
	l.attach(t, true)
	return d
}

func (l *lab) tx(t testing.TB) Tx {
	t.Helper()
	d, err := NewTx(l.config)
	if err != nil {
		t.Fatal(err)
	}
	l.attach(t, false)
	return d
}

func (l *lab) host(id uint16, off uint32) uintptr {
	return l.config.Buffers + uintptr(id)*uintptr(l.config.Stride) + uintptr(off)
}

// seeds is how many random runs each kind of ring gets.
const seeds = 6

// inFlight is how many buffers the device has, as far as the ring knows.
func inFlight(tx Tx) int {
	var b *buffers
	switch t := tx.(type) {
	case *txSplit:
		b = &t.buffers
	case *txOrdered:
		b = &t.buffers
	case *txPacked:
		b = &t.buffers
	}
	return len(b.free) - int(b.last-b.first)
}
