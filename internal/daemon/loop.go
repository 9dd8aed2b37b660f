package daemon

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/daemon/status"
)

const (
	// statisticsInterval is how often Interface.statistics is written, as by ovs-vswitchd.
	statisticsInterval = 5 * time.Second
	// settleTime is how long a write-back waits after a device's event, so that a burst of events becomes one transaction.
	settleTime = 20 * time.Millisecond
	// complainInterval is how often it is logged that nothing can be written.
	complainInterval = time.Minute
)

// database is the configuration database as the loop needs it.
type database interface {
	// Rows is the content now, of one moment; nil while there is none.
	Rows() desired.Rows
	// Changed gets a value when Rows has something new.
	Changed() <-chan struct{}
	// Commit writes the updates in one transaction.
	Commit(context.Context, []status.Update) error
}

// loop keeps the switch as the database says and the database as the switch is.
type loop struct {
	db     database
	rec    *reconcile.Reconciler
	env    desired.Env
	system status.Columns
	log    *slog.Logger
	events *eventCounters
	sample func() // takes a sample of the counters, each statisticsInterval

	poked   chan struct{}              // a device's event
	applied chan struct{}              // closed when the first configuration is applied
	written map[ovsdb.UUID]ovsdb.Datum // Interface.statistics as last written; the database does not send it back

	complained time.Time // when it was logged that nothing can be written; zero while it can
}

func newLoop() *loop {
	return &loop{sample: func() {}, poked: make(chan struct{}, 1), applied: make(chan struct{}), written: map[ovsdb.UUID]ovsdb.Datum{}}
}

// poke makes the loop look at the devices again. It never blocks.
func (l *loop) poke() {
	select {
	case l.poked <- struct{}{}:
	default:
	}
}

// run ends when ctx is done.
func (l *loop) run(ctx context.Context) {
	statistics := time.NewTicker(statisticsInterval)
	defer statistics.Stop()
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	var settled <-chan time.Time // nil: no event that is not written
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.db.Changed():
			l.configure(ctx)
		case <-l.poked:
			if settled == nil {
				settled = time.After(settleTime)
			}
		case <-settled:
			settled = nil
			l.write(ctx, false)
		case <-retry.C:
			l.rec.Retry()
			l.write(ctx, false)
		case <-statistics.C:
			l.write(ctx, true)
			l.sample()
		}
		retry.Reset(l.untilRetry())
	}
}

func (l *loop) untilRetry() time.Duration {
	at := l.rec.NextRetry()
	if at.IsZero() {
		return time.Hour
	}
	return max(time.Until(at), 0)
}

// configure applies what the database says now.
func (l *loop) configure(ctx context.Context) {
	rows := l.db.Rows()
	if rows == nil {
		return
	}
	state := desired.Read(rows, l.env)
	l.setProcs(state)
	l.rec.Apply(state)
	l.events.reconfigured.Add(1)
	l.write(ctx, false)
	select {
	case <-l.applied:
	default:
		close(l.applied)
	}
}

// setProcs lets control code run at the same time as poll threads that never sleep: with as many poll threads as processors it would
// otherwise wait for the scheduler to preempt one of them.
func (l *loop) setProcs(s *desired.State) {
	if s.Threads == nil {
		return
	}
	want := max(runtime.NumCPU(), len(s.Threads.CPUs)+1)
	if runtime.GOMAXPROCS(0) != want {
		runtime.GOMAXPROCS(want)
	}
}

// write brings the rows up to date with what has become of the configuration, and with the counters if so asked.
func (l *loop) write(ctx context.Context, statistics bool) {
	rows := l.db.Rows()
	if rows == nil || !l.rec.Configured() {
		return
	}
	res := l.rec.Results()
	updates := status.Updates(rows, res, l.system)
	if statistics {
		updates = append(updates, l.statistics(rows, res)...)
	}
	if len(updates) == 0 {
		return
	}
	if err := l.db.Commit(ctx, updates); err != nil {
		if ctx.Err() == nil {
			l.sayNotWritten(err, time.Now())
		}
		clear(l.written)
		return
	}
	l.events.written.Add(1)
	if !l.complained.IsZero() {
		l.complained = time.Time{}
		l.log.Info("status written to the database again")
	}
}

// sayNotWritten logs it now and then: while a disk is full it is so each time.
func (l *loop) sayNotWritten(err error, now time.Time) {
	if !l.complained.IsZero() && now.Sub(l.complained) < complainInterval {
		return
	}
	l.complained = now
	l.log.Warn("status not written to the database", "error", err)
}

// statistics returns the counters that changed.
func (l *loop) statistics(rows desired.Rows, res *reconcile.Results) []status.Update {
	var out []status.Update
	seen := make(map[ovsdb.UUID]ovsdb.Datum, len(res.Interfaces))
	for i := range res.Interfaces {
		r := &res.Interfaces[i]
		var now ovsdb.Datum
		if r.DP != nil {
			s := r.DP.Stats()
			now = status.Statistics(&s, r.Info.Missed)
		}
		seen[r.UUID] = now
		if before, ok := l.written[r.UUID]; (!ok || !before.Equal(now)) && rows.Row("Interface", r.UUID) != nil {
			out = append(out, status.Update{Table: "Interface", UUID: r.UUID, Columns: status.Columns{"statistics": now}})
		}
	}
	for i := range res.Mirrors {
		r := &res.Mirrors[i]
		now := status.MirrorStatistics(r.Stats())
		seen[r.UUID] = now
		if before, ok := l.written[r.UUID]; (!ok || !before.Equal(now)) && rows.Row("Mirror", r.UUID) != nil {
			out = append(out, status.Update{Table: "Mirror", UUID: r.UUID, Columns: status.Columns{"statistics": now}})
		}
	}
	l.written = seen
	return out
}
