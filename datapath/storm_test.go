package datapath

import (
	"strings"
	"testing"
	"time"
)

// B94: a port that shows ten times as many addresses as fit takes no room from
// others, whose frames are never flooded.
func TestFloodingPortEvictsItsOwn(t *testing.T) {
	const size = 256
	d, b := newSwitch(t)
	if err := b.Configure(BridgeConfig{MACTableSize: size}); err != nil {
		t.Fatal(err)
	}
	_, d1 := plug(t, b, "p1", trunk)
	p2, d2 := plug(t, b, "p2", trunk)
	p3, d3 := plug(t, b, "p3", trunk)
	d2.send(eth(-1, 2))
	d3.send(eth(-1, 3))
	settle(t, d2, d3)
	d1.sent()
	for i := range 10 * size {
		d1.send(eth(1, 1000+i))
		if i%16 == 0 {
			settle(t, d1)
			d.Warp(minFlush) // and no cache hides it
			d2.send(eth(3, 2))
			d3.send(eth(2, 3))
			settle(t, d2, d3)
		}
	}
	settle(t, d1)
	if n := d1.count(); n != 0 {
		t.Errorf("port 1 saw %d frames between ports 2 and 3", n)
	}
	s := b.MACStats()
	if s.Current != size || s.Evicted == 0 {
		t.Errorf("%+v", s)
	}
	n := map[*Port]int{}
	for _, m := range b.MACTable() {
		n[m.Port]++
	}
	if n[p2] != 1 || n[p3] != 1 {
		t.Errorf("entries by port: %v", n)
	}
}

// The oldest address of the port with most goes first, refreshed ones stay.
func TestEvictionOrder(t *testing.T) {
	m := newMACTable(8, &lossGen{})
	m.setPorts(4)
	for i := range 6 {
		m.learn(macKey(uint64(2+16*i), 0), 1, uint32(i), 0)
	}
	m.learn(macKey(0x102, 0), 2, 6, 0)
	m.learn(macKey(0x202, 0), 2, 7, 0)
	m.learn(macKey(2, 0), 1, 8, 0) // the first of port 1 is seen again
	m.learn(macKey(0x302, 0), 3, 9, 0)
	if m.lookup(macKey(2, 0)) == 0 || m.lookup(macKey(18, 0)) != 0 || m.lookup(macKey(0x102, 0)) == 0 || m.lookup(macKey(0x302, 0)) == 0 {
		t.Error("wrong address evicted")
	}
	if m.n != 8 || m.stats.Evicted != 1 {
		t.Errorf("%d entries, %+v", m.n, m.stats)
	}
}

// Whatever happens, the table holds what a map would, and its lists agree.
func TestMACTableModel(t *testing.T) {
	m := newMACTable(1000, &lossGen{})
	m.setPorts(8)
	model := map[uint64]uint16{}
	rnd := uint64(1)
	next := func(n uint64) uint64 {
		rnd = rnd*6364136223846793005 + 1442695040888963407
		return rnd >> 33 % n
	}
	for step := range 100000 {
		key, port := macKey(next(900)*2+2, uint16(next(2))*7), uint16(next(8))
		switch next(20) {
		default:
			if len(model) < 1000 || model[key] != 0 {
				m.learn(key, port, uint32(step), 0)
				model[key] = port + 1
			}
		case 0:
			if m.del(key) != (model[key] != 0) {
				t.Fatal("del")
			}
			delete(model, key)
		case 1:
			if next(50) == 0 {
				m.flushPort(port, true)
				for k, p := range model {
					if p == port+1 {
						delete(model, k)
					}
				}
			}
		}
		if v := m.lookup(key); (v == 0) != (model[key] == 0) || v != 0 && valPort(v) != model[key]-1 {
			t.Fatalf("step %d: %#x: %#x, want port %d", step, key, v, model[key])
		}
	}
	if m.n != len(model) {
		t.Errorf("%d entries, want %d", m.n, len(model))
	}
	n := 0
	for p := range m.lists {
		k := 0
		for s := m.lists[p].head; s != 0; s = m.links[s-1].next {
			k++
		}
		if k != int(m.lists[p].n) {
			t.Errorf("list of port %d: %d entries, says %d", p, k, m.lists[p].n)
		}
		n += k
	}
	if n != m.n {
		t.Errorf("%d entries in lists, %d in the table", n, m.n)
	}
}

// Removing many addresses does not keep poll threads from the lock until it is done.
func TestMACTableLockInSlices(t *testing.T) {
	const n, static = 1 << 16, 10
	for what, work := range map[string]func(m *macTable){
		"flushPort":        func(m *macTable) { m.flushPort(1, false) },
		"flushPort static": func(m *macTable) { m.flushPort(1, true) },
		"flush":            func(m *macTable) { m.flush() },
		"expire":           func(m *macTable) { m.expire(100) },
	} {
		between := false // the lock was had half way
		for end := time.Now().Add(time.Minute); !between && time.Now().Before(end); {
			m := newMACTable(2*n, &lossGen{})
			m.setPorts(4)
			for i := range n {
				m.learn(macKey(uint64(2*i+2), 0), 1, 1, 0)
			}
			for i := range static {
				m.setStatic(macKey(uint64(2*i), 7), 2, 0)
			}
			done := make(chan bool)
			go func() {
				work(m)
				close(done)
			}()
			for left := n + static; left > static; {
				m.mu.lock()
				left = m.n
				m.mu.unlock()
				between = between || left > static && left < n+static
			}
			<-done
			if m.n != static {
				t.Errorf("%s left %d, not the %d static ones of another port", what, m.n, static)
			}
		}
		if !between {
			t.Errorf("%s of %d addresses holds the lock until it is done", what, n)
		}
	}
}

// What is learned again while a port is flushed does not make the flush endless.
func TestFlushEnds(t *testing.T) {
	m := newMACTable(1000, &lossGen{})
	m.setPorts(2)
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for i := uint64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				m.learn(macKey(2+i%500*2, 0), 1, uint32(i), 0)
			}
		}
	}()
	for range 100 {
		m.flush()
		m.flushPort(1, true)
	}
	close(stop)
	<-stopped
}

// A table that is too small for the static entries is refused, and the old one goes on
// learning.
func TestResizeKeepsStatic(t *testing.T) {
	_, b := newSwitch(t)
	p1, d1 := plug(t, b, "p1", trunk)
	for i := range 20 {
		if err := b.AddStaticMAC(p1, 5, mac(100+i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Configure(BridgeConfig{MACTableSize: 19}); err == nil || !strings.Contains(err.Error(), "MAC table size 19: no room for its 20 static entries") {
		t.Errorf("%v", err)
	}
	d1.send(eth(-1, 1))
	settle(t, d1)
	if s := b.MACStats(); s.Current != 21 || s.Static != 20 || s.Max != DefaultMACTableSize {
		t.Errorf("after a refusal: %+v", s)
	}
	if err := b.Configure(BridgeConfig{MACTableSize: 20}); err != nil {
		t.Error(err)
	}
	if s := b.MACStats(); s.Current != 20 || s.Static != 20 || s.Evicted != 1 {
		t.Errorf("in a smaller table: %+v", s)
	}
}

// B96: an address that is seen at two ports in turn invalidates the caches at a
// bounded rate, however fast it flaps.
func TestMoveStormKeepsCaches(t *testing.T) {
	d, b, th := bare(t)
	a1, a2 := newFake(t, 1), newFake(t, 1)
	plugDev(t, b, "a1", trunk, a1)
	plugDev(t, b, "a2", trunk, a2)
	pair(t, b, th, 1024, 1, 64, trunk)
	before := d.loss.gen.Load()
	slow := th.stats.slow.Load()
	got := th.stats.packets.Load()
	start := d.clock.now()
	const n = 5000
	for range n {
		a1.send(eth(-1, 9)) // broadcasts: never from the cache, each one moves host 9
		a2.send(eth(-1, 9))
		th.iterate()
	}
	s := b.MACStats()
	if s.Moved < n {
		t.Errorf("%d moves", s.Moved)
	}
	took := d.clock.now() - start
	if flushes := d.loss.gen.Load() - before; int64(flushes) > took/minFlush+2 {
		t.Errorf("%d invalidations in %d ms", flushes, took)
	}
	innocent := th.stats.packets.Load() - got - 2*n
	missed := th.stats.slow.Load() - slow - 2*n
	if missed*10 > innocent {
		t.Errorf("%d of %d frames of others were looked up", missed, innocent)
	}
}
