package reconcile

import (
	"maps"
	"reflect"
	"slices"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
)

// bond is a bond that runs.
type bond struct {
	dp      *datapath.Bond
	cfg     datapath.BondConfig
	members []datapath.BondMember
	err     string // why it is not as asked for
}

// shrinkBonds takes away the bonds and members that are not wanted, before ports change: they may be wanted elsewhere.
func (b *bridge) shrinkBonds(want *desired.Bridge) {
	for _, name := range slices.Sorted(maps.Keys(b.bonds)) {
		o := b.bonds[name]
		i := slices.IndexFunc(want.Bonds, func(w *desired.Bond) bool { return w.Name == name })
		keep := []datapath.BondMember{}
		for _, m := range o.members {
			if i >= 0 && slices.ContainsFunc(want.Bonds[i].Members, func(w desired.BondMember) bool { return w.Name == m.Port.Name() }) {
				keep = append(keep, m)
			}
		}
		switch {
		case o.dp == nil && i < 0:
			delete(b.bonds, name)
		case o.dp == nil || len(keep) == len(o.members):
		case len(keep) == 0:
			o.dp.Remove()
			delete(b.bonds, name)
			b.log.Info("bond removed", "bond", name)
		case o.dp.Configure(o.cfg, keep) == nil:
			o.members = keep
		}
		b.noteMembers()
	}
}

// applyBonds makes or changes bonds, after the ports. Members of a new one are down until they are in it: they would be a loop.
func (b *bridge) applyBonds(want *desired.Bridge) {
	for _, w := range want.Bonds {
		o := b.bonds[w.Name]
		if o == nil {
			o = &bond{}
			b.bonds[w.Name] = o
		}
		if w.Config == nil && o.dp == nil {
			continue
		}
		cfg := o.cfg
		if w.Config != nil {
			cfg = b.bondConfig(w.Config)
		}
		var members []datapath.BondMember
		for _, m := range w.Members {
			if p := b.ports[m.Name]; p != nil && p.dp != nil && p.want.Bond != nil && p.want.Bond.Name == w.Name {
				members = append(members, datapath.BondMember{
					Port: p.dp, LACPPort: uint16(m.LACP.Port), LACPPriority: uint16(m.LACP.Priority), LACPKey: uint16(m.LACP.Key),
				})
			}
		}
		if err := b.setBond(w.Name, o, cfg, members); err != nil {
			if o.err != err.Error() {
				b.log.Error("bond not as configured", "bond", w.Name, "error", err)
			}
			o.err = err.Error()
			continue
		}
		o.err = ""
	}
	b.noteMembers()
	for _, p := range b.ports {
		if p.dp != nil && p.want.Bond != nil && p.bonded != p.cfg.AdminUp {
			if err := p.plug(p.want); err != nil {
				p.err = err.Error()
			}
		}
	}
}

func (b *bridge) setBond(name string, o *bond, cfg datapath.BondConfig, members []datapath.BondMember) (err error) {
	switch {
	case len(members) == 0:
		if o.dp != nil {
			o.dp.Remove()
			o.dp, o.members = nil, nil
		}
		return nil
	case o.dp == nil:
		if o.dp, err = b.dp.AddBond(name, cfg, members); err != nil {
			return err
		}
		b.log.Info("bond added", "bond", name, "mode", cfg.Mode, "members", len(members))
	case reflect.DeepEqual(cfg, o.cfg) && reflect.DeepEqual(members, o.members):
		return nil
	default:
		if err := o.dp.Configure(cfg, members); err != nil {
			return err
		}
	}
	o.cfg, o.members = cfg, members
	return nil
}

// noteMembers tells the ports whether they are in their bonds.
func (b *bridge) noteMembers() {
	in := map[*datapath.Port]bool{}
	for _, o := range b.bonds {
		for _, m := range o.members {
			in[m.Port] = true
		}
	}
	for _, p := range b.ports {
		p.bonded = p.dp != nil && in[p.dp]
	}
}

func (b *bridge) bondConfig(c *desired.BondConfig) datapath.BondConfig {
	out := datapath.BondConfig{
		Mode: map[string]datapath.BondMode{
			"active-backup": datapath.BondActiveBackup, "balance-slb": datapath.BondSLB, "balance-tcp": datapath.BondTCP,
		}[c.Mode],
		LACP:    map[string]datapath.LACPMode{"active": datapath.LACPActive, "passive": datapath.LACPPassive}[c.LACP],
		Primary: c.Primary, UpDelay: c.UpDelay, DownDelay: c.DownDelay, HashBasis: c.HashBasis, Rebalance: c.Rebalance,
		AllMembers: c.AllMembers, LACPFast: c.Fast, SystemID: c.SystemID, SystemPriority: uint16(c.SystemPriority), FallbackAB: c.FallbackAB,
	}
	if out.SystemID == nil {
		out.SystemID = b.address()
	}
	return out
}

// bondStatus adds what is known of bonds to the results of a bridge's ports and interfaces.
func (b *bridge) bondStatus(out *Results, ports, ifaces int) {
	for name, o := range b.bonds {
		if o.dp == nil {
			continue
		}
		s := o.dp.Status()
		for i := range out.Ports[ports:] {
			if p := &out.Ports[ports+i]; p.Bond == name {
				if s.ActiveMAC != nil {
					p.ActiveMember = s.ActiveMAC.String()
				}
				if o.err != "" {
					p.Report.Errors = append(slices.Clone(p.Report.Errors), o.err)
				}
			}
		}
		for _, m := range s.Members {
			for i := range out.Interfaces[ifaces:] {
				if r := &out.Interfaces[ifaces+i]; m.LACP != nil && r.DP == m.Port {
					r.LACP = &m.LACP.Status
				}
			}
		}
	}
}
