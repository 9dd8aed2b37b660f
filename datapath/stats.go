package datapath

import (
	"net"
	"time"

	"github.com/gvswitch/gvswitch/packet"
)

// Drops is losses by reason.
type Drops [packet.NumDropReasons]uint64

// Total is the sum over all reasons.
func (d Drops) Total() uint64 {
	var n uint64
	for _, v := range d {
		n += v
	}
	return n
}

func (d *Drops) add(o *Drops) {
	for i, v := range o {
		d[i] += v
	}
}

// PortStats is what a port counted since it was added. It survives changes of
// the port's device and of the threads.
type PortStats struct {
	RxPackets, RxBytes uint64 // frames from the device, or injected, that the datapath got
	TxPackets, TxBytes uint64 // frames the device took
	RxDrops            Drops  // frames lost on the way in: by the device or by the bridge's decision
	TxDrops            Drops  // frames bound for this port that were lost
	RxLent, RxLentLen  uint64 // frames of RxPackets of which the device lent a part and did not copy it, and the bytes lent
	TxRetries          uint64 // waits for room in the receiver's ring
	Queues             []QueueStats
}

// QueueStats is the share of one rx queue since the device has had it.
type QueueStats struct {
	RxPackets, RxBytes, RxDrops uint64
}

// MACEntry is an address in a bridge's MAC table.
type MACEntry struct {
	Port   *Port
	VLAN   int
	MAC    net.HardwareAddr
	Age    time.Duration // since the address was last seen; 0 if Static
	Static bool
}

// MACStats counts what happened to a bridge's MAC table.
type MACStats struct {
	Current, Max      uint64 // entries, and how many there may be
	Static            uint64 // of Current
	Learned           uint64 // new addresses
	Expired           uint64 // not seen for the aging time
	Evicted           uint64 // removed to make room
	Moved             uint64 // seen at another port
	StaticMoveDropped uint64 // a static entry's address seen at another port, and not moved
	NotLearned        uint64 // no place found
	CacheFlushes      uint64 // times that moves, expiries, ... made the threads' caches invalid
}

// ThreadStats is what a poll thread did since it started or its counters were
// cleared.
type ThreadStats struct {
	Core       int // -1: not pinned
	NUMA       int
	Iterations uint64
	Busy, Idle uint64 // cycles in iterations with and without packets
	SleepTime  time.Duration
	Sleeps     uint64
	Packets    uint64 // received
	Bursts     uint64 // receive calls that gave packets
	Recirc     uint64 // passes beyond the first: through patch ports
	CacheHits  uint64 // decided by the exact-match cache
	TableHits  uint64 // decided by the MAC table, to one port
	Misses     uint64 // everything else: floods and drops
	TxPackets  uint64 // handed to tx queues
	TxBatches  uint64 // calls they were handed over in
	Stalls     Stalls
	Cycles     Histogram // cycles of busy iterations
	PerBurst   Histogram // packets of each receive call that gave any
	PerPacket  Histogram // cycles per packet of busy iterations
	Running    time.Duration
}

// Stalls counts busy iterations that took much longer than work explains: the
// thread was not running.
type Stalls struct {
	Over200us, Over1ms uint64
	Longest            time.Duration
}

// QueueInfo says who polls an rx queue.
type QueueInfo struct {
	Port     *Port
	Queue    int
	Thread   int     // core, -1: the thread that is not pinned
	Usage    float64 // percent of the thread's time, over the last minute
	Pinned   bool    // by Affinity
	Isolated bool    // the thread takes pinned queues only
	Enabled  bool    // the port is up
}
