package vhostuser

import (
	"encoding/binary"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

const readWrite = vhostuser.PermRead | vhostuser.PermWrite

// everything is where all of a test's guest memory is.
const everything = 1 << 32

// ioPair is a guest with an IOMMU and one without, on ports 0 and 1.
func ioPair(t *testing.T, cfg frontend.Config) (sw *testSwitch, a, b *frontend.Guest) {
	t.Helper()
	dir := t.TempDir()
	sw = newSwitch(t)
	sw.add(t, OpenServer, "a", netdev.Options{RunDir: dir, Map: map[string]string{"vhost-iommu-support": "true"}})
	sw.add(t, OpenServer, "b", netdev.Options{RunDir: dir})
	a = attach(t, filepath.Join(dir, "a"), cfg)
	b = attach(t, filepath.Join(dir, "b"), frontend.Config{})
	return sw, a, b
}

func obey(m *frontend.IOMMU, p vhostuser.IOTLBMsg) { m.Obey(p) }

func peerOf(p *testPort) *peer {
	d := p.dev.(*Device)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.peer
}

// passIO sends frames both ways. A guest whose buffers are not translated yet loses some.
func passIO(t *testing.T, a, b *frontend.Guest) {
	t.Helper()
	for i := range 40 {
		want := frame(i, 60+37*i)
		again(t, a.Queues[0], b.Queues[0], want)
		again(t, b.Queues[0], a.Queues[0], want)
	}
}

// resent has the frames that were sent more than once and may still come.
var resent sync.Map

// again sends a frame until it arrives.
func again(t *testing.T, from, to *frontend.Queue, want []byte) {
	t.Helper()
	for try := 0; ; try++ {
		if try > 0 {
			resent.Store(string(want), true)
		}
		if !from.Send(want) {
			t.Fatal("transmit ring is full")
		}
		f, err := to.Recv(200 * time.Millisecond)
		for err == nil && string(f.Data) != string(want) {
			if _, old := resent.Load(string(f.Data)); !old {
				break
			}
			f, err = to.Recv(200 * time.Millisecond)
		}
		if err == nil {
			if string(f.Data) != string(want) {
				t.Fatalf("got %d bytes, want %d", len(f.Data), len(want))
			}
			return
		}
		if try > 20 {
			t.Fatal(err)
		}
	}
}

// Rings of both kinds work as their pages come, and ask for each once.
func TestIOMMU(t *testing.T) {
	for _, packed := range []bool{false, true} {
		var mu sync.Mutex
		asked := map[vhostuser.IOTLBMsg]int{}
		sw, a, b := ioPair(t, frontend.Config{Packed: packed, Translate: func(m *frontend.IOMMU, p vhostuser.IOTLBMsg) {
			mu.Lock()
			asked[p]++
			mu.Unlock()
			m.Obey(p)
		}})
		passIO(t, a, b)
		mu.Lock()
		if len(asked) < 10 {
			t.Errorf("packed %v: %d pages were asked for", packed, len(asked))
		}
		for p, n := range asked {
			if p.IOVA%4096 != 0 || p.Perm == 0 || n > 1 {
				t.Errorf("packed %v: %#x for %d was asked for %d times", packed, p.IOVA, p.Perm, n)
			}
		}
		mu.Unlock()
		// Whoever sleeps for a ring can be woken; nobody does for one that is filled, and it does not look kicked.
		p := peerOf(sw.ports[0])
		p.mu.Lock()
		for i, r := range p.rings {
			before := kicks(r.kick)
			r.io.wake()
			if i == 0 && kicks(r.kick) != before || i == 1 && r.io.kick < 0 {
				t.Errorf("packed %v: ring %d: %d kicks by the guest, %d with ours", packed, i, before, kicks(r.kick))
			}
		}
		p.mu.Unlock()
		a.Close()
		b.Close()
	}
}

// A front end that has all the time in the world: nothing is lost of what the guest sends, and
// everybody else goes on meanwhile.
func TestIOMMULate(t *testing.T) {
	late := make(chan vhostuser.IOTLBMsg, 1000)
	sw, a, b := ioPair(t, frontend.Config{Translate: func(_ *frontend.IOMMU, p vhostuser.IOTLBMsg) { late <- p }})
	for _, name := range []string{"c", "d"} {
		sw.add(t, OpenServer, name, netdev.Options{RunDir: filepath.Dir(sw.ports[0].dev.Info().Status["socket"])})
	}
	dir := filepath.Dir(sw.ports[0].dev.Info().Status["socket"])
	c := attach(t, filepath.Join(dir, "c"), frontend.Config{})
	d := attach(t, filepath.Join(dir, "d"), frontend.Config{})
	var want [][]byte
	for i := range 20 {
		want = append(want, frame(i, 100+i))
		if !a.Queues[0].Send(want[i]) {
			t.Fatal("transmit ring is full")
		}
	}
	go func() {
		for {
			select {
			case <-t.Context().Done():
				return
			case p := <-late:
				time.Sleep(2 * time.Millisecond)
				a.IOMMU.Obey(p)
			}
		}
	}()
	pass(t, c, d)
	for _, f := range want {
		sameFrame(t, b.Queues[0], f)
	}
	pass(t, c, d)
}

// A front end that never answers, or with nothing but refusals: the port waits, everybody else does not,
// and what was asked is bounded.
func TestIOMMUNever(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		sw, a, _ := ioPair(t, frontend.Config{Translate: func(m *frontend.IOMMU, _ vhostuser.IOTLBMsg) {
			if refuse {
				m.Answer(false)
			}
		}})
		dir := filepath.Dir(sw.ports[0].dev.Info().Status["socket"])
		for _, name := range []string{"c", "d"} {
			sw.add(t, OpenServer, name, netdev.Options{RunDir: dir})
		}
		for i := range 100 {
			a.Queues[0].Send(frame(i, 100))
		}
		c := attach(t, filepath.Join(dir, "c"), frontend.Config{})
		d := attach(t, filepath.Join(dir, "d"), frontend.Config{})
		pass(t, c, d)
		time.Sleep(100 * time.Millisecond)
		pass(t, c, d)
		if n := a.IOMMU.Misses.Load(); n == 0 || n > 20 {
			t.Errorf("refused %v: %d misses for the parts of two rings", refuse, n)
		}
		if _, err := a.Base(1); err != nil {
			t.Error(err)
		}
	}
}

// A page that the front end does not know, or that may not be used for that, loses its frame and no other.
func TestIOMMURefused(t *testing.T) {
	for _, how := range []string{"refused", "wrong permission", "wrong page"} {
		const bad = 77 << 20 // where there is no memory either
		sw, a, b := ioPair(t, frontend.Config{Translate: func(m *frontend.IOMMU, p vhostuser.IOTLBMsg) {
			switch {
			case p.IOVA&^0xfffff != bad:
				m.Obey(p)
			case how == "wrong permission":
				m.Answer(m.Send(vhostuser.IOTLBMsg{IOVA: p.IOVA, Size: p.Size, User: m.User(0), Perm: vhostuser.PermWrite, Type: vhostuser.IOTLBUpdate}) == nil)
			case how == "wrong page":
				m.Answer(m.Update(p.IOVA, p.Size, readWrite) == nil)
			default:
				m.Answer(false)
			}
		}})
		passIO(t, a, b)
		q := a.Queues[0]
		if _, ok := q.TX.Add(elem{Addr: bad, Len: 100}); !ok {
			t.Fatal("ring is full")
		}
		want := frame(1, 321)
		if !q.Send(want) {
			t.Fatal("ring is full")
		}
		sameFrame(t, b.Queues[0], want)
		if n := sw.ports[0].rx.Drops[packet.RxBadAddress].Load(); n != 1 {
			t.Errorf("%s: %d frames dropped for a bad address, want 1", how, n)
		}
		a.Close()
		b.Close()
	}
}

// Invalidations under traffic: after one nothing of the old page is used, and the ring goes on when
// it is translated again, also when its own parts were meant. A page at a time, and all at once.
func TestIOMMUInvalidate(t *testing.T) {
	_, a, b := ioPair(t, frontend.Config{Translate: obey})
	passIO(t, a, b)
	for i := range uint64(30) {
		if err := a.IOMMU.Invalidate(i*4096, 4096); err != nil {
			t.Fatal(err)
		}
		again(t, a.Queues[0], b.Queues[0], frame(int(i), 200))
	}
	for _, size := range []uint64{everything, 0, ^uint64(0)} {
		for range 5 {
			if err := a.IOMMU.Invalidate(0, size); err != nil {
				t.Fatal(err)
			}
			passIO(t, a, b)
		}
	}
}

// While the guest sends as fast as it can, its front end takes everything back again and again.
// What arrives is whole and in order, and nothing that was sent is lost.
func TestIOMMUStorm(t *testing.T) {
	for _, packed := range []bool{false, true} {
		ioStorm(t, packed)
	}
}

func ioStorm(t *testing.T, packed bool) {
	t.Helper()
	_, a, b := ioPair(t, frontend.Config{Translate: obey, QueueSize: 64, Packed: packed})
	passIO(t, a, b)
	stop := make(chan struct{})
	var storm sync.WaitGroup
	storm.Go(func() {
		for i := uint64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			iova, size := uint64(0), uint64(0)
			if i%4 != 0 {
				iova, size = i%64*4096, 4096
			}
			if err := a.IOMMU.Invalidate(iova, size); err != nil {
				t.Error(err)
				return
			}
		}
	})
	n := many(2000, 100_000)
	for i := range n {
		want := frame(i, 60+i%1400)
		for !a.Queues[0].Send(want) {
			time.Sleep(10 * time.Microsecond)
		}
		f, err := b.Queues[0].Recv(limit(time.Second))
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if string(f.Data) != string(want) {
			t.Fatalf("frame %d: got %d bytes, want %d", i, len(f.Data), len(want))
		}
	}
	close(stop)
	storm.Wait()
	passIO(t, a, b)
}

// What is invalidated is not touched any more when the answer comes: the guest's frames
// are sent from its memory as it was at some moment before.
func TestIOMMUInvalidateIsAtOnce(t *testing.T) {
	sw, a, b := ioPair(t, frontend.Config{Translate: obey})
	passIO(t, a, b)
	r := peerOf(sw.ports[0]).rings[1].io
	for range many(300, 10_000) {
		a.Queues[0].Send(frame(1, 1500))
		before := r.seq.Load()
		if err := a.IOMMU.Invalidate(0, 0); err != nil {
			t.Fatal(err)
		}
		// A burst that was under way is over, and one that began since uses other maps.
		if now := r.seq.Load(); before&1 != 0 && now == before {
			t.Fatal("the burst goes on")
		}
		if n := len(r.io.maps.Load().read.Regions()); n != 0 && r.seq.Load() == before {
			t.Fatalf("%d regions left", n)
		}
		if _, err := b.Queues[0].Recv(limit(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
}

// A front end that talks nonsense on both channels: nothing grows, and the switch lives.
func TestIOMMUHostile(t *testing.T) {
	l := newLab(t, map[string]string{"vhost-iommu-support": "true"})
	for round := range 4 {
		a := attach(t, l.paths[0], frontend.Config{Translate: obey})
		switch round {
		case 0: // answers to questions that nobody asked, of all sizes
			for size := range uint32(300) {
				h := binary.LittleEndian.AppendUint32(nil, uint32(vhostuser.BackendIOTLB))
				h = binary.LittleEndian.AppendUint32(h, vhostuser.Version|vhostuser.FlagReply)
				h = binary.LittleEndian.AppendUint32(h, size)
				a.IOMMU.Write(append(h, make([]byte, size)...))
			}
		case 1: // a million pieces
			for i := range uint64(6000) {
				if err := a.IOMMU.Send(vhostuser.IOTLBMsg{IOVA: 1<<40 + i*8192, Size: 4096, User: a.IOMMU.User(0), Perm: readWrite, Type: vhostuser.IOTLBUpdate}); err != nil {
					t.Fatal(err)
				}
			}
			p := peerOf(l.ports[0])
			p.mu.Lock()
			if n := p.iommu.tlb.Len(); n > vhostuser.MaxIOTLB {
				t.Errorf("%d pieces", n)
			}
			p.mu.Unlock()
		case 2: // updates for what is not there, or makes no sense
			for _, m := range []vhostuser.IOTLBMsg{
				{IOVA: 0, Size: 4096, User: 1, Perm: readWrite, Type: vhostuser.IOTLBUpdate},
				{IOVA: 0, Size: 1 << 50, User: a.IOMMU.User(0), Perm: readWrite, Type: vhostuser.IOTLBUpdate},
				{IOVA: ^uint64(0), Size: 2, User: a.IOMMU.User(0), Perm: readWrite, Type: vhostuser.IOTLBUpdate},
				{Type: 77},
			} {
				if a.IOMMU.Send(m) == nil {
					t.Errorf("%+v was obeyed", m)
				}
			}
		case 3: // rings at the end of the world
			for _, at := range []uint64{^uint64(0) &^ 15, ^uint64(0) - 4095, 1 << 63} {
				v := vhostuser.VringAddr{Index: 1, Desc: at, Avail: at, Used: at}
				_ = a.Set(vhostuser.SetVringAddr, v.Append(nil))
				_ = a.IOMMU.Invalidate(at, 1)
			}
		}
		a.Close()
	}
	l.alive()
}

// An IOMMU and a table of what is in flight, both the front end's.
func TestIOMMUInflight(t *testing.T) {
	_, a, b := ioPair(t, frontend.Config{Translate: obey})
	passIO(t, a, b)
	fd, err := unix.MemfdCreate("inflight", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	area := vhostuser.InflightArea{Size: 16 << 10, Queues: 2, QueueSize: 256}
	if err := unix.Ftruncate(fd, int64(area.Size)); err != nil {
		t.Fatal(err)
	}
	q := a.Queues[0]
	base := [2]uint32{}
	for i := range base {
		if base[i], err = a.Base(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Set(vhostuser.SetInflightFD, area.Append(nil), fd); err != nil {
		t.Fatal(err)
	}
	kickRX, callRX, kickTX, callTX := q.FDs()
	if err := a.StartRing(0, q.RX, kickRX, callRX, base[0]); err != nil {
		t.Fatal(err)
	}
	if err := a.StartRing(1, q.TX, kickTX, callTX, base[1]); err != nil {
		t.Fatal(err)
	}
	passIO(t, a, b)
	if err := a.IOMMU.Invalidate(0, 0); err != nil {
		t.Fatal(err)
	}
	passIO(t, a, b)
}
