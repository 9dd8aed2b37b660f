package vhostuser

import (
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// filteredTx is a txQueue to a guest that took a control queue, by which it can say which
// frames it wants. As long as it has said nothing it costs one load a burst.
type filteredTx struct {
	*txQueue
	want *atomic.Pointer[virtio.RxFilter] // nil: everything
	keep [packet.MaxBurst]uint16
}

// Send implements netdev.TxQueue.
func (q *filteredTx) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) {
	want := q.want.Load()
	if want == nil {
		q.txQueue.Send(b, list, st)
		return
	}
	for len(list) > 0 {
		part := list[:min(len(list), len(q.keep))]
		list = list[len(part):]
		n := 0
		for _, i := range part {
			if want.Wants(b.Pkts[i].Head()) {
				q.keep[n] = i
				n++
			}
		}
		if gone := len(part) - n; gone > 0 {
			st.Drops[packet.TxFiltered].Add(uint64(gone))
		}
		if n > 0 {
			q.txQueue.Send(b, q.keep[:n], st)
		}
	}
}
