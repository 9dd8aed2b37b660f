package dummy

import (
	"sync"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/rawio"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// Sent is a frame that the switch sent.
type Sent struct {
	Frame  []byte
	Header [vnet.Len]byte // its virtio net header: what is left to do
	Queue  int
}

// record keeps the last frames that were sent, over all queues. Its slots are used
// again and again.
type record struct {
	mu    sync.Mutex // held for moments only
	slots []Sent
	count int // frames ever put in
}

// add puts frame in, which is p's bytes, and returns another buffer in exchange. p's own bytes must not be touched here: they may be
// lent by a guest whose memory is gone, and a fault in the middle would leave the lock taken for ever.
func (r *record) add(frame []byte, p *packet.Packet, queue int) []byte {
	r.mu.Lock()
	s := &r.slots[r.count%len(r.slots)]
	s.Frame, frame = frame, s.Frame
	vnet.Encode(p, &s.Header)
	s.Queue = queue
	r.count++
	r.mu.Unlock()
	return frame
}

// take copies what is kept, oldest first, and forgets it if told so.
func (r *record) take(forget bool) []Sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Sent
	for i := max(0, r.count-len(r.slots)); i < r.count; i++ {
		s := r.slots[i%len(r.slots)]
		s.Frame = append([]byte(nil), s.Frame...)
		all = append(all, s)
	}
	if forget {
		r.count = 0
	}
	return all
}

// txQueue is a send queue.
type txQueue struct {
	number  int
	caps    netdev.TxCaps
	blocked *atomic.Bool
	mtu     *atomic.Uint32
	record  *record
	pcap    *pcapFile
	frame   []byte // scratch
}

// Caps implements netdev.TxQueue.
func (q *txQueue) Caps() netdev.TxCaps { return q.caps }

// Send implements netdev.TxQueue.
func (q *txQueue) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) {
	if q.blocked.Load() {
		st.Drops[packet.TxRingFull].Add(uint64(len(list)))
		return
	}
	n, bytes := uint64(0), uint64(0)
	for _, i := range list {
		p := &b.Pkts[i]
		if reason := q.refuse(p); reason != packet.DropNone {
			st.Drops[reason].Add(1)
			continue
		}
		if keep := len(q.record.slots) > 0; keep || q.pcap != nil {
			q.frame = p.AppendTo(q.frame[:0])
			if q.pcap != nil {
				q.pcap.write(q.frame)
			}
			if keep {
				q.frame = q.record.add(q.frame, p, q.number)
			}
		}
		n++
		bytes += uint64(p.Len)
	}
	st.Packets.Add(n)
	st.Bytes.Add(bytes)
}

// refuse says why a receiver with these abilities would not take p.
func (q *txQueue) refuse(p *packet.Packet) packet.DropReason {
	if !rawio.Fits(p, q.mtu.Load()) {
		return packet.TxOversize
	}
	if p.Len > packet.MaxFrame || q.caps.MaxLen != 0 && p.Len > q.caps.MaxLen {
		return packet.TxTooLong
	}
	able := p.Flags&packet.CsumPartial == 0 || q.caps.Csum
	switch p.GSOType {
	case packet.GSONone:
	case packet.GSOTCPv4:
		able = able && q.caps.TSO4 && (p.Flags&packet.ECN == 0 || q.caps.ECN)
	case packet.GSOTCPv6:
		able = able && q.caps.TSO6 && (p.Flags&packet.ECN == 0 || q.caps.ECN)
	case packet.GSOUDPL4:
		able = able && q.caps.USO
	default:
		able = false
	}
	if !able {
		return packet.TxNeedsOffload
	}
	return packet.DropNone
}
