package datapath

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/packet"
)

// CaptureConfig says what a capture wants.
type CaptureConfig struct {
	Port *Port
	// Received, as they came; Sent, as they were handed to the device; Dropped, what the datapath itself drops
	// and counts at the port, on either side. What the device drops in sending, the ring of a guest being
	// full, say, has been captured as sent.
	Received, Sent, Dropped bool
	// Filter chooses packets as they are at that moment; its in_port is the OpenFlow number of the port that they
	// entered by. nil: all.
	Filter *flow.Match
	// Snaplen is how many bytes of each packet are kept; 0: DefaultSnaplen.
	Snaplen int
	// Buffer is how many bytes may wait to be read, for each poll thread, rounded up to a power of 2; 0:
	// DefaultCaptureBuffer. Of frames longer than half of it, so much is captured.
	Buffer int
}

const (
	// DefaultSnaplen keeps every frame whole.
	DefaultSnaplen = 1 << 18
	// DefaultCaptureBuffer holds 80 ms of a million short packets a second.
	DefaultCaptureBuffer = 8 << 20
	maxCaptureBuffer     = 1 << 28
	maxCaptures          = 16
)

// Direction is the way of a captured packet.
type Direction uint8

// The directions: into the switch and out of it.
const (
	In Direction = iota
	Out
)

func (d Direction) String() string {
	if d == In {
		return "rx"
	}
	return "tx"
}

// Captured is a packet that was captured.
type Captured struct {
	Time int64 // of its burst, nanoseconds since 1970
	Dir  Direction
	Drop packet.DropReason // DropNone: it was not dropped
	Len  uint32            // of the frame, in bytes
	Data []byte            // its beginning; good until the function that it was given to returns
}

// Capture is a capture that goes on. One goroutine reads it.
type Capture struct {
	d    *Datapath
	cfg  CaptureConfig
	taps []*tap // under d.mu; those of threads that have ended, too
	done bool   // under d.mu
	hz   uint64
	read []*tap // the reader's
}

// Capture begins a capture. Packets wait in its buffer until Read; Close ends it.
func (d *Datapath) Capture(c CaptureConfig) (*Capture, error) {
	if c.Snaplen == 0 {
		c.Snaplen = DefaultSnaplen
	}
	if c.Buffer == 0 {
		c.Buffer = DefaultCaptureBuffer
	}
	switch {
	case c.Port == nil || c.Port.d != d:
		return nil, fmt.Errorf("capture: no port of this datapath")
	case !c.Received && !c.Sent && !c.Dropped:
		return nil, fmt.Errorf("capture of port %q: neither received, sent nor dropped packets are asked for", c.Port.name)
	case c.Snaplen < packet.MinFrame || c.Snaplen > DefaultSnaplen:
		return nil, fmt.Errorf("capture of port %q: snaplen %d: not in %d..%d", c.Port.name, c.Snaplen, packet.MinFrame, DefaultSnaplen)
	case c.Buffer < 1<<12 || c.Buffer > maxCaptureBuffer:
		return nil, fmt.Errorf("capture of port %q: buffer of %d bytes: not in %d..%d", c.Port.name, c.Buffer, 1<<12, maxCaptureBuffer)
	}
	if _, err := newSelector(c.Filter); err != nil {
		return nil, fmt.Errorf("capture of port %q: %w", c.Port.name, err)
	}
	c.Buffer = 1 << bits.Len(uint(c.Buffer-1))
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.Port.gone || d.closed:
		return nil, fmt.Errorf("capture of port %q: the port is removed", c.Port.name)
	case len(d.captures) >= maxCaptures:
		return nil, fmt.Errorf("capture of port %q: there are %d captures already", c.Port.name, maxCaptures)
	}
	made := &Capture{d: d, cfg: c, hz: cpu.HZ()}
	d.captures = append(d.captures, made)
	if err := d.observe(); err != nil {
		made.end()
		return nil, fmt.Errorf("capture of port %q: %w", c.Port.name, err)
	}
	return made, nil
}

// Read gives f what was captured since the last time, packets of different threads in order of time, until there is
// no more or f returns false.
func (c *Capture) Read(f func(*Captured) bool) {
	c.d.mu.Lock()
	c.read = append(c.read[:0], c.taps...)
	done := c.done
	c.d.mu.Unlock()
	if done {
		return
	}
	// Times are told from the present one back, so that neither what is not known exactly of the counter's rate
	// nor a change of the clock adds up.
	wall, cycles := time.Now().UnixNano(), cpu.Cycles()
	var p Captured
	for {
		var from *tap
		var first uint64
		for _, t := range c.read {
			var q Captured
			if at, ok := t.ring.peek(&q); ok && (from == nil || int64(at-first) < 0) {
				from, first, p = t, at, q
			}
		}
		if from == nil {
			return
		}
		p.Time = max(wall-c.nanos(int64(cycles-first)), from.last)
		from.last = p.Time
		more := f(&p)
		from.ring.next()
		if !more {
			return
		}
	}
}

// nanos turns a difference of cycle counts into nanoseconds.
func (c *Capture) nanos(n int64) int64 {
	if n < 0 {
		return -c.nanos(-n)
	}
	hi, lo := bits.Mul64(uint64(n), 1e9)
	if hi >= c.hz {
		return 0
	}
	q, _ := bits.Div64(hi, lo, c.hz)
	return int64(q)
}

// Missed is how many packets did not fit the buffer.
func (c *Capture) Missed() uint64 {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	var n uint64
	for _, t := range c.taps {
		n += t.ring.missed.Load()
	}
	return n
}

// PortGone tells whether the port has been removed, so that nothing comes any more.
func (c *Capture) PortGone() bool {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	return c.cfg.Port.gone || c.d.closed
}

// Stop ends the capture: nothing is added any more, and what waits can still be read. Missed is final.
func (c *Capture) Stop() {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.stop()
}

func (c *Capture) stop() {
	i := slices.Index(c.d.captures, c)
	if i < 0 {
		return
	}
	c.d.captures = slices.Delete(c.d.captures, i, i+1)
	_ = c.d.observe() // with one less nothing is allocated
}

// Close stops the capture and frees its buffer.
func (c *Capture) Close() {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.end()
}

func (c *Capture) end() {
	c.stop()
	c.done = true
	for _, t := range c.taps {
		t.ring.free()
	}
}

// tapOf is the capture's tap of a thread, made at the first request. d.mu is held.
func (c *Capture) tapOf(t *thread) (*tap, error) {
	for _, p := range c.taps {
		if p.thread == t {
			return p, nil
		}
	}
	ring, err := newCaptureRing(c.cfg.Buffer)
	if err != nil {
		return nil, fmt.Errorf("buffer of %d bytes: %w", c.cfg.Buffer, err)
	}
	p := &tap{
		thread: t, ring: ring, port: c.cfg.Port, snap: uint32(min(c.cfg.Snaplen, ring.most())),
		in: c.cfg.Received, out: c.cfg.Sent, drops: c.cfg.Dropped,
	}
	p.filter, err = newSelector(c.cfg.Filter)
	c.taps = append(c.taps, p)
	return p, err
}
