package virtiouser

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio/driver"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// rxQueue is what receive queues have in common. It never changes but for the
// ring's positions.
type rxQueue struct {
	ring       driver.Rx
	held       *driver.Batch // of ring
	kick, call int
	data       uintptr // where the frame in buffer 0 begins
	stride     uintptr
	hdr        uint32
	burst      int    // frames of a Recv
	taken      int    // buffers behind the last burst
	scratch    []byte // for tails of too many segments, MaxFrame for each packet
	prefetch   [2 * packet.MaxBurst]uintptr
	heads      [packet.MaxBurst]mem.Copy // to be made at the end of Recv
}

// at is where the frame in a buffer begins.
func (q *rxQueue) at(id uint16) uintptr { return q.data + uintptr(id)*q.stride }

// head takes the first piece of a frame, n bytes at addr. Its head is still to be copied.
func (q *rxQueue) head(p *packet.Packet, addr uintptr, n uint32) mem.Copy {
	p.Reset()
	h := min(n, packet.HeadCopy)
	p.SetHead(int(h))
	if n > h {
		p.AddSeg(addr+uintptr(h), n-h)
	}
	return mem.Copy{Dst: mem.AddrOf(p.Room()), Src: addr, N: int(h)}
}

// Release implements netdev.RxQueue: the device gets the buffers back.
func (q *rxQueue) Release() {
	q.ring.Post(q.taken)
	q.taken = 0
	if q.ring.NeedKick() {
		notify(q.kick)
	}
}

// FD implements netdev.RxQueue.
func (q *rxQueue) FD() int { return q.call }

// Arm implements netdev.RxQueue.
func (q *rxQueue) Arm() bool { return q.ring.Arm() }

// Disarm implements netdev.RxQueue.
func (q *rxQueue) Disarm() {
	q.ring.Disarm()
	drain(q.call)
}

// simpleRx receives frames that are in one buffer each and whose headers say nothing.
type simpleRx struct{ rxQueue }

// Recv implements netdev.RxQueue.
func (q *simpleRx) Recv(b *packet.Burst, st *netdev.RxStats) int {
	n := q.ring.Collect(q.burst)
	if n == 0 {
		return 0
	}
	q.taken = n
	bufs := q.held.Bufs[:n]
	// The frames are in the device's cache: ask for their first lines all at once.
	for i := range bufs {
		q.prefetch[i&(packet.MaxBurst-1)] = q.at(bufs[i].ID)
	}
	mem.Prefetch(q.prefetch[:n])
	got, bytes := 0, uint64(0)
	for i := range bufs {
		size := bufs[i].Len - q.hdr
		if size-packet.MinFrame > packet.MaxFrame-packet.MinFrame {
			st.Drops[packet.RxRunt].Add(1) // too long it cannot be: no buffer is
			continue
		}
		q.heads[got] = q.head(&b.Pkts[got], q.at(bufs[i].ID), size)
		got++
		bytes += uint64(size)
	}
	mem.CopyMany(q.heads[:got])
	b.Start(got)
	st.Packets.Add(uint64(got))
	st.Bytes.Add(bytes)
	if got == 0 {
		q.Release()
	}
	return got
}
