package flowdiff

import (
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/datapath/flowtest"
)

// OVS is an Open vSwitch as a flowtest.Switch.
type OVS struct {
	*instance
	built   []flowtest.Bridge
	round   int // how often ports were made
	pcaps   map[flowtest.PortRef]*pcapReader
	dirty   map[string]bool // bridge and what it has: groups, meters
	stale   map[string]bool // bridges that still have flows of the case before
	changed bool            // ports are not as they were made
	stopped bool            // its clock stands
}

// Start starts an Open vSwitch that lives in dir, which must be empty.
func Start(dir string) (*OVS, error) {
	i, err := start(dir)
	if err != nil {
		return nil, err
	}
	return &OVS{instance: i}, nil
}

// Close ends it.
func (o *OVS) Close() error { return o.stop() }

// Build implements flowtest.Switch. If the ports are as before, they stay.
func (o *OVS) Build(bridges []flowtest.Bridge) error {
	if o.changed || !slices.EqualFunc(o.built, bridges, sameBridge) {
		return o.rebuild(bridges)
	}
	for _, b := range bridges {
		if o.dirty[b.Name+" group"] {
			if _, err := o.ofctl("", "del-groups", b.Name); err != nil {
				return err
			}
		}
		if o.dirty[b.Name+" meter"] {
			if _, err := o.ofctl("", "del-meters", b.Name); err != nil {
				return err
			}
		}
		if err := o.Flush(b.Name); err != nil {
			return err
		}
		if err := o.initialFlows(b); err != nil {
			return err
		}
	}
	o.dirty = map[string]bool{}
	return nil
}

// initialFlows gives the bridge the flows that a new one has. If that is none, the first command that adds some does it.
func (o *OVS) initialFlows(b flowtest.Bridge) error {
	o.stale[b.Name] = true
	if b.Options["fail-mode"] == "standalone" {
		return o.fresh(b.Name, "add priority=0,actions=NORMAL\n")
	}
	return nil
}

// fresh takes the flows of the case before out, if they are there still, and then adds flows.
func (o *OVS) fresh(bridge, flows string) error {
	if o.stale[bridge] {
		flows = "delete\n" + flows
	}
	if flows == "" {
		return nil
	}
	_, err := o.ofctl(flows, "add-flows", bridge, "-")
	if err == nil {
		o.stale[bridge] = false
	}
	return err
}

func sameBridge(a, b flowtest.Bridge) bool {
	return a.Name == b.Name && maps.Equal(a.Options, b.Options) && slices.EqualFunc(a.Ports, b.Ports, func(p, q flowtest.Port) bool {
		return p.Number == q.Number && maps.Equal(p.Options, q.Options)
	})
}

func (o *OVS) rebuild(bridges []flowtest.Bridge) error {
	var args []string
	for _, b := range o.built {
		args = append(args, "--", "--if-exists", "del-br", b.Name)
	}
	if len(args) > 0 {
		if _, err := o.vsctl(args...); err != nil {
			return err
		}
	}
	o.round++
	o.pcaps, o.dirty, o.changed = map[flowtest.PortRef]*pcapReader{}, map[string]bool{}, false
	o.stale = map[string]bool{}
	args = nil
	var down []string
	for _, b := range bridges {
		args = append(args, "--", "add-br", b.Name, "--", "set", "bridge", b.Name, "datapath_type=dummy", "fail-mode=secure",
			"protocols="+versions, "other_config:hwaddr=02:00:00:00:00:fe")
		for _, k := range slices.Sorted(maps.Keys(b.Options)) {
			switch k {
			case "fail-mode":
			case "flood-vlans":
				args = append(args, "flood_vlans="+b.Options[k])
			default:
				args = append(args, "other_config:"+k+"="+b.Options[k])
			}
		}
		for _, p := range b.Ports {
			name := flowtest.PortName(flowtest.PortRef{Bridge: b.Name, Number: p.Number})
			more, err := o.portArgs(b, p, name)
			if err != nil {
				return err
			}
			args = append(args, more...)
			if p.Options["link"] == "false" {
				down = append(down, name)
			}
		}
	}
	o.built = nil
	if _, err := o.vsctl(args[1:]...); err != nil {
		return err
	}
	o.built = bridges
	for _, b := range bridges {
		if err := o.initialFlows(b); err != nil {
			return err
		}
		if b.Options["fail-mode"] == "" {
			o.stale[b.Name] = false // it is new
		}
	}
	for _, name := range down {
		if _, err := o.call("netdev-dummy/set-admin-state", name, "down"); err != nil {
			return err
		}
	}
	return nil
}

// portArgs are ovs-vsctl's arguments for a port.
func (o *OVS) portArgs(b flowtest.Bridge, p flowtest.Port, name string) ([]string, error) {
	args := []string{"--", "add-port", b.Name, name}
	var port []string
	iface := []string{"--", "set", "interface", name, fmt.Sprintf("ofport_request=%d", p.Number)}
	peer := p.Options["peer"]
	for _, k := range slices.Sorted(maps.Keys(p.Options)) {
		v := p.Options[k]
		switch k {
		case "peer":
			bridge, n, _ := strings.Cut(v, ":")
			number, err := strconv.Atoi(n)
			if err != nil {
				return nil, fmt.Errorf("peer=%s: not BRIDGE:NUMBER", v)
			}
			iface = append(iface, "type=patch", "options:peer="+flowtest.PortName(flowtest.PortRef{Bridge: bridge, Number: number}))
		case "link":
		case "tag", "trunks", "vlan_mode", "protected", "cvlans":
			port = append(port, k+"="+v)
		default:
			port = append(port, "other_config:"+k+"="+v)
		}
	}
	if peer == "" {
		path := o.path(fmt.Sprintf("%s.%d.pcap", name, o.round))
		iface = append(iface, "type=dummy", "options:tx_pcap="+path)
		o.pcaps[flowtest.PortRef{Bridge: b.Name, Number: p.Number}] = &pcapReader{path: path}
	}
	return append(append(args, port...), iface...), nil
}

func (o *OVS) ofctl(input, verb, bridge string, args ...string) (string, error) {
	rest := append([]string{verb, o.bridgeSocket(bridge)}, args...)
	plain := append([]string{"--timeout=10"}, rest...)
	if verb == "mod-flows" { // adds what it does not find only in OpenFlow 1.0, ovs-ofctl's own choice
		return o.command(input, "ovs-ofctl", plain...)
	}
	var out string
	var err error
	// It settles for the latest version that both know, even where only an earlier one can say it.
	for _, v := range []string{versions, "OpenFlow14", "OpenFlow13", "OpenFlow10"} {
		out, err = o.command(input, "ovs-ofctl", append([]string{"--timeout=10", "-O", v}, rest...)...)
		if err == nil || !strings.Contains(err.Error(), "usable flow formats") && !strings.Contains(err.Error(), "usable formats") {
			break
		}
	}
	return out, err
}

// Commands implements flowtest.Switch.
func (o *OVS) Commands(bridge string, list []flowtest.Command) error {
	if first := list[0]; first.Name == "add-flow" {
		var lines strings.Builder
		for _, c := range list {
			lines.WriteString("add " + c.Text + "\n")
		}
		return o.fresh(bridge, lines.String())
	}
	if err := o.fresh(bridge, ""); err != nil {
		return err
	}
	for _, c := range list {
		var err error
		switch {
		case c.Name == "link":
			f := strings.Fields(c.Text)
			n, _ := strconv.Atoi(f[0])
			o.changed = true
			if _, err = o.call("netdev-dummy/set-admin-state", flowtest.PortName(flowtest.PortRef{Bridge: bridge, Number: n}), f[1]); err == nil {
				err = o.settle(3) // ports are looked at once a round
			}
		case c.Name == "mirror":
			o.changed = true
			err = o.mirror(bridge, c.Text)
		case c.Name == "mod-port":
			o.changed = true
			// Later versions of OpenFlow than 1.0 do not know that a port is not flooded to.
			_, err = o.command("", "ovs-ofctl", append([]string{"--timeout=10", c.Name, o.bridgeSocket(bridge)}, strings.Fields(c.Text)...)...)
		default:
			for _, kind := range []string{"group", "meter", "bucket"} {
				if strings.Contains(c.Name, kind) {
					o.dirty[bridge+" "+strings.Replace(kind, "bucket", "group", 1)] = true
				}
			}
			args := []string{}
			if c.Text != "" {
				args = append(args, c.Text)
			}
			if c.Strict {
				args = append([]string{"--strict"}, args...)
			}
			_, err = o.ofctl("", c.Name, bridge, args...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Send implements flowtest.Switch. The datapath forgets its flows before: what Open vSwitch's
// tables say is asked, not what its cache still holds.
func (o *OVS) Send(at flowtest.PortRef, frames []flowtest.Frame) (map[flowtest.PortRef][][]byte, error) {
	if err := o.freshAll(); err != nil {
		return nil, err
	}
	if _, err := o.call("revalidator/purge"); err != nil {
		return nil, err
	}
	return o.inject(at, frames)
}

// inject is Send without forgetting.
func (o *OVS) inject(at flowtest.PortRef, frames []flowtest.Frame) (map[flowtest.PortRef][][]byte, error) {
	args := []string{flowtest.PortName(at)}
	for _, f := range frames {
		args = append(args, hex.EncodeToString(f.Bytes))
	}
	if _, err := o.call("netdev-dummy/receive", args...); err != nil {
		return nil, err
	}
	if err := o.settle(len(frames) + 1); err != nil {
		return nil, err
	}
	return o.sent()
}

// sent is what was sent since it was last asked.
func (o *OVS) sent() (map[flowtest.PortRef][][]byte, error) {
	got := map[flowtest.PortRef][][]byte{}
	for r, p := range o.pcaps {
		f, err := p.read()
		if err != nil {
			return nil, err
		}
		if len(f) > 0 {
			got[r] = f
		}
	}
	return got, nil
}

// freshAll is fresh for all bridges.
func (o *OVS) freshAll() error {
	for _, b := range o.built {
		if err := o.fresh(b.Name, ""); err != nil {
			return err
		}
	}
	return nil
}

// Flows implements flowtest.Switch.
func (o *OVS) Flows(bridge, filter string) ([]string, error) {
	if err := o.fresh(bridge, ""); err != nil {
		return nil, err
	}
	args := []string{"--timeout=10", "--no-stats", "--no-names", "dump-flows", o.bridgeSocket(bridge)}
	if filter != "" {
		args = append(args, filter)
	}
	out, err := o.command("", "ovs-ofctl", args...)
	if err != nil {
		return nil, err
	}
	var flows []string
	for l := range strings.Lines(out) {
		if !strings.Contains(l, "_FLOW reply") {
			flows = append(flows, strings.TrimSpace(l))
		}
	}
	return flows, nil
}

var counters = regexp.MustCompile(`packet_count=(\d+) byte_count=(\d+)`)

// Count implements flowtest.Switch.
func (o *OVS) Count(bridge, filter string) (packets, bytes int, err error) {
	if _, err := o.call("revalidator/purge"); err != nil {
		return 0, 0, err
	}
	out, err := o.ofctl("", "dump-aggregate", bridge, filter)
	if err != nil {
		return 0, 0, err
	}
	m := counters.FindStringSubmatch(out)
	if m == nil {
		return 0, 0, fmt.Errorf("dump-aggregate: cannot read %q", out)
	}
	packets, _ = strconv.Atoi(m[1])
	bytes, _ = strconv.Atoi(m[2])
	return packets, bytes, nil
}

// MACs implements flowtest.Switch.
func (o *OVS) MACs(bridge string) ([]string, error) {
	out, err := o.call("fdb/show", bridge)
	if err != nil {
		return nil, err
	}
	var all []string
	for l := range strings.Lines(out) {
		f := strings.Fields(l)
		if len(f) != 4 || f[0] == "port" {
			continue
		}
		all = append(all, strings.Join(f[:3], " "))
	}
	return all, nil
}

// Flush implements flowtest.Switch.
func (o *OVS) Flush(bridge string) error {
	_, err := o.call("fdb/flush", bridge)
	return err
}

// Wait implements flowtest.Switch. From the first one on the clock stands but for these.
func (o *OVS) Wait(seconds int) error {
	if _, err := o.call("revalidator/purge"); err != nil { // brings the times of use up to date
		return err
	}
	if !o.stopped {
		if _, err := o.call("time/stop"); err != nil {
			return err
		}
		o.stopped = true
	}
	_, err := o.call("time/warp", strconv.Itoa(seconds*1000), strconv.Itoa(max(500, seconds*50)))
	return err
}
