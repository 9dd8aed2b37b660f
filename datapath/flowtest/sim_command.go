package flowtest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// Commands implements Switch.
func (s *Sim) Commands(bridge string, list []Command) error {
	if list[0].Name == "add-flow" {
		return s.addFlows(bridge, list)
	}
	for _, c := range list {
		if err := s.command(bridge, c); err != nil {
			return err
		}
	}
	return nil
}

// addFlows adds flows all at once.
func (s *Sim) addFlows(bridge string, list []Command) error {
	var mods []ofp.FlowMod
	for _, c := range list {
		m, err := ofp.ParseFlow(c.Text, names{s, bridge}, ofp.Add)
		if err != nil {
			return err
		}
		mods = append(mods, m)
	}
	return s.apply(bridge, mods)
}

func (s *Sim) apply(bridge string, mods []ofp.FlowMod) error {
	_, err := s.bridges[bridge].Tables().Apply(mods, rules.Options{Now: s.dp.Now()})
	return err
}

func (s *Sim) command(bridge string, c Command) error {
	t := s.bridges[bridge].Tables()
	n := names{s, bridge}
	if g, ok := groupCommands[c.Name]; ok {
		m, err := ofp.ParseGroupMod(c.Text, n, g.text)
		if err != nil {
			return err
		}
		if g.table == rules.GroupDelete && m.Def.ID == ofp.GroupAny {
			m.Def.ID = rules.GroupAll
		}
		_, err = t.ApplyGroup(g.table, &m.Def, m.CommandBucket, s.dp.Now())
		return err
	}
	switch c.Name {
	case "mod-flows", "del-flows":
		cmd := map[string][2]ofp.Command{
			"mod-flows": {ofp.Modify, ofp.ModifyStrict}, "del-flows": {ofp.Delete, ofp.DeleteStrict},
		}[c.Name][strictness(c.Strict)]
		m, err := ofp.ParseFlow(c.Text, n, cmd)
		if err != nil {
			return err
		}
		return s.apply(bridge, []ofp.FlowMod{m})
	case "add-meter", "mod-meter":
		m, err := ofp.ParseMeter(c.Text)
		if err != nil {
			return err
		}
		_, err = t.ApplyMeter(map[string]rules.MeterCommand{"add-meter": rules.MeterAdd, "mod-meter": rules.MeterModify}[c.Name], &m, s.dp.Now())
		return err
	case "del-meters":
		id, err := ofp.ParseMeterID(c.Text)
		if err != nil {
			return err
		}
		_, err = t.ApplyMeter(rules.MeterDelete, &ofp.MeterDef{ID: id}, s.dp.Now())
		return err
	case "mirror":
		return s.mirror(bridge, c.Text)
	case "mod-port", "link":
		return s.portCommand(bridge, c)
	}
	return fmt.Errorf("%s: no such command", c.Name)
}

func strictness(strict bool) int {
	if strict {
		return 1
	}
	return 0
}

// portCommand is mod-port and link.
func (s *Sim) portCommand(bridge string, c Command) error {
	f := strings.Fields(c.Text)
	if len(f) != 2 {
		return fmt.Errorf("%s %s: not PORT WORD", c.Name, c.Text)
	}
	n, err := strconv.Atoi(f[0])
	if err != nil {
		return err
	}
	p := s.ports[PortRef{bridge, n}]
	if p == nil {
		return fmt.Errorf("port %d: there is none", n)
	}
	if c.Name == "link" {
		return s.setLink(p, f[1] == "up")
	}
	o := p.port.OpenFlowConfig()
	flag, is := strings.CutPrefix(f[1], "no-")
	switch flag {
	case "up", "down":
		o.Down = flag == "down"
	case "flood":
		o.NoFlood = is
	case "forward":
		o.NoFwd = is
	case "receive":
		o.NoRecv = is
	default:
		return fmt.Errorf("mod-port %s: no such setting", f[1])
	}
	return p.port.SetOpenFlowConfig(o)
}

// setLink changes a port's carrier, and waits until the switch has heard of it.
func (s *Sim) setLink(p *simPort, up bool) error {
	p.dev.SetLink(up)
	for end := time.Now().Add(patience); p.port.Info().Link != up; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("the switch does not see the link change")
		}
	}
	s.dp.Changed(p.dev)
	s.dp.Synchronize()
	return nil
}
