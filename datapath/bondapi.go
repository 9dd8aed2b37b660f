package datapath

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/internal/lacp"
)

// BondStatus is a bond at one moment.
type BondStatus struct {
	Name, Bridge  string
	Config        BondConfig
	Active        *Port            // nil: no member is enabled
	ActiveMAC     net.HardwareAddr // of its device, nil if it has none
	Negotiated    bool             // LACP has found a partner
	LACPKey       uint16
	NextRebalance time.Duration // 0 if there will be none
	Members       []BondMemberStatus
}

// BondMemberStatus is a member of it.
type BondMemberStatus struct {
	Port      *Port
	MAC       net.HardwareAddr
	Carrier   bool          // the device has a link
	MayEnable bool          // that, and LACP agrees
	Enabled   bool          // in use
	Delay     time.Duration // until Enabled becomes MayEnable, 0 if they are the same
	Buckets   []BondBucket  // that it has, of those that something went by lately
	LACP      *LACPStatus   // nil: none
}

// BondBucket is the load of a part of a bond's traffic.
type BondBucket struct {
	Hash  int
	Bytes uint64 // lately: the last interval of rebalancing counts in full, each one before half
}

// LACPStatus is what LACP knows of a member.
type LACPStatus struct {
	Status         lacp.Status
	Attached       bool
	Actor, Partner lacp.Info
	Stats          lacp.Stats
}

// Status is the bond as it is now.
func (o *Bond) Status() BondStatus {
	d := o.d
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.now()
	s := BondStatus{Name: o.name, Bridge: o.br.name, Config: o.cfg}
	if o.group != nil {
		s.Negotiated, s.LACPKey = o.group.Negotiated(), o.group.Key()
	}
	if o.cfg.Rebalance > 0 && o.cfg.Mode != BondActiveBackup {
		s.NextRebalance = time.Duration(max(o.rebalance-now, 0)) * time.Millisecond
	}
	for _, m := range o.members {
		ms := BondMemberStatus{Port: m.p, Carrier: d.carrier(m.p), MayEnable: m.link, Enabled: m.enabled}
		if m.p.dev != nil {
			ms.MAC = m.p.dev.Info().MAC
		}
		if m.due != noDue {
			ms.Delay = time.Duration(max(m.due-now, 0)) * time.Millisecond
		}
		for i, a := range o.assign {
			if n := o.rate[i]/2 + o.load[i].Load() - o.seen[i]; a == m && n > 0 && o.cfg.Mode != BondActiveBackup {
				ms.Buckets = append(ms.Buckets, BondBucket{i, n})
			}
		}
		if l := m.lacp; l != nil {
			ms.LACP = &LACPStatus{l.Status(), l.Attached(), l.Actor(), l.Partner(), l.Stats()}
		}
		if m == o.active {
			s.Active, s.ActiveMAC = m.p, ms.MAC
		}
		s.Members = append(s.Members, ms)
	}
	return s
}

// Bonds lists the bridge's bonds in order of name.
func (b *Bridge) Bonds() []*Bond {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	var l []*Bond
	for _, o := range b.d.bonds.list {
		if o.br == b {
			l = append(l, o)
		}
	}
	slices.SortFunc(l, func(x, y *Bond) int { return cmpString(x.name, y.name) })
	return l
}

// change does what f does to the bond, and tells poll threads.
func (o *Bond) change(name string, f func(m *bondMember) error) error {
	d := o.d
	d.mu.Lock()
	defer d.mu.Unlock()
	m := o.member(name)
	if m == nil {
		return fmt.Errorf("bond %q: no member %q", o.name, name)
	}
	if err := f(m); err != nil {
		return err
	}
	d.runBond(o)
	d.apply()
	d.bonds.later(o)
	return nil
}

// SetActive makes a member the active one until its link is lost.
func (o *Bond) SetActive(name string) error {
	return o.change(name, func(m *bondMember) error {
		if !m.enabled {
			return fmt.Errorf("bond %q: member %q is not enabled", o.name, name)
		}
		if o.active != m {
			o.active, o.teachAll = m, true
		}
		return nil
	})
}

// Enable enables a member, or disables it, until its link changes.
func (o *Bond) Enable(name string, on bool) error {
	return o.change(name, func(m *bondMember) error {
		m.forced, m.enabled, m.due = m.link != on, on, noDue
		return nil
	})
}

// Migrate gives a bucket of a balancing bond to a member.
func (o *Bond) Migrate(bucket int, name string) error {
	return o.change(name, func(m *bondMember) error {
		switch {
		case o.cfg.Mode == BondActiveBackup:
			return fmt.Errorf("bond %q: mode %v does not balance", o.name, o.cfg.Mode)
		case bucket < 0 || bucket >= buckets:
			return fmt.Errorf("bond %q: bucket %d: not in 0..%d", o.name, bucket, buckets-1)
		case !m.enabled:
			return fmt.Errorf("bond %q: member %q is not enabled", o.name, name)
		}
		o.assign[bucket], o.moved[bucket] = m, true
		return nil
	})
}

// BondHash is the bucket that balance-slb has for an address in a VLAN.
func BondHash(mac net.HardwareAddr, vlan uint16, basis uint32) int {
	return int(bucketL2(uint64(basis), macWord(mac), vlan))
}
