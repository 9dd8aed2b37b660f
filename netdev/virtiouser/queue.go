package virtiouser

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/driver"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// headSpace is where frames begin in their buffers: on a cache line, the header at the end of the
// line before. A frame whose header nobody looks at takes one line less to get across.
const headSpace = 64

// usualRoom is what a buffer holds of a frame, unless frames are longer and may take only one.
const usualRoom = 2048

// plan is the memory of one queue pair, as offsets in the card's, and what it follows from.
type plan struct {
	features uint64
	header   int // bytes
	layout   layout
	size     int
	rx, tx   ringPlan
	end      int // bytes of a pair
}

// ringPlan is one ring and its buffers.
type ringPlan struct {
	desc, avail, used int
	buffers           int
	stride            int
	room              int // of a frame in a buffer
	table             int // in a buffer, 0 = none
}

func newPlan(features uint64, s *settings) plan {
	p := plan{features: features, header: virtio.NetHdrLen(features), size: s.size, layout: arrange(features, s.layout)}
	frame := up(s.mtu + packet.MinFrame + 8)
	rx, tx := usualRoom, max(usualRoom, frame)
	if features&virtio.NetFMrgRxbuf == 0 {
		rx = max(rx, frame)
		if features&lroFeatures != 0 {
			rx = up(packet.MaxFrame)
		}
	}
	table := 0
	if p.layout == indirect {
		table = 16 * (driver.MaxPieces + 1)
	}
	at := p.place(&p.rx, 0, rx, 0)
	p.end = p.place(&p.tx, at, tx, table)
	return p
}

// place lays out a ring and its buffers from at on, and returns where they end. Buffers are an odd
// number of lines apart, so that their first lines spread over all sets of a cache.
func (p *plan) place(r *ringPlan, at, room, table int) int {
	desc, avail, used := virtio.Sizes(p.features, p.size)
	entries := 0
	if p.features&virtio.FRingPacked == 0 {
		// The entries of both rings on lines of their own, apart from the indices, which change more often.
		entries = 60
	}
	r.room = room
	r.desc = up(at)
	r.avail = up(r.desc+desc) + entries
	r.used = up(r.avail+avail) + entries
	r.buffers = up(r.used + used)
	r.stride = up(headSpace + room)
	if table > 0 {
		r.table = r.stride
		r.stride = up(r.stride + table)
	}
	if r.stride/64%2 == 0 {
		r.stride += 64
	}
	return up(r.buffers + p.size*r.stride)
}

// longest is the longest frame in bytes that can be sent. A frame has no more descriptors than the ring, of its own or
// in a table (virtio 1.2, section 2.7.5.3.1), and a header apart or in a table is one of them.
func (p *plan) longest() uint32 {
	n := min(p.size, driver.MaxPieces)
	if p.layout != together {
		n--
	}
	return uint32(n * p.tx.room)
}

func up(n int) int { return (n + 63) &^ 63 }

// config is the driver's, for the pair whose memory begins at offset at.
func (p *plan) config(m *memory, r *ringPlan, at int) driver.Config {
	c := driver.Config{
		Size: p.size, Features: p.features,
		Desc: m.host(at + r.desc), Avail: m.host(at + r.avail), Used: m.host(at + r.used),
		Buffers: m.host(at + r.buffers), Guest: m.guest + uint64(at+r.buffers), Stride: uint32(r.stride),
		Offset: uint32(headSpace - p.header), Len: uint32(p.header + r.room),
		Table: uint32(r.table), Header: uint32(p.header),
	}
	if p.features&virtio.FRingPacked != 0 {
		c.Base = driver.PackedBase
	}
	return c
}

// pair is a queue pair.
type pair struct {
	rx             netdev.RxQueue
	tx             netdev.TxQueue
	rxRing         driver.Rx
	txRing         driver.Tx
	rxKick, rxCall int
	txKick, txCall int
	scratch        []byte // of rx
}

// newPair makes the queues in memory from offset at on.
func (p *plan) newPair(m *memory, at int, paths Paths, s *settings) (q *pair, err error) {
	q = &pair{rxKick: -1, rxCall: -1, txKick: -1, txCall: -1}
	defer func() {
		if err != nil {
			q.close()
		}
	}()
	for _, fd := range q.fds() {
		if *fd, err = eventFD(); err != nil {
			return q, err
		}
	}
	if q.rxRing, err = driver.NewRx(p.config(m, &p.rx, at)); err != nil {
		return q, err
	}
	if q.txRing, err = driver.NewTx(p.config(m, &p.tx, at)); err != nil {
		return q, err
	}
	// Touched only where it is used, so it costs address space and no memory.
	if q.scratch, err = mem.Alloc(packet.MaxBurst * packet.MaxFrame); err != nil {
		return q, err
	}
	r := rxQueue{
		ring: q.rxRing, held: q.rxRing.Held(), kick: q.rxKick, call: q.rxCall, scratch: q.scratch,
		data: m.host(at + p.rx.buffers + headSpace), stride: uintptr(p.rx.stride), hdr: uint32(p.header), burst: s.burst,
	}
	if simple(paths.Rx) {
		q.rx = &simpleRx{r}
	} else {
		q.rx = &fullRx{
			rxQueue: r, merge: p.features&virtio.NetFMrgRxbuf != 0,
			parse: p.features&rxOffloadFeatures != 0, strip: s.offloads.Strip, most: min(p.size, mostMerged),
		}
	}
	t := newTxQueue(q, p, s)
	t.data = m.host(at + p.tx.buffers + headSpace)
	if simple(paths.Tx) {
		q.tx = &simpleTx{t}
	} else {
		q.tx = &fullTx{t}
	}
	return q, nil
}

func (q *pair) fds() []*int { return []*int{&q.rxKick, &q.rxCall, &q.txKick, &q.txCall} }

// broken is what the device did wrong on one of the rings.
func (q *pair) broken() driver.Fault {
	if f := q.rxRing.Broken(); f != driver.OK {
		return f
	}
	return q.txRing.Broken()
}

// close gives back what the queues have. No poll thread uses them any more.
func (q *pair) close() {
	for _, fd := range q.fds() {
		closeFD(*fd)
	}
	if q.scratch != nil {
		_ = mem.Free(q.scratch)
	}
}
