package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gvswitch/gvswitch/internal/version"
	"github.com/gvswitch/gvswitch/internal/vsctl"
)

// Headings of the help.
const (
	connectionOptions = "Connection"
	outputOptions     = "Output"
	ignoredOptions    = "Accepted for compatibility, without effect"
	runtimeGroup      = "Runtime commands (answered by gvswitchd)"
	flowGroup         = "Flow commands (answered by gvswitchd)"
)

// app describes the program to the CLI framework: its options, help, completion and manual page. act is what it does once the options are
// known; the commands' own grammar is not the framework's business.
func (p *program) app(act func(*cli.Context) error) *cli.App {
	a := &cli.App{
		Name:                   p.name,
		Usage:                  "configure and question a running switch",
		UsageText:              p.name + " [OPTION]... COMMAND [ARG]... [-- [OPTION]... COMMAND [ARG]...]...",
		Description:            description,
		Version:                version.String(),
		HideVersion:            true, // -V and --version are among the flags, as ovs-vsctl has them
		HideHelp:               true, // likewise: the framework's own help flag is one variable for all programs
		HideHelpCommand:        true,
		Flags:                  p.flags(),
		Commands:               p.commands(act),
		Action:                 act,
		Writer:                 p.stdout,
		ErrWriter:              p.stderr,
		ExitErrHandler:         func(*cli.Context, error) {},
		UseShortOptionHandling: false,
		Suggest:                false,
	}
	a.BashComplete = func(c *cli.Context) { p.complete(c, a) }
	if p.compat() {
		a.Usage = "ovs-vswitchd management utility"
	}
	return a
}

const description = `Commands that follow one another, separated by "--", are carried out in one transaction: all or nothing. Options before the first
command's name are this program's or that command's; the others stand before their own command's name.

A command with a slash in its name, and the flow and runtime commands listed below, go to gvswitchd itself. All others work on the
configuration database; gvsctl then waits until the switch has applied the change, and exits with an error if it could not.

The exit status is 0, 1 for an error, 2 for an error that gvswitchd reports, or for br-exists if the bridge does not exist.

    gvsctl add-br br0
    gvsctl add-port br0 vm0 tag=10 type=vhost-user mode=client socket=/run/vm0.sock
    gvsctl --may-exist add-port br0 eth1 -- set Interface eth1 mtu_request=9000
    gvsctl add-flow br0 priority=10,tcp,in_port=vm0,actions=output:eth1
    gvsctl fdb/show br0`

// flags are the options that are not a command's.
func (p *program) flags() []cli.Flag {
	runDir, format := p.runDir(), "list"
	flags := []cli.Flag{
		&cli.StringFlag{Name: "db", Usage: "database server, `ADDRESS` of the form unix:PATH or tcp:HOST:PORT", DefaultText: "unix:" + runDir + "/db.sock", Category: connectionOptions},
		&cli.StringFlag{Name: "timeout", Aliases: []string{"t"}, Usage: "give up after `SECS` seconds; 0 is never", Category: connectionOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "no-wait", Usage: "do not wait until the switch has applied the change", Category: connectionOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "retry", Usage: "keep trying to connect", Category: connectionOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "let the database check the change, then drop it", Category: connectionOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "oneline", Usage: "print exactly one line of output per command", Category: outputOptions},
		&cli.StringFlag{Name: "format", Aliases: []string{"f"}, Value: format, Usage: "`FORMAT` of output: table, list, html, csv or json", Category: outputOptions},
		&cli.StringFlag{Name: "data", Aliases: []string{"d"}, Value: "string", Usage: "`FORMAT` of table cells: string, bare or json", Category: outputOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "no-headings", Usage: "omit the headings of tables", Category: outputOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "pretty", Usage: "indent JSON", Category: outputOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "bare", Usage: "the same as --format=list --data=bare --no-headings", Category: outputOptions},
		&cli.StringFlag{Name: "max-column-width", Usage: "cut columns of format table to `N` characters", Category: outputOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "no-syslog", Usage: "nothing is logged anyway", Category: ignoredOptions},
		&cli.StringFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "logging `LEVEL`", Category: ignoredOptions},
		&cli.StringFlag{Name: "log-file", Usage: "log `FILE`", Category: ignoredOptions},
		&cli.BoolFlag{DisableDefaultText: true, Name: "help", Aliases: []string{"h"}, Usage: "print this help"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "version", Aliases: []string{"V"}, Usage: "print the version"},
	}
	if !p.compat() {
		flags = slices.Insert(flags, 0, cli.Flag(&cli.StringFlag{Name: "run-dir", Usage: "run `DIRECTORY` of the switch; also from the variable GVSWITCH_RUNDIR", DefaultText: runDir, Category: connectionOptions}))
	}
	return flags
}

// optionalArgs are the options whose argument may be left out.
var optionalArgs = map[string]bool{"verbose": true, "log-file": true}

// options are what may stand before the first command's name: the flags, and the options of all commands.
func (p *program) options(flags []cli.Flag) []option {
	var list []option
	for _, f := range flags {
		o := option{name: f.Names()[0]}
		if _, isBool := f.(*cli.BoolFlag); !isBool {
			o.arg = needsArg
		}
		if optionalArgs[o.name] {
			o.arg = mayHaveArg
		}
		for _, n := range f.Names()[1:] {
			if len(n) == 1 {
				o.short = n[0]
			}
		}
		list = append(list, o)
	}
	for _, s := range vsctl.All() {
		for _, local := range s.Options {
			o := option{name: strings.TrimPrefix(local.Name, "--"), local: true}
			if local.TakesValue() {
				o.arg = needsArg
			}
			if !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
	}
	if p.compat() {
		return list
	}
	for _, o := range commonFlowOptions {
		o.local = true
		list = append(list, o)
	}
	return list
}

// commands lists the commands for help, completion and the manual; all of them do the same: parse the whole line.
func (p *program) commands(act func(*cli.Context) error) []*cli.Command {
	var list []*cli.Command
	add := func(group, name, args, usage string, options []vsctl.Option) {
		c := &cli.Command{
			Name: name, ArgsUsage: args, Usage: usage, Category: group, Action: act,
			SkipFlagParsing: true, HideHelp: true, HideHelpCommand: true,
		}
		c.UsageText = strings.TrimSpace(optionsText(options) + name + " " + args)
		list = append(list, c)
	}
	for _, s := range vsctl.All() {
		add(s.Group, s.Name, s.Args, s.Brief, s.Options)
	}
	if p.compat() {
		return list
	}
	for _, c := range flowCommands() {
		if isFlowCommand(c.name) && c.name != "dump-ports" {
			add(flowGroup, c.name, c.args, c.usage, nil)
		}
	}
	add(flowGroup, "explain", "BRIDGE [FLOW] [--count=N]", "follow packets as they are forwarded, and print each step, lookup, action and reason", nil)
	add(runtimeGroup, "pcap", pcapArgs, "capture what a port receives, sends and drops, to a file in the format pcapng, or as text", nil)
	for _, c := range runtimeCommands {
		add(runtimeGroup, c.name, c.args, c.usage, nil)
	}
	list = append(list,
		&cli.Command{Name: "man", Hidden: true, Action: func(c *cli.Context) error { return p.man(c.App) }},
		&cli.Command{Name: "completion", Hidden: true, Action: p.completion},
	)
	add("Other commands", "import", "[--replace] FILE", "take over the configuration in a database file of Open vSwitch; with --replace in place of the present one", nil)
	return list
}

func optionsText(options []vsctl.Option) string {
	var b strings.Builder
	for _, o := range options {
		value := ""
		if o.TakesValue() {
			value = "=" + strings.ToUpper(strings.TrimPrefix(o.Name, "--"))
		}
		fmt.Fprintf(&b, "[%s%s] ", o.Name, value)
	}
	return b.String()
}
