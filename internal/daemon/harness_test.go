package daemon_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/gvswitch/gvswitch/internal/daemon"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/logging"
	"github.com/gvswitch/gvswitch/netdev"
)

// rig is a daemon in this process, with its directories.
type rig struct {
	t      *testing.T
	dir    string
	db     string // --db
	cancel context.CancelFunc
	ended  chan error
}

func newRig(t *testing.T) *rig {
	dir, err := os.MkdirTemp("", "gvd") // t.TempDir's paths are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &rig{t: t, dir: dir}
}

func (r *rig) run() string { return filepath.Join(r.dir, "run") }

// providers are the real ones, with devices that need no privilege in place of the kernel's.
func providers() map[desired.Kind]netdev.OpenFunc {
	m := maps.Clone(daemon.Providers())
	m[desired.Internal] = m[desired.Dummy]
	return m
}

// start waits until the daemon is ready.
func (r *rig) start() error {
	log, err := logging.New(logging.Config{Level: "dbg", File: filepath.Join(r.dir, "log")})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.ended = cancel, make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		defer log.Close()
		r.ended <- daemon.Run(ctx, daemon.Config{
			RunDir: r.run(), StateDir: filepath.Join(r.dir, "state"), DB: r.db, Log: log, Providers: providers(), Ready: func() { close(ready) },
		})
	}()
	select {
	case <-ready:
		return nil
	case err := <-r.ended:
		r.ended <- err
		return err
	case <-time.After(time.Minute):
		return fmt.Errorf("not ready in time; log:\n%s", r.log())
	}
}

// stop ends the daemon and waits for it.
func (r *rig) stop() error {
	r.cancel()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(time.Minute):
		return fmt.Errorf("did not end in time; log:\n%s", r.log())
	}
}

func (r *rig) log() string {
	text, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// prelude is what the scripts of testdata may use: the real tools of Open vSwitch, and iface, which prints what an operator looks at.
const prelude = `
vsctl() { ovs-vsctl --db=unix:$RUN/db.sock --timeout=5 "$@" 2>&1 | grep -v 'The default log directory'; return ${PIPESTATUS[0]}; }
appctl() { ovs-appctl --timeout=5 -t $RUN/gvswitchd.ctl "$@"; }
gvsctl() { $GVSCTL --run-dir=$RUN "$@"; }
ofctl() { OVS_RUNDIR=$RUN $(dirname $GVSCTL)/ovs-ofctl "$@" 2>&1; }
iface() { for i in "$@"; do
  echo "$i ofport=$(vsctl get Interface "$i" ofport) error=$(vsctl get Interface "$i" error) link=$(vsctl get Interface "$i" link_state) warning=$(vsctl --if-exists get Interface "$i" status:warning)"
done; }
`

// gvsctl is the program, under its name and as ovs-ofctl.
func gvsctl(t *testing.T) string {
	t.Helper()
	path, err := buildGvsctl()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildGvsctl = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gvsctl")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "gvsctl")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/gvsctl").CombinedOutput(); err != nil {
		return "", fmt.Errorf("gvsctl: %w\n%s", err, out)
	}
	return path, os.Symlink("gvsctl", filepath.Join(dir, "ovs-ofctl"))
})

// built is the directory with gvsctl, "" if no test needed it.
var built string

func TestMain(m *testing.M) {
	status := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(status)
}

// script runs shell commands and returns what they print, with the directory's name taken out.
func (r *rig) script(text string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", prelude+text)
	cmd.Env = append(os.Environ(), "RUN="+r.run(), "DIR="+r.dir, "GVSCTL="+gvsctl(r.t))
	out, err := cmd.CombinedOutput()
	result := strings.ReplaceAll(string(out), r.dir, "DIR")
	if err != nil {
		result += fmt.Sprintf("(%v)\n", err)
	}
	return result
}

// Each file of testdata is one life of a switch: "sh" runs a script, "restart" ends the daemon and starts another.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		r := newRig(t)
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "sh":
				return r.script(d.Input)
			case "restart":
				if err := r.stop(); err != nil {
					t.Fatal(err)
				}
				if err := r.start(); err != nil {
					t.Fatal(err)
				}
				return ""
			default:
				t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
				return ""
			}
		})
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if left := r.script("ls -A $RUN"); left != "" {
			t.Errorf("left in the run directory: %q", left)
		}
		if t.Failed() {
			t.Log(r.log())
		}
	})
}
