package xlate

import (
	"sync/atomic"

	"github.com/gvswitch/gvswitch/flow"
)

// Mirror is a question to a bridge: which of its mirrors is next to get this packet? And the
// answer. (Mirrors are those of ovs-vswitchd.conf.db(5).)
type Mirror struct {
	OF   uint32    // the port that the packet came in by, or leaves by
	Sent bool      // it leaves
	Key  *flow.Key // the packet as it is there; read only
	Note bool      // give Text

	Done uint32    // bit n: mirror n gets no more; those that go where this one does are added
	Mask *flow.Key // gets the bits of Key that the answer depends on
	Outs []NormalOut
	// SnapLen is how many bytes of the packet are sent at most, 0: all.
	SnapLen uint32
	Stats   *MirrorStats
	Text    string
}

// MirrorStats is what a mirror was given. Any thread may add.
type MirrorStats struct{ packets, bytes atomic.Uint64 }

// Add counts packets.
func (s *MirrorStats) Add(packets, bytes uint64) {
	s.packets.Add(packets)
	s.bytes.Add(bytes)
}

// Counts are what was counted.
func (s *MirrorStats) Counts() (packets, bytes uint64) { return s.packets.Load(), s.bytes.Load() }

// mirror gives the packet, which came in or leaves by a port, to the mirrors that select it, each destination
// once. The packet, and what is to be done with it next, are afterwards as they were.
func (x *Xlate) mirror(of uint32, sent bool) {
	c := &x.cur
	if !c.mirrors {
		return
	}
	list, at, why, stop, lo := c.list, c.at, c.why, c.cont, len(x.outs)
	for !x.failed {
		q := &x.ask
		*q = Mirror{
			OF: of, Sent: sent, Key: &c.packet.key, Note: x.trace != nil,
			Done: c.mirrored, Mask: x.wc, Outs: x.outs[lo:lo],
		}
		if !c.bridge.Mirror(q) {
			break
		}
		c.mirrored = q.Done
		x.mirrorTo(q, lo)
		// What lies behind patch ports is done before anything else is.
		x.loop(stop)
		x.outs = x.outs[:lo]
	}
	c.list, c.at, c.why = list, at, why
}

// mirrorTo does what an answer says.
func (x *Xlate) mirrorTo(q *Mirror, lo int) {
	c := &x.cur
	if q.Text != "" {
		x.noteDetail(q.Text)
	}
	if len(x.res.Mirrors) < cap(x.res.Mirrors) {
		x.res.Mirrors = append(x.res.Mirrors, q.Stats)
	}
	n := lo
	for i := range min(len(q.Outs), maxOuts-lo) {
		o := q.Outs[i]
		if p, ok := c.bridge.Port(o.OF); ok && p.Peer != nil && c.patches >= maxPatches {
			x.noteWarn("through more than 8 patch ports, not mirroring")
			continue
		}
		o.Max = q.SnapLen
		n++
		x.outs = x.outs[:n]
		x.outs[n-1] = o
		if o.Pushed || o.VLAN != c.packet.key[flow.WordVLAN] {
			x.lookAtTags()
		}
	}
	byTags(x.outs[lo:], c.packet.key[flow.WordVLAN])
	c.list, c.at = nil, 0
	x.sendOuts(int32(lo), int32(n), -1)
}
