package datapath

import (
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/internal/lacp"
)

// BondMode is how a bond chooses the member that a packet leaves by (Port.bond_mode).
type BondMode uint8

const (
	// BondActiveBackup uses one member, another one when its link is lost.
	BondActiveBackup BondMode = iota
	// BondSLB chooses by source address and VLAN. The switch at the other end knows of no bond.
	BondSLB
	// BondTCP chooses by addresses and ports of layers 2 to 4, and needs LACP.
	BondTCP
)

// String is the mode's name in the database.
func (m BondMode) String() string {
	return [...]string{"active-backup", "balance-slb", "balance-tcp"}[m]
}

// LACPMode is whether and how a bond speaks LACP (Port.lacp).
type LACPMode uint8

// The modes of LACP.
const (
	LACPOff LACPMode = iota
	LACPActive
	LACPPassive
)

// BondConfig is the settings of a bond, from the Port row of its members; see ovs-vswitchd.conf.db(5).
type BondConfig struct {
	Mode       BondMode
	Primary    string // name of the member to prefer with BondActiveBackup, "" for none
	UpDelay    time.Duration
	DownDelay  time.Duration
	HashBasis  uint32
	Rebalance  time.Duration // between two looks at the load, 0: never
	AllMembers bool          // take what comes in by members that are not the active one

	LACP           LACPMode
	LACPFast       bool
	SystemID       net.HardwareAddr // 6 bytes
	SystemPriority uint16           // 0: 0xfffe, as in Open vSwitch
	FallbackAB     bool             // active-backup while LACP finds nobody
}

// BondMember is a port of a bond.
type BondMember struct {
	Port         *Port
	LACPPort     uint16 // 0: the OpenFlow number
	LACPPriority uint16 // 0: 0xffff, the least
	LACPKey      uint16 // 0: the bond's
}

// buckets is how many parts a bond's traffic is divided into.
const buckets = 256

// Bond is several ports that are one to the bridge: it learns addresses on the bond, and sends each packet
// by one member at most. Everything in it is under Datapath.mu but what is atomic.
type Bond struct {
	d    *Datapath
	br   *Bridge
	id   uint16
	name string
	cfg  BondConfig
	gone bool

	members []*bondMember
	active  *bondMember
	assign  [buckets]*bondMember // by bucket; nil: none is enabled

	group *lacp.Group // nil: no LACP

	load      [buckets]atomic.Uint64 // bytes, as poll threads tell them now and then
	seen      [buckets]uint64        // of load, at the last rebalancing
	rate      [buckets]uint64        // bytes between the last two
	rebalance int64                  // ms, when the next is due
	dealt     int                    // members that the buckets were dealt to last
	changed   bool                   // poll threads know it, and the network not yet
	teach     []teachMAC             // addresses that the network is still to be told of
	teachAll  bool                   // after the next snapshot: all
	moved     [buckets]bool          // after the next snapshot: those in these buckets
}

// bondMember is a member with the state of its link.
type bondMember struct {
	cfg     BondMember
	p       *Port
	link    bool  // carrier, and LACP agrees
	enabled bool  // link, but for the delays
	forced  bool  // an operator wants it otherwise, until link changes
	due     int64 // ms, when enabled is to become link; noDue
	lacp    *lacp.Port
}

const noDue = int64(1)<<62 - 1

func (c *BondConfig) check(name string) error {
	switch {
	case c.Mode > BondTCP:
		return fmt.Errorf("bond %q: mode %d is unknown", name, c.Mode)
	case c.LACP > LACPPassive:
		return fmt.Errorf("bond %q: LACP mode %d is unknown", name, c.LACP)
	case c.UpDelay < 0 || c.DownDelay < 0 || c.Rebalance < 0:
		return fmt.Errorf("bond %q: delays %v, %v, %v: negative", name, c.UpDelay, c.DownDelay, c.Rebalance)
	case c.LACP != LACPOff && len(c.SystemID) != 6:
		return fmt.Errorf("bond %q: LACP system ID %v: not an Ethernet address", name, c.SystemID)
	}
	return nil
}

// AddBond joins ports of the bridge to a bond. They keep their numbers, devices and settings; VLAN settings should
// be the same for all, and those of the first are for the bond.
func (b *Bridge) AddBond(name string, c BondConfig, members []BondMember) (*Bond, error) {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.gone || d.closed {
		return nil, fmt.Errorf("bond %q: bridge %q is removed", name, b.name)
	}
	o := &Bond{d: d, br: b, name: name}
	for id := uint16(1); ; id++ {
		if !slices.ContainsFunc(d.bonds.list, func(o *Bond) bool { return o.id == id }) {
			o.id = id
			break
		}
	}
	if err := o.set(c, members); err != nil {
		return nil, err
	}
	d.bonds.list = append(d.bonds.list, o)
	d.runBond(o)
	d.apply()
	d.bonds.later(o)
	return o, nil
}

// Configure changes a bond's settings and members. When it fails the bond stays as it was.
func (o *Bond) Configure(c BondConfig, members []BondMember) error {
	d := o.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.gone {
		return fmt.Errorf("bond %q: removed", o.name)
	}
	if err := o.set(c, members); err != nil {
		return err
	}
	d.runBond(o)
	d.apply()
	d.bonds.later(o)
	return nil
}

// set takes over settings. d.mu is held.
func (o *Bond) set(c BondConfig, members []BondMember) error {
	if err := c.check(o.name); err != nil {
		return err
	}
	if len(members) == 0 {
		return fmt.Errorf("bond %q: no member", o.name)
	}
	for i, m := range members {
		switch {
		case m.Port == nil || m.Port.gone || m.Port.br != o.br:
			return fmt.Errorf("bond %q: member %d is no port of bridge %q", o.name, i, o.br.name)
		case m.Port.bond != nil && m.Port.bond != o:
			return fmt.Errorf("bond %q: port %q belongs to bond %q", o.name, m.Port.name, m.Port.bond.name)
		case slices.ContainsFunc(members[:i], func(n BondMember) bool { return n.Port == m.Port }):
			return fmt.Errorf("bond %q: port %q is named twice", o.name, m.Port.name)
		}
	}
	if c.SystemPriority == 0 {
		c.SystemPriority = 0xfffe
	}
	if c.Rebalance != o.cfg.Rebalance {
		o.rebalance = o.d.clock.now() + c.Rebalance.Milliseconds()
	}
	c.SystemID = slices.Clone(c.SystemID)
	o.cfg = c
	old := o.members
	o.members = nil
	for _, m := range members {
		n := &bondMember{p: m.Port, due: noDue}
		if i := slices.IndexFunc(old, func(x *bondMember) bool { return x.p == m.Port }); i >= 0 {
			n = old[i]
		} else {
			m.Port.bond = o
			m.Port.flushMACs() // they are the bond's now
		}
		n.cfg = m
		o.members = append(o.members, n)
	}
	for _, m := range old {
		if !slices.Contains(o.members, m) {
			o.forget(m)
		}
	}
	o.setLACP()
	return nil
}

// forget is called when m is no member any more.
func (o *Bond) forget(m *bondMember) {
	if m.p.bond == o {
		m.p.bond = nil
		m.p.flushMACs()
	}
	if m.lacp != nil {
		o.group.RemovePort(m.lacp)
		m.lacp = nil
	}
	if o.active == m {
		o.active = nil
	}
	for i := range o.assign {
		if o.assign[i] == m {
			o.assign[i] = nil
		}
	}
}

// setLACP makes the protocol's side what the settings say.
func (o *Bond) setLACP() {
	if o.cfg.LACP == LACPOff {
		for _, m := range o.members {
			m.lacp = nil
		}
		o.group = nil
		return
	}
	c := lacp.Config{
		Active: o.cfg.LACP == LACPActive, Fast: o.cfg.LACPFast, System: [6]byte(o.cfg.SystemID),
		SystemPriority: o.cfg.SystemPriority, Fallback: o.cfg.FallbackAB,
	}
	if o.group == nil {
		o.group = lacp.New(c)
	}
	o.group.Configure(c)
	for _, m := range o.members {
		pc := lacp.PortConfig{ID: m.cfg.LACPPort, Priority: m.cfg.LACPPriority, Key: m.cfg.LACPKey}
		if pc.ID == 0 {
			pc.ID = m.p.cfg.OFPort
		}
		if pc.Priority == 0 {
			pc.Priority = 0xffff
		}
		if m.lacp == nil {
			m.lacp = o.group.AddPort(pc)
		}
		m.lacp.Configure(pc)
	}
}

// Remove dissolves the bond. Its members are ports of their own then.
func (o *Bond) Remove() {
	d := o.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.gone {
		return
	}
	o.gone = true
	for _, m := range o.members {
		o.forget(m)
	}
	d.bonds.list = slices.DeleteFunc(d.bonds.list, func(x *Bond) bool { return x == o })
	d.apply()
}

// leave takes a port that is removed out of its bond. d.mu is held.
func (o *Bond) leave(p *Port) {
	i := slices.IndexFunc(o.members, func(m *bondMember) bool { return m.p == p })
	if i < 0 {
		return
	}
	m := o.members[i]
	o.members = slices.Delete(slices.Clone(o.members), i, i+1)
	o.forget(m)
	o.d.runBond(o)
}

// Name is the bond's name.
func (o *Bond) Name() string { return o.name }
