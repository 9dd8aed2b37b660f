package datapath

import (
	"fmt"
	"slices"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// noLearn is the VLANs of FloodVLANs.
func (c *BridgeConfig) noLearn() *vlanSet {
	if len(c.FloodVLANs) == 0 {
		return nil
	}
	s := new(vlanSet)
	for _, v := range c.FloodVLANs {
		s.add(uint16(v))
	}
	return s
}

// MaxMirrors is how many mirrors a bridge may have, as in Open vSwitch.
const MaxMirrors = 32

// MirrorConfig is a mirror: the packets that it selects, and where copies of them go. The
// columns of the table Mirror in ovs-vswitchd.conf.db(5) explain it. Ports are named, and may come and
// go; a mirror whose OutPort is not there does nothing.
type MirrorConfig struct {
	Name     string
	All      bool     // select what arrives or leaves at any port
	SrcPorts []string // select what arrives there,
	DstPorts []string // and what leaves there
	VLANs    []int    // of these only; none: all
	Filter   flow.Match
	OutPort  string // SPAN: this port, which is then reserved for mirrors
	OutVLAN  int    // RSPAN, if OutPort is empty: all ports that carry this VLAN
	SnapLen  int    // bytes of a packet that are sent at most; 0: all
}

// mirror is one that was configured.
type mirror struct {
	cfg   MirrorConfig
	stats *xlate.MirrorStats
}

// MirrorStats is what a mirror was given.
type MirrorStats struct{ Packets, Bytes uint64 }

func (c *MirrorConfig) check() error {
	switch {
	case c.OutPort == "" && c.OutVLAN == 0:
		return fmt.Errorf("mirror %q: no output", c.Name)
	case c.OutPort == "" && (c.OutVLAN < 0 || c.OutVLAN > 4095):
		return fmt.Errorf("mirror %q: output VLAN %d: not in 1..4095", c.Name, c.OutVLAN)
	case c.SnapLen != 0 && (c.SnapLen < packet.MinFrame || c.SnapLen > 65535):
		return fmt.Errorf("mirror %q: snaplen %d: not in %d..65535", c.Name, c.SnapLen, packet.MinFrame)
	case c.Filter.Mask[flow.WordPort]&portBits != 0:
		return fmt.Errorf("mirror %q: filter: in_port cannot be matched, select the source port", c.Name)
	}
	for _, v := range c.VLANs {
		if v < 0 || v > 4095 {
			return fmt.Errorf("mirror %q: VLAN %d: not in 0..4095", c.Name, v)
		}
	}
	return nil
}

func (c MirrorConfig) clone() MirrorConfig {
	c.SrcPorts, c.DstPorts, c.VLANs = slices.Clone(c.SrcPorts), slices.Clone(c.DstPorts), slices.Clone(c.VLANs)
	return c
}

// SetMirrors makes these the bridge's mirrors. One that had the same name before keeps its counters. What was
// learned at a port that becomes an output is forgotten.
func (b *Bridge) SetMirrors(list []MirrorConfig) error {
	if len(list) > MaxMirrors {
		return fmt.Errorf("bridge %q: %d mirrors: more than %d", b.name, len(list), MaxMirrors)
	}
	var next []mirror
	for i := range list {
		c := &list[i]
		if err := c.check(); err != nil {
			return fmt.Errorf("bridge %q: %w", b.name, err)
		}
		if slices.ContainsFunc(next, func(m mirror) bool { return m.cfg.Name == c.Name }) {
			return fmt.Errorf("bridge %q: two mirrors %q", b.name, c.Name)
		}
		next = append(next, mirror{c.clone(), &xlate.MirrorStats{}})
	}
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.gone {
		return fmt.Errorf("bridge %q: removed", b.name)
	}
	outs := b.mirrorOuts()
	for i := range next {
		if m := b.mirrorNamed(next[i].cfg.Name); m != nil {
			next[i].stats = m.stats
		}
	}
	b.mirrors = next
	d.apply()
	for name := range b.mirrorOuts() {
		if p := d.portNamed(name); p != nil && p.br == b && !outs[name] {
			p.flushMACs()
		}
	}
	return nil
}

// MirrorStats is what a mirror was given, but for what poll threads counted in the last second; false if there
// is no mirror of that name.
func (b *Bridge) MirrorStats(name string) (s MirrorStats, ok bool) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	m := b.mirrorNamed(name)
	if m == nil {
		return s, false
	}
	s.Packets, s.Bytes = m.stats.Counts()
	return s, true
}

func (b *Bridge) mirrorNamed(name string) *mirror {
	for i := range b.mirrors {
		if b.mirrors[i].cfg.Name == name {
			return &b.mirrors[i]
		}
	}
	return nil
}

// mirrorOuts are the names of the ports that are reserved.
func (b *Bridge) mirrorOuts() map[string]bool {
	outs := map[string]bool{}
	for i := range b.mirrors {
		if name := b.mirrors[i].cfg.OutPort; name != "" {
			outs[name] = true
		}
	}
	return outs
}

// mirrorView is what poll threads know of a mirror.
type mirrorView struct {
	name    string
	out     *portView // nil: outVLAN
	vlans   *vlanSet  // nil: all
	filter  *flow.Match
	stats   *xlate.MirrorStats
	outVLAN uint16
	snapLen uint32
	same    uint32 // bit n: mirror n has the same destination, this one among them
}

// addMirror shows poll threads mirror i of a bridge, whose ports' views are made. d.mu is held.
func (v *bridgeView) addMirror(i int, m *mirror) {
	c := &m.cfg
	w := mirrorView{name: c.Name, stats: m.stats, outVLAN: uint16(c.OutVLAN), snapLen: uint32(c.SnapLen)}
	if c.OutPort != "" {
		for _, p := range v.byOF {
			if p.port.name == c.OutPort {
				w.out, p.mirrorOut = p, true
			}
		}
		for _, p := range v.byOF { // and the members of its bond
			p.mirrorOut = p.mirrorOut || w.out != nil && p.port.bond != nil && p.port.bond == w.out.port.bond
		}
	}
	if len(c.VLANs) > 0 {
		w.vlans = new(vlanSet)
		for _, n := range c.VLANs {
			w.vlans.add(uint16(n))
		}
	}
	if c.Filter.Mask != (flow.Key{}) {
		f := c.Filter
		w.filter = &f
	}
	v.mirrors = append(v.mirrors, w)
	if c.OutPort != "" && w.out == nil {
		return // selects nothing
	}
	for k := range v.mirrors {
		if o := &v.mirrors[k]; o.out == w.out && (w.out != nil || o.outVLAN == w.outVLAN) {
			o.same |= 1 << i
			v.mirrors[i].same |= 1 << k
		}
	}
	for _, p := range v.byOF {
		if c.All || slices.Contains(c.SrcPorts, p.port.name) {
			p.mirrorSrc |= 1 << i
		}
		if c.All || slices.Contains(c.DstPorts, p.port.name) {
			p.mirrorDst |= 1 << i
		}
	}
}

// Mirrors implements xlate.Bridge.
func (b *bridgeRun) Mirrors() bool { return len(b.v.mirrors) > 0 }

// Mirror implements xlate.Bridge.
func (b *bridgeRun) Mirror(q *xlate.Mirror) bool {
	v := b.v.byOF[q.OF]
	if v == nil {
		return false
	}
	bits := v.mirrorSrc
	if q.Sent {
		bits = v.mirrorDst
	}
	if bits&^q.Done == 0 {
		return false
	}
	var d decision
	d.tag(q.Key)
	if !v.plain() {
		q.Mask[flow.WordVLAN] |= vidBits
	}
	if !v.admits(&d) {
		return false
	}
	for i := range b.v.mirrors {
		m := &b.v.mirrors[i]
		if bits&^q.Done>>i&1 == 0 || !m.selects(q, &d) {
			continue
		}
		b.mirrorOuts(m, v, &d, q)
		if len(q.Outs) == 0 {
			continue
		}
		q.Done |= m.same
		q.SnapLen, q.Stats = m.snapLen, m.stats
		if q.Note {
			q.Text = "mirroring to " + m.name
		}
		return true
	}
	return false
}

// selects tells whether the mirror wants a packet that is in a VLAN of the bridge and passed by a selected port.
func (m *mirrorView) selects(q *xlate.Mirror, d *decision) bool {
	if m.vlans != nil {
		q.Mask[flow.WordVLAN] |= vidBits
		if !m.vlans.has(d.vid) {
			return false
		}
	}
	if f := m.filter; f != nil {
		for i, mask := range f.Mask {
			q.Mask[i] |= mask
			if (q.Key[i]^f.Key[i])&mask != 0 {
				return false
			}
		}
	}
	return true
}

// mirrorOuts adds the ports that a packet goes to, which passed by v.
func (b *bridgeRun) mirrorOuts(m *mirrorView, v *portView, d *decision, q *xlate.Mirror) {
	if o := m.out; o != nil {
		if o.bond != nil {
			if o = b.chooseMirror(o.bond, d, q); o == nil {
				return
			}
		}
		if v.plain() && o.mode == VLANTrunk && o.prio == PriorityNever {
			// As it is: nothing depends on its tags.
			q.Outs = append(q.Outs, xlate.NormalOut{OF: uint32(o.ofPort), VLAN: q.Key[flow.WordVLAN]})
			return
		}
		q.Mask[flow.WordVLAN] |= vidBits
		q.Outs = append(q.Outs, v.leave(o, d, q.Key, q.Mask))
		return
	}
	q.Mask[flow.WordVLAN] |= vidBits
	q.Mask[flow.WordDst] |= macBits
	if d.vid == m.outVLAN || isReserved(wordOf(q.Key[flow.WordDst]>>16)) {
		return
	}
	in := *d
	in.vid = m.outVLAN
	for _, of := range b.v.numbers {
		o := b.v.byOF[of]
		if o.mirrorOut || o.lid != o.id || !o.reaches(&in, q.Mask) {
			continue
		}
		if o.bond != nil {
			if o = b.chooseMirror(o.bond, &in, q); o == nil {
				continue
			}
		}
		q.Outs = append(q.Outs, v.leave(o, &in, q.Key, q.Mask))
	}
}

// chooseMirror is choose for a mirror's packet.
func (b *bridgeRun) chooseMirror(o *bondView, d *decision, q *xlate.Mirror) *portView {
	if o.hash != hashNone {
		q.Mask[flow.WordVLAN] |= vidBits
		q.Mask[flow.WordDst] |= macBits
		q.Mask[flow.WordSrc] |= macBits
	}
	return b.choose(o, q.Key, q.Mask, d)
}
