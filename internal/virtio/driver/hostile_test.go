package driver

import (
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// What a device may not do breaks the ring under its name, and a broken ring gives nothing any more.
func TestRxFaults(t *testing.T) {
	const size = 8
	split := func(index uint16, entries ...uint64) func(*lab) {
		return func(l *lab) {
			for i, e := range entries {
				mem.Store64(l.config.Used+4+8*uintptr(i), e)
			}
			mem.Store16Release(l.config.Used+2, index)
		}
	}
	packed := func(id, n uint32) func(*lab) {
		return func(l *lab) {
			mem.Store32(l.config.Desc+8, n)
			mem.Store32Release(l.config.Desc+12, id|(descAvail|descUsed)<<16)
		}
	}
	for name, c := range map[string]struct {
		kind kind
		do   func(*lab)
		want Fault
	}{
		"index":          {kind{}, split(size + 1), BadIndex},
		"index back":     {kind{}, split(0xffff), BadIndex},
		"id":             {kind{}, split(1, size), BadID},
		"id far":         {kind{}, split(1, 0xffff_fffe), BadID},
		"id twice":       {kind{}, split(2, 3, 3), BadID},
		"length":         {kind{}, split(1, 3|(testRoom+1)<<32), BadLength},
		"good":           {kind{}, split(2, 3|testRoom<<32, 2), OK},
		"order":          {kind{order: true}, split(1, 1), BadOrder},
		"order, index":   {kind{order: true}, split(size + 1), BadIndex},
		"order, length":  {kind{order: true}, split(1, 0|(testRoom+1)<<32), BadLength},
		"packed, id":     {kind{packed: true}, packed(size, 20), BadID},
		"packed, length": {kind{packed: true}, packed(0, testRoom+1), BadLength},
		"packed, order":  {kind{packed: true, order: true}, packed(1, 20), BadOrder},
		"packed, good":   {kind{packed: true}, packed(5, 20), OK},
	} {
		t.Run(name, func(t *testing.T) {
			base := uint32(0)
			if c.kind.packed {
				base = PackedBase
			}
			l := newLab(t, c.kind, size, base)
			rx := l.rx(t)
			c.do(l)
			n := rx.Collect(size)
			if rx.Broken() != c.want {
				t.Fatalf("%v, want %v", rx.Broken(), c.want)
			}
			if c.want == OK {
				return
			}
			rx.Post(n)
			c.do(l)
			if n := rx.Collect(size); n != 0 {
				t.Errorf("%d buffers of a broken ring", n)
			}
		})
	}
}

func TestTxFaults(t *testing.T) {
	const size = 8
	for name, c := range map[string]struct {
		kind kind
		do   func(*lab)
		want Fault
	}{
		"index":        {kind{}, func(l *lab) { mem.Store16Release(l.config.Used+2, 2) }, BadIndex},
		"order, index": {kind{order: true}, func(l *lab) { mem.Store16Release(l.config.Used+2, 2) }, BadIndex},
		"id": {kind{}, func(l *lab) {
			mem.Store64(l.config.Used+4, 5)
			mem.Store16Release(l.config.Used+2, 1)
		}, BadID},
		"packed, id":        {kind{packed: true}, func(l *lab) { mem.Store32Release(l.config.Desc+12, 5|(descAvail|descUsed)<<16) }, BadID},
		"packed, id far":    {kind{packed: true}, func(l *lab) { mem.Store32Release(l.config.Desc+12, 0xfff0|(descAvail|descUsed)<<16) }, BadID},
		"packed, order, id": {kind{packed: true, order: true}, func(l *lab) { mem.Store32Release(l.config.Desc+12, 5|(descAvail|descUsed)<<16) }, BadID},
	} {
		t.Run(name, func(t *testing.T) {
			base := uint32(0)
			if c.kind.packed {
				base = PackedBase
			}
			l := newLab(t, c.kind, size, base)
			tx := l.tx(t)
			if !send(tx, l, testFrame(1, 20), rand.New(rand.NewPCG(1, 1))) {
				t.Fatal("no room")
			}
			tx.Publish()
			c.do(l)
			tx.Reclaim()
			if tx.Broken() != c.want {
				t.Errorf("%v, want %v", tx.Broken(), c.want)
			}
			if n := tx.Reserve(1); n != 0 {
				t.Error("a broken ring takes frames")
			}
		})
	}
}

// A device may use many frames of a packed in-order ring by one descriptor, and all of a split one
// without writing entries.
func TestBatchedUse(t *testing.T) {
	for _, k := range []kind{{order: true}, {packed: true, order: true}} {
		r := rand.New(rand.NewPCG(1, 1))
		base := uint32(0)
		if k.packed {
			base = PackedBase
		}
		l := newLab(t, k, 8, base)
		tx := l.tx(t)
		sent := 0
		for round := range 20 {
			n, last, at := 0, uint16(0), sent%8
			for send(tx, l, testFrame(n, 1), r) {
				last = tx.Held().IDs[0]
				n++
				sent++
			}
			tx.Publish()
			if n != 8 {
				t.Fatalf("%v: round %d: %d frames", k, round, n)
			}
			if k.packed {
				flags := uint32(descAvail | descUsed)
				if round%2 == 1 {
					flags = 0
				}
				mem.Store32Release(l.config.Desc+16*uintptr(at)+12, uint32(last)|flags<<16)
			} else {
				mem.Store16Release(l.config.Used+2, uint16(sent))
			}
			if tx.Reclaim(); inFlight(tx) != 0 || tx.Broken() != OK {
				t.Fatalf("%v: round %d: %d in flight, %v", k, round, inFlight(tx), tx.Broken())
			}
		}
	}
}

// A device that writes anything anywhere: the driver never panics and never hands out a buffer twice.
func FuzzHostileDevice(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 2, 3, 255, 254, 7, 7})
	f.Add(uint8(1), []byte{9, 0x80, 9, 1, 13, 0x80, 30, 0x80})
	f.Add(uint8(7), []byte{12, 0, 14, 0x80, 15, 0x80, 28, 1})
	f.Fuzz(func(t *testing.T, what uint8, writes []byte) {
		const size = 8
		k := kind{packed: what&1 != 0, order: what&2 != 0, event: what&4 != 0, indirect: what&8 != 0}
		base := uint32(0)
		if k.packed {
			base = PackedBase
		}
		l, m := newLab(t, k, size, base), newLab(t, k, size, base)
		rx, tx := l.rx(t), m.tx(t)
		r := rand.New(rand.NewPCG(1, 1))
		for len(writes) >= 2 {
			for _, c := range []*Config{&l.config, &m.config} {
				desc, avail, used := virtio.Sizes(c.Features, size)
				at := int(writes[0])
				switch {
				case at < desc:
					mem.Bytes(c.Desc, desc)[at] = writes[1]
				case at < desc+used:
					mem.Bytes(c.Used, used)[at-desc] = writes[1]
				case at < desc+used+avail:
					mem.Bytes(c.Avail, avail)[at-desc-used] = writes[1]
				}
			}
			writes = writes[2:]
			n := rx.Collect(size)
			seen := map[uint16]bool{}
			for _, b := range rx.Held().Bufs[:n] {
				if b.ID >= size || seen[b.ID] || b.Len > testRoom {
					t.Fatalf("buffers %v", rx.Held().Bufs[:n])
				}
				seen[b.ID] = true
			}
			rx.Post(n / 2)
			rx.NeedKick()
			rx.Arm()
			rx.Disarm()
			send(tx, m, testFrame(1, 400), r)
			tx.Publish()
			tx.NeedKick()
			tx.Reclaim()
			if n := inFlight(tx); n < 0 || n > size {
				t.Fatalf("%d buffers in flight", n)
			}
		}
	})
}
