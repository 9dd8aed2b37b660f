package netdev

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
)

// RxStats counts what a queue received. Its one writer is the thread that polls the
// queue; anybody may read.
type RxStats struct {
	Packets mem.Counter // frames handed to the datapath
	Bytes   mem.Counter // of those
	Lent    mem.Counter // of those, frames whose tail was lent and not copied, by devices that can do either
	LentLen mem.Counter // bytes lent
	Drops   [packet.NumDropReasons]mem.Counter
}

// TxStats counts what one thread sent to a port.
type TxStats struct {
	Packets mem.Counter // frames taken by the receiver
	Bytes   mem.Counter // of those
	Retries mem.Counter // waits for room in the receiver's ring
	Drops   [packet.NumDropReasons]mem.Counter
}
