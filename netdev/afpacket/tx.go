package afpacket

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/rawio"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// gate is what the device's goroutine tells its tx queues.
type gate struct {
	open atomic.Bool   // the socket is bound to the right device
	mtu  atomic.Uint32 // the device's, in bytes
}

// txQueue is one of the port's send queues. They share the socket, which takes
// frames from several threads; each has its own vectors.
type txQueue struct {
	fd    int
	gate  *gate
	batch rawio.Batch
	sizes [packet.MaxBurst]uint32
}

// Caps implements netdev.TxQueue. The kernel finishes checksums and cuts TCP for
// devices that do not.
func (q *txQueue) Caps() netdev.TxCaps {
	return netdev.TxCaps{Csum: true, TSO4: true, TSO6: true, ECN: true}
}

// Send implements netdev.TxQueue. The kernel has copied each frame when the call
// returns.
func (q *txQueue) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) {
	if !q.gate.open.Load() {
		st.Drops[packet.TxNotReady].Add(uint64(len(list)))
		return
	}
	mtu := q.gate.mtu.Load()
	for len(list) > 0 {
		n := 0
		for len(list) > 0 && n < packet.MaxBurst {
			p := &b.Pkts[list[0]]
			list = list[1:]
			if !rawio.Fits(p, mtu) {
				st.Drops[packet.TxOversize].Add(1)
				continue
			}
			q.batch.Vector(n).Fill(p, vnet.LegacyLen)
			q.sizes[n] = p.Len
			n++
		}
		q.send(n, st)
	}
}

// send sends the first n frames of the batch.
func (q *txQueue) send(n int, st *netdev.TxStats) {
	sent, bytes := 0, uint64(0)
	again := true // after ENETDOWN: it may be old, a pending error is told once
	for i := 0; i < n; {
		k, errno := q.batch.Send(q.fd, i, n)
		for _, size := range q.sizes[i : i+k] {
			bytes += uint64(size)
		}
		sent += k
		i += k
		if errno == 0 {
			continue
		}
		if errno == unix.ENETDOWN && again {
			again = false
			continue
		}
		reason, rest := explain(errno)
		if !rest {
			st.Drops[reason].Add(1)
			i++
			continue
		}
		st.Drops[reason].Add(uint64(n - i))
		break
	}
	st.Packets.Add(uint64(sent))
	st.Bytes.Add(bytes)
}

// explain says why a frame was not taken, and whether the rest of the batch will
// fare the same.
func explain(errno unix.Errno) (reason packet.DropReason, rest bool) {
	switch errno {
	case unix.EAGAIN:
		return packet.TxRingFull, true
	case unix.ENOBUFS: // this one dropped by the device's queue
		return packet.TxRingFull, false
	case unix.EMSGSIZE:
		return packet.TxOversize, false
	case unix.ENETDOWN, unix.ENXIO:
		return packet.TxNotReady, true
	default: // EINVAL: offloads this kernel does not know; EFAULT: the sender's memory vanished
		return packet.TxError, false
	}
}
