package main

import (
	"context"
	"fmt"
)

// idlers adds n vhost-user ports with a front end each that never sends.
func (b *bench) idlers(ctx context.Context, sw bridge, n int) (stop func(), err error) {
	return nil, fmt.Errorf("not yet")
}
