package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/daemon/rowtest"
	"github.com/gvswitch/gvswitch/internal/daemon/status"
)

// fakeDatabase takes updates, or fails.
type fakeDatabase struct {
	rows    desired.Rows
	changed chan struct{}

	mu      sync.Mutex
	broken  bool
	commits [][]status.Update
}

func (f *fakeDatabase) Rows() desired.Rows       { return f.rows }
func (f *fakeDatabase) Changed() <-chan struct{} { return f.changed }
func (f *fakeDatabase) Commit(_ context.Context, u []status.Update) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errors.New("broken")
	}
	f.commits = append(f.commits, u)
	return nil
}

// Counters are written when they changed, and again when nobody knows whether the last write arrived; ofport and cur_cfg come together.
func TestLoopWrites(t *testing.T) {
	rows, err := rowtest.Parse("switch next_cfg=1\nbridge br0\nport p / type=patch options:peer=q\n")
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	dp := datapath.New(datapath.Config{Log: quiet})
	defer dp.Close()
	db := &fakeDatabase{rows: rows, changed: make(chan struct{}, 1)}
	l := newLoop()
	l.db, l.log, l.events = db, quiet, &eventCounters{}
	l.rec = reconcile.New(reconcile.Config{Datapath: dp, Log: quiet})
	defer l.rec.Close()
	ctx := context.Background()

	l.configure(ctx)
	if len(db.commits) != 1 {
		t.Fatalf("%d commits after the first configuration", len(db.commits))
	}
	written := map[string]bool{}
	for _, u := range db.commits[0] {
		for name := range u.Columns {
			written[u.Table+"."+name] = true
		}
	}
	if !written["Interface.ofport"] || !written["Interface.error"] || !written["Open_vSwitch.cur_cfg"] {
		t.Errorf("written together: %v", written)
	}

	count := func(statistics bool) int {
		before := len(db.commits)
		l.write(ctx, statistics)
		n := 0
		for _, c := range db.commits[before:] {
			for _, u := range c {
				if _, ok := u.Columns["statistics"]; ok && u.Table == "Interface" {
					n++
				}
			}
		}
		return n
	}
	if n := count(false); n != 0 {
		t.Errorf("%d rows of counters, nobody asked for them", n)
	}
	if n := count(true); n != 1 {
		t.Errorf("%d rows of counters the first time", n)
	}
	if n := count(true); n != 0 {
		t.Errorf("%d rows of counters that did not change", n)
	}
	db.broken = true
	l.write(ctx, true)
	db.broken = false
	if n := count(true); n != 1 {
		t.Errorf("%d rows of counters after a failure", n)
	}
}

// Many events of devices are one transaction.
func TestLoopSettles(t *testing.T) {
	rows, err := rowtest.Parse("switch next_cfg=1\nbridge br0\n")
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	dp := datapath.New(datapath.Config{Log: quiet})
	defer dp.Close()
	db := &fakeDatabase{rows: rows, changed: make(chan struct{}, 1)}
	l := newLoop()
	l.db, l.log, l.events = db, quiet, &eventCounters{}
	l.rec = reconcile.New(reconcile.Config{Datapath: dp, Log: quiet})
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { l.run(ctx) })
	db.changed <- struct{}{}
	<-l.applied
	began := time.Now()
	for range 50 {
		l.poke()
		time.Sleep(time.Millisecond / 2)
	}
	most := 6 + int(time.Since(began)/settleTime) // a busy machine takes longer for that
	time.Sleep(20 * settleTime)
	cancel()
	done.Wait()
	l.rec.Close()
	if n := len(db.commits); n < 2 || n > most { // the rows never take the values, so each look gives a commit
		t.Errorf("%d commits", n)
	}
}

// A database that takes nothing for long is a few lines in the log, and one when it is over.
func TestLoopComplains(t *testing.T) {
	var out strings.Builder
	l := newLoop()
	l.log = slog.New(slog.NewTextHandler(&out, nil))
	now := time.Unix(1000, 0)
	for i := range 1000 {
		l.sayNotWritten(errors.New("no space"), now.Add(time.Duration(i)*100*time.Millisecond))
	}
	if n := strings.Count(out.String(), "no space"); n != 2 {
		t.Errorf("%d lines in 100 s", n)
	}
}
