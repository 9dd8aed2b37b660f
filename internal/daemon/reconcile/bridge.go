package reconcile

import (
	"cmp"
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
)

// bridge is a bridge that runs.
type bridge struct {
	r     *Reconciler
	name  string
	dp    *datapath.Bridge
	cfg   *desired.BridgeConfig // applied
	err   string                // why it is not as asked for
	ports map[string]*port      // by interface name
	bonds map[string]*bond      // by name

	mirrors   []datapath.MirrorConfig // applied
	mirrorErr string                  // why these are not those asked for

	flowFile   string        // attached
	flowErr    string        // why its flows are not those of the file
	secure     bool          // fail_mode that its flows were last set by
	fresh      bool          // its flows were not looked at yet
	limits     map[uint8]int // of its flow tables
	id         string        // datapath id asked for, "" if none
	lastNumber int           // port number given out last
	log        *slog.Logger
}

// applyBridge makes or changes a bridge, without its ports.
func (r *Reconciler) applyBridge(want *desired.Bridge) {
	b := r.bridges[want.Name]
	switch {
	case want.Refused != "":
		return
	case b == nil:
		r.addBridge(want)
		return
	}
	b.id = want.DatapathID
	if want.Config == nil || reflect.DeepEqual(want.Config, b.cfg) {
		return
	}
	if err := b.dp.Configure(bridgeConfig(want.Config)); err != nil {
		b.err = err.Error()
		b.log.Error("bridge not changed", "error", err)
		return
	}
	b.cfg, b.err = want.Config, ""
}

func (r *Reconciler) addBridge(want *desired.Bridge) {
	b := &bridge{r: r, name: want.Name, cfg: want.Config, ports: map[string]*port{}, bonds: map[string]*bond{}, fresh: true, id: want.DatapathID, log: r.log.With("bridge", want.Name)}
	if b.cfg == nil { // wrong, and there is nothing to keep
		b.cfg = &desired.BridgeConfig{Secure: want.Secure}
	}
	dp, err := r.dp.AddBridge(want.Name, bridgeConfig(b.cfg))
	if err != nil {
		if r.failed[want.Name] != err.Error() {
			b.log.Error("bridge not added", "error", err)
		}
		r.failed[want.Name] = err.Error()
		return
	}
	delete(r.failed, want.Name)
	b.dp = dp
	r.bridges[want.Name] = b
	b.log.Info("bridge added")
}

func (b *bridge) remove() {
	b.shrinkBonds(&desired.Bridge{})
	for _, name := range slices.Sorted(maps.Keys(b.ports)) {
		b.ports[name].remove()
	}
	if b.r.flows != nil {
		b.r.flows.Detach(b.dp)
	}
	b.dp.Remove()
	delete(b.r.bridges, b.name)
	b.log.Info("bridge removed")
}

// removePorts removes the ports that are not wanted, and those whose number is to change, since numbers may be exchanged.
func (b *bridge) removePorts(want *desired.Bridge) {
	keep := map[string]*desired.Interface{}
	for _, w := range want.Ports {
		if w.Iface != nil {
			keep[w.Iface.Name] = w.Iface
		}
		for _, i := range w.Refused {
			keep[i.Name] = i
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.ports)) {
		p := b.ports[name]
		switch i := keep[name]; {
		case i == nil:
			p.remove()
		case i.Refused == "" && i.OFPortRequest != 0 && p.dp != nil && !p.local && int(p.dp.OFPort()) != i.OFPortRequest && p.request != i.OFPortRequest:
			p.unplug()
		}
	}
}

// applyPorts makes or changes ports: its own first, then those with a number of their own, so that no other is given it.
func (b *bridge) applyPorts(want *desired.Bridge, changed bool) {
	b.shrinkBonds(want)
	order := slices.Clone(want.Ports)
	slices.SortStableFunc(order, func(x, y *desired.Port) int { return cmp.Compare(b.rank(x), b.rank(y)) })
	for _, w := range order {
		if w.Iface != nil {
			b.applyPort(w, changed)
		}
	}
	b.applyBonds(want)
}

func (b *bridge) rank(p *desired.Port) int {
	switch i := p.Iface; {
	case p.Local:
		return 0
	case i == nil:
		return 5
	case b.ports[i.Name] != nil && b.ports[i.Name].dp != nil:
		return 1 // has one
	case i.OFPortRequest != 0:
		return 2
	case i.OFPortBefore != 0:
		return 3
	default:
		return 4
	}
}

// maxNumber is the highest port number (OFPP_MAX of OpenFlow 1.0, less one).
const maxNumber = 0xfeff

// freeNumber chooses a port number. It goes round all of them before it gives one out again, so that nobody takes a new port for the one
// that had the number before. It returns 0, which nobody can have, when all are taken.
func (b *bridge) freeNumber() uint16 {
	taken := map[int]bool{}
	for _, p := range b.ports {
		if p.dp != nil {
			taken[int(p.dp.OFPort())] = true
		} else {
			taken[p.before] = true
		}
		if p.want.Iface != nil {
			taken[p.want.Iface.OFPortRequest] = true
		}
	}
	for range maxNumber {
		b.lastNumber = b.lastNumber%maxNumber + 1
		if !taken[b.lastNumber] {
			return uint16(b.lastNumber)
		}
	}
	return 0
}
