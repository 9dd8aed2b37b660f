package datapath

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// Port is a place where frames enter and leave a bridge. It has a device, or a
// peer port if it is an end of a patch, or nothing yet.
type Port struct {
	br   *Bridge
	d    *Datapath
	name string
	id   uint16 // its number in the datapath: index of everything per port
	cfg  PortConfig
	of   OFConfig
	gone bool

	police *policer // nil: it may receive as much as it can

	bond *Bond // nil: none

	dev      netdev.Device
	faulted  bool           // stopped by the datapath: its queues are not used
	fault    string         // why
	faultAt  uint32         // epoch of the first snapshot without those queues
	faults   sync.WaitGroup // calls of the device's Fault that go on
	rxqs     []*rxq
	txLocks  []txLock // of the tx queues in use
	counters portCounters
}

// txLock is the lock of a tx queue that threads share. It stays with the queue
// for as long as the device has it.
type txLock struct {
	q    netdev.TxQueue
	lock *spinLock
}

func newPort(b *Bridge, name string, id uint16, c PortConfig) *Port {
	return &Port{
		br: b, d: b.d, name: name, id: id, cfg: c.clone(), counters: portCounters{port: id},
		police: newPolicer(c.Police, b.d.clock.now()),
	}
}

func (c PortConfig) clone() PortConfig {
	c.Trunks = slices.Clone(c.Trunks)
	c.CVLANs = slices.Clone(c.CVLANs)
	c.Affinity = maps.Clone(c.Affinity)
	return c
}

func (c *PortConfig) check(name string) error {
	if c.Tag < -1 || c.Tag > 4095 {
		return fmt.Errorf("port %q: tag %d: not a VLAN (0..4095)", name, c.Tag)
	}
	for _, v := range c.Trunks {
		if v < 0 || v > 4095 {
			return fmt.Errorf("port %q: trunks: %d is not a VLAN (0..4095)", name, v)
		}
	}
	for _, v := range c.CVLANs {
		if v < 0 || v > 4095 {
			return fmt.Errorf("port %q: cvlans: %d is not a VLAN (0..4095)", name, v)
		}
	}
	if c.QinQType != 0 && c.QinQType != qinq && c.QinQType != 0x8100 {
		return fmt.Errorf("port %q: EtherType %#x: neither 802.1ad nor 802.1Q", name, c.QinQType)
	}
	if err := c.Police.check(); err != nil {
		return fmt.Errorf("port %q: %w", name, err)
	}
	if c.VLANMode > VLANDot1qTunnel {
		return fmt.Errorf("port %q: VLAN mode %d is unknown", name, c.VLANMode)
	}
	if c.PriorityTags > PriorityAlways {
		return fmt.Errorf("port %q: priority tags %d is unknown", name, c.PriorityTags)
	}
	if c.Peer == name {
		return fmt.Errorf("port %q: is its own peer", name)
	}
	return nil
}

// Name is the port's name.
func (p *Port) Name() string { return p.name }

// Bridge is the bridge that the port belongs to.
func (p *Port) Bridge() *Bridge { return p.br }

// ID is the port's number in the datapath, unlike OFPort unique over all
// bridges.
func (p *Port) ID() int { return int(p.id) }

// OFPort is the port's OpenFlow number in its bridge.
func (p *Port) OFPort() uint16 {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	return p.cfg.OFPort
}

// Attach gives the port its device; frames flow when it returns. The port must
// have none, and must not be a patch.
func (p *Port) Attach(dev netdev.Device) error {
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case p.gone:
		return fmt.Errorf("port %q: removed", p.name)
	case p.dev != nil:
		return fmt.Errorf("port %q: has a device", p.name)
	case p.cfg.Peer != "":
		return fmt.Errorf("port %q: a patch port takes no device", p.name)
	case d.byDev[dev] != nil:
		return fmt.Errorf("port %q: the device belongs to port %q", p.name, d.byDev[dev].name)
	}
	p.dev = dev
	d.byDev[dev] = p
	p.faulted, p.fault = false, ""
	d.apply()
	return nil
}

// Detach takes the device away and returns when no thread uses it; the caller
// then closes it. It returns nil if there was none.
func (p *Port) Detach() netdev.Device {
	dev := p.detach()
	p.faults.Wait()
	return dev
}

func (p *Port) detach() netdev.Device {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	dev := p.dev
	if dev == nil {
		return nil
	}
	p.dev = nil
	delete(p.d.byDev, dev)
	p.d.apply()
	if p.bond == nil || len(p.bond.members) == 1 {
		p.flushMACs()
	}
	return dev
}

// Configure changes the port's settings. An OFPort of 0 keeps the present
// number.
func (p *Port) Configure(c PortConfig) error {
	if err := c.check(p.name); err != nil {
		return err
	}
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.gone {
		return fmt.Errorf("port %q: removed", p.name)
	}
	if c.Peer != "" && p.dev != nil {
		return fmt.Errorf("port %q: a patch port takes no device", p.name)
	}
	if c.OFPort == 0 {
		c.OFPort = p.cfg.OFPort
	} else if q := p.br.ofport(c.OFPort); q != nil && q != p {
		return fmt.Errorf("port %q: port number %d is taken by %q", p.name, c.OFPort, q.name)
	}
	old, peer := p.cfg, d.peerOf(p)
	if old.Police != c.Police {
		p.police = newPolicer(c.Police, d.clock.now())
	}
	p.cfg = c.clone()
	d.replan = d.replan || !maps.Equal(old.Affinity, c.Affinity)
	d.apply()
	d.bonds.kick()
	if old.vlans() != p.cfg.vlans() || old.Peer != c.Peer {
		p.flushMACs()
	}
	if peer != nil && old.Peer != c.Peer {
		peer.flushMACs()
	}
	return nil
}

// OFConfig is a port's OpenFlow configuration (OpenFlow 1.0, ofp_port_config), changed at run time and kept
// when the settings change.
type OFConfig struct {
	Down    bool // neither receives nor sends
	NoFlood bool // is left out of floods
	NoFwd   bool // does not send
	NoRecv  bool // drops what it receives
}

// OpenFlowConfig is the port's OpenFlow configuration.
func (p *Port) OpenFlowConfig() OFConfig {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	return p.of
}

// SetOpenFlowConfig changes it.
func (p *Port) SetOpenFlowConfig(c OFConfig) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if p.gone {
		return fmt.Errorf("port %q: removed", p.name)
	}
	p.of = c
	p.d.apply()
	p.d.bonds.kick()
	return nil
}

// Remove removes the port. A device that is still attached is the caller's to
// close.
func (p *Port) Remove() {
	p.remove()
	p.faults.Wait()
}

func (p *Port) remove() {
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.gone {
		return
	}
	peer := d.peerOf(p)
	p.gone = true
	if p.dev != nil {
		delete(d.byDev, p.dev)
		p.dev = nil
	}
	p.br.ports = slices.DeleteFunc(p.br.ports, func(q *Port) bool { return q == p })
	if p.bond != nil {
		p.bond.leave(p)
	}
	for _, t := range d.threads {
		n := uint64(t.inbox.purge(p.id))
		p.counters.injected -= n
		p.counters.outside[packet.PortDown] += n
	}
	// The id stays taken until no thread knows it any more.
	d.apply()
	p.br.table.flushPort(p.id, true)
	d.loss.now()
	if peer != nil {
		peer.flushMACs()
	}
	d.gone.add(p.counters.totals())
	d.ports[p.id] = nil
}

// Info is the state of the port's device, or what the datapath knows of a port
// without one.
func (p *Port) Info() netdev.Info {
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	var i netdev.Info
	switch {
	case p.dev != nil:
		i = p.dev.Info()
	case p.cfg.Peer != "":
		i.Driver = "patch"
		i.Link = d.peerOf(p) != nil
		if !i.Link {
			i.Fault = fmt.Sprintf("no patch port %q with peer %q", p.cfg.Peer, p.name)
		}
	}
	if p.faulted {
		i.Link = false
		if i.Fault == "" {
			i.Fault = p.fault
		}
	}
	return i
}

// flushMACs forgets the addresses that were learned at the port. d.mu is held.
func (p *Port) flushMACs() {
	p.br.table.flushPort(p.id, false)
	p.d.loss.now()
}

func (d *Datapath) portNamed(name string) *Port {
	for _, p := range d.ports {
		if p != nil && p.name == name {
			return p
		}
	}
	return nil
}

// peerOf is the other end of patch port p: the port that it names and that
// names it, nil if there is none.
func (d *Datapath) peerOf(p *Port) *Port {
	if p.cfg.Peer == "" {
		return nil
	}
	q := d.portNamed(p.cfg.Peer)
	if q == nil || q.gone || q.cfg.Peer != p.name {
		return nil
	}
	return q
}
