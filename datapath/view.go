package datapath

import (
	"slices"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// bridgeView is what poll threads know of a bridge.
type bridgeView struct {
	table *macTable
	flood []uint16 // ids of the ports that a flood reaches
	bpdu  bool     // forward reserved multicast
	long  bool     // NORMAL depends on more than the first 16 bytes, or does more than send

	noLearn *vlanSet // VLANs in which nothing is learned; nil: none
	mirrors []mirrorView

	id      uint16
	name    string
	tables  *rules.Tables
	byOF    map[uint32]*portView
	numbers []uint32 // OpenFlow numbers of the ports, ascending
	hashed  bool     // a bond of it chooses by more than the active member
	grat    *gratLocks
	slb     bool // a bond's own frames may come back by another member
}

// portView is what poll threads know of a port. Views never change: a new state
// is a new view in a new snapshot.
type portView struct {
	br        *bridgeView
	trunks    *vlanSet // nil: all VLANs; of a tunnel port, those of the customer
	peer      *portView
	faulter   netdev.Faulter // nil if the device is none
	port      *Port          // and dev: to tell control code
	dev       netdev.Device
	id        uint16
	native    uint16
	mode      VLANMode // not VLANAuto
	prio      PriorityTags
	up        bool
	protected bool
	ofPort    uint16
	of        OFConfig
	noFlood   bool // by configuration or OpenFlow
	noLink    bool // the device has no carrier
	ready     bool // it sends: up, with somewhere to send to
	mirrorOut bool // reserved for what mirrors send
	qinq      uint16
	mirrorSrc uint32 // bit n: mirror n selects what comes in here
	mirrorDst uint32 // and what leaves
	police    *policer

	bond    *bondView // nil: none
	lid     uint16    // the id that addresses are learned at: of its bond's first member, or its own
	lacp    bool      // LACPDUs are for the switch
	ownMAC  uint64    // with lacp: of the port, as keys have a destination
	enabled bool      // of its bond
	active  bool      // of its bond
}

// vlanSet is a set of VLANs.
type vlanSet [64]uint64

func (s *vlanSet) add(v uint16)      { s[v>>6&63] |= 1 << (v & 63) }
func (s *vlanSet) has(v uint16) bool { return s[v>>6&63]>>(v&63)&1 != 0 }
func (s *vlanSet) remove(v uint16)   { s[v>>6&63] &^= 1 << (v & 63) }

// vlans is a port's treatment of VLANs, ready to be used.
type vlans struct {
	mode   VLANMode
	native uint16
	qinq   uint16
	all    bool
	trunks vlanSet
}

// vlans resolves the settings as Open vSwitch does: a tag alone makes an access
// port; a native VLAN other than 0 is always carried, and then VLAN 0 is not.
func (c *PortConfig) vlans() vlans {
	v := vlans{mode: c.VLANMode, all: true}
	if c.Tag >= 0 {
		v.native = uint16(c.Tag)
	}
	if v.mode == VLANAuto {
		v.mode = VLANTrunk
		if c.Tag >= 0 {
			v.mode = VLANAccess
		}
	}
	if v.mode == VLANAccess {
		return v
	}
	if v.mode == VLANTrunk {
		v.native = 0
	}
	list := c.Trunks
	if v.mode == VLANDot1qTunnel {
		list = c.CVLANs
		if v.qinq = c.QinQType; v.qinq == 0 {
			v.qinq = qinq
		}
	}
	if len(list) > 0 {
		v.all = false
		for _, t := range list {
			v.trunks.add(uint16(t))
		}
	}
	if v.mode == VLANDot1qTunnel {
		return v
	}
	if v.mode != VLANTrunk && v.native != 0 {
		if v.all {
			v.all = false
			for i := range v.trunks {
				v.trunks[i] = ^uint64(0)
			}
		}
		v.trunks.add(v.native)
		v.trunks.remove(0)
	}
	return v
}

// views builds the views of all bridges and ports: what a snapshot shows.
// d.mu is held.
func (d *Datapath) views() []*portView {
	bridges := map[*Bridge]*bridgeView{}
	ports := make([]*portView, len(d.ports))
	for _, p := range d.ports {
		if p == nil || p.gone {
			continue
		}
		b := bridges[p.br]
		if b == nil {
			p.br.table.setPorts(len(d.ports))
			b = &bridgeView{
				table: p.br.table, bpdu: p.br.cfg.ForwardBPDU, id: p.br.id, name: p.br.name,
				tables: p.br.tables, byOF: map[uint32]*portView{}, grat: &p.br.grat, noLearn: p.br.cfg.noLearn(),
				long: len(p.br.mirrors) > 0,
			}
			bridges[p.br] = b
		}
		v := p.cfg.vlans()
		w := &portView{
			br:        b,
			port:      p,
			dev:       p.dev,
			id:        p.id,
			lid:       p.id,
			mode:      v.mode,
			native:    v.native,
			prio:      p.cfg.PriorityTags,
			up:        p.cfg.AdminUp && !p.of.Down,
			protected: p.cfg.Protected,
			ofPort:    p.cfg.OFPort,
			of:        p.of,
			noFlood:   p.cfg.NoFlood || p.of.NoFlood,
			qinq:      v.qinq,
			police:    p.police,
		}
		b.long = b.long || v.mode == VLANDot1qTunnel
		b.byOF[uint32(w.ofPort)] = w
		b.numbers = append(b.numbers, uint32(w.ofPort))
		if !v.all {
			w.trunks = &v.trunks
		}
		w.noLink = p.dev != nil && !p.dev.Info().Link
		w.faulter, _ = p.dev.(netdev.Faulter)
		ports[p.id] = w
	}
	for _, p := range d.ports {
		if p == nil || p.gone {
			continue
		}
		w := ports[p.id]
		ready := w.up
		if q := d.peerOf(p); q != nil {
			w.peer = ports[q.id]
			ready = ready && w.peer.up
		} else {
			ready = ready && len(p.txLocks) > 0
		}
		w.ready = ready
	}
	for b, v := range bridges {
		for i := range b.mirrors {
			v.addMirror(i, &b.mirrors[i])
		}
	}
	d.viewBonds(ports)
	for _, w := range ports {
		switch {
		case w == nil || w.noFlood || w.mirrorOut:
		case w.bond != nil && w.lid == w.id, // the member is chosen for each packet
			w.bond == nil && w.ready && !w.of.NoFwd:
			w.br.flood = append(w.br.flood, w.id)
		}
	}
	for _, b := range bridges {
		slices.Sort(b.numbers)
	}
	return ports
}

// queues are the queues that the threads may use.
func (p *Port) queues() ([]netdev.RxQueue, []netdev.TxQueue) {
	if p.dev == nil || p.faulted || p.gone {
		return nil, nil
	}
	return p.dev.Queues()
}
