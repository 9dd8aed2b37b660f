package gen

import (
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// reflector sends what a queue received back by the port's queue of the same number, as it is. It belongs to the receiver's worker.
type reflector struct {
	tx    netdev.TxQueue
	stats netdev.TxStats
}

// back sends the first n packets of b back.
func (r *reflector) back(b *packet.Burst, n int) {
	if r.tx != nil {
		b.Start(n)
		r.tx.Send(b, everything[:n], &r.stats)
	}
}
