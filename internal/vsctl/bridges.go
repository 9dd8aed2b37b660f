package vsctl

import (
	"fmt"
	"slices"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// bridge is a bridge as people see it: a row of the table Bridge, or a "fake" one, which is a Port on a VLAN of its parent.
type bridge struct {
	name   string
	cfg    *row // nil if fake
	parent *bridge
	vlan   int64
	ports  []*port
	fakes  []*bridge
}

// real returns the bridge that has a row.
func (b *bridge) real() *bridge {
	if b.parent != nil {
		return b.parent
	}
	return b
}

type port struct {
	name   string
	cfg    *row
	bridge *bridge // that its VLAN puts it on
	ifaces []*iface
}

type iface struct {
	name string
	cfg  *row
	port *port
}

// bridgeCache is the rows put together.
type bridgeCache struct {
	bridges map[string]*bridge
	ports   map[string]*port
	ifaces  map[string]*iface
	order   []*bridge
}

// bridges returns what the rows say; the result is kept until invalidate.
func (r *run) bridges() *bridgeCache {
	if r.cache != nil {
		return r.cache
	}
	k := &bridgeCache{bridges: make(map[string]*bridge), ports: make(map[string]*port), ifaces: make(map[string]*iface)}
	r.cache = k
	for _, cfg := range r.refs(r.ovs, "bridges") {
		b := k.addBridge(&bridge{name: r.str(cfg, "name"), cfg: cfg})
		for _, p := range r.refs(cfg, "ports") {
			if vlan, ok := r.fakeVLAN(p); ok && b != nil {
				k.addBridge(&bridge{name: r.str(p, "name"), parent: b, vlan: vlan})
			}
		}
	}
	for _, b := range k.order {
		if b.cfg == nil {
			continue
		}
		for _, p := range r.refs(b.cfg, "ports") {
			r.addPort(k, b, p)
		}
	}
	return k
}

// addBridge returns nil for a name that is taken: the database has two rows of one name, of which one is enough.
func (k *bridgeCache) addBridge(b *bridge) *bridge {
	if k.bridges[b.name] != nil {
		return nil
	}
	k.bridges[b.name] = b
	k.order = append(k.order, b)
	if b.parent != nil {
		b.parent.fakes = append(b.parent.fakes, b)
	}
	return b
}

func (r *run) addPort(k *bridgeCache, b *bridge, cfg *row) *port {
	name := r.str(cfg, "name")
	if k.ports[name] != nil {
		return nil
	}
	if tag, ok := r.value(cfg, "tag").Int(); ok {
		if i := slices.IndexFunc(b.fakes, func(f *bridge) bool { return f.vlan == tag }); i >= 0 {
			b = b.fakes[i]
		}
	}
	p := &port{name: name, cfg: cfg, bridge: b}
	k.ports[name] = p
	b.ports = append(b.ports, p)
	for _, i := range r.refs(cfg, "interfaces") {
		r.addIface(k, p, i)
	}
	return p
}

func (r *run) addIface(k *bridgeCache, p *port, cfg *row) {
	name := r.str(cfg, "name")
	if k.ifaces[name] != nil {
		return
	}
	i := &iface{name: name, cfg: cfg, port: p}
	k.ifaces[name] = i
	p.ifaces = append(p.ifaces, i)
}

// fakeVLAN reports whether a port is a fake bridge, and its VLAN.
func (r *run) fakeVLAN(p *row) (int64, bool) {
	fake, _ := r.value(p, "fake_bridge").Bool()
	tag, tagged := r.value(p, "tag").Int()
	return tag, fake && tagged && tag >= 0 && tag <= 4095
}

// bridge returns the bridge of that name, or an error.
func (r *run) bridge(name string) (*bridge, error) {
	if b := r.bridges().bridges[name]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("no bridge named %s", name)
}

// realBridge is bridge for commands that a fake bridge cannot serve.
func (r *run) realBridge(name string) (*bridge, error) {
	b, err := r.bridge(name)
	if err == nil && b.parent != nil {
		return nil, fmt.Errorf("%s is a fake bridge", name)
	}
	return b, err
}

// port returns the port of that name, or nil. A bridge's own port does not count.
func (r *run) port(name string) *port {
	p := r.bridges().ports[name]
	if p == nil || p.bridge.name == name {
		return nil
	}
	return p
}

// iface is port for interfaces.
func (r *run) iface(name string) *iface {
	i := r.bridges().ifaces[name]
	if i == nil || i.port.bridge.name == name {
		return nil
	}
	return i
}

// checkConflict returns an error that begins with what if anything has the name.
func (r *run) checkConflict(name, what string) error {
	k := r.bridges()
	if k.bridges[name] != nil {
		return fmt.Errorf("%s because a bridge named %s already exists", what, name)
	}
	if p := k.ports[name]; p != nil {
		return fmt.Errorf("%s because a port named %s already exists on bridge %s", what, name, p.bridge.name)
	}
	if i := k.ifaces[name]; i != nil {
		return fmt.Errorf("%s because an interface named %s already exists on bridge %s", what, name, i.port.bridge.name)
	}
	return nil
}

// newPort inserts a port with its interfaces, and puts it on a bridge.
func (r *run) newPort(b *bridge, name string, ifaceNames []string) *row {
	p := r.insert(r.schema.Tables["Port"], nil)
	r.setName(p, "name", ovsdb.Scalar(ovsdb.Str(name)))
	ids := make([]ovsdb.UUID, 0, len(ifaceNames))
	for _, n := range ifaceNames {
		ids = append(ids, r.newIface(n).id)
	}
	r.setName(p, "interfaces", ovsdb.UUIDSet(ids...))
	if b != nil {
		r.addRef(b.real().cfg, "ports", p)
	}
	r.invalidate()
	return p
}

func (r *run) newIface(name string) *row {
	i := r.insert(r.schema.Tables["Interface"], nil)
	r.setName(i, "name", ovsdb.Scalar(ovsdb.Str(name)))
	r.newIfaces = append(r.newIfaces, i)
	return i
}
