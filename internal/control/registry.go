package control

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// command is one entry of the registry.
type command struct {
	name, usage      string
	minArgs, maxArgs int
	run              func(ctx context.Context, args []string) (Result, error)
}

// registry maps names to commands. It may be added to while the server runs.
type registry struct {
	mu       sync.RWMutex
	commands map[string]*command
}

// register adds c. A bad or repeated registration is a mistake in the program, not in its input, so it panics.
func (r *registry) register(c *command) {
	switch {
	case c.name == "" || strings.ContainsAny(c.name, " \t\n"):
		panic(fmt.Sprintf("control: bad command name %q", c.name))
	case c.maxArgs != Unlimited && c.maxArgs < c.minArgs:
		panic(fmt.Sprintf("control: command %q takes at least %d and at most %d arguments", c.name, c.minArgs, c.maxArgs))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.commands == nil {
		r.commands = make(map[string]*command)
	}
	if r.commands[c.name] != nil {
		panic(fmt.Sprintf("control: command %q registered twice", c.name))
	}
	r.commands[c.name] = c
}

// find returns the command for a call of name with nargs arguments, or the error that ovs-appctl's users know.
func (r *registry) find(name string, nargs int) (*command, error) {
	r.mu.RLock()
	c := r.commands[name]
	r.mu.RUnlock()
	switch {
	case c == nil:
		return nil, fmt.Errorf(`"%s" is not a valid command (use "list-commands" to see a list of valid commands)`, name)
	case nargs < c.minArgs:
		return nil, fmt.Errorf(`"%s" command requires at least %d arguments`, name, c.minArgs)
	case c.maxArgs != Unlimited && nargs > c.maxArgs:
		return nil, fmt.Errorf(`"%s" command takes at most %d arguments`, name, c.maxArgs)
	}
	return c, nil
}

// CommandInfo describes one command, for list-commands.
type CommandInfo struct {
	Name  string `json:"name"`
	Usage string `json:"usage"` // of its arguments, e.g. "[BRIDGE]"
}

// list returns every command, sorted by name.
func (r *registry) list() Result {
	r.mu.RLock()
	infos := make([]CommandInfo, 0, len(r.commands))
	for _, c := range r.commands {
		infos = append(infos, CommandInfo{c.name, c.usage})
	}
	r.mu.RUnlock()
	sort.Slice(infos, func(i, j int) bool { return infos[i].Name < infos[j].Name })

	var b strings.Builder
	b.WriteString("The available commands are:\n")
	for _, i := range infos {
		fmt.Fprintf(&b, "  %-23s %s\n", i.Name, i.Usage)
	}
	return Result{Text: b.String(), Value: infos}
}
