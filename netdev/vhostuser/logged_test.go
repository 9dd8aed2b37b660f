package vhostuser

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
	"github.com/gvswitch/gvswitch/netdev"
)

// log is a migrating front end's log of dirty pages.
type log struct {
	area  vhostuser.LogArea
	bytes []byte
}

func newLog(t *testing.T, size int) *log {
	t.Helper()
	fd, err := unix.MemfdCreate("log", unix.MFD_CLOEXEC)
	if err == nil {
		err = unix.Ftruncate(fd, int64(size))
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b); _ = unix.Close(fd) })
	return &log{vhostuser.LogArea{Size: uint64(size), FD: vhostuser.FD{Num: fd}}, b}
}

// take is what is marked, which is not any more.
func (l *log) take() map[uint64]bool {
	pages := map[uint64]bool{}
	for i := 0; i < len(l.bytes); i += 4 {
		word := binary.LittleEndian.Uint32(l.bytes[i:])
		if word == 0 {
			continue
		}
		mem.Store32(mem.AddrOf(l.bytes[i:]), 0) // nobody marks at the moment
		for bit := range 32 {
			if word>>bit&1 != 0 {
				pages[uint64(8*i+bit)] = true
			}
		}
	}
	return pages
}

// set hands the log over, as QEMU does at the start of a migration.
func (l *log) set(g *frontend.Guest) error {
	return g.Set(vhostuser.SetLogBase, l.area.Append(nil), l.area.FD.Num)
}

// logging switches marking on or off.
func logging(g *frontend.Guest, on bool) error {
	f := g.Features
	if on {
		f |= vhostuser.FeatureLogAll
	}
	err := g.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, f))
	for _, q := range g.Queues {
		rx, tx := q.Vrings()
		for i, r := range map[int]*virtiotest.Ring{rx: q.RX, tx: q.TX} {
			if err == nil {
				a := g.AddrOf(i, r)
				if on {
					a.Flags, a.Log = 1, r.Used
				}
				err = g.Set(vhostuser.SetVringAddr, a.Append(nil))
			}
		}
	}
	return err
}

// snapshot is a copy of the guest's memory.
func snapshot(g *frontend.Guest) [][]byte {
	var out [][]byte
	for _, r := range g.RAM.Mem {
		out = append(out, bytes.Clone(r.B))
	}
	return out
}

// dirty is which pages differ from a snapshot.
func dirty(g *frontend.Guest, old [][]byte) map[uint64]bool {
	pages := map[uint64]bool{}
	for i, r := range g.RAM.Mem {
		for off := 0; off < len(r.B); off += 4096 {
			if !bytes.Equal(r.B[off:off+4096], old[i][off:off+4096]) {
				pages[(r.Guest+uint64(off))/4096] = true
			}
		}
	}
	return pages
}

// ringPages are the pages that the used rings lie in, which may be marked more often than written.
func ringPages(g *frontend.Guest) map[uint64]bool {
	pages := map[uint64]bool{}
	for _, q := range g.Queues {
		for _, r := range []*virtiotest.Ring{q.RX, q.TX} {
			desc, _, used := virtio.Sizes(g.Features, r.Size)
			for p := r.Used / 4096; p <= (r.Used+uint64(used)-1)/4096; p++ {
				pages[p] = true
			}
			for p := r.Desc / 4096; g.Config.Packed && p <= (r.Desc+uint64(desc)-1)/4096; p++ {
				pages[p] = true
			}
		}
	}
	return pages
}

// scramble changes all of the memory that no ring lies in, so that a frame that is written
// where it stood before is a change as well.
func scramble(g *frontend.Guest) {
	q := g.Queues[0]
	_, _, used := virtio.Sizes(g.Features, q.RX.Size)
	for _, r := range g.RAM.Mem {
		for i := range r.B {
			a := r.Guest + uint64(i)
			if a-q.RX.Desc >= q.RX.Used+uint64(used)-q.RX.Desc && a-q.TX.Desc >= q.TX.Used+uint64(used)-q.TX.Desc {
				r.B[i] += 37
			}
		}
	}
}

// compare holds what is marked against what was written: nothing may be missing, and nothing
// but the rings be there without need.
func compare(t *testing.T, g *frontend.Guest, marked, written map[uint64]bool) {
	t.Helper()
	for p := range written {
		if !marked[p] {
			t.Errorf("page %#x was written and is not marked", p)
		}
	}
	for p := range marked {
		if !written[p] && !ringPages(g)[p] {
			t.Errorf("page %#x is marked and was not written", p)
		}
	}
}

// linkStays calls f, during which the link must not go down.
func linkStays(t *testing.T, d netdev.Device, f func()) {
	t.Helper()
	var stop, down atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			if !d.Info().Link {
				down.Store(true)
			}
		}
	}()
	f()
	stop.Store(true)
	<-done
	if down.Load() {
		t.Error("the link was down for a moment")
	}
}

// Everything that the device writes to a guest is in the log: buffers of all
// layouts, used rings, and what asks for notifications; and nothing when nobody migrates.
func TestDirtyLog(t *testing.T) {
	for name, c := range map[string]frontend.Config{
		"plain":        {},
		"mergeable":    {BufSize: 512},
		"no merge":     {Clear: virtio.NetFMrgRxbuf, BufSize: 9000},
		"no event idx": {Clear: virtio.FEventIdx},
		"cuts":         {RxCuts: []int{12, 100, 700}},
		"regions":      {Regions: 3, QueueSize: 64},
		"1024":         {QueueSize: 1024},
		"packed":       {Packed: true},
		"packed, cuts": {Packed: true, RxCuts: []int{12, 100, 700}, Clear: virtio.FEventIdx},
	} {
		t.Run(name, func(t *testing.T) {
			c.Base, c.RxDirect = 0x7000000, true
			testDirtyLog(t, c)
		})
	}
}

func testDirtyLog(t *testing.T, c frontend.Config) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], c)
	qa, qb := a.Queues[0], b.Queues[0]
	log := newLog(t, 0x2000)
	if err := log.set(b); err != nil {
		t.Fatal(err)
	}
	pass(t, a, b)
	if n := len(log.take()); n != 0 {
		t.Errorf("%d pages are marked while nobody migrates", n)
	}
	linkStays(t, l.ports[1].dev, func() {
		if err := logging(b, true); err != nil {
			t.Fatal(err)
		}
	})
	pass(t, a, b)
	for round := range many(5, 100) {
		// The guest writes nothing between the snapshot and the comparison, so what changes
		// is the device's work.
		_, used := qb.RX.Indices()
		sent := l.ports[1].tx.Packets.Load()
		scramble(b)
		before := snapshot(b)
		log.take()
		k := 1 + rand.IntN(8)
		for i := range k {
			if !qa.Send(frame(i, 60+rand.IntN(1400))) {
				t.Fatal("transmit ring is full")
			}
		}
		eventually(t, "the frames", func() bool { return l.ports[1].tx.Packets.Load() == sent+uint64(k) })
		time.Sleep(2 * time.Millisecond) // the thread sleeps again, and has asked to be woken
		written := dirty(b, before)
		compare(t, b, log.take(), written)
		if qb.RX.UsedIdx() == used || len(written) == 0 {
			t.Fatal("nothing was written")
		}
		for range k {
			if _, err := qb.Recv(time.Second); err != nil {
				t.Fatal(round, err)
			}
		}
		// And the other way: the frames wait until the ring is enabled.
		if err := b.Vring(vhostuser.SetVringEnable, 1, 0); err != nil {
			t.Fatal(err)
		}
		for i := range k {
			if !qb.Send(frame(i, 500)) {
				t.Fatal("transmit ring is full")
			}
		}
		before = snapshot(b)
		log.take()
		if err := b.Vring(vhostuser.SetVringEnable, 1, 1); err != nil {
			t.Fatal(err)
		}
		for i := range k {
			sameFrame(t, qa, frame(i, 500))
		}
		time.Sleep(2 * time.Millisecond)
		compare(t, b, log.take(), dirty(b, before))
	}
	if err := logging(b, false); err != nil {
		t.Fatal(err)
	}
	log.take()
	pass(t, a, b)
	if n := len(log.take()); n != 0 {
		t.Errorf("%d pages are marked after the migration", n)
	}
}

// A guest's buffer for which the log has no bit stops the port, with a word why, and nothing
// behind the log is written to.
func TestDirtyLogTooShort(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], frontend.Config{Base: 0x7000000})
	log := newLog(t, 4096)
	log.area.Size = 0x7000000 / 4096 / 8 // up to where the memory begins
	if err := log.set(b); err != nil {
		t.Fatal(err)
	}
	if err := logging(b, true); err == nil {
		a.Queues[0].Send(frame(1, 100))
	}
	eventually(t, "the port's end", func() bool { return strings.Contains(l.ports[1].dev.Info().Fault, "guest memory at 0x7") })
	if err := b.Closed(); err != nil {
		t.Error(err)
	}
	for p := range log.take() {
		t.Errorf("page %#x is marked", p)
	}
	a.Close()
	b.Close()
	l.before.fds++ // the log's
	l.before.mappings++
	l.alive()
}

// A log that its owner cuts short under a running ring stops that port and no other.
func TestDirtyLogVanishes(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], frontend.Config{})
	log := newLog(t, 4096)
	if err := log.set(b); err != nil {
		t.Fatal(err)
	}
	if err := logging(b, true); err != nil {
		t.Fatal(err)
	}
	pass(t, a, b)
	if err := unix.Ftruncate(log.area.FD.Num, 0); err != nil {
		t.Fatal(err)
	}
	a.Queues[0].Send(frame(1, 100))
	eventually(t, "the port's end", func() bool { return l.ports[1].dev.Info().Fault != "" })
	if f := l.ports[0].dev.Info().Fault; f != "" {
		t.Errorf("the other port's fault: %s", f)
	}
	a.Close()
	b.Close()
	l.before.fds++
	l.before.mappings++
	l.alive()
}

// What rings wrote before they had a log is not known: all is marked when it comes.
func TestLateDirtyLog(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], frontend.Config{Regions: 3, QueueSize: 64})
	if err := logging(b, true); err != nil {
		t.Fatal(err)
	}
	pass(t, a, b)
	log := newLog(t, 4096)
	if err := log.set(b); err != nil {
		t.Fatal(err)
	}
	marked := log.take()
	for _, r := range b.RAM.Mem {
		for p := r.Guest / 4096; p < (r.Guest+uint64(len(r.B)))/4096; p++ {
			if !marked[p] {
				t.Errorf("page %#x is not marked", p)
			}
		}
	}
	pass(t, a, b)
}

// Of a packed ring the device writes descriptors and its own event area, and nothing else.
func TestDirtyLogPacked(t *testing.T) {
	const guest, page = 0x10000, 4096
	ram, err := frontend.NewRAM(guest, 5*page)
	if err != nil {
		t.Fatal(err)
	}
	defer ram.Close()
	p := &peer{d: &Device{}}
	if err := p.memory.Map(ram.Regions); err != nil {
		t.Fatal(err)
	}
	defer p.memory.Unmap(ram.Regions)
	log := newLog(t, page)
	if err := p.SetLog(log.area, false); err != nil {
		t.Fatal(err)
	}
	host, _ := p.memory.Guest().Translate(guest, 5*page)
	c := virtio.Config{
		Size: 16, Desc: host, Avail: host + page, Used: host + 2*page, Features: virtio.FVersion1 | virtio.FRingPacked | virtio.VhostFLogAll,
		Mem: p.memory.Guest(), Base: 1<<15 | 1<<31, DeviceWrites: true,
	}
	vq, err := virtio.New(c)
	if err != nil {
		t.Fatal(err)
	}
	start := vhostuser.RingStart{Features: c.Features, Vring: vhostuser.Vring{LogUsed: true, LogAddr: guest + 2*page}}
	r := p.logged(vq, &start, &c)
	check := func(what string, want ...uint64) {
		t.Helper()
		got := log.take()
		for i := range uint64(5) {
			if got[guest/page+i] != slices.Contains(want, i) {
				t.Errorf("%s: page %d is marked: %v", what, i, got[guest/page+i])
			}
		}
	}
	check("making it", 0, 2)
	for i := range uintptr(3) { // each lies on the border of two pages
		at := host + i*descriptorSize
		mem.Store64(at, guest+(2+uint64(i))*page+page-8)
		mem.Store32(at+8, 16)
		mem.Store16(at+14, 2|availBit) // WRITE
	}
	if n := r.Gather(8); n != 3 {
		t.Fatalf("%d chains", n)
	}
	r.Held().Chains[1].Written = 8
	r.Use(2)
	check("the end of a page", 0, 2, 3)
	if n := r.Gather(8); n != 1 {
		t.Fatalf("%d chains", n)
	}
	r.Use(1)
	check("nothing written", 0, 2)
	r.Arm()
	check("arming", 0, 2)
	if err := p.SetLog(vhostuser.LogArea{}, false); err != nil {
		t.Fatal(err)
	}
}
