package flowtest

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/dummy"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// patience is how long the switch may take for anything.
const patience = 5 * time.Second

// Config says how our switch is to be.
type Config struct {
	Flows   datapath.FlowConfig
	Threads datapath.ThreadConfig
}

// Sim is our switch with dummy ports, in this process.
type Sim struct {
	cfg     Config
	dp      *datapath.Datapath
	bridges map[string]*datapath.Bridge
	ports   map[PortRef]*simPort
	mirrors map[string][]datapath.MirrorConfig // of each bridge
}

type simPort struct {
	port *datapath.Port
	dev  *dummy.Device // nil: a patch
	sent uint64        // frames that it was given to receive
}

// New makes our switch. Build begins it.
func New(c Config) *Sim { return &Sim{cfg: c} }

// PortName is the name of a port's interface: p1, and br1-p1 on other bridges than br0.
func PortName(r PortRef) string {
	if r.Bridge == "br0" {
		return fmt.Sprintf("p%d", r.Number)
	}
	return fmt.Sprintf("%s-p%d", r.Bridge, r.Number)
}

// Build implements Switch.
func (s *Sim) Build(bridges []Bridge) error {
	if err := s.Close(); err != nil {
		return err
	}
	s.dp = datapath.New(datapath.Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s.bridges, s.ports = map[string]*datapath.Bridge{}, map[PortRef]*simPort{}
	s.mirrors = map[string][]datapath.MirrorConfig{}
	if err := s.dp.SetFlowConfig(s.cfg.Flows); err != nil {
		return err
	}
	if len(s.cfg.Threads.CPUs) > 0 {
		if err := s.dp.SetThreads(s.cfg.Threads); err != nil {
			return err
		}
	}
	for _, b := range bridges {
		c, err := bridgeConfig(b)
		if err != nil {
			return err
		}
		br, err := s.dp.AddBridge(b.Name, c)
		if err != nil {
			return err
		}
		s.bridges[b.Name] = br
		for _, p := range b.Ports {
			if err := s.addPort(br, b.Name, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func bridgeConfig(b Bridge) (datapath.BridgeConfig, error) {
	c := datapath.BridgeConfig{FailMode: datapath.FailSecure}
	for k, v := range b.Options {
		switch k {
		case "fail-mode":
			if v == "standalone" {
				c.FailMode = datapath.FailStandalone
			}
		case "mac-table-size":
			n, err := strconv.Atoi(v)
			if err != nil {
				return c, fmt.Errorf("%s=%s: not a number", k, v)
			}
			c.MACTableSize = n
		case "flood-vlans":
			var err error
			if c.FloodVLANs, err = numbers(v); err != nil {
				return c, fmt.Errorf("%s=%s: %w", k, v, err)
			}
		case "forward-bpdu":
			c.ForwardBPDU = v == "true"
		default:
			return c, fmt.Errorf("bridge option %s: unknown", k)
		}
	}
	return c, nil
}

var vlanModes = map[string]datapath.VLANMode{
	"access": datapath.VLANAccess, "trunk": datapath.VLANTrunk, "native-tagged": datapath.VLANNativeTagged,
	"native-untagged": datapath.VLANNativeUntagged, "dot1q-tunnel": datapath.VLANDot1qTunnel,
}

func (s *Sim) addPort(br *datapath.Bridge, bridge string, p Port) error {
	at := PortRef{bridge, p.Number}
	c := datapath.PortConfig{OFPort: uint16(p.Number), Tag: -1, AdminUp: true}
	o := netdev.Options{Map: map[string]string{"capture": "8192"}}
	for k, v := range p.Options {
		var err error
		switch k {
		case "tag":
			c.Tag, err = strconv.Atoi(v)
		case "trunks":
			c.Trunks, err = numbers(v)
		case "cvlans":
			c.CVLANs, err = numbers(v)
		case "qinq-ethtype":
			c.QinQType = map[string]uint16{"802.1q": 0x8100, "802.1ad": 0x88a8}[v]
		case "vlan_mode":
			m, ok := vlanModes[v]
			if !ok {
				err = errors.New("no such mode")
			}
			c.VLANMode = m
		case "protected":
			c.Protected = v == "true"
		case "priority-tags":
			c.PriorityTags = map[string]datapath.PriorityTags{
				"always": datapath.PriorityAlways, "if-nonzero": datapath.PriorityIfNonzero, "true": datapath.PriorityIfNonzero,
			}[v]
		case "link":
			o.Map["link"] = v
		case "peer":
			var peer PortRef
			if peer, err = parsePort(v); err == nil {
				c.Peer = PortName(peer)
			}
		default:
			err = errors.New("no such option")
		}
		if err != nil {
			return fmt.Errorf("port %v: %s=%s: %w", at, k, v, err)
		}
	}
	port, err := br.AddPort(PortName(at), c)
	if err != nil {
		return err
	}
	q := &simPort{port: port}
	s.ports[at] = q
	if c.Peer != "" {
		return nil
	}
	dev, err := dummy.Open(PortName(at), o, s.dp)
	if err != nil {
		return err
	}
	q.dev = dev.(*dummy.Device)
	return port.Attach(dev)
}

// Close implements Switch. It reports frames that were lost without a trace.
func (s *Sim) Close() error {
	if s.dp == nil {
		return nil
	}
	_, err := s.dp.Conservation()
	for _, p := range s.ports {
		if dev := p.port.Detach(); dev != nil {
			err = errors.Join(err, dev.Close())
		}
		p.port.Remove()
	}
	for _, b := range s.bridges {
		b.Remove()
	}
	s.dp.Close()
	s.dp = nil
	return err
}

// Send implements Switch.
func (s *Sim) Send(at PortRef, frames []Frame) (map[PortRef][][]byte, error) {
	p := s.ports[at]
	var all [][]byte
	for _, f := range frames {
		all = append(all, f.Bytes)
	}
	p.sent += uint64(len(frames))
	p.dev.Receive(all...)
	for end := time.Now().Add(patience); p.received() < p.sent; time.Sleep(20 * time.Microsecond) {
		if time.Now().After(end) {
			return nil, fmt.Errorf("port %v: %d frames of %d were received", at, p.received(), p.sent)
		}
	}
	s.dp.Synchronize() // what was received is decided and sent
	got := map[PortRef][][]byte{}
	for at, q := range s.ports {
		if q.dev == nil {
			continue
		}
		for _, sent := range q.dev.TakeTransmitted() {
			got[at] = append(got[at], sent.Frame)
		}
	}
	return got, nil
}

// received is how many frames the port's receive queue has seen.
func (p *simPort) received() uint64 {
	st := p.port.Stats()
	return st.RxPackets + st.RxDrops[packet.RxRunt] + st.RxDrops[packet.RxTooLong] + st.RxDrops[packet.RxBadOffload]
}

// names makes names of the bridge's ports known to ovs-ofctl's syntax.
type names struct {
	s      *Sim
	bridge string
}

func (n names) PortNumber(name string) (uint32, bool) {
	for at := range n.s.ports {
		if at.Bridge == n.bridge && PortName(at) == name {
			return uint32(at.Number), true
		}
	}
	return 0, false
}

func (n names) PortName(uint32) string           { return "" }
func (n names) TableNumber(string) (uint8, bool) { return 0, false }
func (n names) TableName(uint8) string           { return "" }

// Flows implements Switch.
func (s *Sim) Flows(bridge, filter string) ([]string, error) {
	f, err := s.filter(bridge, filter)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, r := range s.bridges[bridge].Tables().Flows(&f) {
		f := r.Flow()
		all = append(all, strings.TrimSpace(string(f.Append(nil, nil))))
	}
	return all, nil
}

func (s *Sim) filter(bridge, text string) (ofp.FlowMod, error) {
	return ofp.ParseFlow(text, names{s, bridge}, ofp.Delete)
}

// Count implements Switch.
func (s *Sim) Count(bridge, filter string) (packets, bytes int, err error) {
	f, err := s.filter(bridge, filter)
	if err != nil {
		return 0, 0, err
	}
	s.dp.SyncFlowStats()
	p, b, _ := s.bridges[bridge].Tables().Aggregate(&f)
	return int(p), int(b), nil
}

// MACs implements Switch.
func (s *Sim) MACs(bridge string) ([]string, error) {
	var all []string
	for _, m := range s.bridges[bridge].MACTable() {
		all = append(all, fmt.Sprintf("%d %d %v", m.Port.OFPort(), m.VLAN, m.MAC))
	}
	return all, nil
}

// Flush implements Switch.
func (s *Sim) Flush(bridge string) error {
	s.bridges[bridge].FlushMACs()
	return nil
}

// Forget has the switch forget what it decided about packets before.
func (s *Sim) Forget() { s.dp.PurgeMegaflows() }

// Wait implements Switch: the switch's clock is moved.
func (s *Sim) Wait(seconds int) error {
	s.dp.SyncFlowStats()
	for range seconds {
		s.dp.Warp(1000)
		for _, b := range s.bridges {
			b.Tables().Expire(s.dp.Now())
		}
	}
	return nil
}

// groupCommands are the commands on groups, as the parser and as the tables call them.
var groupCommands = map[string]struct {
	text  ofp.GroupCommand
	table rules.GroupCommand
}{
	"add-group": {ofp.GroupAdd, rules.GroupAdd}, "mod-group": {ofp.GroupModify, rules.GroupModify},
	"del-groups": {ofp.GroupDelete, rules.GroupDelete}, "insert-buckets": {ofp.GroupInsertBuckets, rules.GroupInsertBuckets},
	"remove-buckets": {ofp.GroupRemoveBuckets, rules.GroupRemoveBuckets},
}
