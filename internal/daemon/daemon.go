package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/logging"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/daemon/status"
	"github.com/gvswitch/gvswitch/internal/version"
	"github.com/gvswitch/gvswitch/netdev"
)

// memoryLimit is the Go runtime's memory at which it collects garbage whatever the poll threads do; packets and rings are outside it, and
// the datapath adds what its MAC tables take.
const memoryLimit = 48 << 20

// Config says where the daemon lives and what it works with.
type Config struct {
	RunDir   string // sockets and pid files
	StateDir string // the embedded database's file
	DB       string // address of an external database, e.g. "unix:/run/openvswitch/db.sock"; "" for the embedded one
	PIDFile  string // one more pid file, beside those in RunDir; "" for none
	Log      *logging.Log

	Providers map[desired.Kind]netdev.OpenFunc // nil: all there are

	Ready    func() // called when the configuration is applied for the first time and commands are answered; may be nil
	Stopping func() // called when the end begins; may be nil
}

// Run is the daemon's life: it returns when ctx is done and everything is taken down, or when it cannot start.
func Run(ctx context.Context, c Config) error {
	d := &daemon{cfg: c, log: c.Log.Module("daemon")}
	if err := d.start(); err != nil {
		return errors.Join(err, d.stop())
	}
	return d.serve(ctx)
}

// daemon is what Run made, in the order of its making.
type daemon struct {
	cfg      Config
	log      *slog.Logger
	runDir   *control.RunDir
	pidFile  *pidFile
	embedded *embedded
	dbLink   string // db.sock in RunDir, when it leads to an external database
	dp       *datapath.Datapath
	rec      *reconcile.Reconciler
	db       *link
	loop     *loop
	commands *control.Server
	events   eventCounters
	coverage coverage
	flows    *flowFiles
	collect  *datapath.Collector
}

func (d *daemon) start() (err error) {
	if d.runDir, err = control.Claim(d.cfg.RunDir); err != nil {
		return explainPermission(err)
	}
	run := d.runDir.Path()
	if d.pidFile, err = writePIDFile(d.cfg.PIDFile, filepath.Join(run, "gvswitchd.pid")); err != nil {
		return explainPermission(err)
	}
	warnPrivilege(d.log)
	address := d.cfg.DB
	if address == "" {
		if d.embedded, err = startEmbedded(d.cfg.StateDir, run, d.cfg.Log.Module("database")); err != nil {
			return err
		}
		address = "unix:" + d.embedded.socket
	} else if d.dbLink, err = linkDatabase(address, run); err != nil {
		return err
	}
	cpus, err := cpu.Allowed()
	if err != nil {
		return fmt.Errorf("processors: %w", err)
	}
	providers := d.cfg.Providers
	if providers == nil {
		providers = Providers()
	}
	d.dp = datapath.New(datapath.Config{Log: d.cfg.Log.Module("datapath")})
	d.collect = d.dp.StartCollector(memoryLimit)
	d.flows = &flowFiles{now: d.dp.Now, reserve: d.dp.Reserve, log: d.cfg.Log.Module("bridge")}
	d.rec = reconcile.New(reconcile.Config{Datapath: d.dp, Providers: providers, Checks: checks(), RunDir: run, StateDir: d.cfg.StateDir, Log: d.cfg.Log.Module("bridge"), Flows: d.flows})
	d.loop = newLoop()
	d.loop.rec, d.loop.env, d.loop.system = d.rec, desired.Env{RunDir: run, CPUs: cpus}, status.System(version.String())
	d.loop.log, d.loop.events = d.log, &d.events
	d.watchPorts()
	d.db, err = startLink(address, d.cfg.Log.Module("database"))
	d.loop.db = d.db
	return err
}

// watchPorts has the loop look at the devices when something happens to one.
func (d *daemon) watchPorts() {
	d.dp.OnChange(func(*datapath.Port) {
		d.events.portChanged.Add(1)
		d.loop.poke()
	})
	faults := newFaultLog(d.cfg.Log.Module("bridge"))
	d.dp.OnPortFault(func(p *datapath.Port, reason string) {
		d.events.portFault.Add(1)
		faults.say(p.Name(), reason, time.Now())
		d.loop.poke()
	})
}

// serve runs until ctx is done or "exit" is called.
func (d *daemon) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener, err := d.runDir.Listen()
	if err != nil {
		return errors.Join(err, d.stop())
	}
	d.commands = control.NewServer(version.Line("gvswitchd"))
	c := &commands{dp: d.dp, directory: d.rec.Directory, log: d.cfg.Log, exit: cancel, events: &d.events, coverage: &d.coverage, flowFiles: d.flows}
	c.register(d.commands)
	d.loop.sample = func() {
		_, counts := c.counters()
		d.coverage.take(counts)
	}

	var running sync.WaitGroup
	var failure error
	running.Go(func() {
		d.loop.run(ctx)
	})
	running.Go(func() {
		if err := d.commands.Serve(ctx, listener); err != nil {
			failure = fmt.Errorf("command socket: %w", err)
			cancel()
		}
	})
	running.Go(func() {
		select {
		case <-d.loop.applied:
			d.log.Info("running", "version", version.String(), "run_dir", d.runDir.Path(), "database", d.db.address)
			if d.cfg.Ready != nil {
				d.cfg.Ready()
			}
		case <-ctx.Done():
		}
	})
	<-ctx.Done()
	if d.cfg.Stopping != nil {
		d.cfg.Stopping()
	}
	d.log.Info("ending")
	running.Wait()
	return errors.Join(failure, d.stop())
}

// stop takes down what was made, last things first.
func (d *daemon) stop() error {
	var errs []error
	if d.db != nil {
		d.db.Close()
	}
	if d.rec != nil {
		d.rec.Close()
	}
	if d.collect != nil {
		d.collect.Stop()
	}
	if d.dp != nil {
		d.dp.Close()
	}
	if d.embedded != nil {
		errs = append(errs, d.embedded.Close())
	}
	if d.dbLink != "" {
		errs = append(errs, os.Remove(d.dbLink))
	}
	if d.pidFile != nil {
		errs = append(errs, d.pidFile.remove())
	}
	if d.runDir != nil {
		errs = append(errs, d.runDir.Close())
	}
	return errors.Join(errs...)
}
