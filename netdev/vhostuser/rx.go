package vhostuser

import (
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// ringConfig is one started virtqueue, as the protocol set it up.
type ringConfig struct {
	ring     virtio.Ring
	kickFD   int    // readable when the driver made buffers available; -1: it does not tell
	callFD   int    // written to when the driver wants to be told; -1: it polls
	features uint64 // acknowledged by the driver
	discard  bool   // rx: started but disabled, so frames are consumed and dropped
	zeroCopy bool   // rx: lend tails instead of copying them
	retries  int    // tx: how often to look again for room
	maxLen   uint32 // tx: longest frame, 0 = as long as the ring takes
}

// offloadBits are the features with which a driver may ask for work on the frames it
// sends. Without them the header says nothing and is not read.
const offloadBits = virtio.NetFCsum | virtio.NetFHostTSO4 | virtio.NetFHostTSO6 | virtio.NetFHostUSO

// rxQueue receives from a guest's transmit virtqueue. It never changes but for the
// ring's positions and whether it lends: another state of the ring is another rxQueue.
type rxQueue struct {
	ring    virtio.Ring
	held    *virtio.Batch // of ring
	kick    int
	call    int
	hdr     uint32      // bytes of virtio net header in front of each frame
	parse   bool        // headers may ask for something
	lend    atomic.Bool // set by control code; what holds for a burst is lending
	lending bool
	discard bool
	taken   int    // chains behind the last burst
	tails   uint64 // frames of this burst that have one, and how long they are together
	tailLen uint64
	scratch []byte                    // for tails that are not lent, MaxFrame for each packet
	frames  [packet.MaxBurst]uintptr  // where they begin, if in one piece
	heads   [packet.MaxBurst]mem.Copy // to be made at the end of Recv
}

func newRxQueue(c ringConfig) (*rxQueue, error) {
	q := &rxQueue{
		ring: c.ring, held: c.ring.Held(), kick: c.kickFD, call: c.callFD, hdr: uint32(virtio.NetHdrLen(c.features)),
		parse: c.features&offloadBits != 0, discard: c.discard,
	}
	q.lend.Store(c.zeroCopy)
	var err error
	// Touched only where it is used, so it costs address space and no memory.
	q.scratch, err = mem.Alloc(packet.MaxBurst * packet.MaxFrame)
	return q, err
}

func (q *rxQueue) close() {
	if q.scratch != nil {
		_ = mem.Free(q.scratch)
		q.scratch = nil
	}
}

// Recv implements netdev.RxQueue.
func (q *rxQueue) Recv(b *packet.Burst, st *netdev.RxStats) int {
	r := q.held
	n := q.ring.Gather(packet.MaxBurst)
	if n == 0 {
		return 0
	}
	q.taken = n
	q.lending = q.lend.Load()
	if q.discard {
		st.Drops[packet.PortDown].Add(uint64(n))
		q.Release()
		return 0
	}
	// The frames are in the guest's cache: ask for their first lines all at once.
	hdr, parse := q.hdr, q.parse
	for i := range n {
		q.frames[i] = frameAt(r, r.Chains[i].First, hdr, hdr)
	}
	mem.Prefetch(q.frames[:n])

	got, bytes, heads := 0, uint64(0), 0
	for i := range n {
		c := &r.Chains[i]
		p := &b.Pkts[got]
		size := c.Len - hdr
		if s := &r.Segs[c.First]; onePiece(c, s, hdr) && size-packet.MinFrame <= packet.MaxFrame-packet.MinFrame &&
			(!parse || mem.Load16(s.Addr) == 0) { // flags and gso_type: it asks for nothing
			q.heads[heads] = q.single(p, q.frames[i], size, got)
			heads++
		} else if why := q.general(p, c, got); why != packet.DropNone {
			st.Drops[why].Add(1)
			continue
		}
		bytes += uint64(p.Len)
		got++
	}
	mem.CopyMany(q.heads[:heads])
	b.Start(got)
	st.Packets.Add(uint64(got))
	st.Bytes.Add(bytes)
	if q.tails != 0 {
		if q.lending {
			st.Lent.Add(q.tails)
			st.LentLen.Add(q.tailLen)
		}
		q.tails, q.tailLen = 0, 0
	}
	if got == 0 {
		q.Release()
	}
	return got
}

// frameAt is where the frame begins in a chain with the given first segment, if it is in one
// piece: behind the header, or in the next segment if the header has the first one for itself, of alone bytes.
func frameAt(r *virtio.Batch, first, hdr, alone uint32) uintptr {
	s := &r.Segs[first]
	if s.Len == alone {
		return r.Segs[first+1].Addr
	}
	return s.Addr + uintptr(hdr)
}

// onePiece tells whether a chain's frame is in one piece, where frameAt says. s is its first segment.
func onePiece(c *virtio.Chain, s *virtio.Seg, alone uint32) bool {
	return c.Count == 1 || c.Count == 2 && s.Len == alone
}

// single takes a frame that lies in one piece and asks for nothing. Its head is still
// to be copied.
func (q *rxQueue) single(p *packet.Packet, addr uintptr, size uint32, slot int) mem.Copy {
	p.Reset()
	h := min(size, packet.HeadCopy)
	p.SetHead(int(h))
	if size > h {
		q.tail(p, addr+uintptr(h), size-h, slot)
		q.tails++
		q.tailLen += uint64(size - h)
	}
	return mem.Copy{Dst: mem.AddrOf(p.Room()), Src: addr, N: int(h)}
}

// tail adds n more bytes at addr to p, lent or copied as the port is set.
func (q *rxQueue) tail(p *packet.Packet, addr uintptr, n uint32, slot int) {
	if !q.lending {
		to := mem.AddrOf(q.scratch) + uintptr(slot*packet.MaxFrame) + uintptr(p.Len)
		mem.Move(to, addr, int(n))
		addr = to
	}
	p.AddSeg(addr, n)
}

// general takes a frame of any layout, header anywhere.
func (q *rxQueue) general(p *packet.Packet, c *virtio.Chain, slot int) packet.DropReason {
	switch {
	case c.Fault == virtio.BadAddress:
		return packet.RxBadAddress
	case c.Fault != virtio.OK:
		return packet.RxBadChain
	case c.Len < q.hdr+packet.MinFrame:
		return packet.RxRunt
	case c.Len-q.hdr > packet.MaxFrame:
		return packet.RxTooLong
	}
	segs := q.held.Segs[c.First:][:c.Count]
	var h [vnet.Len]byte
	if q.parse {
		segs = cutHead(h[:q.hdr], segs)
	} else {
		segs = skipHead(q.hdr, segs)
	}
	p.Reset()
	n := min(c.Len-q.hdr, packet.HeadCopy)
	segs = cutHead(p.Room()[:n], segs)
	p.SetHead(int(n))
	if len(segs) > packet.MaxSegs {
		q.gather(p, segs, slot)
	} else {
		for _, s := range segs {
			q.tail(p, s.Addr, s.Len, slot)
		}
	}
	if q.parse && !vnet.Decode(&h, p) {
		return packet.RxBadOffload
	}
	if k := p.Len - n; k != 0 && len(segs) <= packet.MaxSegs {
		q.tails++
		q.tailLen += uint64(k)
	}
	return packet.DropNone
}

// cutHead copies the first len(dst) bytes of segs to dst and returns what is left. The
// segments belong to the ring's scratch, so they are cut in place.
func cutHead(dst []byte, segs []virtio.Seg) []virtio.Seg {
	for len(dst) > 0 {
		s := &segs[0]
		k := min(len(dst), int(s.Len))
		mem.CopyIn(dst[:k], s.Addr)
		dst = dst[k:]
		s.Addr += uintptr(k)
		s.Len -= uint32(k)
		if s.Len == 0 {
			segs = segs[1:]
		}
	}
	return segs
}

// skipHead is cutHead for bytes that nobody wants.
func skipHead(n uint32, segs []virtio.Seg) []virtio.Seg {
	for n >= segs[0].Len {
		n -= segs[0].Len
		segs = segs[1:]
	}
	segs[0].Addr += uintptr(n)
	segs[0].Len -= n
	return segs
}

// gather copies a tail of too many segments into one.
func (q *rxQueue) gather(p *packet.Packet, segs []virtio.Seg, slot int) {
	to := mem.AddrOf(q.scratch) + uintptr(slot*packet.MaxFrame)
	n := uint32(0)
	for _, s := range segs {
		mem.Move(to+uintptr(n), s.Addr, int(s.Len))
		n += s.Len
	}
	p.AddSeg(to, n)
}

// Release implements netdev.RxQueue: the guest gets its buffers back.
func (q *rxQueue) Release() {
	r := q.ring
	r.Use(q.taken)
	q.taken = 0
	if q.call >= 0 && r.NeedNotify() {
		notify(q.call)
	}
}

// FD implements netdev.RxQueue.
func (q *rxQueue) FD() int { return q.kick }

// Arm implements netdev.RxQueue.
func (q *rxQueue) Arm() bool { return q.ring.Arm() }

// Disarm implements netdev.RxQueue.
func (q *rxQueue) Disarm() {
	q.ring.Disarm()
	drain(q.kick)
}
