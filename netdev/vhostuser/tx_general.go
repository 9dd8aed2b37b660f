package vhostuser

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// general sends a packet to buffers of any layout, beginning with gathered chain
// used: several segments, several buffers, or buffers that are not fit for anything.
// It returns how many chains it used up and what became of the packet; with
// TxRingFull none are, and the count is how many it looked at.
func (q *txQueue) general(p *packet.Packet, used int) (int, packet.DropReason) {
	r := q.held
	need := uint64(p.Len + q.hdr)
	have := uint64(0)
	first := used // of the chains that the packet goes to
	for k := used; ; k++ {
		if k >= q.ring.Gather(k+1) {
			if k == virtio.MaxChains && first == 0 {
				return 0, packet.TxTooLong // not even in as many as there can be
			}
			return q.waste(used, first, k)
		}
		c := &r.Chains[k]
		if c.Fault != virtio.OK {
			for i := first; i <= k; i++ {
				r.Chains[i].Written = 0 // it goes back with nothing in it
			}
			if first == k {
				// Nothing was in it yet: the next one will do.
				first, have = k+1, 0
				continue
			}
			return k + 1 - used, fault(c.Fault)
		}
		have += uint64(c.Len)
		if have >= need {
			q.spread(p, first, k+1-first)
			return k + 1 - used, packet.DropNone
		}
		if !q.merge {
			return k - used, packet.TxTooLong // the buffer waits for a frame that fits
		}
	}
}

// waste ends a search that ran out of chains at k. Faulty chains in front of first
// have been given back and must be counted as used, with the packet
// that met them; without any, nothing has happened.
func (q *txQueue) waste(used, first, k int) (int, packet.DropReason) {
	if first > used {
		return first - used, packet.TxBadChain
	}
	return k - used, packet.TxRingFull
}

func fault(f virtio.Fault) packet.DropReason {
	if f == virtio.BadAddress {
		return packet.TxBadAddress
	}
	return packet.TxBadChain
}

// spread writes a packet over n chains that hold it, each filled before the next (virtio
// 1.2, section 5.1.6.4: num_buffers), and uses them.
func (q *txQueue) spread(p *packet.Packet, first, n int) {
	r := q.held
	w := writer{held: r, chain: first}
	var h [vnet.Len]byte
	q.encode(&h, p, n)
	w.bytes(h[:q.hdr])
	w.bytes(p.Head())
	for _, s := range p.Segs() {
		w.memory(s.Addr, s.Len)
	}
	left := p.Len + q.hdr
	for i := first; i < first+n; i++ {
		c := &r.Chains[i]
		c.Written = min(left, c.Len)
		left -= c.Written
	}
}

// writer is a position in the segments of successive chains.
type writer struct {
	held  *virtio.Batch
	chain int
	seg   int    // in the chain
	off   uint32 // in the segment
}

// room is the next piece to write to, n bytes of it at most.
func (w *writer) room(n uint32) (uintptr, uint32) {
	c := &w.held.Chains[w.chain]
	s := w.held.Segs[int(c.First)+w.seg]
	at, k := s.Addr+uintptr(w.off), min(n, s.Len-w.off)
	w.off += k
	if w.off == s.Len {
		w.seg, w.off = w.seg+1, 0
		if w.seg == int(c.Count) {
			w.chain, w.seg = w.chain+1, 0
		}
	}
	return at, k
}

func (w *writer) bytes(b []byte) {
	for len(b) > 0 {
		at, k := w.room(uint32(len(b)))
		mem.CopyOut(at, b[:k])
		b = b[k:]
	}
}

func (w *writer) memory(src uintptr, n uint32) {
	for n > 0 {
		at, k := w.room(n)
		mem.Move(at, src, int(k))
		src += uintptr(k)
		n -= k
	}
}
