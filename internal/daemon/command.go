package daemon

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/logging"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
)

// commands are the runtime commands. They work on what runs, never on the configuration, and answer in Open vSwitch's words where it has
// the command.
type commands struct {
	dp        *datapath.Datapath
	directory func() *reconcile.Directory
	log       *logging.Log
	exit      func()
	events    *eventCounters
	coverage  *coverage
	flowFiles *flowFiles

	saidFlowRem sync.Once
}

// run is what a command does.
type run func(args []string) (control.Result, error)

// register makes all commands known.
func (c *commands) register(s *control.Server) {
	c.registerText(s)
	c.registerStreams(s)
	c.registerExplain(s)
	for _, group := range [][]entry{
		c.fdbCommands(), c.pmdCommands(), c.dpctlCommands(), c.portCommands(), c.vlogCommands(), c.healthCommands(), c.dummyCommands(),
		c.ofctlCommands(), c.megaflowCommands(), c.traceCommands(), c.bondCommands(), c.vhostCommands(),
		{{"exit", "[--cleanup]", 0, 1, c.runExit}},
	} {
		for _, e := range group {
			s.RegisterResult(e.name, e.usage, e.min, e.max, func(_ context.Context, args []string) (control.Result, error) {
				return e.run(args)
			})
		}
	}
}

// entry is a command with its arguments.
type entry struct {
	name, usage string
	min, max    int
	run         run
}

// text is a result without a value for programs.
func text(format string, args ...any) (control.Result, error) {
	return control.Result{Text: fmt.Sprintf(format, args...)}, nil
}

// bridge finds a bridge, or fails in Open vSwitch's words.
func (c *commands) bridge(name string) (*reconcile.BridgeEntry, error) {
	if b := c.directory().Bridge(name); b != nil {
		c.flowFiles.wait(b.DP)
		return b, nil
	}
	return nil, fmt.Errorf("no such bridge: %q", name)
}

// portOf finds a port of a bridge by name or number; "LOCAL" is the bridge's own.
func portOf(b *reconcile.BridgeEntry, name string) (*reconcile.PortEntry, error) {
	number, err := strconv.ParseUint(name, 10, 16)
	if strings.EqualFold(name, "LOCAL") {
		number, err = datapath.LocalOFPort, nil
	}
	for _, p := range b.Ports {
		if p.Name == name || err == nil && uint64(p.OFPort) == number {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no such port: bridge %q has no port %q", b.Name, name)
}

// portNumber is a number as OpenFlow tools write it.
func portNumber(n uint16) string {
	if n == datapath.LocalOFPort {
		return "LOCAL"
	}
	return strconv.Itoa(int(n))
}

// runExit ends the daemon. There is nothing that it would leave behind, so --cleanup makes no difference.
func (c *commands) runExit(args []string) (control.Result, error) {
	if len(args) == 1 && args[0] != "--cleanup" {
		return control.Result{}, fmt.Errorf("exit: unknown option %q", args[0])
	}
	c.exit()
	return control.Result{}, nil
}
