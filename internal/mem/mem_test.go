package mem

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

func TestAtomic16(t *testing.T) {
	b := make([]byte, 16)
	base := AddrOf(b)
	for off := uintptr(0); off < 16; off += 2 {
		for i := range b {
			b[i] = 0xee
		}
		Store16Release(base+off, 0x1234)
		if got := Load16Acquire(base + off); got != 0x1234 {
			t.Errorf("offset %d: got %#x", off, got)
		}
		for i := range b {
			if uintptr(i)&^1 != off && b[i] != 0xee {
				t.Errorf("offset %d: neighbour byte %d changed to %#x", off, i, b[i])
			}
		}
	}
}

func TestStore32Release(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	Store32Release(AddrOf(b)+4, 0x44332211)
	if want := []byte{1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 9, 10, 11, 12}; !bytes.Equal(b, want) {
		t.Errorf("%x, want %x", b, want)
	}
}

// A message passed by an index: what was stored before the release is seen
// after the acquire. Under -race the detector checks it as well.
func TestReleaseAcquireOrder(t *testing.T) {
	b := make([]byte, 8)
	idx := AddrOf(b)
	data := make([]int, 1000)
	go func() {
		for i := range data {
			data[i] = i + 1
			Store16Release(idx, uint16(i+1))
		}
	}()
	for seen := 0; seen < len(data); {
		n := int(Load16Acquire(idx))
		for ; seen < n; seen++ {
			if data[seen] != seen+1 {
				t.Fatalf("entry %d not there when its index was", seen)
			}
		}
	}
}

func TestMap(t *testing.T) {
	m, err := NewMap([]Region{{0x100000, 0x1000, 0x7000000}, {0, 0x1000, 0x6000000}, {^uint64(0) - 0xfff, 0x1000, 0x8000000}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		addr, n uint64
		host    uintptr
		ok      bool
	}{
		{0, 1, 0x6000000, true},
		{0, 0x1000, 0x6000000, true},
		{0, 0x1001, 0, false},
		{0xfff, 1, 0x6000fff, true},
		{0xfff, 2, 0, false},
		{0x1000, 0, 0, false},
		{0x100800, 0x800, 0x7000800, true},
		{0x100800, 0x801, 0, false},
		{0x100800, ^uint64(0), 0, false},
		{^uint64(0), 1, 0x8000fff, true},
		{^uint64(0), 2, 0, false},
		{^uint64(0) - 0xf, 0x20, 0, false},
	} {
		if host, ok := m.Translate(c.addr, c.n); host != c.host || ok != c.ok {
			t.Errorf("Translate(%#x, %#x) = %#x, %v; want %#x, %v", c.addr, c.n, host, ok, c.host, c.ok)
		}
	}
	if !m.Owns(0x7000fff) || m.Owns(0x7001000) {
		t.Error("Owns is wrong at the end of a region")
	}
}

func TestMapRefuses(t *testing.T) {
	if _, err := NewMap([]Region{{0, 0x1000, 1}, {0xfff, 1, 2}}); !errors.Is(err, ErrOverlap) {
		t.Errorf("overlap: %v", err)
	}
	for _, r := range []Region{{5, 0, 1}, {^uint64(0), 2, 1}} {
		if _, err := NewMap([]Region{r}); err == nil {
			t.Errorf("%+v accepted", r)
		}
	}
}

func TestCopies(t *testing.T) {
	src, dst := make([]byte, 300), make([]byte, 300)
	for i := range src {
		src[i] = byte(rand.Uint32())
	}
	a, b := rand.IntN(150), 150+rand.IntN(150)
	CopyOut(AddrOf(dst), src[:a])
	Move(AddrOf(dst)+uintptr(a), AddrOf(src)+uintptr(a), b-a)
	CopyIn(dst[b:], AddrOf(src)+uintptr(b))
	if string(src) != string(dst) {
		t.Error("copies differ")
	}
	if n := testing.AllocsPerRun(100, func() { CopyOut(AddrOf(dst), src); Move(AddrOf(dst), AddrOf(src), b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
