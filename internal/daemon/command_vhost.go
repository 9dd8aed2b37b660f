package daemon

import (
	"fmt"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/netdev"
)

func (c *commands) vhostCommands() []entry {
	return []entry{{"vhost-user/announce", "PORT", 1, 1, c.announce}}
}

// announce has a guest make itself known to the network.
func (c *commands) announce(args []string) (control.Result, error) {
	p := c.directory().Port(args[0])
	if p == nil {
		return control.Result{}, fmt.Errorf("no such port: %q", args[0])
	}
	a, ok := p.Device.(netdev.Announcer)
	if !ok {
		return control.Result{}, fmt.Errorf("port %s: has no guest that could be announced", args[0])
	}
	if err := a.Announce(); err != nil {
		return control.Result{}, fmt.Errorf("port %s: %w", args[0], err)
	}
	return control.Result{}, nil
}
