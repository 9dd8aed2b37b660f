package dummy

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// frame is one that waits to be received.
type frame struct {
	bytes []byte
	hdr   [vnet.Len]byte
}

// rxQueue is a receive queue. lent, n and count belong to the thread
// that polls it.
type rxQueue struct {
	fd   int // eventfd, written at each injection
	pcap *pcapFile

	lent  [packet.MaxBurst]frame
	n     int
	count [8]byte // what reading fd gives

	mu     sync.Mutex // held for moments only
	queue  []frame
	first  int  // of queue, not yet received
	closed bool // fd may be somebody else's
}

// inject appends a frame, which is the queue's from now on, and reports whether the
// device is still there.
func (q *rxQueue) inject(f frame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.queue = append(q.queue, f)
	one := [8]byte{1}
	_, _ = unix.Write(q.fd, one[:]) // EAGAIN at the counter's maximum: it is readable
	return true
}

// close closes the descriptor; no poll thread has the queue any more.
func (q *rxQueue) close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return unix.Close(q.fd)
}

// take moves up to a burst of frames to lent.
func (q *rxQueue) take() {
	q.mu.Lock()
	q.n = copy(q.lent[:], q.queue[q.first:])
	clear(q.queue[q.first : q.first+q.n])
	q.first += q.n
	if q.first == len(q.queue) {
		q.queue, q.first = q.queue[:0], 0
	}
	q.mu.Unlock()
}

// Recv implements netdev.RxQueue.
func (q *rxQueue) Recv(b *packet.Burst, st *netdev.RxStats) int {
	q.take()
	n, bytes := 0, uint64(0)
	for i := range q.n {
		f := &q.lent[i]
		q.pcap.write(f.bytes)
		p := &b.Pkts[n]
		reason := packet.DropNone
		switch {
		case len(f.bytes) < packet.MinFrame:
			reason = packet.RxRunt
		case len(f.bytes) > packet.MaxFrame:
			reason = packet.RxTooLong
		default:
			p.SetBytes(f.bytes)
			if !vnet.Decode(&f.hdr, p) {
				reason = packet.RxBadOffload
			}
		}
		if reason != packet.DropNone {
			st.Drops[reason].Add(1)
			continue
		}
		bytes += uint64(len(f.bytes))
		n++
	}
	if n == 0 {
		q.Release()
		return 0
	}
	st.Packets.Add(uint64(n))
	st.Bytes.Add(bytes)
	return n
}

// Release implements netdev.RxQueue.
func (q *rxQueue) Release() {
	clear(q.lent[:q.n])
	q.n = 0
}

// FD implements netdev.RxQueue.
func (q *rxQueue) FD() int { return q.fd }

// Arm implements netdev.RxQueue.
func (q *rxQueue) Arm() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.first == len(q.queue)
}

// Disarm implements netdev.RxQueue.
func (q *rxQueue) Disarm() {
	_, _ = unix.Read(q.fd, q.count[:]) // EAGAIN: nothing was injected
}
