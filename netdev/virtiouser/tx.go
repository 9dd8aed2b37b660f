package virtiouser

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/driver"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// txQueue is what transmit queues have in common. Like a receive queue it never changes but for
// the ring's positions.
type txQueue struct {
	ring    driver.Tx
	held    *driver.Pieces // of ring
	kick    int
	data    uintptr // where a frame in buffer 0 begins
	stride  uintptr
	hdr     uint32
	room    uint32 // of a frame in a buffer
	layout  layout
	longest uint32 // frame that the ring has buffers and descriptors for
	insert  int    // VLAN of the tag that frames get, -1 = none
	retries int
	caps    netdev.TxCaps

	frames [packet.MaxBurst]uintptr                         // addresses to prefetch
	copies [packet.MaxBurst * (1 + packet.MaxSegs)]mem.Copy // to be made at the end of put
}

func newTxQueue(q *pair, p *plan, s *settings) txQueue {
	has := func(bits uint64) bool { return p.features&bits == bits }
	t := txQueue{
		ring: q.txRing, held: q.txRing.Held(), kick: q.txKick, stride: uintptr(p.tx.stride), hdr: uint32(p.header),
		room: uint32(p.tx.room), layout: p.layout, longest: p.longest(), insert: -1, retries: s.retries,
		caps: netdev.TxCaps{
			Csum: has(virtio.NetFCsum),
			TSO4: has(virtio.NetFCsum | virtio.NetFHostTSO4),
			TSO6: has(virtio.NetFCsum | virtio.NetFHostTSO6),
			ECN:  has(virtio.NetFHostECN),
			USO:  has(virtio.NetFCsum | virtio.NetFHostUSO),
		},
	}
	most := t.longest
	if s.offloads.Insert {
		t.insert = s.insert
		most -= tagLen
	}
	if most < packet.MaxFrame {
		t.caps.MaxLen = most
	}
	return t
}

// Caps implements netdev.TxQueue.
func (q *txQueue) Caps() netdev.TxCaps { return q.caps }

// at is where the frame in a buffer begins.
func (q *txQueue) at(id uint16) uintptr { return q.data + uintptr(id)*q.stride }

// ahead asks for the first lines of buffers that are about to be written, all at once: the
// device has read them, so they are in its cache, too.
func (q *txQueue) ahead(n int) {
	n = min(n, packet.MaxBurst)
	for i := range n {
		q.frames[i] = q.at(q.held.IDs[i])
	}
	mem.PrefetchWrite(q.frames[:n])
}

// finish shows the device what was added.
func (q *txQueue) finish() {
	q.ring.Publish()
	if q.ring.NeedKick() {
		notify(q.kick)
	}
}

// sender is a kind of transmit queue: put is Send until the ring is full, and tells how much of
// list is dealt with.
type sender interface {
	put(b *packet.Burst, list []uint16, st *netdev.TxStats) (done int)
}

// send is Send of any kind of queue. When the ring is full it looks again, a bounded
// number of times and only for as long as that helps: a device that has stopped costs one look.
func (q *txQueue) send(s sender, b *packet.Burst, list []uint16, st *netdev.TxStats) {
	for try := 0; ; try++ {
		n := s.put(b, list, st)
		if n > 0 {
			q.finish()
		}
		if list = list[n:]; len(list) == 0 {
			return
		}
		if n == 0 || try == q.retries {
			break
		}
		st.Retries.Add(1)
	}
	st.Drops[packet.TxRingFull].Add(uint64(len(list)))
}

// simpleTx sends frames whose headers say nothing, each in one descriptor with its header. The
// headers are 0 since the card was made, and are not even looked at.
type simpleTx struct{ txQueue }

// Send implements netdev.TxQueue.
func (q *simpleTx) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) { q.send(q, b, list, st) }

func (q *simpleTx) put(b *packet.Burst, list []uint16, st *netdev.TxStats) (done int) {
	free := q.ring.Reserve(min(len(list), packet.MaxBurst))
	q.ahead(free)
	h := q.held
	used, copies, sent, bytes := 0, 0, 0, uint64(0)
	for done < len(list) {
		p := &b.Pkts[list[done]]
		if used == free || p.Len > q.room {
			// As many as there are go; the next one needs others.
			mem.CopyMany(q.copies[:copies])
			q.ring.Add(used)
			used, copies = 0, 0
			n, why := q.long(p, nil)
			if why == packet.TxRingFull {
				break
			}
			done++
			if why != packet.DropNone {
				st.Drops[why].Add(1)
			} else {
				sent++
				bytes += uint64(p.Len)
				q.ring.Add(n)
			}
			free = q.ring.Reserve(min(len(list)-done, packet.MaxBurst))
			continue
		}
		at := q.at(h.IDs[used])
		copies += jobs(q.copies[copies:], p, at)
		h.Pieces[used] = driver.Piece{Off: headSpace - q.hdr, Len: p.Len + q.hdr}
		used++
		done++
		sent++
		bytes += uint64(p.Len)
	}
	mem.CopyMany(q.copies[:copies])
	q.ring.Add(used)
	st.Packets.Add(uint64(sent))
	st.Bytes.Add(bytes)
	return done
}

// jobs are the copies that write a frame to one piece of memory.
func jobs(to []mem.Copy, p *packet.Packet, at uintptr) int {
	h := p.Head()
	to[0] = mem.Copy{Dst: at, Src: mem.AddrOf(h), N: len(h)}
	at += uintptr(len(h))
	for i, s := range p.Segs() {
		to[1+i] = mem.Copy{Dst: at, Src: s.Addr, N: int(s.Len)}
		at += uintptr(s.Len)
	}
	return 1 + int(p.NSegs)
}
