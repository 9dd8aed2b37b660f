package datapath

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// inCounters counts what came in by one way: an rx queue, or a thread's
// injections into a port and its passes through a patch. The one writer is the
// thread that takes the packets.
//
// Between bursts, RxStats.Packets = forwarded + the sum of drops.
type inCounters struct {
	netdev.RxStats // what the device counts; its drops never reached the datapath
	forwarded      mem.Counter
	copies         mem.Counter                        // made of those forwarded
	drops          [packet.NumDropReasons]mem.Counter // decided by the datapath
	seenPackets    uint64                             // see settle; the polling thread's
	seenBytes      uint64
	port           uint16   // that it is of
	_              [64]byte // keeps the next writer's words off these cache lines
}

// unaccounted is how many packets were received and neither forwarded nor
// dropped yet.
func (c *inCounters) unaccounted() uint64 {
	n := c.Packets.Load() - c.forwarded.Load()
	for i := range c.drops {
		n -= c.drops[i].Load()
	}
	return n
}

// outCounters counts what one thread sent to one port, which is its one writer.
//
// Between bursts, copies + segments = TxStats.Packets + the sum of its drops.
type outCounters struct {
	netdev.TxStats
	copies   mem.Counter // packets put on the port's list
	segments mem.Counter // packets that cutting a GSO packet made, beyond the one it was
	_        [64]byte
}

func (c *outCounters) unaccounted() uint64 {
	n := c.copies.Load() + c.segments.Load() - c.Packets.Load()
	for i := range c.Drops {
		n -= c.Drops[i].Load()
	}
	return n
}

// threadCounters is a thread's part of a port: its two kinds of counters.
type threadCounters struct {
	in       inCounters  // injected, or through a patch
	injected mem.Counter // of those
	out      outCounters
}

// portCounters is all that a port counts. Control code owns the structure, under
// Datapath.mu; what left is in past.
type portCounters struct {
	threads  map[*thread]*threadCounters
	port     uint16
	past     totals
	outside  Drops  // counted by control code, which is the only writer, under Datapath.mu
	injected uint64 // frames that Inject accepted, under Datapath.mu
}

// totals is counters added up, as plain numbers.
type totals struct {
	PortStats
	forwarded, inCopies, copies, segments uint64

	deviceDrops  uint64 // of RxDrops: before the datapath got the frame
	injected     uint64 // frames accepted from control code
	injectedSeen uint64 // of those, received
}

func (t *totals) add(o totals) {
	t.RxPackets += o.RxPackets
	t.RxBytes += o.RxBytes
	t.RxLent += o.RxLent
	t.RxLentLen += o.RxLentLen
	t.TxPackets += o.TxPackets
	t.TxBytes += o.TxBytes
	t.TxRetries += o.TxRetries
	t.RxDrops.add(&o.RxDrops)
	t.TxDrops.add(&o.TxDrops)
	t.forwarded += o.forwarded
	t.copies += o.copies
	t.segments += o.segments
	t.deviceDrops += o.deviceDrops
	t.inCopies += o.inCopies
	t.injected += o.injected
	t.injectedSeen += o.injectedSeen
}

func (t *totals) addIn(c *inCounters) {
	t.RxPackets += c.Packets.Load()
	t.RxBytes += c.Bytes.Load()
	t.RxLent += c.Lent.Load()
	t.RxLentLen += c.LentLen.Load()
	t.forwarded += c.forwarded.Load()
	t.inCopies += c.copies.Load()
	for i := range c.drops {
		t.deviceDrops += c.RxStats.Drops[i].Load()
		t.RxDrops[i] += c.RxStats.Drops[i].Load() + c.drops[i].Load()
	}
}

func (t *totals) addOut(c *outCounters) {
	t.TxPackets += c.Packets.Load()
	t.TxBytes += c.Bytes.Load()
	t.TxRetries += c.Retries.Load()
	t.copies += c.copies.Load()
	t.segments += c.segments.Load()
	for i := range c.Drops {
		t.TxDrops[i] += c.Drops[i].Load()
	}
}

func (t *totals) addThread(c *threadCounters) {
	t.addIn(&c.in)
	t.addOut(&c.out)
	t.injectedSeen += c.injected.Load()
}

// of is the counters of thread t, made at the first request.
func (c *portCounters) of(t *thread) *threadCounters {
	if c.threads == nil {
		c.threads = map[*thread]*threadCounters{}
	}
	tc := c.threads[t]
	if tc == nil {
		tc = &threadCounters{}
		tc.in.port = c.port
		c.threads[t] = tc
	}
	return tc
}

// retire adds the counters of a thread that has ended to the past.
func (c *portCounters) retire(t *thread) {
	if tc := c.threads[t]; tc != nil {
		c.past.addThread(tc)
		delete(c.threads, t)
	}
}

// totals adds up everything but the rx queues in use.
func (c *portCounters) totals() totals {
	t := c.past
	for _, tc := range c.threads {
		t.addThread(tc)
	}
	t.RxDrops.add(&c.outside)
	t.deviceDrops += c.outside.Total()
	t.injected += c.injected
	return t
}

func (p *Port) totals() totals {
	t := p.counters.totals()
	for _, q := range p.rxqs {
		t.addIn(&q.in)
	}
	return t
}

// Stats is what the port counted so far.
func (p *Port) Stats() PortStats {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	s := p.totals().PortStats
	for _, q := range p.rxqs {
		var t totals
		t.addIn(&q.in)
		s.Queues = append(s.Queues, QueueStats{t.RxPackets, t.RxBytes, t.RxDrops.Total()})
	}
	return s
}
