package daemon

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/lacp"
)

// bondValue is a bond for programs.
type bondValue struct {
	Bond    string            `json:"bond"`
	Bridge  string            `json:"bridge"`
	Mode    string            `json:"mode"`
	LACP    string            `json:"lacp"` // off, configured or negotiated
	Active  string            `json:"active"`
	Members []bondMemberValue `json:"members"`
}

type bondMemberValue struct {
	Name      string          `json:"name"`
	Enabled   bool            `json:"enabled"`
	MayEnable bool            `json:"may_enable"`
	Link      bool            `json:"link"`
	Load      map[int]uint64  `json:"load"` // bytes by hash
	LACP      *lacpMemberInfo `json:"lacp,omitempty"`
}

type lacpMemberInfo struct {
	Status   string `json:"status"`
	Attached bool   `json:"attached"`
	Actor    string `json:"actor_state"`
	Partner  string `json:"partner_state"`
	System   string `json:"partner_system"`
	RxPDUs   uint64 `json:"rx_pdus"`
	TxPDUs   uint64 `json:"tx_pdus"`
}

func newBondValue(s *datapath.BondStatus) bondValue {
	v := bondValue{Bond: s.Name, Bridge: s.Bridge, Mode: s.Config.Mode.String(), LACP: "off", Members: []bondMemberValue{}}
	switch {
	case s.Negotiated:
		v.LACP = "negotiated"
	case s.Config.LACP != datapath.LACPOff:
		v.LACP = "configured"
	}
	if s.Active != nil {
		v.Active = s.Active.Name()
	}
	for i := range s.Members {
		m := &s.Members[i]
		mv := bondMemberValue{Name: m.Port.Name(), Enabled: m.Enabled, MayEnable: m.MayEnable, Link: m.Carrier, Load: map[int]uint64{}}
		for _, b := range m.Buckets {
			mv.Load[b.Hash] = b.Bytes
		}
		if l := m.LACP; l != nil {
			mv.LACP = &lacpMemberInfo{
				l.Status.String(), l.Attached, l.Actor.State.String(), l.Partner.State.String(),
				net.HardwareAddr(l.Partner.System[:]).String(), l.Stats.RxPDUs, l.Stats.TxPDUs,
			}
		}
		v.Members = append(v.Members, mv)
	}
	return v
}

// lacpBonds are the bonds with LACP, or the one that is named.
func (c *commands) lacpBonds(args []string) ([]datapath.BondStatus, error) {
	l, err := c.bonds(args)
	if err != nil {
		return nil, errors.New("no such lacp object")
	}
	var out []datapath.BondStatus
	for _, o := range l {
		if s := o.Status(); s.Config.LACP != datapath.LACPOff {
			out = append(out, s)
		}
	}
	if len(args) > 0 && len(out) == 0 {
		return nil, errors.New("no such lacp object")
	}
	return out, nil
}

func (c *commands) lacpShow(args []string) (control.Result, error) {
	l, err := c.lacpBonds(args)
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	values := []bondValue{}
	for i := range l {
		writeLACP(&out, &l[i])
		values = append(values, newBondValue(&l[i]))
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

func writeLACP(out *strings.Builder, s *datapath.BondStatus) {
	c := &s.Config
	status, period := "passive", "slow"
	if c.LACP == datapath.LACPActive {
		status = "active"
	}
	if s.Negotiated {
		status += " negotiated"
	}
	if c.LACPFast {
		period = "fast"
	}
	fmt.Fprintf(out, "---- %s ----\n  status: %s\n  sys_id: %s\n  sys_priority: %d\n  aggregation key: %d\n  lacp_time: %s\n",
		s.Name, status, c.SystemID, c.SystemPriority, s.LACPKey, period)
	for i := range s.Members {
		m := &s.Members[i]
		if m.LACP == nil {
			continue
		}
		attached := "attached"
		if !m.LACP.Attached {
			attached = "detached"
		}
		fmt.Fprintf(out, "\nmember: %s: %s %s\n  port_id: %d\n  port_priority: %d\n  may_enable: %v\n",
			m.Port.Name(), m.LACP.Status, attached, m.LACP.Actor.Port, m.LACP.Actor.PortPriority, m.MayEnable)
		writeLACPInfo(out, "actor", &m.LACP.Actor)
		writeLACPInfo(out, "partner", &m.LACP.Partner)
	}
}

func writeLACPInfo(out *strings.Builder, who string, i *lacp.Info) {
	fmt.Fprintf(out, "\n  %[1]s sys_id: %[2]s\n  %[1]s sys_priority: %[3]d\n  %[1]s port_id: %[4]d\n  %[1]s port_priority: %[5]d\n  %[1]s key: %[6]d\n  %[1]s state:",
		who, net.HardwareAddr(i.System[:]), i.SystemPriority, i.Port, i.PortPriority, i.Key)
	if i.State != 0 {
		out.WriteString(" " + i.State.String())
	}
	out.WriteString("\n")
}

func (c *commands) lacpStats(args []string) (control.Result, error) {
	l, err := c.lacpBonds(args)
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	values := []bondValue{}
	for i := range l {
		fmt.Fprintf(&out, "---- %s statistics ----\n", l[i].Name)
		for _, m := range l[i].Members {
			if m.LACP == nil {
				continue
			}
			s := &m.LACP.Stats
			fmt.Fprintf(&out, "\nmember: %s:\n  TX PDUs: %d\n  RX PDUs: %d\n  RX Bad PDUs: %d\n  RX Marker Request PDUs: 0\n  Link Expired: %d\n  Link Defaulted: %d\n  Carrier Status Changed: %d\n",
				m.Port.Name(), s.TxPDUs, s.RxPDUs, s.BadPDUs, s.Expirations, s.Defaults, s.Carrier)
		}
		values = append(values, newBondValue(&l[i]))
	}
	return control.Result{Text: out.String(), Value: values}, nil
}
