package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
)

func (c *commands) vlogCommands() []entry {
	return []entry{
		{"vlog/set", "{SPEC | LEVEL}...", 1, control.Unlimited, c.vlogSet},
		{"vlog/list", "", 0, 0, c.vlogList},
		{"vlog/reopen", "", 0, 0, c.vlogReopen},
	}
}

func (c *commands) vlogSet(args []string) (control.Result, error) {
	for _, spec := range args {
		if err := c.log.Set(spec); err != nil {
			return control.Result{}, err
		}
	}
	return control.Result{}, nil
}

// vlogList prints Open vSwitch's table. The log goes to one place, standard error or the file.
func (c *commands) vlogList([]string) (control.Result, error) {
	levels := c.log.Levels()
	var out strings.Builder
	out.WriteString("                 console    syslog    file\n                 -------    ------    ------\n")
	for _, m := range slices.Sorted(maps.Keys(levels)) {
		fmt.Fprintf(&out, "%-16s  %4s       %4s       %4s\n", m, levels[m], "OFF", levels[m])
	}
	return control.Result{Text: out.String(), Value: levels}, nil
}

func (c *commands) vlogReopen([]string) (control.Result, error) {
	return control.Result{}, c.log.Reopen()
}
