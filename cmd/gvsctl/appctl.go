package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/version"
)

var appctlOptions = []option{
	{name: "target", short: 't', arg: needsArg},
	{name: "timeout", short: 'T', arg: needsArg},
	{name: "format", short: 'f', arg: needsArg},
	{name: "pretty"},
	{name: "verbose", short: 'v', arg: mayHaveArg},
	{name: "execute", short: 'e'}, // of old times; the default since
	{name: "help", short: 'h'},
	{name: "version", short: 'V'},
}

const appctlHelp = `ovs-appctl, for querying and controlling Open vSwitch daemon
usage: ovs-appctl [TARGET] COMMAND [ARG...]
Targets:
  -t, --target=TARGET  pidfile or socket to contact
Common commands:
  list-commands      List commands supported by the target
  version            Print version of the target
Other options:
  --timeout=SECS     wait at most SECS seconds for a response
  -f, --format=FMT   Output format. One of: 'json', or 'text'
                     ('text', by default)
  -h, --help         Print this helpful information
  -V, --version      Display ovs-appctl version information
`

// appctl is ovs-appctl.
func (p *program) appctl() int {
	line, err := getopt(p.args, appctlOptions)
	if err != nil {
		return p.fail(1, "%v", err)
	}
	target, format := "ovs-vswitchd", "text"
	ctx := context.Background()
	for _, o := range line.globals {
		name, value, _ := strings.Cut(strings.TrimPrefix(o, "--"), "=")
		switch name {
		case "help":
			fmt.Fprint(p.stdout, appctlHelp)
			return 0
		case "version":
			fmt.Fprintln(p.stdout, version.Line(p.name))
			return 0
		case "target":
			target = value
		case "format":
			format = value
		case "timeout":
			secs, err := strconv.ParseUint(value, 10, 31)
			if err != nil || secs == 0 {
				return p.fail(1, "value %s on -T or --timeout is invalid", value)
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(secs)*time.Second)
			defer cancel()
		}
	}
	if format != "text" && format != "json" {
		return p.fail(1, "value %s on -f or --format is invalid", format)
	}
	if len(line.rest) == 0 {
		return p.fail(1, "at least one non-option argument is required (use --help for help)")
	}
	socket, err := control.Target(p.runDir(), target)
	if err != nil {
		return p.fail(1, "%v", err)
	}
	return p.runtime(ctx, target, socket, format == "json", line.rest[0], line.rest[1:])
}
