package flowtest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/datapath"
)

// Mirror is what a statement "mirror" says.
type Mirror struct {
	Name    string
	Columns []Column // in the order in which they were written
}

// Column is a column of the table Mirror in ovs-vswitchd.conf.db(5). Ports are numbers, lists have commas.
type Column struct{ Name, Value string }

// ParseMirror reads "NAME COLUMN=VALUE ...".
func ParseMirror(text string) (Mirror, error) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return Mirror{}, fmt.Errorf("mirror %s: not NAME COLUMN=VALUE", text)
	}
	m := Mirror{Name: f[0]}
	for _, w := range f[1:] {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			return m, fmt.Errorf("mirror %s: %s: not COLUMN=VALUE", m.Name, w)
		}
		m.Columns = append(m.Columns, Column{k, v})
	}
	return m, nil
}

// mirror adds one.
func (s *Sim) mirror(bridge, text string) error {
	m, err := ParseMirror(text)
	if err != nil {
		return err
	}
	c := datapath.MirrorConfig{Name: m.Name}
	for _, col := range m.Columns {
		switch v := col.Value; col.Name {
		case "select_all":
			c.All = v == "true"
		case "select_src_port":
			c.SrcPorts, err = portNames(bridge, v)
		case "select_dst_port":
			c.DstPorts, err = portNames(bridge, v)
		case "select_vlan":
			c.VLANs, err = numbers(v)
		case "output_port":
			var p []string
			if p, err = portNames(bridge, v); err == nil {
				c.OutPort = p[0]
			}
		case "output_vlan":
			c.OutVLAN, err = strconv.Atoi(v)
		case "snaplen":
			c.SnapLen, err = strconv.Atoi(v)
		case "filter":
			err = c.Filter.Parse(v, nil)
		default:
			err = errors.New("no such column")
		}
		if err != nil {
			return fmt.Errorf("mirror %s: %s=%s: %w", m.Name, col.Name, col.Value, err)
		}
	}
	s.mirrors[bridge] = append(s.mirrors[bridge], c)
	return s.bridges[bridge].SetMirrors(s.mirrors[bridge])
}

func numbers(list string) ([]int, error) {
	var all []int
	for t := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(t)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func portNames(bridge, list string) ([]string, error) {
	all, err := numbers(list)
	var names []string
	for _, n := range all {
		names = append(names, PortName(PortRef{bridge, n}))
	}
	return names, err
}
