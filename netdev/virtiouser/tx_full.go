package virtiouser

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio/driver"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// fullTx sends frames that ask for something, get a tag, or lie in their descriptors in another
// way than directly behind their headers.
type fullTx struct{ txQueue }

// Send implements netdev.TxQueue.
func (q *fullTx) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) { q.send(q, b, list, st) }

func (q *fullTx) put(b *packet.Burst, list []uint16, st *netdev.TxStats) (done int) {
	if q.insert >= 0 || q.layout == apart {
		return q.putEach(b, list, st)
	}
	free := q.ring.Reserve(min(len(list), packet.MaxBurst))
	q.ahead(free)
	h := q.held
	used, copies, sent, bytes := 0, 0, 0, uint64(0)
	for done < len(list) {
		p := &b.Pkts[list[done]]
		var head [vnet.Len]byte
		encode(p, &head)
		if used == free || p.Len > q.room {
			mem.CopyMany(q.copies[:copies])
			q.ring.Add(used)
			used, copies = 0, 0
			n, why := q.long(p, &head)
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
		q.header(at-uintptr(q.hdr), &head)
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

// putEach sends frame by frame.
func (q *fullTx) putEach(b *packet.Burst, list []uint16, st *netdev.TxStats) (done int) {
	sent, bytes := 0, uint64(0)
	for ; done < len(list); done++ {
		p := &b.Pkts[list[done]]
		n, why := q.one(p)
		switch {
		case why == packet.DropNone:
			q.ring.Add(n)
			sent++
			bytes += uint64(p.Len)
			continue
		case why != packet.TxRingFull:
			st.Drops[why].Add(1)
			continue
		}
		break
	}
	st.Packets.Add(uint64(sent))
	st.Bytes.Add(bytes)
	return done
}

// one writes one frame to buffers.
func (q *fullTx) one(p *packet.Packet) (int, packet.DropReason) {
	tag := q.insert >= 0
	if tag && !pushTag(p, uint16(q.insert)) {
		return 0, packet.NoRoom
	}
	var head [vnet.Len]byte
	encode(p, &head)
	n, why := q.long(p, &head)
	if tag {
		popTag(p)
	}
	return n, why
}

// encode makes the header of a frame. That its checksum is known to be right is nothing that a driver
// may say (virtio 1.2, section 5.1.6.2.1).
func encode(p *packet.Packet, h *[vnet.Len]byte) {
	vnet.Encode(p, h)
	if p.Flags&(packet.CsumValid|packet.CsumPartial) == packet.CsumValid {
		h[0] = 0
	}
}

// header writes a header where another one stands: buffers go round, and a cache line that nobody
// writes stays with both sides.
func (q *txQueue) header(at uintptr, h *[vnet.Len]byte) {
	if v := binary.LittleEndian.Uint64(h[:]); mem.Load64(at) != v {
		mem.Store64(at, v)
	}
	if q.hdr == vnet.LegacyLen {
		if v := binary.LittleEndian.Uint16(h[8:]); mem.Load16(at+8) != v {
			mem.Store16(at+8, v)
		}
	} else if v := binary.LittleEndian.Uint32(h[8:]); mem.Load32(at+8) != v {
		mem.Store32(at+8, v)
	}
}

// long writes a frame to as many buffers as it takes, its header in front unless that is known to
// be there (nil), and tells how many pieces it made.
func (q *txQueue) long(p *packet.Packet, head *[vnet.Len]byte) (int, packet.DropReason) {
	if p.Len > q.longest {
		return 0, packet.TxTooLong
	}
	n, first := int((p.Len+q.room-1)/q.room), 0
	if q.layout == apart {
		n, first = n+1, 1
	}
	if q.ring.Reserve(n) < n {
		return 0, packet.TxRingFull
	}
	h := q.held
	if head != nil {
		q.header(q.at(h.IDs[0])-uintptr(q.hdr), head)
	}
	h.Pieces[0] = driver.Piece{Off: headSpace - q.hdr, Len: q.hdr, More: n > 1}
	off := 0
	for i := first; i < n; i++ {
		k := min(int(p.Len)-off, int(q.room))
		p.CopyOut(q.at(h.IDs[i]), off, k)
		if i > 0 {
			h.Pieces[i] = driver.Piece{Off: headSpace, More: i < n-1}
		}
		h.Pieces[i].Len += uint32(k)
		off += k
	}
	return n, packet.DropNone
}
