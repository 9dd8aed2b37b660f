package vhostuser

import (
	"fmt"
	"slices"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// A front end may give a table in which the switch keeps what it has taken from each ring and not
// given back, in the form that the specification lays down. A switch that follows one that
// crashed, be it another program, finds out by it where the ring stands.
//
// This switch gives back in the order in which it takes. So what it had taken when it crashed
// still stands in the ring, and taking it again needs no more than to begin there. A table
// that another program left, which did otherwise, names buffers that the ring does not have any more:
// they are given back with nothing in them, which to a network is a few lost frames.

// NewInflight implements vhostuser.Device.
func (p *peer) NewInflight(n uint64) (int, error) { return vhostuser.NewInflightFD(n) }

// SetInflight implements vhostuser.Device. p.mu is held.
func (p *peer) SetInflight(a vhostuser.InflightArea) error {
	var t *vhostuser.Inflight
	if a.Size != 0 {
		var err error
		if t, err = vhostuser.MapInflight(a); err != nil {
			return err
		}
	}
	if old := p.d.inflight.Swap(t); old != nil {
		old.Close()
	}
	return nil
}

// ForgetInflight implements vhostuser.Device. p.mu is held.
func (p *peer) ForgetInflight(vring int) {
	if t := p.d.inflight.Load(); t != nil {
		if at, _, ok := t.Part(vring, false); ok {
			mem.Store16(at+versionField, 0)
		}
	}
}

// A part of the table that means anything has this version; 0 says that it does not.
const (
	inflightVersion = 1
	versionField    = 8 // where it is, of either kind of ring
)

// newRing makes the ring, and keeps account of it if the front end has given a table. It may have to
// begin elsewhere than it was told: a front end whose back end has crashed cannot know.
func (p *peer) newRing(s *vhostuser.RingStart, c *virtio.Config) (virtio.Ring, error) {
	t := p.d.inflight.Load()
	if t == nil {
		return virtio.New(*c)
	}
	packed := c.Features&virtio.FRingPacked != 0
	at, entries, ok := t.Part(s.Index, packed)
	if !ok {
		return virtio.New(*c)
	}
	if entries < c.Size {
		return nil, fmt.Errorf("the front end's table of what is in flight is for rings of %d entries, this one has %d", entries, c.Size)
	}
	switch v := mem.Load16(at + versionField); v {
	case 0, inflightVersion:
		if v != 0 && s.Vring.Call.Num >= 0 {
			p.owed = append(p.owed, s.Vring.Call.Num) // for what was given back at the last moment
		}
		if packed {
			return newTrackedPacked(c, at, entries, v != 0)
		}
		return newTrackedSplit(c, at, entries, v != 0)
	default:
		return nil, fmt.Errorf("the front end's table of what is in flight has version %d, want %d", v, inflightVersion)
	}
}

// taken is a chain that a table says is in flight.
type taken struct {
	counter uint64
	entry   int
}

// inFlight is what a table of n entries says, in the order in which it was taken.
func inFlight(entry func(int) uintptr, n int) []taken {
	var list []taken
	for i := range n {
		if e := entry(i); mem.Load16(e)&0xff != 0 {
			list = append(list, taken{mem.Load64(e + 8), i})
		}
	}
	slices.SortStableFunc(list, func(a, b taken) int {
		if a.counter < b.counter {
			return -1
		}
		return 1
	})
	return list
}
