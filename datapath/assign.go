package datapath

import "slices"

// assign deals the rx queues out to the threads, as pmd-rxq-assign says. Pinned
// queues come first: a queue whose core has a thread goes there, one whose
// core has none is treated as not pinned. d.mu is held.
func (d *Datapath) assign() map[*thread][]*rxq {
	next := map[*thread][]*rxq{}
	if len(d.threads) == 0 {
		return next
	}
	var free []*rxq
	loads := make([]uint64, len(d.threads))
	isolated := make([]bool, len(d.threads))
	for _, q := range d.queuesByName() {
		q.pin = false
		core, ok := q.port.cfg.Affinity[q.index]
		i := slices.IndexFunc(d.threads, func(t *thread) bool { return t.core == core })
		if !ok || i < 0 {
			free = append(free, q)
			continue
		}
		q.pin = true
		isolated[i] = isolated[i] || d.cfg.RxqIsolate
		loads[i] += q.load.sum()
		next[d.threads[i]] = append(next[d.threads[i]], q)
	}
	var open []int // threads that take any queue
	for i := range d.threads {
		if !isolated[i] {
			open = append(open, i)
		}
	}
	if len(open) == 0 { // all isolated: the queues must go somewhere
		for i := range d.threads {
			open = append(open, i)
		}
	}
	if d.cfg.Assign != RoundRobin {
		slices.SortStableFunc(free, func(a, b *rxq) int {
			switch x, y := a.load.sum(), b.load.sum(); {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
	}
	for n, q := range free {
		i := open[n%len(open)]
		switch d.cfg.Assign {
		case Cycles: // up and down
			if n/len(open)%2 == 1 {
				i = open[len(open)-1-n%len(open)]
			}
		case Group:
			for _, k := range open {
				if loads[k] < loads[i] || loads[k] == loads[i] && len(next[d.threads[k]]) < len(next[d.threads[i]]) {
					i = k
				}
			}
		}
		loads[i] += q.load.sum()
		next[d.threads[i]] = append(next[d.threads[i]], q)
	}
	for i, t := range d.threads {
		t.isolated = isolated[i]
	}
	return next
}

// assigned is how the queues are dealt out now: changes that have nothing to do
// with them move none.
func (d *Datapath) assigned() map[*thread][]*rxq {
	next := map[*thread][]*rxq{}
	for _, q := range d.queuesByName() {
		next[q.owner] = append(next[q.owner], q)
	}
	return next
}

// queuesByName lists all rx queues in order of port name and number.
func (d *Datapath) queuesByName() []*rxq {
	var l []*rxq
	for _, p := range d.ports {
		if p != nil {
			l = append(l, p.rxqs...)
		}
	}
	slices.SortStableFunc(l, func(a, b *rxq) int {
		if c := cmpString(a.port.name, b.port.name); c != 0 {
			return c
		}
		return a.index - b.index
	})
	return l
}

// Rebalance deals the rx queues out anew by the load measured so far.
func (d *Datapath) Rebalance() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replan = true
	d.apply()
}

// Queues lists all rx queues in order of thread, port and number.
func (d *Datapath) Queues() []QueueInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	var l []QueueInfo
	for _, q := range d.queuesByName() {
		if q.owner == nil {
			continue
		}
		l = append(l, QueueInfo{
			Port:     q.port,
			Queue:    q.index,
			Thread:   q.owner.core,
			Usage:    q.load.usage(q.owner.load),
			Pinned:   q.pin,
			Isolated: q.owner.isolated,
			Enabled:  q.port.cfg.AdminUp,
		})
	}
	slices.SortStableFunc(l, func(a, b QueueInfo) int { return a.Thread - b.Thread })
	return l
}

const (
	loadIntervals = 12
	loadSeconds   = 5
)

// loadHistory is the cycles of the last minute in intervals of five seconds, the
// form in which Open vSwitch measures rx queues.
type loadHistory struct {
	last uint64 // counter at the end of the last interval
	ring [loadIntervals]uint64
	at   int
}

func (h *loadHistory) note(counter uint64) {
	h.ring[h.at] = counter - h.last
	h.last = counter
	h.at = (h.at + 1) % loadIntervals
}

func (h *loadHistory) sum() (n uint64) {
	for _, v := range h.ring {
		n += v
	}
	return n
}

// usage is h in percent of a thread's time, whose history is all.
func (h *loadHistory) usage(all loadHistory) float64 {
	if n := all.sum(); n != 0 {
		return min(100*float64(h.sum())/float64(n), 100)
	}
	return 0
}
