package vsctl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

func bridgeCommands() []*Syntax {
	return []*Syntax{
		{
			Name: "add-br", Args: "NEW-BRIDGE [PARENT VLAN]", Brief: "create a bridge, or a fake one on a VLAN of a parent",
			minArgs: 1, maxArgs: 3, Options: []Option{{Name: "--may-exist"}}, prepare: prepareBridges, run: runAddBridge,
		},
		{
			Name: "del-br", Args: "BRIDGE", Brief: "delete a bridge and all of its ports",
			minArgs: 1, maxArgs: 1, Options: []Option{{Name: "--if-exists"}}, prepare: prepareBridges, run: runDelBridge,
		},
		{
			Name: "list-br", Brief: "print the names of all bridges",
			Options: []Option{{Name: "--real"}, {Name: "--fake"}}, prepare: prepareBridges, run: runListBridges,
		},
		{
			Name: "br-exists", Args: "BRIDGE", Brief: "exit with status 2 if the bridge does not exist",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runBridgeExists,
		},
		{
			Name: "br-to-vlan", Args: "BRIDGE", Brief: "print the VLAN which a bridge is on",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runBridgeToVLAN,
		},
		{
			Name: "br-to-parent", Args: "BRIDGE", Brief: "print the parent of a bridge",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runBridgeToParent,
		},
		{
			Name: "br-set-external-id", Args: "BRIDGE KEY [VALUE]", Brief: "set or unset an external ID of a bridge",
			minArgs: 2, maxArgs: 3, prepare: prepareExternalID, run: runSetExternalID,
		},
		{
			Name: "br-get-external-id", Args: "BRIDGE [KEY]", Brief: "print external IDs of a bridge",
			minArgs: 1, maxArgs: 2, prepare: prepareExternalID, run: runGetExternalID,
		},
	}
}

func prepareBridges(p *plan, _ *Command) error {
	p.bridges()
	return nil
}

func prepareExternalID(p *plan, _ *Command) error {
	p.bridges()
	p.need("Bridge", "external_ids")
	p.need("Port", "external_ids")
	return nil
}

func runAddBridge(r *run, c *Command) error {
	name := c.Args[0]
	if name == "" {
		return errors.New("bridge name must not be empty string")
	}
	parentName, vlan := "", int64(0)
	switch len(c.Args) {
	case 1:
	case 3:
		parentName = c.Args[1]
		n, err := strconv.ParseInt(c.Args[2], 10, 32)
		if err != nil || n < 0 || n > 4095 {
			return fmt.Errorf("%s: vlan must be between 0 and 4095", c.Syntax.Name)
		}
		vlan = n
	default:
		return fmt.Errorf("'%s' command takes exactly 1 or 3 arguments", c.Syntax.Name)
	}
	if b := r.bridges().bridges[name]; b != nil && c.has("--may-exist") {
		return checkSameBridge(b, parentName, vlan)
	}
	if err := r.checkConflict(name, "cannot create a bridge named "+name); err != nil {
		return err
	}
	if parentName == "" {
		p := r.newPort(nil, name, []string{name})
		b := r.insert(r.schema.Tables["Bridge"], nil)
		r.setName(b, "name", ovsdb.Scalar(ovsdb.Str(name)))
		r.setName(b, "ports", ovsdb.UUIDSet(p.id))
		r.addRef(r.ovs, "bridges", b)
	} else {
		parent := r.bridges().bridges[parentName]
		switch {
		case parent == nil:
			return fmt.Errorf("parent bridge %s does not exist", parentName)
		case parent.parent != nil:
			return errors.New("cannot create bridge with fake bridge as parent")
		}
		if i := slices.IndexFunc(parent.fakes, func(f *bridge) bool { return f.vlan == vlan }); i >= 0 {
			return fmt.Errorf("bridge %s already has a child VLAN bridge %s on VLAN %d", parentName, parent.fakes[i].name, vlan)
		}
		r.verifyName(parent.cfg, "ports") // another fake bridge for this VLAN must not appear meanwhile
		p := r.newPort(parent, name, []string{name})
		r.setName(p, "fake_bridge", ovsdb.Scalar(ovsdb.Bool(true)))
		r.setName(p, "tag", ovsdb.Scalar(ovsdb.Int(vlan)))
	}
	r.setName(r.newIfaces[len(r.newIfaces)-1], "type", ovsdb.Scalar(ovsdb.Str("internal")))
	r.invalidate()
	return nil
}

// checkSameBridge is for --may-exist: the bridge that is there must be of the kind that is wanted.
func checkSameBridge(b *bridge, parent string, vlan int64) error {
	want := fmt.Sprintf(`"--may-exist add-br %s %s %d" but %s`, b.name, parent, vlan, b.name)
	switch {
	case parent == "" && b.parent != nil:
		return fmt.Errorf(`"--may-exist add-br %s" but %s is a VLAN bridge for VLAN %d`, b.name, b.name, b.vlan)
	case parent == "":
		return nil
	case b.parent == nil:
		return fmt.Errorf("%s is not a VLAN bridge", want)
	case b.parent.name != parent:
		return fmt.Errorf("%s has the wrong parent %s", want, b.parent.name)
	case b.vlan != vlan:
		return fmt.Errorf("%s is a VLAN bridge for the wrong VLAN %d", want, b.vlan)
	default:
		return nil
	}
}

func runDelBridge(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		if c.has("--if-exists") {
			return nil
		}
		return err
	}
	r.delBridge(b)
	r.invalidate()
	return nil
}

func (r *run) delBridge(b *bridge) {
	for _, f := range b.fakes {
		r.delBridge(f)
	}
	for _, p := range b.ports {
		r.delPort(p)
	}
	if b.cfg == nil {
		return
	}
	if sets := r.schema.Tables["Flow_Sample_Collector_Set"]; sets != nil {
		for _, s := range r.rows(sets) {
			if id, ok := r.value(s, "bridge").UUID(); ok && id == b.cfg.id {
				r.remove(s)
			}
		}
	}
	r.dropRef(r.ovs, "bridges", b.cfg)
	r.remove(b.cfg)
}

// delPort takes a port off its bridge. Its own row and its interfaces' go with the reference.
func (r *run) delPort(p *port) {
	real := p.bridge.real().cfg
	r.dropRef(real, "ports", p.cfg)
	for _, i := range p.ifaces {
		r.remove(i.cfg)
	}
	r.remove(p.cfg)
}

// say prints names, sorted, one a line.
func (r *run) say(names []string) {
	slices.Sort(names)
	if names == nil {
		names = []string{}
	}
	for _, n := range names {
		r.printf("%s\n", n)
	}
	r.out.value = names
}

func runListBridges(r *run, c *Command) error {
	realOnes, fakes := c.has("--real"), c.has("--fake")
	if !realOnes && !fakes {
		realOnes, fakes = true, true
	}
	var names []string
	for _, b := range r.bridges().order {
		if (b.parent == nil && realOnes) || (b.parent != nil && fakes) {
			names = append(names, b.name)
		}
	}
	r.say(names)
	return nil
}

func runBridgeExists(r *run, c *Command) error {
	if _, err := r.bridge(c.Args[0]); err != nil {
		r.exit = 2
	}
	return nil
}

func runBridgeToVLAN(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err == nil {
		r.printf("%d\n", b.vlan)
		r.out.value = b.vlan
	}
	return err
}

func runBridgeToParent(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err == nil {
		r.printf("%s\n", b.real().name)
		r.out.value = b.real().name
	}
	return err
}

// externalIDs returns the row and the prefix of the keys for the external IDs of a bridge: a fake bridge's are its port's.
func (r *run) externalIDs(b *bridge) (x *row, prefix string) {
	if b.cfg != nil {
		return b.cfg, ""
	}
	return r.bridges().ports[b.name].cfg, "fake-bridge-"
}

func runSetExternalID(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		return err
	}
	x, prefix := r.externalIDs(b)
	key := ovsdb.Str(prefix + c.Args[1])
	var insert ovsdb.Datum
	if len(c.Args) > 2 {
		insert = ovsdb.NewMap(ovsdb.Pair{Key: key, Value: ovsdb.Str(c.Args[2])})
	}
	r.change(x, "external_ids", ovsdb.NewSet(key), insert)
	return nil
}

func runGetExternalID(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		return err
	}
	x, prefix := r.externalIDs(b)
	r.verifyName(x, "external_ids")
	ids := r.value(x, "external_ids")
	if len(c.Args) > 1 {
		if v, ok := ids.MapValue(prefix + c.Args[1]); ok {
			r.printf("%s\n", v)
			r.out.value = v
		}
		return nil
	}
	all := make(map[string]string)
	for i := range ids.Len() {
		key := ids.Key(i).Str()
		if len(key) >= len(prefix) && key[:len(prefix)] == prefix {
			r.printf("%s=%s\n", key[len(prefix):], ids.Value(i).Str())
			all[key[len(prefix):]] = ids.Value(i).Str()
		}
	}
	r.out.value = all
	return nil
}
