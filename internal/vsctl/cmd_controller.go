package vsctl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Commands on controllers, the fail mode, managers: what the switch is connected to.

func controllerCommands() []*Syntax {
	probe := Option{"--inactivity-probe", valueOption}
	return []*Syntax{
		{
			Name: "get-controller", Args: "BRIDGE", Brief: "print the controllers of a bridge",
			minArgs: 1, maxArgs: 1, prepare: prepareController, run: runGetController,
		},
		{
			Name: "del-controller", Args: "BRIDGE", Brief: "delete the controllers of a bridge",
			minArgs: 1, maxArgs: 1, prepare: prepareController, run: runDelController,
		},
		{
			Name: "set-controller", Args: "BRIDGE TARGET...", Brief: "set the controllers of a bridge",
			minArgs: 1, maxArgs: anyNumber, Options: []Option{probe}, prepare: prepareController, run: runSetController,
		},
		{
			Name: "get-fail-mode", Args: "BRIDGE", Brief: "print the fail mode of a bridge",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runGetFailMode,
		},
		{
			Name: "del-fail-mode", Args: "BRIDGE", Brief: "delete the fail mode of a bridge",
			minArgs: 1, maxArgs: 1, prepare: prepareBridges, run: runDelFailMode,
		},
		{
			Name: "set-fail-mode", Args: "BRIDGE MODE", Brief: "set the fail mode of a bridge: standalone or secure",
			minArgs: 2, maxArgs: 2, prepare: prepareBridges, run: runSetFailMode,
		},
	}
}

func managerCommands() []*Syntax {
	return []*Syntax{
		{Name: "get-manager", Brief: "print the managers", prepare: prepareManager, run: runGetManager},
		{Name: "del-manager", Brief: "delete the managers", prepare: prepareManager, run: runDelManager},
		{
			Name: "set-manager", Args: "TARGET...", Brief: "set the managers",
			minArgs: 1, maxArgs: anyNumber, Options: []Option{{"--inactivity-probe", valueOption}}, prepare: prepareManager, run: runSetManager,
		},
	}
}

func prepareController(p *plan, _ *Command) error {
	p.bridges()
	p.need("Controller", "target", "inactivity_probe")
	return nil
}

func prepareManager(p *plan, _ *Command) error {
	p.need("Open_vSwitch", "manager_options")
	p.need("Manager", "target", "inactivity_probe")
	return nil
}

// targets returns the targets of the rows that a column refers to.
func (r *run) targets(x *row, column string) []string {
	r.verifyName(x, column)
	var targets []string
	for _, y := range r.refs(x, column) {
		r.verifyName(y, "target")
		targets = append(targets, r.str(y, "target"))
	}
	return targets
}

// dropTargets makes a column of references empty.
func (r *run) dropTargets(x *row, column string) {
	r.verifyName(x, column)
	for _, y := range r.refs(x, column) {
		r.remove(y)
	}
	r.setName(x, column, ovsdb.Datum{})
}

// setTargets makes a column refer to new rows of a table, one a target.
func (r *run) setTargets(c *Command, x *row, column, table string, targets []string) error {
	var probe ovsdb.Datum
	if text, ok := c.options["--inactivity-probe"]; ok {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf(`--inactivity-probe: "%s" is not a number of milliseconds`, text)
		}
		probe = ovsdb.Scalar(ovsdb.Int(ms))
	}
	r.dropTargets(x, column)
	var ids []ovsdb.UUID
	for _, target := range targets {
		if !isConnection(target) {
			r.options.warn(fmt.Sprintf(`target type "%s" is possibly erroneous`, target))
		}
		y := r.insert(r.schema.Tables[table], nil)
		r.setName(y, "target", ovsdb.Scalar(ovsdb.Str(target)))
		r.setName(y, "inactivity_probe", probe)
		ids = append(ids, y.id)
	}
	r.setName(x, column, ovsdb.UUIDSet(ids...))
	return nil
}

// isConnection reports whether a target begins with a connection method of ovsdb(7) and ovs-vsctl(8).
func isConnection(target string) bool {
	method, _, ok := strings.Cut(target, ":")
	return ok && slices.Contains([]string{"tcp", "ssl", "unix", "ptcp", "pssl", "punix"}, method)
}

func runGetController(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err == nil {
		r.say(r.targets(b.real().cfg, "controller"))
	}
	return err
}

func runDelController(r *run, c *Command) error {
	b, err := r.realBridge(c.Args[0])
	if err == nil {
		r.dropTargets(b.cfg, "controller")
	}
	return err
}

func runSetController(r *run, c *Command) error {
	b, err := r.realBridge(c.Args[0])
	if err != nil {
		return err
	}
	return r.setTargets(c, b.cfg, "controller", "Controller", c.Args[1:])
}

func runGetFailMode(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		return err
	}
	r.verifyName(b.real().cfg, "fail_mode")
	if mode := r.str(b.real().cfg, "fail_mode"); mode != "" {
		r.printf("%s\n", mode)
		r.out.value = mode
	}
	return nil
}

func runDelFailMode(r *run, c *Command) error {
	b, err := r.realBridge(c.Args[0])
	if err == nil {
		r.setName(b.cfg, "fail_mode", ovsdb.Datum{})
	}
	return err
}

func runSetFailMode(r *run, c *Command) error {
	b, err := r.realBridge(c.Args[0])
	if err != nil {
		return err
	}
	mode := c.Args[1]
	if mode != "standalone" && mode != "secure" {
		return errors.New(`fail-mode must be "standalone" or "secure"`)
	}
	r.setName(b.cfg, "fail_mode", ovsdb.Scalar(ovsdb.Str(mode)))
	return nil
}

func runGetManager(r *run, _ *Command) error {
	targets := r.targets(r.ovs, "manager_options")
	slices.Sort(targets)
	r.say(slices.Compact(targets))
	return nil
}

func runDelManager(r *run, _ *Command) error {
	r.dropTargets(r.ovs, "manager_options")
	return nil
}

func runSetManager(r *run, c *Command) error {
	return r.setTargets(c, r.ovs, "manager_options", "Manager", c.Args)
}
