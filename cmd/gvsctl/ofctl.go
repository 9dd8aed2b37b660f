package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/version"
)

// flowCommand is one of ovs-ofctl's commands.
type flowCommand struct {
	name     string
	args     string // for the help
	min, max int
	usage    string
	change   bool // not with --read-only
	run      func(*flowCall) error
}

// flowCall is one call of such a command.
type flowCall struct {
	*program
	ctx     context.Context
	opt     flowOptions
	command string
	args    []string
	socket  func() (string, error) // gvswitchd's
	client  *control.Client        // nil until it is needed
}

// ofctl is ovs-ofctl.
func (p *program) ofctl() int {
	given, operands, err := permute(p.args, ofctlOptions)
	if err != nil {
		return p.fail(1, "%v", err)
	}
	opt, err := readFlowOptions(given)
	if err != nil {
		return p.fail(1, "%v", err)
	}
	switch {
	case opt.version:
		fmt.Fprintln(p.stdout, version.Line(p.name))
		return 0
	case opt.help:
		return p.ofctlHelp()
	case len(operands) == 0:
		return p.fail(1, "missing command name; use --help for help")
	}
	ctx, cancel := opt.context()
	defer cancel()
	return p.flow(ctx, opt, operands[0], operands[1:], func() (string, error) {
		return control.Target(p.runDir(), "ovs-vswitchd")
	})
}

// flow carries out one command and returns the exit status.
func (p *program) flow(ctx context.Context, opt flowOptions, name string, args []string, socket func() (string, error)) int {
	command := findFlowCommand(name)
	switch {
	case command == nil && absentFlowCommands[name] != "":
		return p.fail(1, "%s: %s", name, absentFlowCommands[name])
	case command == nil:
		return p.fail(1, "unknown command '%s'; use --help for help", name)
	case opt.readOnly && command.change:
		return p.fail(1, "'%s' command does not work in read only mode", name)
	case len(args) < command.min:
		return p.fail(1, "'%s' command requires at least %d arguments", name, command.min)
	case command.max >= 0 && len(args) > command.max:
		return p.fail(1, "'%s' command takes at most %d arguments", name, command.max)
	}
	c := &flowCall{program: p, ctx: ctx, opt: opt, command: name, args: args, socket: socket}
	err := command.run(c)
	if c.client != nil {
		_ = c.client.Close()
	}
	var status *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status) && status.err == nil:
		return status.status
	default:
		return p.fail(1, "%s", strings.TrimSuffix(err.Error(), "\n"))
	}
}

// ask runs one of gvswitchd's commands and returns its text. What gvswitchd refuses is an error with its words.
func (c *flowCall) ask(command string, args ...string) (string, error) {
	if err := c.connect(); err != nil {
		return "", err
	}
	return c.client.Call(c.ctx, command, args...)
}

// connect connects to gvswitchd once.
func (c *flowCall) connect() error {
	if c.client != nil {
		return nil
	}
	socket, err := c.socket()
	if err != nil {
		return err
	}
	c.client, err = c.dialSwitch(c.ctx, socket)
	return err
}

// show runs one of gvswitchd's commands and prints what it says, after a line of its own if heading is not empty; or its value, if
// JSON is wanted.
func (c *flowCall) show(heading, command string, args ...string) error {
	if c.opt.json {
		if err := c.connect(); err != nil {
			return err
		}
		text, err := callJSON(c.ctx, c.client, command, args)
		if err != nil {
			return err
		}
		return c.print(text)
	}
	text, err := c.ask(command, args...)
	if err != nil {
		return err
	}
	return c.print(heading + text)
}

func (c *flowCall) print(text string) error {
	_, err := io.WriteString(c.stdout, text)
	return err
}

// bridge is the first argument: a bridge's name, or, as ovs-ofctl has it, the socket that a switch has for it.
func (c *flowCall) bridge() string { return bridgeName(c.args[0]) }

func bridgeName(s string) string {
	s = strings.TrimPrefix(s, "unix:")
	if base, ok := strings.CutSuffix(s, ".mgmt"); ok {
		return base[strings.LastIndexByte(base, '/')+1:]
	}
	return s
}

// arg is an argument that may be left out.
func (c *flowCall) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// names is the option for gvswitchd that asks for names of ports and tables in the output.
func (c *flowCall) names() []string {
	show := c.opt.names == yes || c.opt.names == unset && isTerminal(c.stdout)
	if show {
		return []string{"--names"}
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// heading is the line that ovs-ofctl prints before a reply, which names the message: one of Open vSwitch's own in OpenFlow 1.0 (nicira), or
// the standard's in the version that -O asks for, at least lowest.
func (c *flowCall) heading(message string, nicira bool, lowest int) string {
	v := max(c.opt.openflow, lowest)
	switch {
	case v == 0 && nicira:
		return "NXST_" + message + " reply (xid=0x4):"
	case v == 0:
		return "OFPST_" + message + " reply (xid=0x2):"
	default:
		return fmt.Sprintf("OFPST_%s reply (OF1.%d) (xid=0x2):", message, v)
	}
}
