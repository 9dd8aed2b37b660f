package main

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

const (
	maxSize = 1518
	kickoff = 512 // frames that go round and round
)

// thread serves its share of the queues.
type thread struct {
	set    *set
	core   int
	number int
	seen   atomic.Uint64 // which state of the queues it has
	burst  packet.Burst
	list   [packet.MaxBurst]uint16
	frame  []byte
	lanes  []lane
	rs     netdev.RxStats
	ts     netdev.TxStats
}

// lane is one queue pair of one port.
type lane struct {
	p    *port
	rx   netdev.RxQueue
	tx   netdev.TxQueue
	to   netdev.TxQueue // where received frames go
	left int            // of the frames to start with
}

func (t *thread) prepare() (err error) {
	for i := range t.list {
		t.list[i] = uint16(i)
	}
	if t.frame, err = mem.Alloc(maxSize); err != nil {
		return err
	}
	copy(t.frame, []byte{2, 0, 0, 2, 0, 0, 2, 0, 0, 1, 0, 0})
	binary.BigEndian.PutUint16(t.frame[12:], 0x88b5)
	return nil
}

func (t *thread) run() {
	runtime.LockOSThread()
	if cpu.Pin(t.core) != nil {
		return // the figures tell
	}
	for !t.set.quit.Load() {
		if state := t.set.state.Load(); state != t.seen.Load() || t.lanes == nil {
			t.reload()
			t.seen.Store(state)
		}
		for i := range t.lanes {
			t.serve(&t.lanes[i])
		}
	}
}

// reload takes the queues as they are now.
func (t *thread) reload() {
	t.lanes = make([]lane, 0, 8)
	for i, p := range t.set.ports {
		rx, tx := p.dev.Queues()
		_, other := t.set.ports[len(t.set.ports)-1-i].dev.Queues()
		for q := t.number; q < max(len(rx), len(tx)); q += len(t.set.threads) {
			l := lane{p: p, rx: at(rx, q), tx: at(tx, q)}
			if p.kicks {
				l.left = kickoff
			}
			switch {
			case p.reflects:
				l.to = l.tx
			case p.forwards:
				l.to = at(other, q)
			}
			t.lanes = append(t.lanes, l)
		}
	}
}

// at is queue number i, or nothing.
func at[Q any](queues []Q, i int) (q Q) {
	if i < len(queues) {
		q = queues[i]
	}
	return q
}

func (t *thread) serve(l *lane) {
	if l.tx != nil && (l.p.sends || l.left > 0) {
		t.send(l)
	}
	if l.rx == nil || l.p.sends && !l.p.receives {
		return
	}
	n := l.rx.Recv(&t.burst, &t.rs)
	if n == 0 {
		return
	}
	if l.to != nil {
		l.to.Send(&t.burst, t.list[:n], &t.ts)
	}
	l.rx.Release()
	if l.p.receives || l.p.reflects || l.p.forwards {
		t.set.received.Add(uint64(n))
	}
}

// send sends a burst of frames, written anew each time.
func (t *thread) send(l *lane) {
	size := t.set.size
	for i := range packet.MaxBurst {
		p := &t.burst.Pkts[i]
		p.Reset()
		h := min(size, packet.HeadCopy)
		copy(p.Room(), t.frame[:h])
		p.SetHead(h)
		if size > h {
			p.AddSeg(mem.AddrOf(t.frame)+uintptr(h), uint32(size-h))
		}
	}
	t.burst.Start(packet.MaxBurst)
	before := t.ts.Packets.Load()
	l.tx.Send(&t.burst, t.list[:], &t.ts)
	n := t.ts.Packets.Load() - before
	t.set.sent.Add(n)
	l.left -= int(n)
}
