package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Migration is how a move went, as QEMU tells.
type Migration struct {
	Downtime time.Duration // the guest did not run
	Total    time.Duration
	Passes   int // over the guest's memory
}

// migrationTime is how long a migration may take.
const migrationTime = 60 * time.Second

// Migrate moves a running guest, whose Config has Migrates set, to another machine like its own
// on another vhost-user socket, and ends the old one. The guest that it returns is the same one:
// its commands, connections and time go on. With an error the old one is left as it is.
func (g *Guest) Migrate(ctx context.Context, socket string) (*Guest, Migration, error) {
	to := &Guest{Config: g.Config}
	to.Socket = socket
	m, err := g.migrate(ctx, to)
	if err != nil {
		if to.dir != "" {
			err = fmt.Errorf("guest %s: migrate: %w\n%s", g.Name, err, to.Console())
			to.Kill()
		}
		return nil, m, err
	}
	g.Kill()
	return to, m, nil
}

func (g *Guest) migrate(ctx context.Context, to *Guest) (m Migration, err error) {
	if err := to.complete(); err != nil {
		return m, err
	}
	if to.dir, err = os.MkdirTemp("", "gvsguest"); err != nil {
		return m, err
	}
	path := filepath.Join(to.dir, "in")
	to.incoming = "unix:" + path
	if err := to.launch(); err != nil {
		return m, err
	}
	// The agent has seen the numbers of earlier requests.
	to.line.lastID = g.line.lastID
	dest, err := dialQMP(to.dir, to.Done())
	if err != nil {
		return m, err
	}
	defer dest.close()
	source, err := dialQMP(g.dir, g.Done())
	if err != nil {
		return m, err
	}
	defer source.close()
	// As over a network. At memory's speed QEMU would stop the guest at once and copy nearly
	// all of it then, and nobody would notice what is missing in the log.
	limits := map[string]any{"max-bandwidth": 80 << 20, "downtime-limit": 100}
	if err := source.call("migrate-set-parameters", limits, nil); err != nil {
		return m, err
	}
	if g.Postcopy {
		limits["max-bandwidth"] = 20 << 20 // so that not all is there when it begins
		if err := postcopy(source, dest, limits); err != nil {
			return m, err
		}
	}
	if err := source.call("migrate", map[string]any{"uri": "unix:" + path}, nil); err != nil {
		return m, err
	}
	if g.Postcopy {
		time.Sleep(300 * time.Millisecond)
		if err := source.call("migrate-start-postcopy", nil, nil); err != nil {
			return m, err
		}
	}
	if m, err = source.migrated(ctx); err != nil {
		return m, err
	}
	return m, dest.running(ctx)
}

// postcopy prepares both sides.
func postcopy(source, dest *qmp, limits map[string]any) error {
	can := map[string]any{"capabilities": []any{map[string]any{"capability": "postcopy-ram", "state": true}}}
	for _, q := range []*qmp{source, dest} {
		if err := q.call("migrate-set-capabilities", can, nil); err != nil {
			return err
		}
	}
	return source.call("migrate-set-parameters", limits, nil)
}

// migrated waits for the end of a migration.
func (q *qmp) migrated(ctx context.Context) (m Migration, err error) {
	ctx, cancel := context.WithTimeout(ctx, migrationTime)
	defer cancel()
	for {
		var state struct {
			Status    string
			ErrorDesc string `json:"error-desc"`
			Downtime  float64
			TotalTime float64 `json:"total-time"`
			RAM       struct {
				Passes int `json:"dirty-sync-count"`
			}
		}
		if err := q.call("query-migrate", nil, &state); err != nil {
			return m, err
		}
		switch state.Status {
		case "completed":
			ms := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
			return Migration{ms(state.Downtime), ms(state.TotalTime), state.RAM.Passes}, nil
		case "failed", "cancelled":
			return m, fmt.Errorf("%s: %s", state.Status, state.ErrorDesc)
		}
		if ctx.Err() != nil {
			return m, fmt.Errorf("still %s after %v, %d passes", state.Status, migrationTime, state.RAM.Passes)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// running waits for the guest to go on.
func (q *qmp) running(ctx context.Context) error {
	for end := time.Now().Add(qmpTime); ; time.Sleep(10 * time.Millisecond) {
		var state struct{ Status string }
		if err := q.call("query-status", nil, &state); err != nil {
			return err
		}
		if state.Status == "running" {
			return nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("the new machine is %s", state.Status)
		}
	}
}
