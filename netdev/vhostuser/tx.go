package vhostuser

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// txQueue sends to a guest's receive virtqueue. Like rxQueue it never changes but for
// the ring's positions.
type txQueue struct {
	ring    virtio.Ring
	held    *virtio.Batch // of ring
	call    int
	hdr     uint32
	last    uint32 // mask of the third 32-bit word: what of it is the header's
	alone   uint32 // length of a segment that may have the header for itself: then all three words are
	merge   bool   // a frame may take several buffers
	retries int
	caps    netdev.TxCaps

	headers, frames [virtio.MaxChains]uintptr  // addresses to prefetch
	copies          [virtio.MaxChains]mem.Copy // of frames without a tail, to be made at the end of put
}

func newTxQueue(c ringConfig) (*txQueue, error) {
	has := func(bits uint64) bool { return c.features&bits == bits }
	last, alone := ^uint32(0), uint32(vnet.Len)
	if virtio.NetHdrLen(c.features) == vnet.LegacyLen {
		last, alone = 0xffff, 0
	}
	return &txQueue{
		last: last, alone: alone,
		ring: c.ring, held: c.ring.Held(), call: c.callFD, hdr: uint32(virtio.NetHdrLen(c.features)),
		merge: has(virtio.NetFMrgRxbuf), retries: c.retries,
		caps: netdev.TxCaps{
			Csum:   has(virtio.NetFGuestCsum),
			TSO4:   has(virtio.NetFGuestCsum | virtio.NetFGuestTSO4),
			TSO6:   has(virtio.NetFGuestCsum | virtio.NetFGuestTSO6),
			ECN:    has(virtio.NetFGuestECN),
			USO:    has(virtio.NetFGuestCsum | virtio.NetFGuestUSO4 | virtio.NetFGuestUSO6),
			MaxLen: c.maxLen,
		},
	}, nil
}

func (q *txQueue) close() {}

// Caps implements netdev.TxQueue.
func (q *txQueue) Caps() netdev.TxCaps { return q.caps }

// Send implements netdev.TxQueue.
func (q *txQueue) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) {
	for try := 0; ; {
		n, full := q.put(b, list, st)
		list = list[n:]
		if len(list) == 0 {
			return
		}
		if !full {
			continue
		}
		// Look again, a bounded number of times and only for as long as that
		// helps: a guest that has stopped costs one look.
		if n == 0 || try == q.retries {
			break
		}
		try++
		st.Retries.Add(1)
	}
	st.Drops[packet.TxRingFull].Add(uint64(len(list)))
}

// put sends packets as far as the buffers go that it gathers at a time. It returns how
// many of list are dealt with and whether it stopped because the guest has no more.
func (q *txQueue) put(b *packet.Burst, list []uint16, st *netdev.TxStats) (done int, full bool) {
	r := q.held
	n := q.ring.Gather(len(list))
	if n == 0 {
		return 0, true
	}
	// The buffers are in the guest's cache: ask for their first lines all at once, the
	// frame's to be written, the header's to be looked at, see header.
	for i := range n {
		first := r.Chains[i].First
		q.headers[i], q.frames[i] = r.Segs[first].Addr, frameAt(r, first, q.hdr, q.alone)
	}
	mem.Prefetch(q.headers[:n])
	mem.PrefetchWrite(q.frames[:n])

	used, sent, copies, bytes := 0, 0, 0, uint64(0)
	for done < len(list) {
		p := &b.Pkts[list[done]]
		if used < n {
			c := &r.Chains[used]
			if need, s := p.Len+q.hdr, &r.Segs[c.First]; onePiece(c, s, q.alone) && need <= c.Len {
				q.header(s.Addr, p)
				at := q.frames[used]
				if p.NSegs == 0 {
					h := p.Head()
					q.copies[copies] = mem.Copy{Dst: at, Src: mem.AddrOf(h), N: len(h)}
					copies++
				} else {
					if used+1 < n && done+1 < len(list) {
						ahead(&b.Pkts[list[done+1]], q.frames[used+1]&^63)
					}
					fill(at, p)
				}
				c.Written = need
				used++
				sent++
				done++
				bytes += uint64(p.Len)
				continue
			}
		}
		k, why := q.general(p, used)
		if why == packet.TxRingFull {
			full = used+k < virtio.MaxChains
			break
		}
		used += k
		done++
		if why != packet.DropNone {
			st.Drops[why].Add(1)
			continue
		}
		sent++
		bytes += uint64(p.Len)
	}
	mem.CopyMany(q.copies[:copies])
	q.ring.Use(used)
	if q.call >= 0 && used > 0 && q.ring.NeedNotify() {
		notify(q.call)
	}
	st.Packets.Add(uint64(sent))
	st.Bytes.Add(bytes)
	return done, full
}

// ahead asks for the rest of the next frame and of the buffer it goes to, while
// this one is being copied; their first lines have been asked for.
func ahead(p *packet.Packet, to uintptr) {
	if p.NSegs > 0 {
		s := &p.Segs()[0]
		mem.PrefetchWriteRange(to+64, int(p.Len))
		mem.PrefetchRange(s.Addr, int(s.Len))
	}
}

// fill copies the frame to one piece of memory.
func fill(at uintptr, p *packet.Packet) {
	h := p.Head()
	mem.CopyOut(at, h)
	at += uintptr(len(h))
	for _, s := range p.Segs() {
		mem.Move(at, s.Addr, int(s.Len))
		at += uintptr(s.Len)
	}
}

// header writes the virtio net header of a frame in one buffer (virtio 1.2,
// section 5.1.6.4), in front of the frame, but only where something else stands: buffers
// go round, and a cache line that nobody writes stays with both sides.
func (q *txQueue) header(at uintptr, p *packet.Packet) {
	const oneBuffer = 1 << 16 // num_buffers behind csum_offset, little endian
	first, last := uint64(0), uint32(oneBuffer)
	if uint8(p.GSOType)|p.Flags != 0 && q.caps.Csum {
		var h [vnet.Len]byte
		q.encode(&h, p, 1)
		first, last = binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint32(h[8:])
	}
	if mem.Load64(at) != first {
		mem.Store64(at, first)
	}
	// What a legacy header has not got is the frame's, which is written later.
	if (mem.Load32(at+8)^last)&q.last != 0 {
		mem.Store32(at+8, last)
	}
}

// encode makes the header of a frame in n buffers. A driver without GUEST_CSUM
// understands no flags, and is told nothing.
func (q *txQueue) encode(h *[vnet.Len]byte, p *packet.Packet, n int) {
	if q.caps.Csum {
		vnet.Encode(p, h)
	}
	vnet.PutNumBuffers(h, uint16(n))
}
