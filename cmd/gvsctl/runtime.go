package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/vsctl"
)

// runtimeCommand describes a command that gvswitchd answers, for the help. Which there are, gvswitchd alone knows ("list-commands").
type runtimeCommand struct{ name, args, usage string }

var runtimeCommands = []runtimeCommand{
	{"version", "", "print the version of gvswitchd"},
	{"list-commands", "", "print the runtime commands that gvswitchd knows"},
	{"dump-ports", "[BRIDGE] [PORT]", "print the counters of ports, and what was dropped for which reason"},
	{"fdb/show", "BRIDGE", "print the MAC addresses that a bridge has learned"},
	{"fdb/add", "BRIDGE PORT VLAN MAC", "add a static MAC address"},
	{"fdb/del", "BRIDGE VLAN MAC", "delete a MAC address"},
	{"fdb/flush", "[BRIDGE]", "forget learned MAC addresses"},
	{"fdb/stats-show", "[BRIDGE]", "print counters of MAC learning"},
	{"dpif-netdev/pmd-stats-show", "", "print counters of the poll threads"},
	{"dpif-netdev/pmd-stats-clear", "", "set the counters of the poll threads to zero"},
	{"dpif-netdev/pmd-rxq-show", "", "print which poll thread serves which receive queue"},
	{"dpif-netdev/pmd-perf-show", "", "print the performance of the poll threads"},
	{"dpctl/show", "", "print the datapath and its ports"},
	{"ofproto/trace", "BRIDGE FLOW [-generate | PACKET]", "follow a packet through the tables of a bridge, and print each step"},
	{"bridge/dump-flows", "BRIDGE", "print all flows of a bridge"},
	{"dpctl/dump-flows", "[-m] [--names] [filter=FLOW]", "print the megaflows of the poll threads"},
	{"dpctl/del-flows", "", "empty the megaflow tables; they fill again with the next packets"},
	{"dpif-netdev/subtable-lookup-info-get", "", "print the masks of the megaflow tables and how often they hit"},
	{"upcall/show", "", "print how full the megaflow tables are"},
	{"upcall/set-flow-limit", "N", "set how many megaflows there may be"},
	{"coverage/show", "", "print counters of events, and their rates"},
	{"vlog/set", "[SPEC]", "set log levels"},
	{"exit", "", "end gvswitchd"},
}

// isRuntime reports whether a command is for gvswitchd, which knows dpif-netdev/pmd-... without the first part, too.
func isRuntime(name string) bool {
	if vsctl.Find(name) != nil {
		return false
	}
	return strings.Contains(name, "/") || strings.HasPrefix(name, "pmd-") || slices.ContainsFunc(runtimeCommands, func(c runtimeCommand) bool { return c.name == name })
}

// runtime sends a command to the socket of target, as it is called in errors, and prints the reply. Statuses are ovs-appctl's: 1 if there is
// no answer, 2 if it is an error.
func (p *program) runtime(ctx context.Context, target, socket string, asJSON bool, command string, args []string) int {
	c, err := control.Dial(ctx, socket)
	if err != nil {
		return p.fail(1, "%v", err)
	}
	defer c.Close()
	var text string
	if asJSON {
		text, err = callJSON(ctx, c, command, args)
	} else {
		text, err = c.Call(ctx, command, args...)
	}
	var refused *control.CommandError
	switch {
	case errors.As(err, &refused):
		fmt.Fprint(p.stderr, refused.Text)
		return p.fail(2, "%s: server returned an error", target)
	case err != nil:
		return p.fail(1, "%v", err)
	}
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return p.fail(1, "%v", err)
	}
	return 0
}

// callJSON runs a command for its JSON value, and returns it as one line.
func callJSON(ctx context.Context, c *control.Client, command string, args []string) (string, error) {
	if err := c.SetJSON(ctx); err != nil {
		return "", fmt.Errorf("asking for JSON: %w", err)
	}
	raw, err := c.CallJSON(ctx, command, args...)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "", err
	}
	b.WriteByte('\n')
	return b.String(), nil
}
