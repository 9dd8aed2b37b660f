package reconcile

import (
	"cmp"
	"slices"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/netdev"
)

// Directory is what runs, at one moment, for commands and statistics.
type Directory struct {
	Bridges []*BridgeEntry // by name
	Threads desired.Threads
}

// BridgeEntry is a bridge that runs.
type BridgeEntry struct {
	Name  string
	DP    *datapath.Bridge
	Ports []*PortEntry // by number

	DatapathID string           // 16 hexadecimal digits, "" if it has none yet
	Tables     map[uint8]string // names of flow tables that have one
}

// PortEntry is a port that runs.
type PortEntry struct {
	Name   string // of the interface
	Bridge string
	DP     *datapath.Port
	OFPort uint16
	Kind   desired.Kind
	Device netdev.Device // nil for a patch port
	Peer   string        // of a patch port
}

// Directory returns what runs. It is not changed by what comes later.
func (r *Reconciler) Directory() *Directory { return r.directory.Load() }

// Bridge finds a bridge by its name.
func (d *Directory) Bridge(name string) *BridgeEntry {
	for _, b := range d.Bridges {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Port finds a port by its interface's name, in all bridges.
func (d *Directory) Port(name string) *PortEntry {
	for _, b := range d.Bridges {
		if p := b.Port(name); p != nil {
			return p
		}
	}
	return nil
}

// Port finds a port of the bridge.
func (b *BridgeEntry) Port(name string) *PortEntry {
	for _, p := range b.Ports {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// publish makes what runs now the directory.
func (r *Reconciler) publish() {
	d := &Directory{}
	if r.threads != nil {
		d.Threads = *r.threads
	}
	for _, b := range r.bridges {
		e := &BridgeEntry{Name: b.name, DP: b.dp, DatapathID: b.id, Tables: map[uint8]string{}}
		if e.DatapathID == "" {
			e.DatapathID = b.datapathID()
		}
		for _, t := range b.cfg.Tables {
			if t.Name != "" {
				e.Tables[t.Number] = t.Name
			}
		}
		for _, p := range b.ports {
			if p.dp == nil {
				continue
			}
			e.Ports = append(e.Ports, &PortEntry{
				Name: p.name, Bridge: b.name, DP: p.dp, OFPort: p.dp.OFPort(), Kind: p.spec.kind, Device: p.dev, Peer: p.cfg.Peer,
			})
		}
		slices.SortFunc(e.Ports, func(x, y *PortEntry) int { return cmp.Compare(x.OFPort, y.OFPort) })
		d.Bridges = append(d.Bridges, e)
	}
	slices.SortFunc(d.Bridges, func(x, y *BridgeEntry) int { return cmp.Compare(x.Name, y.Name) })
	r.directory.Store(d)
}
