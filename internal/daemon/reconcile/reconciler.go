package reconcile

import (
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/netdev"
)

// Reconciler is the running switch as control code sees it.
type Reconciler struct {
	dp        *datapath.Datapath
	providers map[desired.Kind]netdev.OpenFunc
	checks    map[desired.Kind]netdev.CheckFunc
	runDir    string
	stateDir  string
	log       *slog.Logger
	now       func() time.Time

	last      *desired.State
	threads   *desired.Threads // applied
	threadErr string
	flowsErr  string // why Flows are not as asked for
	flows     FlowFiles
	bridges   map[string]*bridge
	failed    map[string]string // bridges that could not be made, and why
	claims    map[string]*port  // what only one port may have, and which one has it
	directory atomic.Pointer[Directory]
	closing   bool // ports go because the switch ends
}

// Config is what a Reconciler works with.
type Config struct {
	Datapath  *datapath.Datapath
	Providers map[desired.Kind]netdev.OpenFunc
	Checks    map[desired.Kind]netdev.CheckFunc // called before a device of another kind is given up; may lack any
	RunDir    string
	StateDir  string // for netdev.Options
	Log       *slog.Logger
	Now       func() time.Time // nil: time.Now
	Flows     FlowFiles        // nil: no bridge keeps its flows in a file
}

// New returns a reconciler of a datapath without bridges.
func New(c Config) *Reconciler {
	r := &Reconciler{
		dp: c.Datapath, providers: c.Providers, checks: c.Checks, runDir: c.RunDir, stateDir: c.StateDir, log: c.Log, now: c.Now, flows: c.Flows,
		bridges: map[string]*bridge{}, failed: map[string]string{}, claims: map[string]*port{},
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.directory.Store(&Directory{})
	return r
}

// Apply makes the switch what the state says, as far as possible.
func (r *Reconciler) Apply(s *desired.State) {
	changed := r.last == nil || !sameConfig(r.last, s)
	r.applyFlowConfig(s)
	r.last = s
	r.applyThreads(s)
	r.remove(s)
	for _, want := range s.Bridges {
		r.applyBridge(want)
	}
	for _, want := range s.Bridges {
		if b := r.bridges[want.Name]; b != nil && want.Refused == "" {
			b.applyPorts(want, changed)
			b.applyMirrors(want.Mirrors)
		}
	}
	r.publish()
	for _, e := range r.Directory().Bridges {
		r.bridges[e.Name].applyFlows(e, changed)
	}
}

// Configured reports whether a state was applied.
func (r *Reconciler) Configured() bool { return r.last != nil }

// Retry tries again what failed and whose time has come.
func (r *Reconciler) Retry() {
	if r.last == nil {
		return
	}
	r.Apply(r.last)
	// What was not even tried, because its bridge or port is refused as a whole, is not due again at once.
	for _, b := range r.bridges {
		for _, p := range b.ports {
			if p.retry.due(r.now()) {
				p.retry.failed(r.now())
			}
		}
	}
}

// NextRetry is when Retry will have something to do; zero if never.
func (r *Reconciler) NextRetry() time.Time {
	var next time.Time
	for _, b := range r.bridges {
		for _, p := range b.ports {
			if !p.retry.at.IsZero() && (next.IsZero() || p.retry.at.Before(next)) {
				next = p.retry.at
			}
		}
	}
	return next
}

// Close removes everything. The datapath itself is the caller's to close.
func (r *Reconciler) Close() {
	r.closing = true
	for _, name := range slices.Sorted(maps.Keys(r.bridges)) {
		r.bridges[name].remove()
	}
	r.publish()
}

func (r *Reconciler) applyThreads(s *desired.State) {
	if s.Threads == nil || r.threads != nil && sameThreads(r.threads, s.Threads) {
		return
	}
	err := r.dp.SetThreads(threadConfig(s.Threads))
	if err != nil {
		r.threadErr = "poll threads: " + err.Error()
		r.log.Error("poll threads not changed", "error", err)
		return
	}
	r.threads, r.threadErr = s.Threads, ""
	r.log.Info("poll threads", "cpus", s.Threads.CPUs, "sleep_max", s.Threads.Max, "assign", s.Threads.Assign)
}

// remove takes away the bridges and ports that the state does not have, before anything is added: names, numbers, devices and sockets of
// the old may be wanted by the new.
func (r *Reconciler) remove(s *desired.State) {
	want := map[string]*desired.Bridge{}
	for _, b := range s.Bridges {
		want[b.Name] = b
	}
	for _, name := range slices.Sorted(maps.Keys(r.bridges)) {
		b := r.bridges[name]
		switch w := want[name]; {
		case w == nil:
			b.remove()
		case w.Refused == "":
			b.removePorts(w)
		}
	}
	r.release(s)
}

// release closes devices that have something that another port is to have now, so that two ports can exchange their sockets.
func (r *Reconciler) release(s *desired.State) {
	heir := map[string]string{}
	r.eachInterface(s, func(i *desired.Interface, _ *port) {
		for _, c := range i.Claims {
			heir[c] = i.Name
		}
	})
	r.eachInterface(s, func(i *desired.Interface, p *port) {
		if p == nil || p.dev == nil {
			return
		}
		for _, c := range p.spec.claims {
			if name := heir[c]; name != "" && name != i.Name && !slices.Contains(i.Claims, c) {
				p.closeDevice()
				p.settleClaims()
				return
			}
		}
	})
}

// eachInterface calls f for all interfaces that can be used, with the port that runs.
func (r *Reconciler) eachInterface(s *desired.State, f func(*desired.Interface, *port)) {
	for _, want := range s.Bridges {
		b := r.bridges[want.Name]
		for _, w := range want.Ports {
			if w.Iface == nil || w.Iface.Refused != "" || want.Refused != "" {
				continue
			}
			var p *port
			if b != nil {
				p = b.ports[w.Iface.Name]
			}
			f(w.Iface, p)
		}
	}
}
