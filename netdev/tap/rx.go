package tap

import (
	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/rawio"
	"github.com/gvswitch/gvswitch/netdev/ready"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// rxQueue is the tap's receive queue. All belongs to the thread that polls it.
type rxQueue struct {
	fd    int
	word  *ready.Word
	tails []byte // where the frames of a burst are behind their heads
	hdr   [vnet.Len]byte
}

// tailRoom is the memory for the tails of one burst: seven of 64 KiB, or 32 of
// frames up to 2 KiB behind which there is always room for one of 64 KiB.
const tailRoom = 512 << 10

// longest is the tail that a read must have room for.
const longest = packet.MaxFrame

// Recv implements netdev.RxQueue.
func (q *rxQueue) Recv(b *packet.Burst, st *netdev.RxStats) int {
	if !q.word.Ready() {
		return 0
	}
	n, used, bytes := 0, 0, uint64(0)
	// A burst that ends because it is full leaves the word set.
	for tries := 0; tries < packet.MaxBurst && len(q.tails)-used >= longest; tries++ {
		p := &b.Pkts[n]
		p.Reset()
		tail := q.tails[used:]
		got, errno := rawio.Read(q.fd, q.hdr[:], p.Room()[:packet.HeadCopy], tail)
		if errno != 0 {
			if q.failed(errno, st) {
				continue
			}
			break
		}
		if reason := q.take(p, got-vnet.Len, tail); reason != packet.DropNone {
			st.Drops[reason].Add(1)
			continue
		}
		used += (int(p.Len) - int(p.HeadLen) + 63) &^ 63 // each begins at a cache line
		bytes += uint64(p.Len)
		n++
	}
	if n > 0 {
		st.Packets.Add(uint64(n))
		st.Bytes.Add(bytes)
	}
	return n
}

// failed says whether to go on reading after an error.
func (q *rxQueue) failed(errno unix.Errno, st *netdev.RxStats) bool {
	switch errno {
	case unix.EAGAIN:
		q.word.Rearm()
		return false
	case unix.EBADFD, unix.EIO:
		// The device was deleted: nothing will come until the queue is replaced.
		// The descriptor is in error now, so arming it would fire at once.
		q.word.Clear()
		return false
	default: // a frame that the kernel cannot describe, and that is gone
		st.Drops[packet.RxError].Add(1)
		return true
	}
}

// take makes p the frame of n bytes that was read into it and tail.
func (q *rxQueue) take(p *packet.Packet, n int, tail []byte) packet.DropReason {
	switch {
	case n < packet.MinFrame:
		return packet.RxRunt
	case n > packet.MaxFrame:
		return packet.RxTooLong
	}
	p.SetHead(min(n, packet.HeadCopy))
	if n > packet.HeadCopy {
		p.AddSeg(mem.AddrOf(tail), uint32(n-packet.HeadCopy))
	}
	if !vnet.Decode(&q.hdr, p) {
		return packet.RxBadOffload
	}
	return packet.DropNone
}

// Release implements netdev.RxQueue: the tails are ours.
func (q *rxQueue) Release() {}

// FD implements netdev.RxQueue.
func (q *rxQueue) FD() int { return q.fd }

// Arm implements netdev.RxQueue.
func (q *rxQueue) Arm() bool {
	if q.word.Ready() {
		return false
	}
	q.word.Mute() // FD is readable as long as frames are there
	return true
}

// Disarm implements netdev.RxQueue: the next Recv looks for itself.
func (q *rxQueue) Disarm() { q.word.Set() }
