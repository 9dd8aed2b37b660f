package gen

import (
	"sync"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
)

// Tally is what was found out about the frames that a port received in a trial. Each frame is counted in one of Unique, Duplicate, TooLate, Corrupt
// without a good mark, Learned, Foreign and Stray.
type Tally struct {
	Frames    mem.Counter // all
	Bytes     mem.Counter // of those
	Unique    mem.Counter // frames of this trial that came for the first time, changed ones with a good mark among them
	Duplicate mem.Counter
	TooLate   mem.Counter // more than a million numbers behind others: not looked at any further
	Reordered mem.Counter // of Unique: behind one of the same flow that was sent later
	Corrupt   mem.Counter // sum of the following
	BadMark   mem.Counter // the mark was changed: the frame's number counts as lost
	BadData   mem.Counter // the payload was changed, or its length
	BadSum    mem.Counter // the headers were changed but not their checksums
	Learned   mem.Counter // frames that were sent to let a switch learn addresses
	Stray     mem.Counter // of an earlier trial
	Foreign   mem.Counter // not ours

	from [maxPorts][maxQueues]progress // by source; with CheckNone it is not known
}

// progress is how far a source's frames have come.
type progress struct {
	came mem.Counter // of Unique
	top  mem.Counter // the highest number that came
}

// Checker looks at the frames that one port receives. Workers that poll queues of the port lock it.
type Checker struct {
	Tally
	mu      sync.Mutex
	check   Check
	clock   Clock
	pattern *pattern
	trial   int
	front   [maxPorts]int // length of the first piece of the pattern, by sending port
	windows [maxPorts][maxQueues]*window
	last    [maxPorts][]uint32 // number of the last frame of each flow
	ports   [2][2]uint16       // TCP's and UDP's source and destination ports of ours, lowest and highest
	ages    Histogram
}

// newChecker makes a Checker for a port that receives from those that send: an entry of traffic is nil if that port does not. queues is
// how many each has.
func newChecker(check Check, clock Clock, p *pattern, traffic [maxPorts]*Traffic, queues [maxPorts]int) *Checker {
	c := &Checker{check: check, clock: clock, pattern: p}
	for i, t := range traffic {
		if t == nil {
			continue
		}
		c.front[i] = packet.HeadCopy - t.marked()
		c.last[i] = make([]uint32, t.Flows)
		for q := range queues[i] {
			c.windows[i][q] = new(window)
		}
		c.widen(t)
	}
	return c
}

// widen notes which ports t's frames have.
func (c *Checker) widen(t *Traffic) {
	for i, of := range [][2]bool{{t.Vary&VarySrcPort != 0, c.ports[0][1] != 0}, {t.Vary&VaryDstPort != 0, c.ports[1][1] != 0}} {
		lo := [2]uint16{t.SrcPort, t.DstPort}[i]
		hi := lo
		if of[0] {
			hi += uint16(min(t.Flows, ports(lo)) - 1)
		}
		if of[1] {
			lo, hi = min(lo, c.ports[i][0]), max(hi, c.ports[i][1])
		}
		c.ports[i] = [2]uint16{lo, hi}
	}
}

// begin forgets what was, for the trial with that number.
func (c *Checker) begin(trial int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Tally, c.ages, c.trial = Tally{}, Histogram{}, trial%trials
	for i := range c.windows {
		clear(c.last[i])
		for _, w := range c.windows[i] {
			if w != nil {
				*w = window{}
			}
		}
	}
}

// Look looks at the first n packets of b, received at a time in ticks of the Clock.
func (c *Checker) Look(b *packet.Burst, n int, now uint32) {
	c.mu.Lock()
	bytes := uint64(0)
	if c.check == CheckNone {
		c.sample(&b.Pkts[0], now)
		for i := range n {
			bytes += uint64(b.Pkts[i].Len)
		}
		c.Unique.Add(uint64(n))
	} else {
		for i := range n {
			bytes += uint64(b.Pkts[i].Len)
			c.look(&b.Pkts[i], now)
		}
	}
	c.Frames.Add(uint64(n))
	c.Bytes.Add(bytes)
	c.mu.Unlock()
}

// sample looks at a frame for its age only.
func (c *Checker) sample(p *packet.Packet, now uint32) {
	var v view
	var m mark
	if v.locate(p) && m.get(v.payload(p), v.seq(p)) == m.check(uint32(v.data)) && m.trial() == c.trial {
		c.ages.Add(now - m.time)
	}
}

// look looks at a frame.
func (c *Checker) look(p *packet.Packet, now uint32) {
	var v view
	if !v.locate(p) {
		c.unmarked(p, &v)
		return
	}
	var m mark
	if m.get(v.payload(p), v.seq(p)) != m.check(uint32(v.data)) {
		c.unmarked(p, &v)
		return
	}
	if m.trial() != c.trial {
		c.Stray.Add(1)
		return
	}
	from, flow := m.port(), m.flow()
	w := c.windows[from][m.queue()]
	if w == nil || int(flow) >= len(c.last[from]) {
		c.Foreign.Add(1)
		return
	}
	top := w.top
	switch w.take(m.seq) {
	case arrivedAgain:
		c.Duplicate.Add(1)
	case arrivedTooLate:
		c.TooLate.Add(1)
	default:
		c.Unique.Add(1)
		source := &c.from[from][m.queue()]
		source.came.Add(1)
		source.top.Add(uint64(w.top - top))
		c.ages.Add(now - m.time)
		if last := &c.last[from][flow]; int32(m.seq-*last) > 0 {
			*last = m.seq
		} else {
			c.Reordered.Add(1)
		}
	}
	if c.check == CheckFull {
		c.compare(p, &v, &m)
	}
}

// compare looks at a frame's contents and checksums.
func (c *Checker) compare(p *packet.Packet, v *view, m *mark) {
	switch {
	case !v.whole(p) || !c.pattern.matches(p, v, c.front[m.port()], m.seq):
		c.BadData.Add(1)
	case !v.sums(p, c.pattern, c.front[m.port()], m.seq):
		c.BadSum.Add(1)
	default:
		return
	}
	c.Corrupt.Add(1)
}

// unmarked counts a frame that has no good mark.
func (c *Checker) unmarked(p *packet.Packet, v *view) {
	switch {
	case v.ether == etherLearn:
		c.Learned.Add(1)
	case c.ours(p, v):
		c.BadMark.Add(1)
		c.Corrupt.Add(1)
	default:
		c.Foreign.Add(1)
	}
}

// ours tells whether a frame without a good mark looks as if one of ours was changed.
func (c *Checker) ours(p *packet.Packet, v *view) bool {
	if !v.found {
		return false
	}
	src, dst := v.ports(p)
	return src >= c.ports[0][0] && src <= c.ports[0][1] && dst >= c.ports[1][0] && dst <= c.ports[1][1]
}
