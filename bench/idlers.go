package main

import (
	"context"
	"fmt"

	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
)

// idlers adds n vhost-user ports with a front end each that never sends.
func (b *bench) idlers(ctx context.Context, sw bridge, n int) (stop func(), err error) {
	var guests []*frontend.Guest
	stop = func() {
		for _, g := range guests {
			g.Close()
		}
	}
	for i := range n {
		socket, err := sw.vhost(ctx, fmt.Sprintf("idle%d", i))
		if err != nil {
			stop()
			return nil, err
		}
		c, err := frontend.Dial(socket)
		if err != nil {
			stop()
			return nil, err
		}
		g, err := frontend.NewGuest(c, frontend.Config{})
		if err != nil {
			stop()
			return nil, fmt.Errorf("front end of idle%d: %w", i, err)
		}
		guests = append(guests, g)
	}
	return stop, nil
}
