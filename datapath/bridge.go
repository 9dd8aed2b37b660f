package datapath

import (
	"fmt"
	"slices"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// Bridge is a learning switch and its ports.
type Bridge struct {
	d     *Datapath
	name  string
	cfg   BridgeConfig
	ports []*Port // in order of addition
	table *macTable
	gone  bool

	mirrors []mirror

	id     uint16 // its number in the datapath
	tables *rules.Tables
	grat   gratLocks
}

// Tables are the bridge's flow tables, groups and meters. Changes are made there; poll threads
// notice by themselves.
func (b *Bridge) Tables() *rules.Tables { return b.tables }

// newTables makes the tables that a bridge begins with.
func newTables(m FailMode, now int64) (*rules.Tables, error) {
	t := rules.New()
	if m == FailSecure {
		return t, nil
	}
	normal := ofp.FlowMod{Command: ofp.Add, Flow: ofp.Flow{Actions: []ofp.Action{ofp.Output{Port: ofp.PortNormal}}}}
	_, err := t.Apply([]ofp.FlowMod{normal}, rules.Options{Now: now})
	return t, err
}

func (c *BridgeConfig) tableSize() int {
	if c.MACTableSize == 0 {
		return DefaultMACTableSize
	}
	return c.MACTableSize
}

func (c *BridgeConfig) aging() uint32 {
	if c.MACAging == 0 {
		return uint32(DefaultMACAging.Seconds())
	}
	return uint32(c.MACAging.Seconds())
}

func (c *BridgeConfig) check(name string) error {
	if c.MACTableSize < 0 || c.MACTableSize > MaxMACTableSize {
		return fmt.Errorf("bridge %q: MAC table size %d: not in 1..%d", name, c.MACTableSize, MaxMACTableSize)
	}
	for _, v := range c.FloodVLANs {
		if v < 0 || v > 4095 {
			return fmt.Errorf("bridge %q: flood VLANs: %d is not a VLAN (0..4095)", name, v)
		}
	}
	if c.MACAging < 0 || c.MACAging != 0 && c.MACAging.Seconds() < 1 || c.MACAging.Hours() > 24*365 {
		return fmt.Errorf("bridge %q: MAC aging time %v: not in 1 s .. 1 year", name, c.MACAging)
	}
	return nil
}

// Name is the bridge's name.
func (b *Bridge) Name() string { return b.name }

// Configure changes the bridge's settings. A smaller MAC table evicts as a full
// one does; one that has no room for the static entries is refused.
func (b *Bridge) Configure(c BridgeConfig) error {
	if err := c.check(b.name); err != nil {
		return err
	}
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.gone {
		return fmt.Errorf("bridge %q: removed", b.name)
	}
	if b.cfg.tableSize() != c.tableSize() {
		d.limitMemory(c.tableSize())
		defer d.limitMemory(0)
		table, err := b.table.resized(c.tableSize(), d.clock.now())
		if err != nil {
			return fmt.Errorf("bridge %q: %w", b.name, err)
		}
		b.table = table
	}
	flush := !slices.Equal(b.cfg.FloodVLANs, c.FloodVLANs)
	b.cfg = c
	b.cfg.FloodVLANs = slices.Clone(c.FloodVLANs)
	d.apply()
	if flush {
		for _, p := range b.ports {
			p.flushMACs()
		}
	}
	return nil
}

// Remove removes the bridge. Its ports must have been removed; any that are
// left are removed with it, their devices are the caller's to close.
func (b *Bridge) Remove() {
	for _, p := range b.Ports() {
		p.Remove()
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.gone {
		return
	}
	b.gone = true
	delete(b.d.bridges, b.name)
	b.d.limitMemory(0)
}

// Ports lists the bridge's ports in order of addition.
func (b *Bridge) Ports() []*Port {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return slices.Clone(b.ports)
}

// AddPort adds a port without a device (see Port.Attach), or one end of a patch
// if c.Peer is set. Names are unique in the whole datapath.
func (b *Bridge) AddPort(name string, c PortConfig) (*Port, error) {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.gone || d.closed {
		return nil, fmt.Errorf("port %q: bridge %q is removed", name, b.name)
	}
	if d.portNamed(name) != nil {
		return nil, fmt.Errorf("port %q: exists", name)
	}
	if err := c.check(name); err != nil {
		return nil, err
	}
	if c.OFPort == 0 {
		c.OFPort = b.freeOFPort()
	}
	if c.OFPort == 0 {
		return nil, fmt.Errorf("port %q: bridge %q has no free port number", name, b.name)
	}
	if q := b.ofport(c.OFPort); q != nil {
		return nil, fmt.Errorf("port %q: port number %d is taken by %q", name, c.OFPort, q.name)
	}
	id := slices.Index(d.ports, nil)
	if id < 0 {
		if len(d.ports) >= maxPorts {
			return nil, fmt.Errorf("port %q: there are %d ports already", name, maxPorts)
		}
		id = len(d.ports)
		d.ports = append(d.ports, nil)
	}
	p := newPort(b, name, uint16(id), c)
	d.ports[id] = p
	b.ports = append(b.ports, p)
	d.apply()
	return p, nil
}

func (b *Bridge) ofport(n uint16) *Port {
	for _, p := range b.ports {
		if p.cfg.OFPort == n {
			return p
		}
	}
	return nil
}

// freeOFPort is the lowest number that is free, 0 if none is.
func (b *Bridge) freeOFPort() uint16 {
	for n := uint16(1); n < 0xff00; n++ { // OFPP_MAX
		if b.ofport(n) == nil {
			return n
		}
	}
	return 0
}
