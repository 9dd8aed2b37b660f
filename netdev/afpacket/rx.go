package afpacket

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/rawio"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// rxQueue is the port's receive queue. All fields belong to the thread that polls
// it.
type rxQueue struct {
	fd   int
	ring *ring
	next uint32 // running number of the first slot not yet taken
	lent uint32 // slots taken and not given back

	long     []byte // room for frames that do not fit a slot
	longUsed int
	stray    bool // the socket's queue may hold frames of slots that are gone
}

// longRoom is the memory for long frames of one burst: seven of 64 KiB, or more
// that are shorter.
const longRoom = 512 << 10

// longest is what one long frame may take of it.
const longest = vnet.LegacyLen + packet.MaxFrame

// Recv implements netdev.RxQueue.
func (q *rxQueue) Recv(b *packet.Burst, st *netdev.RxStats) int {
	n, bytes := 0, uint64(0)
	q.longUsed = 0
	for q.lent < packet.MaxBurst {
		slot := q.ring.slot(q.next)
		s := status(slot)
		if s&unix.TP_STATUS_USER == 0 {
			break
		}
		if s&unix.TP_STATUS_COPY != 0 && len(q.long)-q.longUsed < longest {
			break
		}
		p := &b.Pkts[n]
		reason := q.take(p, slot, s)
		q.next++
		q.lent++
		if reason != packet.DropNone {
			st.Drops[reason].Add(1)
			continue
		}
		bytes += uint64(p.Len)
		n++
	}
	if n == 0 {
		if q.lent != 0 { // only bad ones
			q.Release()
		} else if q.stray {
			q.drain()
		}
		return 0
	}
	st.Packets.Add(uint64(n))
	st.Bytes.Add(bytes)
	return n
}

// take makes p the frame in slot.
func (q *rxQueue) take(p *packet.Packet, slot uintptr, s uint32) packet.DropReason {
	length, snap := mem.Load32(slot+slotLen), mem.Load32(slot+slotSnap)
	frame := slot + uintptr(mem.Load16(slot+slotMAC))
	if s&unix.TP_STATUS_COPY != 0 {
		var reason packet.DropReason
		if frame, reason = q.takeLong(length); reason != packet.DropNone {
			return reason
		}
	} else if snap < length {
		return packet.RxTruncated
	}
	if length < packet.MinFrame {
		return packet.RxRunt
	}
	p.Reset()
	h := int(min(length, packet.HeadCopy))
	mem.CopyIn(p.Room()[:h], frame)
	p.SetHead(h)
	if rest := length - uint32(h); rest > 0 {
		p.AddSeg(frame+uintptr(h), rest)
	}
	var hdr [vnet.Len]byte
	mem.CopyIn(hdr[:vnet.LegacyLen], frame-vnet.LegacyLen)
	if !vnet.Decode(&hdr, p) {
		return packet.RxBadOffload
	}
	if s&unix.TP_STATUS_CSUM_VALID != 0 && p.Flags&packet.CsumPartial == 0 {
		p.Flags |= packet.CsumValid
	}
	if s&unix.TP_STATUS_VLAN_VALID != 0 {
		tpid := mem.Load16(slot + slotTPID)
		if s&unix.TP_STATUS_VLAN_TPID_VALID == 0 {
			tpid = unix.ETH_P_8021Q
		}
		restoreTag(p, tpid, mem.Load16(slot+slotTCI))
	}
	return packet.DropNone
}

// takeLong reads a frame that did not fit its slot from the socket's queue, where
// such frames wait in the order of their slots. Once the two are found out of step,
// long frames are lost until no slot waits; then the queue is emptied, and they are
// in step again.
func (q *rxQueue) takeLong(length uint32) (uintptr, packet.DropReason) {
	if q.stray {
		return 0, packet.RxError
	}
	room := q.long[q.longUsed:][:longest]
	for range 3 { // a pending error, as after a link went down, comes first, and once
		n, errno := rawio.Receive(q.fd, room)
		if errno == unix.ENETDOWN {
			continue
		}
		if errno == unix.EAGAIN { // empty: whatever comes is of a later slot
			return 0, packet.RxError
		}
		if errno != 0 || uint32(n) != vnet.LegacyLen+length {
			break
		}
		if n > len(room) {
			return 0, packet.RxTooLong
		}
		// The next one starts at a cache line.
		q.longUsed += (n + 63) &^ 63
		return mem.AddrOf(room) + vnet.LegacyLen, packet.DropNone
	}
	q.stray = true
	return 0, packet.RxError
}

// drain empties the socket's queue, a burst's worth at a time. No slot waits and none is
// lent. The kernel queues a frame before it hands over its slot, so it may take
// one too many: then that slot finds the queue empty.
func (q *rxQueue) drain() {
	for range packet.MaxBurst {
		if _, errno := rawio.Receive(q.fd, q.long[:longest]); errno == unix.EAGAIN {
			q.stray = false
			return
		}
	}
}

// restoreTag puts the tag back that the kernel took off the frame (also VID 0).
func restoreTag(p *packet.Packet, tpid, tci uint16) {
	p.Push(4) // cannot fail: the headroom is untouched
	h := p.Head()[:16]
	copy(h, h[4:])
	binary.BigEndian.PutUint16(h[12:], tpid)
	binary.BigEndian.PutUint16(h[14:], tci)
}

// Release implements netdev.RxQueue.
func (q *rxQueue) Release() {
	for i := q.next - q.lent; i != q.next; i++ {
		give(q.ring.slot(i))
	}
	q.lent = 0
}

// FD implements netdev.RxQueue. The socket is readable while the slot that the
// kernel filled last has not been given back.
func (q *rxQueue) FD() int { return q.fd }

// Arm implements netdev.RxQueue. The descriptor needs no arming: it tells the
// ring's state.
func (q *rxQueue) Arm() bool { return status(q.ring.slot(q.next))&unix.TP_STATUS_USER == 0 }

// Disarm implements netdev.RxQueue.
func (q *rxQueue) Disarm() { rawio.SocketError(q.fd) }
