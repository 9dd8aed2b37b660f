package mem

import "testing"

func TestMapGap(t *testing.T) {
	m, err := NewMap([]Region{{0x1000, 0x1000, 1 << 20}, {0x2000, 0x1000, 9 << 20}, {^uint64(0) - 0xfff, 0x1000, 5 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ addr, n, want uint64 }{
		{0x1000, 0x2000, 0x3000},
		{0x1800, 0x1801, 0x3000},
		{0xfff, 2, 0xfff},
		{0x2fff, 1, 0x3000},
		{0x3000, 1, 0x3000},
		{0x3000, 0, 0x3000},
		{^uint64(0), 1, 0},
		{^uint64(0), 2, 0},
	} {
		if got := m.Gap(c.addr, c.n); got != c.want {
			t.Errorf("Gap(%#x, %#x) = %#x, want %#x", c.addr, c.n, got, c.want)
		}
	}
}

// A map of many regions finds what one of few does.
func TestMapManyRegions(t *testing.T) {
	var regions []Region
	for i := range uint64(1000) {
		regions = append(regions, Region{i * 0x3000, 0x2000, uintptr(i<<20 + 1<<32)})
	}
	m, err := NewMap(regions)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(1001 * 3) {
		for _, addr := range []uint64{i * 0x1000, i*0x1000 + 0xfff} {
			want := Region{}
			if k := i / 3; k < 1000 && i%3 != 2 {
				want = regions[k]
			}
			if got := m.Find(addr); got != want {
				t.Fatalf("Find(%#x) = %+v, want %+v", addr, got, want)
			}
		}
	}
}
