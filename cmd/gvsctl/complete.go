package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gvswitch/gvswitch/internal/vsctl"
)

// complete prints the words that may come next, for the shell: names of commands.
func (p *program) complete(*cli.Context) {
	for _, s := range vsctl.All() {
		fmt.Fprintln(p.stdout, s.Name)
	}
	if p.compat() {
		return
	}
	for _, c := range runtimeCommands {
		fmt.Fprintln(p.stdout, c.name)
	}
	fmt.Fprintln(p.stdout, "import")
}
