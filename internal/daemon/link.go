package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gvswitch/gvswitch/config/client"
	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/status"
)

const (
	// databaseLock is what ovs-vswitchd holds while it acts on a database; so two switches never act on one.
	databaseLock = "ovs_vswitchd"
	// probeInterval is how long a silent database is trusted to be alive.
	probeInterval = 5 * time.Second
)

// link is the connection to the configuration database, the embedded one or another. It is the loop's database.
type link struct {
	address string
	replica *client.Replica
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

// startLink begins to connect and goes on for ever; the address alone can be wrong.
func startLink(address string, log *slog.Logger) (*link, error) {
	dial, err := client.Address(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &link{address: address, cancel: cancel}
	l.replica = client.NewReplica(dial, client.Options{
		Tables: monitored(), Lock: databaseLock, Reconnect: true, Probe: probeInterval, Log: log,
	})
	l.ended.Go(func() {
		_ = l.replica.Run(ctx) // ends with ctx only, and says in the log what happens before
	})
	l.ended.Go(func() { l.watchLock(ctx, log) })
	return l, nil
}

// watchLock says so when another switch keeps this one from acting.
func (l *link) watchLock(ctx context.Context, log *slog.Logger) {
	patience := 2 * time.Second
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(patience):
		}
		patience = 2 * time.Second
		if l.replica.Connected() && !l.replica.HasLock() {
			log.Warn("another switch acts on this database, waiting until it ends", "lock", databaseLock, "database", l.address)
			patience = time.Minute
		}
	}
}

// Close ends the connection.
func (l *link) Close() {
	l.cancel()
	l.ended.Wait()
}

// monitored is the tables and columns to follow: those that describe the switch. The statistics of interfaces and mirrors are written every
// few seconds and would come back each time.
func monitored() map[string][]string {
	tables := map[string][]string{"Open_vSwitch": nil, "Bridge": nil, "Port": nil, "Flow_Table": nil}
	for _, table := range []string{"Interface", "Mirror"} {
		for _, c := range schema.OpenVSwitch().Tables[table].Columns {
			if c.Name[0] != '_' && c.Name != "statistics" {
				tables[table] = append(tables[table], c.Name)
			}
		}
	}
	return tables
}

// Changed implements database.
func (l *link) Changed() <-chan struct{} { return l.replica.Changed() }

// Rows implements database. Without the lock there is nothing to act on.
func (l *link) Rows() desired.Rows {
	s := l.replica.Snapshot()
	if s == nil || !l.replica.HasLock() {
		return nil
	}
	return rows{s}
}

// Commit implements database. Columns that the server's schema lacks are left out.
func (l *link) Commit(ctx context.Context, updates []status.Update) error {
	s := l.replica.Snapshot()
	tx := l.replica.Begin()
	for _, u := range updates {
		cols := client.Columns{}
		for name, v := range u.Columns {
			if s.Has(u.Table, name) {
				cols[name] = v
			}
		}
		if len(cols) > 0 {
			tx.Update(u.Table, u.UUID, cols)
		}
	}
	return l.replica.Commit(ctx, tx)
}

// rows shows a snapshot as desired.Rows.
type rows struct{ s *client.Snapshot }

func (r rows) Table(name string) []desired.Row {
	all := r.s.Rows(name)
	out := make([]desired.Row, len(all))
	for i, row := range all {
		out[i] = row
	}
	return out
}

func (r rows) Row(table string, id ovsdb.UUID) desired.Row {
	if row := r.s.Row(table, id); row != nil {
		return row
	}
	return nil
}
