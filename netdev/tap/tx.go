package tap

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/link"
	"github.com/gvswitch/gvswitch/netdev/rawio"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// gate is what the device's goroutine tells its tx queues.
type gate struct {
	down atomic.Bool   // nobody has set the device up, so that asking the kernel is in vain
	mtu  atomic.Uint32 // in bytes
}

// set takes over the device's state. A device that others have moved is not watched,
// so what is known of it may be old: then the kernel is asked.
func (g *gate) set(st link.State, moved bool) {
	g.mtu.Store(uint32(st.MTU))
	g.down.Store(!st.Up && !moved)
}

// txQueue is one of the tap's send queues. They share the descriptor; each has its
// own vector.
type txQueue struct {
	fd   int
	gate *gate
	vec  rawio.Vector
}

// Caps implements netdev.TxQueue: the host's kernel takes all that it makes itself.
func (q *txQueue) Caps() netdev.TxCaps {
	return netdev.TxCaps{Csum: true, TSO4: true, TSO6: true, ECN: true}
}

// Send implements netdev.TxQueue. The kernel has copied each frame when its call
// returns.
func (q *txQueue) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) {
	if q.gate.down.Load() {
		st.Drops[packet.PortDown].Add(uint64(len(list)))
		return
	}
	sent, bytes, mtu := uint64(0), uint64(0), q.gate.mtu.Load()
	for _, i := range list {
		p := &b.Pkts[i]
		if !rawio.Fits(p, mtu) {
			st.Drops[packet.TxOversize].Add(1)
			continue
		}
		q.vec.Fill(p, vnet.Len)
		if errno := q.vec.Write(q.fd); errno != 0 {
			st.Drops[explain(errno)].Add(1)
			continue
		}
		sent++
		bytes += uint64(p.Len)
	}
	st.Packets.Add(sent)
	st.Bytes.Add(bytes)
}

// explain says why a frame was not taken.
func explain(errno unix.Errno) packet.DropReason {
	switch errno {
	case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
		return packet.TxRingFull
	case unix.EIO: // the device is down
		return packet.PortDown
	case unix.EBADFD: // it is deleted
		return packet.TxNotReady
	default: // EINVAL: offloads this kernel does not know; EFAULT: the sender's memory vanished
		return packet.TxError
	}
}
