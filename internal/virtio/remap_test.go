package virtio_test

import (
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// A ring says what it missed, and finds it in another map.
func TestRemap(t *testing.T) {
	const (
		size    = 8
		ringAt  = 0x1000 // then pages with a table and with the two halves of the buffer
		tableAt = 0x3000
		dataAt  = 0x4000
	)
	for _, w := range []bool{false, true} {
		m := virtiotest.One(ringAt, make([]byte, 0x8000))
		host := func(a uint64) uintptr { return mem.AddrOf(m.At(a, 1)) }
		pages := func(list ...uint64) *mem.Map {
			var regions []mem.Region
			for _, p := range list {
				regions = append(regions, mem.Region{Guest: p, Size: 0x1000, Host: host(p)})
			}
			all, err := mem.NewMap(regions)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		r := virtiotest.NewRing(m, ringAt, size, false)
		dev, err := virtio.New(virtio.Config{
			Size: size, Desc: host(r.Desc), Avail: host(r.Avail), Used: host(r.Used), Features: virtio.FIndirectDesc,
			Mem: pages(), DeviceWrites: w,
		})
		if err != nil {
			t.Fatal(err)
		}
		flags := uint16(0)
		if w {
			flags = virtiotest.Write
		}
		virtiotest.PutDesc(m.At(tableAt, 16), dataAt+0xf00, 0x200, flags, 0)
		r.RawDesc(0, tableAt, 16, virtiotest.Indirect, 0)
		r.Post(0)
		r.Publish()
		held := dev.Held()
		for _, step := range []struct {
			buffers, tables *mem.Map
			want            virtio.Fault
			missed          uint64
		}{
			{pages(dataAt, dataAt+0x1000), pages(), virtio.BadTable, tableAt},
			{pages(), pages(tableAt), virtio.BadAddress, dataAt + 0xf00},
			{pages(dataAt), pages(tableAt), virtio.BadAddress, dataAt + 0x1000},
			{pages(dataAt, dataAt+0x1000), pages(tableAt), virtio.OK, 0},
		} {
			dev.Use(0)
			dev.Remap(step.buffers, step.tables)
			if n := dev.Gather(1); n != 1 {
				t.Fatalf("%d chains", n)
			}
			if c := &held.Chains[0]; c.Fault != step.want || step.want != virtio.OK && held.Missed[0] != step.missed {
				t.Errorf("fault %d, missed %#x; want %d, %#x", c.Fault, held.Missed[0], step.want, step.missed)
			}
		}
		dev.Use(1)
		if id, _ := r.UsedEntry(0); r.UsedIdx() != 1 || id != 0 {
			t.Errorf("used index %d, chain %d", r.UsedIdx(), id)
		}
	}
}

// A buffer in more pieces than a ring keeps is no buffer. It is not one whose address is missing: with an IOMMU the
// ring would wait for that.
func TestTooManyPieces(t *testing.T) {
	const at, data, pieces = 0x1000, 0x100000, 700
	m := virtiotest.One(at, make([]byte, 0x8000))
	host := func(a uint64) uintptr { return mem.AddrOf(m.At(a, 1)) }
	var regions []mem.Region
	for i := range uint64(pieces) { // backwards, so that no two are one
		regions = append(regions, mem.Region{Guest: data + 16*i, Size: 16, Host: host(at + 0x7000 - 16*i)})
	}
	all, err := mem.NewMap(regions)
	if err != nil {
		t.Fatal(err)
	}
	for _, features := range kinds {
		r := virtiotest.New(m, at, 1, features)
		dev, err := virtio.New(virtio.Config{
			Size: 1, Desc: host(r.Desc), Avail: host(r.Avail), Used: host(r.Used), Features: features, Mem: all, Base: r.Base(r.Start()),
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Add(virtiotest.Elem{Addr: data, Len: 16 * pieces})
		r.Publish()
		if n := dev.Gather(1); n != 1 || dev.Held().Chains[0].Fault != virtio.BadChain {
			t.Errorf("features %#x: %d chains, fault %d", features, n, dev.Held().Chains[0].Fault)
		}
	}
}
