package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/flow"
)

// flowOptions are the options of ovs-ofctl's commands.
type flowOptions struct {
	strict, bundle, readd, readOnly, mayCreate bool
	names, stats                               choice
	sort                                       []string // --sort=FIELD and --rsort=FIELD, for gvswitchd
	openflow                                   int      // the highest version that -O allows, 1.N; 0 without -O
	json                                       bool
	help, version                              bool
	timeout                                    time.Duration // 0: none
}

// choice is an option that may be given, given the other way, or not given.
type choice int

const (
	unset choice = iota
	yes
	no
)

// commonFlowOptions stand before gvsctl's flow commands, too.
var commonFlowOptions = []option{
	{name: "strict"},
	{name: "bundle"},
	{name: "readd"},
	{name: "read-only"},
	{name: "may-create"},
	{name: "names"},
	{name: "no-names"},
	{name: "stats"},
	{name: "no-stats"},
	{name: "sort", arg: mayHaveArg},
	{name: "rsort", arg: mayHaveArg},
	{name: "more", short: 'm'},
	{name: "protocols", short: 'O', arg: needsArg},
	{name: "flow-format", short: 'F', arg: needsArg},
}

// ofctlOptions are those of ovs-ofctl. Some are for what this program does not do (TLS, running on as a daemon); they are taken, since
// scripts have them, and have no effect.
var ofctlOptions = slices.Concat(commonFlowOptions, []option{
	{name: "timeout", short: 't', arg: needsArg},
	{name: "timeout", short: 'T', arg: needsArg},
	{name: "packet-in-format", short: 'P', arg: needsArg},
	{name: "timestamp"},
	{name: "color", arg: mayHaveArg},
	{name: "verbose", short: 'v', arg: mayHaveArg},
	{name: "log-file", arg: mayHaveArg},
	{name: "syslog-method", arg: needsArg},
	{name: "syslog-target", arg: needsArg},
	{name: "unixctl", arg: needsArg},
	{name: "private-key", short: 'p', arg: needsArg},
	{name: "certificate", short: 'c', arg: needsArg},
	{name: "ca-cert", short: 'C', arg: needsArg},
	{name: "peer-ca-cert", arg: needsArg},
	{name: "bootstrap-ca-cert", arg: needsArg},
	{name: "ssl-protocols", arg: needsArg},
	{name: "ssl-ciphers", arg: needsArg},
	{name: "detach"},
	{name: "monitor"},
	{name: "no-chdir"},
	{name: "pidfile", arg: mayHaveArg},
	{name: "overwrite-pidfile"},
	{name: "user", arg: needsArg},
	{name: "no-self-confinement"},
	{name: "help", short: 'h'},
	{name: "version", short: 'V'},
})

// permute parses as getopt_long(3) does when options may stand among the operands, which is how ovs-ofctl has it.
func permute(args []string, options []option) (given, operands []string, err error) {
	var p parsed
	for len(args) > 0 {
		word, n := args[0], 1
		switch {
		case word == "--":
			return p.globals, append(operands, args[1:]...), nil
		case strings.HasPrefix(word, "--"):
			n, err = p.long(args, options)
		case strings.HasPrefix(word, "-") && word != "-":
			n, err = p.short(args, options)
		default:
			operands = append(operands, word)
		}
		if err != nil {
			return nil, nil, err
		}
		args = args[n:]
	}
	return p.globals, operands, nil
}

// readFlowOptions reads options, each of the form --name or --name=value.
func readFlowOptions(given []string) (flowOptions, error) {
	var o flowOptions
	flags := map[string]*bool{
		"strict": &o.strict, "bundle": &o.bundle, "readd": &o.readd, "read-only": &o.readOnly, "may-create": &o.mayCreate,
		"help": &o.help, "version": &o.version,
	}
	choices := map[string]*choice{"names": &o.names, "stats": &o.stats}
	for _, word := range given {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if f := flags[name]; f != nil {
			*f = true
			continue
		}
		if c := choices[strings.TrimPrefix(name, "no-")]; c != nil {
			if *c = yes; strings.HasPrefix(name, "no-") {
				*c = no
			}
			continue
		}
		var err error
		switch name {
		case "sort", "rsort":
			err = o.addSort(name, value, hasValue)
		case "protocols":
			o.openflow, err = readProtocols(value)
		case "flow-format":
			err = checkFlowFormat(value)
		case "format":
			o.json = value == "json"
		case "timeout":
			o.timeout, err = readTimeout(value)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *flowOptions) addSort(name, field string, hasField bool) error {
	if !hasField {
		field = "priority"
	}
	if field != "priority" && flow.FieldByName(field) == nil {
		return fmt.Errorf("%s: unknown field name", field)
	}
	o.sort = append(o.sort, "--"+name+"="+field)
	return nil
}

// readProtocols reads what -O has, names of versions of OpenFlow, and returns the highest.
func readProtocols(value string) (highest int, err error) {
	for name := range strings.FieldsFuncSeq(value, func(c rune) bool { return c == ',' || c == ' ' }) {
		i := slices.IndexFunc([]string{"10", "11", "12", "13", "14", "15"}, func(v string) bool {
			return strings.EqualFold(name, "OpenFlow"+v) || name == v[:1]+"."+v[1:]
		})
		if i < 0 {
			return 0, fmt.Errorf("Unknown OpenFlow version: %q", name)
		}
		highest = max(highest, i)
	}
	return highest, nil
}

// checkFlowFormat looks for names of formats of flows; which of them is chosen makes no difference.
func checkFlowFormat(value string) error {
	known := []string{
		"any", "OpenFlow10", "OpenFlow10-table_id", "OpenFlow10+table_id", "NXM", "NXM-table_id", "NXM+table_id", "OpenFlow11",
		"OXM", "OXM-OpenFlow12", "OXM-OpenFlow13", "OXM-OpenFlow14", "OXM-OpenFlow15",
	}
	for name := range strings.SplitSeq(value, ",") {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			return fmt.Errorf("%s: unknown flow protocol", name)
		}
	}
	return nil
}

func readTimeout(value string) (time.Duration, error) {
	secs, err := strconv.ParseUint(value, 10, 31)
	if err != nil || secs == 0 {
		return 0, fmt.Errorf("value %s on -t or --timeout is invalid", value)
	}
	return time.Duration(secs) * time.Second, nil
}

func (o *flowOptions) context() (context.Context, context.CancelFunc) {
	if o.timeout == 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), o.timeout)
}
