package datapath

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// inboxCap is how many frames made by control code may wait for a thread.
const inboxCap = 256

// inbox holds frames on their way from control code to a poll thread.
type inbox struct {
	some   atomic.Bool
	mu     sync.Mutex
	frames []injected
}

type injected struct {
	port  uint16
	frame []byte // never changed

	// Of a packet-out: what to do, and where the packet is to seem to come from.
	out     bool
	actions []ofp.Action
	inOF    uint32
}

// put adds a frame and reports whether there was room.
func (b *inbox) put(f injected) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.frames) >= inboxCap {
		return false
	}
	b.frames = append(b.frames, f)
	b.some.Store(true)
	return true
}

// take gives up to a burst of frames for one port, the oldest first, or one packet-out. out is the
// first of them.
func (b *inbox) take(to *[packet.MaxBurst][]byte, out *injected) (port uint16, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n < len(to) && n < len(b.frames) && b.frames[n].port == b.frames[0].port && (n == 0 || !b.frames[n].out) {
		to[n] = b.frames[n].frame
		n++
		if b.frames[0].out {
			break
		}
	}
	*out = injected{}
	if n > 0 {
		port = b.frames[0].port
		*out = b.frames[0]
		b.frames = slices.Delete(b.frames, 0, n)
	}
	if len(b.frames) == 0 {
		b.some.Store(false)
	}
	return port, n
}

// purge removes the frames for a port and says how many there were.
func (b *inbox) purge(port uint16) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.frames)
	b.frames = slices.DeleteFunc(b.frames, func(f injected) bool { return f.port == port })
	return n - len(b.frames)
}

// held is how many frames wait.
func (b *inbox) held() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.frames)
}

// Inject implements netdev.Host.
func (d *Datapath) Inject(dev netdev.Device, frame []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.byDev[dev]; p != nil {
		p.inject(frame)
	}
}

// Inject lets a frame enter the switch as if the port had received it, by way of a
// poll thread. The frame is copied.
func (p *Port) Inject(frame []byte) {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.inject(frame)
}

func (p *Port) inject(frame []byte) {
	if p.gone || len(p.d.threads) == 0 {
		return
	}
	switch {
	case len(frame) < packet.MinFrame:
		p.counters.outside[packet.RxRunt]++
		return
	case len(frame) > packet.MaxFrame:
		p.counters.outside[packet.RxTooLong]++
		return
	}
	t := p.d.threads[0]
	if len(p.rxqs) > 0 && p.rxqs[0].owner != nil {
		t = p.rxqs[0].owner
	}
	if !t.inbox.put(injected{port: p.id, frame: slices.Clone(frame)}) {
		p.counters.outside[packet.RxQueueFull]++
		return
	}
	p.counters.injected++
	t.wake()
}

// takeInbox takes one burst of injected frames through the switch, unless it is
// paused.
func (t *thread) takeInbox() int {
	if t.w.paused {
		return 0
	}
	defer t.recoverBurst()
	port, n := t.inbox.take(&t.frames, &t.first)
	if n == 0 {
		return 0
	}
	t.cur, t.stage = -1, forwarding
	t.burst.Start(n)
	if int(port) >= len(t.tx) || t.tx[port] == nil {
		t.stage = nothing // Remove purges the inboxes first: there is no such frame
		return 0
	}
	in := &t.tx[port].tc.in
	var bytes uint64
	for i := range n {
		t.burst.Pkts[i].SetBytes(t.frames[i])
		bytes += uint64(len(t.frames[i]))
	}
	in.Packets.Add(uint64(n))
	in.Bytes.Add(bytes)
	t.tx[port].tc.injected.Add(uint64(n))
	if t.first.out {
		t.packetOut(t.w.ports[port], &t.first, in)
		t.first = injected{}
	} else {
		t.forward(t.w.ports[port], n, in)
	}
	t.flush()
	runtime.KeepAlive(&t.frames)
	clear(t.frames[:n])
	t.stage = nothing
	return n
}
