package daemon

import "github.com/gvswitch/gvswitch/internal/daemon/reconcile"

// flowNames are the names that a bridge's ports and tables have in flows: an ofp.Names.
type flowNames struct {
	ports  map[string]uint32
	tables map[string]uint8
	shown  map[uint32]string // empty: numbers are shown
	named  map[uint8]string
}

// namesOf collects a bridge's names. They are always understood; show says that they are printed, too.
func namesOf(b *reconcile.BridgeEntry, show bool) *flowNames {
	n := &flowNames{ports: make(map[string]uint32, len(b.Ports)), tables: map[string]uint8{}}
	if show {
		n.shown, n.named = make(map[uint32]string, len(b.Ports)), b.Tables
	}
	for _, p := range b.Ports {
		n.ports[p.Name] = uint32(p.OFPort)
		if show {
			n.shown[uint32(p.OFPort)] = p.Name
		}
	}
	for t, name := range b.Tables {
		n.tables[name] = t
	}
	return n
}

// PortNumber implements ofp.Names.
func (n *flowNames) PortNumber(name string) (uint32, bool) { v, ok := n.ports[name]; return v, ok }

// PortName implements ofp.Names.
func (n *flowNames) PortName(v uint32) string { return n.shown[v] }

// TableNumber implements ofp.Names.
func (n *flowNames) TableNumber(name string) (uint8, bool) { v, ok := n.tables[name]; return v, ok }

// TableName implements ofp.Names.
func (n *flowNames) TableName(v uint8) string { return n.named[v] }
