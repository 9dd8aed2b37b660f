package daemon

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/control"
)

func (c *commands) bondCommands() []entry {
	enable := func(on bool) run {
		return func(args []string) (control.Result, error) { return c.bondEnable(args, on) }
	}
	var l []entry
	for _, word := range []string{"member", "slave"} { // the latter is what they were called before
		l = append(
			l,
			entry{"bond/set-active-" + word, "PORT MEMBER", 2, 2, c.bondSetActive},
			entry{"bond/enable-" + word, "PORT MEMBER", 2, 2, enable(true)},
			entry{"bond/disable-" + word, "PORT MEMBER", 2, 2, enable(false)},
		)
	}
	return append(
		l,
		entry{"bond/list", "", 0, 0, c.bondList},
		entry{"bond/show", "[PORT]", 0, 1, c.bondShow},
		entry{"bond/migrate", "PORT HASH MEMBER", 3, 3, c.bondMigrate},
		entry{"bond/hash", "MAC [VLAN] [BASIS]", 1, 3, c.bondHash},
		entry{"lacp/show", "[PORT]", 0, 1, c.lacpShow},
		entry{"lacp/show-stats", "[PORT]", 0, 1, c.lacpStats},
	)
}

// bonds are those of all bridges, or the one that is named.
func (c *commands) bonds(args []string) ([]*datapath.Bond, error) {
	var l []*datapath.Bond
	for _, b := range c.directory().Bridges {
		l = append(l, b.DP.Bonds()...)
	}
	slices.SortFunc(l, func(a, b *datapath.Bond) int { return strings.Compare(a.Name(), b.Name()) })
	if len(args) == 0 {
		return l, nil
	}
	for _, o := range l {
		if o.Name() == args[0] {
			return []*datapath.Bond{o}, nil
		}
	}
	return nil, errors.New("no such bond")
}

func (c *commands) bond(args []string) (*datapath.Bond, error) {
	l, err := c.bonds(args[:1])
	if err != nil {
		return nil, err
	}
	for _, m := range l[0].Status().Members {
		if m.Port.Name() == args[len(args)-1] {
			return l[0], nil
		}
	}
	return nil, errors.New("no such member")
}

func (c *commands) bondList([]string) (control.Result, error) {
	l, err := c.bonds(nil)
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	out.WriteString("bond\ttype\trecircID\tmembers\n")
	values := []bondValue{}
	for _, o := range l {
		s := o.Status()
		var names []string
		for _, m := range s.Members {
			names = append(names, m.Port.Name())
		}
		fmt.Fprintf(&out, "%s\t%s\t0\t%s\n", s.Name, s.Config.Mode, strings.Join(names, ", "))
		values = append(values, newBondValue(&s))
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

func (c *commands) bondShow(args []string) (control.Result, error) {
	l, err := c.bonds(args)
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	values := []bondValue{}
	for _, o := range l {
		s := o.Status()
		writeBond(&out, &s)
		values = append(values, newBondValue(&s))
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

// writeBond writes a bond as Open vSwitch does, which recirculates and has a datapath action for bonds.
func writeBond(out *strings.Builder, s *datapath.BondStatus) {
	cfg := &s.Config
	fmt.Fprintf(out, "---- %s ----\nbond_mode: %s\nbond may use recirculation: no, Recirc-ID : -1\n", s.Name, cfg.Mode)
	fmt.Fprintf(out, "bond-hash-basis: %d\nlb_output action: disabled, bond-id: -1\n", cfg.HashBasis)
	fmt.Fprintf(out, "all members active: %v\n", cfg.AllMembers)
	fmt.Fprintf(out, "updelay: %d ms\ndowndelay: %d ms\n", cfg.UpDelay.Milliseconds(), cfg.DownDelay.Milliseconds())
	if cfg.Rebalance > 0 && cfg.Mode != datapath.BondActiveBackup {
		fmt.Fprintf(out, "next rebalance: %d ms\n", s.NextRebalance.Milliseconds())
	}
	lacp, primary, active := "off", cfg.Primary, "00:00:00:00:00:00(none)"
	switch {
	case s.Negotiated:
		lacp = "negotiated"
	case cfg.LACP != datapath.LACPOff:
		lacp = "configured"
	}
	if primary == "" {
		primary = "<none>"
	} else if !slices.ContainsFunc(s.Members, func(m datapath.BondMemberStatus) bool { return m.Port.Name() == primary }) {
		primary += " (no such member)"
	}
	if s.Active != nil {
		mac := s.ActiveMAC
		if mac == nil {
			mac = make(net.HardwareAddr, 6)
		}
		active = fmt.Sprintf("%s(%s)", mac, s.Active.Name())
	}
	fmt.Fprintf(out, "lacp_status: %s\nlacp_fallback_ab: %v\nactive-backup primary: %s\nactive member mac: %s\n\n", lacp, cfg.FallbackAB, primary, active)
	for i := range s.Members {
		m := &s.Members[i]
		fmt.Fprintf(out, "member %s: %s\n", m.Port.Name(), enabledWord(m.Enabled))
		if m.Port == s.Active {
			out.WriteString("  active member\n")
		}
		if m.Delay > 0 {
			what := "updelay"
			if m.Enabled {
				what = "downdelay"
			}
			fmt.Fprintf(out, "  %s expires in %d ms\n", what, m.Delay.Milliseconds())
		}
		fmt.Fprintf(out, "  may_enable: %v\n", m.MayEnable)
		for _, b := range m.Buckets {
			fmt.Fprintf(out, "  hash %d: %d kB load\n", b.Hash, b.Bytes/1024)
		}
		out.WriteString("\n")
	}
}

func enabledWord(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}

func (c *commands) bondSetActive(args []string) (control.Result, error) {
	o, err := c.bond(args)
	if err != nil {
		return control.Result{}, err
	}
	if s := o.Status(); s.Active != nil && s.Active.Name() == args[1] {
		return text("no change\n")
	}
	if err := o.SetActive(args[1]); err != nil {
		return control.Result{}, err
	}
	return text("done\n")
}

func (c *commands) bondEnable(args []string, on bool) (control.Result, error) {
	o, err := c.bond(args)
	if err != nil {
		return control.Result{}, err
	}
	if err := o.Enable(args[1], on); err != nil {
		return control.Result{}, err
	}
	return text("%s\n", enabledWord(on))
}

func (c *commands) bondMigrate(args []string) (control.Result, error) {
	o, err := c.bond(args)
	if err != nil {
		return control.Result{}, err
	}
	if o.Status().Config.Mode == datapath.BondActiveBackup {
		return control.Result{}, errors.New("not a balancing bond")
	}
	bucket, err := strconv.Atoi(args[1])
	if err != nil {
		return control.Result{}, fmt.Errorf("hash %q is not a number from 0 to 255", args[1])
	}
	if err := o.Migrate(bucket, args[2]); err != nil {
		return control.Result{}, err
	}
	return text("migrated\n")
}

func (c *commands) bondHash(args []string) (control.Result, error) {
	mac, err := net.ParseMAC(args[0])
	if err != nil || len(mac) != 6 {
		return control.Result{}, errors.New("invalid mac")
	}
	vlan, basis := 0, uint64(0)
	if len(args) > 1 {
		if vlan, err = parseVLAN(args[1]); err != nil {
			return control.Result{}, err
		}
	}
	if len(args) > 2 {
		if basis, err = strconv.ParseUint(args[2], 10, 32); err != nil {
			return control.Result{}, fmt.Errorf("basis %q is not a number of 32 bits", args[2])
		}
	}
	n := datapath.BondHash(mac, uint16(vlan), uint32(basis))
	return control.Result{Text: strconv.Itoa(n) + "\n", Value: n}, nil
}
