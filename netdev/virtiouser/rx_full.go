package virtiouser

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio/driver"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// mostMerged is the most buffers that one frame may take: more than the longest needs.
const mostMerged = 64

// fullRx receives frames that may take several buffers, ask for something in their headers, or lose
// a tag.
type fullRx struct {
	rxQueue
	merge bool // frames may take several buffers
	parse bool // headers may say something
	strip bool // the outer tag goes
	most  int  // buffers of a frame
}

// Recv implements netdev.RxQueue.
func (q *fullRx) Recv(b *packet.Burst, st *netdev.RxStats) int {
	have := q.ring.Collect(q.burst)
	if have == 0 {
		return 0
	}
	q.ahead(min(have, packet.MaxBurst))
	bufs := q.held.Bufs
	got, heads, next, bytes := 0, 0, 0, uint64(0)
	for got < q.burst && next < have {
		at := q.at(bufs[next].ID)
		n := 1
		if q.merge {
			if n = int(mem.Load16(at - 2)); n != 1 {
				if n == 0 || n > q.most {
					q.ring.Break(driver.BadMerge)
					break
				}
				// The rest may not be there yet: then the frame waits.
				if have < next+n {
					if have = q.ring.Collect(next + n); have < next+n {
						break
					}
				}
			}
		}
		p := &b.Pkts[got]
		size := bufs[next].Len - q.hdr
		var why packet.DropReason
		if n == 1 && size-packet.MinFrame <= packet.MaxFrame-packet.MinFrame {
			q.heads[heads] = q.head(p, at, size)
		} else if q.heads[heads], why = q.merged(p, bufs[next:next+n], got); why != packet.DropNone {
			st.Drops[why].Add(1)
			next += n
			continue
		}
		next += n
		if q.parse && mem.Load16(at-uintptr(q.hdr)) != 0 {
			mem.CopyMany(q.heads[heads : heads+1])
			if !q.decode(p, at) {
				st.Drops[packet.RxBadOffload].Add(1)
				continue
			}
		} else {
			heads++
		}
		got++
		bytes += uint64(p.Len)
	}
	mem.CopyMany(q.heads[:heads])
	q.taken = next
	if q.strip {
		for i := range got {
			stripTag(&b.Pkts[i])
		}
	}
	b.Start(got)
	st.Packets.Add(uint64(got))
	st.Bytes.Add(bytes)
	if got == 0 && next > 0 {
		q.Release()
	}
	return got
}

// ahead asks for the first lines of the first n buffers, headers and frames.
func (q *fullRx) ahead(n int) {
	bufs := q.held.Bufs[:n]
	for i := range bufs {
		at := q.at(bufs[i].ID)
		q.prefetch[2*i], q.prefetch[2*i+1] = at-headSpace, at
	}
	mem.Prefetch(q.prefetch[:2*n])
}

// decode reads the header of a frame that begins at at.
func (q *fullRx) decode(p *packet.Packet, at uintptr) bool {
	var h [vnet.Len]byte
	mem.CopyIn(h[:q.hdr], at-uintptr(q.hdr))
	return vnet.Decode(&h, p)
}

// merged takes a frame of several buffers, or one of a length that no frame has. The
// buffers behind the first have no header: they are frame from where that would be.
func (q *fullRx) merged(p *packet.Packet, bufs []driver.Filled, slot int) (mem.Copy, packet.DropReason) {
	total := -uint64(q.hdr)
	for i := range bufs {
		total += uint64(bufs[i].Len)
	}
	switch {
	case bufs[0].Len < q.hdr: // not even a header
		return mem.Copy{}, packet.RxRunt
	case total-packet.MinFrame > packet.MaxFrame-packet.MinFrame:
		if total > packet.MaxFrame && total < 1<<32 {
			return mem.Copy{}, packet.RxTooLong
		}
		return mem.Copy{}, packet.RxRunt
	case bufs[0].Len < q.hdr+packet.HeadCopy && len(bufs) > 1 || len(bufs) > packet.MaxSegs:
		return q.gather(p, bufs, uint32(total), slot), packet.DropNone
	}
	job := q.head(p, q.at(bufs[0].ID), bufs[0].Len-q.hdr)
	for _, f := range bufs[1:] {
		if f.Len > 0 {
			p.AddSeg(q.at(f.ID)-uintptr(q.hdr), f.Len)
		}
	}
	return job, packet.DropNone
}

// gather copies a frame of too many or too small pieces into one.
func (q *fullRx) gather(p *packet.Packet, bufs []driver.Filled, total uint32, slot int) mem.Copy {
	to := mem.AddrOf(q.scratch) + uintptr(slot*packet.MaxFrame)
	n := uintptr(0)
	for i := range bufs {
		at, k := q.at(bufs[i].ID)-uintptr(q.hdr), bufs[i].Len
		if i == 0 {
			at, k = at+uintptr(q.hdr), k-q.hdr
		}
		mem.Move(to+n, at, int(k))
		n += uintptr(k)
	}
	return q.head(p, to, total)
}
