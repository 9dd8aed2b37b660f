// Command gvsctl configures and questions a running switch. It speaks ovs-vsctl's grammar to the switch's database, and ovs-appctl's and
// ovs-ofctl's to its command socket; under their names it is what they are, down to defaults, texts and exit statuses.
//
// It is wiring: the grammar of the database's commands is in internal/vsctl, the command channel in internal/control, the language of flows
// in pipeline/ofp. It knows nothing of the switch itself: flows go there as text.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

//go:generate sh -c "go run . man > ../../docs/man/gvsctl.8"

// program is one call, with all that it has of the outside world.
type program struct {
	name           string // as it was called, without directories
	args           []string
	stdout, stderr io.Writer
	getenv         func(string) string
}

func main() {
	p := &program{name: filepath.Base(os.Args[0]), args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	os.Exit(p.run())
}

// run does it and returns the exit status.
func (p *program) run() int {
	switch p.name {
	case "ovs-appctl":
		return p.appctl()
	case "ovs-ofctl":
		return p.ofctl()
	default:
		return p.vsctl()
	}
}

// compat reports whether to be ovs-vsctl.
func (p *program) compat() bool { return p.name == "ovs-vsctl" }

// fail prints an error and returns the status.
func (p *program) fail(status int, format string, args ...any) int {
	fmt.Fprintf(p.stderr, "%s: %s\n", p.name, fmt.Sprintf(format, args...))
	return status
}

// Default directories.
const (
	defaultRunDir    = "/run/gvswitch"
	defaultOVSRunDir = "/var/run/openvswitch"
)

// runDir is the run directory when no option names one.
func (p *program) runDir() string {
	variable, dir := "GVSWITCH_RUNDIR", defaultRunDir
	if p.compatName() {
		variable, dir = "OVS_RUNDIR", defaultOVSRunDir
	}
	if d := p.getenv(variable); d != "" {
		return d
	}
	return dir
}

// compatName reports whether the name is one of Open vSwitch's programs.
func (p *program) compatName() bool {
	return p.name == "ovs-vsctl" || p.name == "ovs-appctl" || p.name == "ovs-ofctl"
}
