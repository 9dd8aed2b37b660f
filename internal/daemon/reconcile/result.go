package reconcile

import (
	"net"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/lacp"
	"github.com/gvswitch/gvswitch/netdev"
)

// Results is what has become of a state, row by row, for the database.
type Results struct {
	Root       ovsdb.UUID
	NextCfg    int64
	Report     desired.Report // of the Open_vSwitch row
	Bridges    []BridgeResult
	Ports      []PortResult
	Interfaces []InterfaceResult
	Mirrors    []MirrorResult
}

// BridgeResult is what has become of a Bridge row.
type BridgeResult struct {
	UUID       ovsdb.UUID
	DatapathID string // "" if it does not run
	Report     desired.Report
}

// PortResult is what has become of a Port row.
type PortResult struct {
	UUID   ovsdb.UUID
	Report desired.Report

	Bond         string // its name, "" if the port is none
	ActiveMember string // address of the active member of a bond, "" if there is none
}

// InterfaceResult is what has become of an Interface row.
type InterfaceResult struct {
	UUID     ovsdb.UUID
	Name     string
	Running  bool
	OFPort   int // -1 if it does not run
	Error    string
	Warnings []string
	Kind     desired.Kind // of what runs
	DP       *datapath.Port
	Info     netdev.Info
	Resets   int64        // changes of the link state
	LACP     *lacp.Status // of a member of a bond with LACP
}

// Results returns what has become of the state that was applied last.
func (r *Reconciler) Results() *Results {
	s := r.last
	out := &Results{Root: s.Root, NextCfg: s.NextCfg, Report: s.Report}
	for _, why := range []string{r.threadErr, r.flowsErr} {
		if why != "" {
			out.Report.Errors = append(slices.Clone(out.Report.Errors), why)
		}
	}
	for _, want := range s.Bridges {
		b := r.bridges[want.Name]
		ports, ifaces := len(out.Ports), len(out.Interfaces)
		out.Bridges = append(out.Bridges, r.bridgeResult(want, b))
		out.addMirrors(want, b)
		for _, p := range want.Ports {
			if p.Bond != nil && p.Bond.Members[0].Name == p.Iface.Name {
				out.Ports = append(out.Ports, PortResult{UUID: p.UUID, Report: p.Report, Bond: p.Name})
			} else if p.Bond == nil && !p.UUID.IsZero() {
				out.Ports = append(out.Ports, PortResult{UUID: p.UUID, Report: p.Report})
			}
			if p.Iface != nil {
				r.addInterface(out, p.Iface, want.Name)
			}
			for _, i := range p.Refused {
				r.addInterface(out, i, want.Name)
			}
		}
		if b != nil {
			b.bondStatus(out, ports, ifaces)
		}
	}
	return out
}

func (r *Reconciler) bridgeResult(want *desired.Bridge, b *bridge) BridgeResult {
	res := BridgeResult{UUID: want.UUID, Report: want.Report}
	if want.Refused != "" {
		res.Report.Errors = append(slices.Clone(res.Report.Errors), want.Refused)
	}
	if b == nil {
		if why := r.failed[want.Name]; why != "" {
			res.Report.Errors = append(slices.Clone(res.Report.Errors), why)
		}
		return res
	}
	for _, why := range []string{b.err, b.mirrorErr, b.flowErr} {
		if why != "" {
			res.Report.Errors = append(slices.Clone(res.Report.Errors), why)
		}
	}
	res.DatapathID = want.DatapathID
	if res.DatapathID == "" {
		res.DatapathID = b.datapathID()
	}
	return res
}

// datapathID is made of the address of the bridge's own device, as in OVS.
func (b *bridge) datapathID() string {
	mac := b.address()
	if mac == nil {
		return ""
	}
	return "0000" + strings.ReplaceAll(mac.String(), ":", "")
}

// address is the bridge's own, nil if it has none.
func (b *bridge) address() net.HardwareAddr {
	if p := b.ports[b.name]; b.cfg.MAC == nil && p != nil && p.dev != nil {
		return p.dev.Info().MAC
	}
	return b.cfg.MAC
}

func (r *Reconciler) addInterface(out *Results, i *desired.Interface, bridge string) {
	if i.UUID.IsZero() {
		return
	}
	res := InterfaceResult{UUID: i.UUID, Name: i.Name, OFPort: -1, Warnings: i.Report.Warnings}
	var errs []string
	if i.Refused != "" {
		errs = append(errs, i.Refused)
	}
	errs = append(errs, i.Report.Errors...)
	if why := r.failed[bridge]; why != "" && r.bridges[bridge] == nil {
		errs = append(errs, "bridge "+bridge+": "+why)
	}
	if b := r.bridges[bridge]; b != nil {
		if p := b.ports[i.Name]; p != nil {
			faults := p.fill(&res)
			if i.Refused == "" && p.err != "" && p.err != errNothing.Error() {
				errs = append(errs, p.err)
			}
			errs = append(errs, faults...)
		}
		for _, why := range []string{b.err, b.mirrorErr, b.flowErr} {
			if why != "" && i.Name == b.name {
				errs = append(errs, "bridge "+b.name+": "+why)
			}
		}
	}
	slices.Sort(errs)
	res.Error = strings.Join(slices.Compact(errs), "; ")
	out.Interfaces = append(out.Interfaces, res)
}

// fill adds what is known of a port that runs, and returns what its device says is wrong.
func (p *port) fill(res *InterfaceResult) (errs []string) {
	if p.dp == nil {
		return errs
	}
	res.Running, res.OFPort, res.DP, res.Kind = true, int(p.dp.OFPort()), p.dp, p.spec.kind
	res.Info = p.dp.Info()
	if p.link != res.Info.Link {
		p.link = res.Info.Link
		p.resets++
	}
	res.Resets = p.resets
	p.sayFault(res.Info.Fault)
	// That a patch port leads nowhere is in its interface's report.
	if f := res.Info.Fault; f != "" && p.spec.kind != desired.Patch {
		errs = append(errs, f)
	}
	return errs
}

// sayFault logs that a device has gone, as when somebody else deleted it, and that it is back. A device that a guest can stop says
// so itself, in moderation.
func (p *port) sayFault(fault string) {
	if _, guest := p.dev.(netdev.Faulter); guest || p.spec.kind == desired.Patch || fault == p.fault {
		return
	}
	p.fault = fault
	if fault != "" {
		p.log.Warn("device does not work", "error", fault)
	} else {
		p.log.Info("device works again")
	}
}
