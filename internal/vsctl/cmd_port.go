package vsctl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

func portCommands() []*Syntax {
	mayExist, ifExists := Option{Name: "--may-exist"}, Option{Name: "--if-exists"}
	return []*Syntax{
		{
			Name: "list-ports", Args: "BRIDGE", Brief: "print the names of all ports on a bridge",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runListPorts,
		},
		{
			Name: "add-port", Args: "BRIDGE NEW-PORT [COLUMN[:KEY]=VALUE]...", Brief: "add a port to a bridge",
			minArgs: 2, maxArgs: anyNumber, Options: []Option{mayExist}, prepare: prepareBridges, run: runAddPort,
		},
		{
			Name: "add-bond", Args: "BRIDGE NEW-PORT IFACE... [COLUMN[:KEY]=VALUE]...", Brief: "add a bonded port to a bridge",
			minArgs: 4, maxArgs: anyNumber, Options: []Option{mayExist, {Name: "--fake-iface"}}, prepare: prepareBridges, run: runAddBond,
		},
		{
			Name: "del-port", Args: "[BRIDGE] PORT", Brief: "delete a port",
			minArgs: 1, maxArgs: 2, Options: []Option{ifExists, {Name: "--with-iface"}}, prepare: prepareBridges, run: runDelPort,
		},
		{
			Name: "port-to-br", Args: "PORT", Brief: "print the name of the bridge that contains a port",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runPortToBridge,
		},
		{
			Name: "add-bond-iface", Args: "PORT IFACE", Brief: "add an interface to a port",
			minArgs: 2, maxArgs: 2, Options: []Option{mayExist}, prepare: prepareBridges, run: runAddBondIface,
		},
		{
			Name: "del-bond-iface", Args: "[PORT] IFACE", Brief: "remove an interface from its port",
			minArgs: 1, maxArgs: 2, Options: []Option{ifExists}, prepare: prepareBridges, run: runDelBondIface,
		},
	}
}

func ifaceCommands() []*Syntax {
	return []*Syntax{
		{
			Name: "list-ifaces", Args: "BRIDGE", Brief: "print the names of all interfaces on a bridge",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runListIfaces,
		},
		{
			Name: "iface-to-br", Args: "IFACE", Brief: "print the name of the bridge that contains an interface",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runIfaceToBridge,
		},
	}
}

func runListPorts(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		return err
	}
	var names []string
	for _, p := range b.ports {
		if p.name != b.name {
			names = append(names, p.name)
		}
	}
	r.say(names)
	return nil
}

func runListIfaces(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		return err
	}
	var names []string
	for _, p := range b.ports {
		for _, i := range p.ifaces {
			if i.name != b.name {
				names = append(names, i.name)
			}
		}
	}
	r.say(names)
	return nil
}

func runAddPort(r *run, c *Command) error {
	return r.addNewPort(c, c.Args[1:2], c.Args[2:])
}

func runAddBond(r *run, c *Command) error {
	ifaces, settings := c.Args[2:], []string(nil)
	if i := slices.IndexFunc(ifaces, func(s string) bool { return strings.Contains(s, "=") }); i >= 0 {
		ifaces, settings = ifaces[:i], ifaces[i:]
	}
	if len(ifaces) < 2 {
		return fmt.Errorf("add-bond requires at least 2 interfaces, but only %d were specified", len(ifaces))
	}
	return r.addNewPort(c, ifaces, settings)
}

// addNewPort adds the port that the command names, with the interfaces and settings.
func (r *run) addNewPort(c *Command, ifaces, settings []string) error {
	bridgeName, name := c.Args[0], c.Args[1]
	if name == "" {
		return errors.New("port name must not be empty string")
	}
	if slices.Contains(ifaces, "") {
		return errors.New("interface name must not be empty string")
	}
	if p := r.port(name); p != nil && c.has("--may-exist") {
		return checkSamePort(c, p, bridgeName, ifaces)
	}
	if err := r.checkConflict(name, "cannot create a port named "+name); err != nil {
		return err
	}
	for _, i := range ifaces {
		if err := r.checkConflict(i, "cannot create an interface named "+i); err != nil {
			return err
		}
	}
	b, err := r.bridge(bridgeName)
	if err != nil {
		return err
	}
	p := r.newPort(b, name, ifaces)
	if c.has("--fake-iface") {
		r.setName(p, "bond_fake_iface", ovsdb.Scalar(ovsdb.Bool(true)))
	}
	if b.parent != nil {
		r.setName(p, "tag", ovsdb.Scalar(ovsdb.Int(b.vlan)))
	}
	if err := r.settings(p, settings); err != nil {
		return err
	}
	r.invalidate()
	return nil
}

// settings carries out the settings at the end of add-port.
func (r *run) settings(p *row, settings []string) error {
	if !r.options.Compat {
		var err error
		if settings, err = r.shortForm(p, settings); err != nil {
			return err
		}
	}
	for _, s := range settings {
		if err := r.assign(p, s); err != nil {
			return err
		}
	}
	return nil
}

// checkSamePort is for --may-exist: the port that is there must be the one that is wanted.
func checkSamePort(c *Command, p *port, bridgeName string, ifaces []string) error {
	if p.bridge.name != bridgeName {
		return fmt.Errorf(`"%s" but %s is actually attached to bridge %s`, c, p.name, p.bridge.name)
	}
	var have []string
	for _, i := range p.ifaces {
		have = append(have, i.name)
	}
	want := slices.Clone(ifaces)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		return fmt.Errorf(`"%s" but %s actually has interface(s) %s`, c, p.name, strings.Join(have, ", "))
	}
	return nil
}

func runDelPort(r *run, c *Command) error {
	target := c.Args[len(c.Args)-1]
	mustExist := !c.has("--if-exists")
	if r.bridges().bridges[target] != nil {
		if mustExist {
			return fmt.Errorf("cannot delete port %s because it is the local port for bridge %s (deleting this port requires deleting the entire bridge)", target, target)
		}
		return nil
	}
	p := r.port(target)
	if p == nil && c.has("--with-iface") {
		if i := r.iface(target); i != nil {
			p = i.port
		}
	}
	if p == nil {
		switch {
		case !mustExist:
			return nil
		case c.has("--with-iface"):
			return fmt.Errorf("no port or interface named %s", target)
		default:
			return fmt.Errorf("no port named %s", target)
		}
	}
	if len(c.Args) == 2 {
		b, err := r.bridge(c.Args[0])
		switch {
		case err != nil:
			return err
		case p.bridge == b:
		case p.bridge.parent == b:
			return fmt.Errorf("bridge %s does not have a port %s (although its child bridge %s does)", b.name, target, p.bridge.name)
		default:
			return fmt.Errorf("bridge %s does not have a port %s", b.name, target)
		}
	}
	r.delPort(p)
	r.invalidate()
	return nil
}

func runPortToBridge(r *run, c *Command) error {
	p := r.port(c.Args[0])
	if p == nil {
		return fmt.Errorf("no port named %s", c.Args[0])
	}
	r.printf("%s\n", p.bridge.name)
	r.out.value = p.bridge.name
	return nil
}

func runIfaceToBridge(r *run, c *Command) error {
	i := r.iface(c.Args[0])
	if i == nil {
		return fmt.Errorf("no interface named %s", c.Args[0])
	}
	r.printf("%s\n", i.port.bridge.name)
	r.out.value = i.port.bridge.name
	return nil
}

func runAddBondIface(r *run, c *Command) error {
	p := r.port(c.Args[0])
	if p == nil {
		return fmt.Errorf("no port named %s", c.Args[0])
	}
	name := c.Args[1]
	if i := r.iface(name); i != nil && c.has("--may-exist") {
		if i.port == p {
			return nil
		}
		return fmt.Errorf(`"%s" but %s is actually attached to port %s`, c, name, i.port.name)
	}
	if err := r.checkConflict(name, "cannot create an interface named "+name); err != nil {
		return err
	}
	r.addRef(p.cfg, "interfaces", r.newIface(name))
	r.invalidate()
	return nil
}

func runDelBondIface(r *run, c *Command) error {
	name := c.Args[len(c.Args)-1]
	i := r.iface(name)
	if i == nil {
		if c.has("--if-exists") {
			return nil
		}
		return fmt.Errorf("no interface named %s", name)
	}
	if len(c.Args) == 2 {
		p := r.port(c.Args[0])
		if p == nil {
			return fmt.Errorf("no port named %s", c.Args[0])
		}
		if i.port != p {
			return fmt.Errorf("port %s does not have an interface %s", p.name, name)
		}
	}
	if len(i.port.ifaces) < 2 {
		return fmt.Errorf("cannot delete last interface from port %s", i.port.name)
	}
	r.verifyName(i.port.cfg, "interfaces") // the other interface must not go meanwhile
	r.dropRef(i.port.cfg, "interfaces", i.cfg)
	r.remove(i.cfg)
	r.invalidate()
	return nil
}
