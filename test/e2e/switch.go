package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// binDir is where gvswitchd and gvsctl are; TestMain sets it.
var binDir string

// startTime is how long gvswitchd may take to answer after its start.
const startTime = 30 * time.Second

// Options say how a test's gvswitchd is started.
type Options struct {
	DB    string       // the --db argument; the embedded server when empty
	Netns *peers.Netns // where it runs; a namespace of its own when nil
	Args  []string     // more arguments
	Env   []string     // more of its environment
	User  int          // the user id it runs as; root when 0
	Caps  []string     // the capabilities of that user: "net_admin"
}

// Switch is a gvswitchd of the test's own. It is used from the test's goroutine.
type Switch struct {
	RunDir, StateDir string
	Netns            *peers.Netns // where it runs: its internal ports and taps are here
	t                testing.TB
	opts             Options
	proc             *proc.Process
	logs             []*proc.Process // of the daemons before this one
}

// NewSwitch starts a gvswitchd with an empty database. At the end of the test its
// counters are checked (every packet must be accounted for), it must end cleanly,
// and its log is printed if the test failed.
func NewSwitch(t testing.TB, opts Options) *Switch {
	t.Helper()
	// Not t.TempDir: its path is too long for sockets.
	dir, err := os.MkdirTemp("", "gvs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Switch{RunDir: dir + "/run", StateDir: dir + "/state", Netns: opts.Netns, t: t, opts: opts}
	if s.Netns == nil {
		s.Netns = newNetns(t, "sw")
	}
	for _, d := range []string{s.RunDir, s.StateDir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d, opts.User, opts.User); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.finish)
	return s
}

// during is the switch for a part of its test that runs beside others: failures are the part's. The part does not stop it.
func (s *Switch) during(t testing.TB) *Switch {
	part := *s
	part.t = t
	return &part
}

// command is the daemon's command line.
func (s *Switch) command() *exec.Cmd {
	args := []string{filepath.Join(binDir, "gvswitchd"), "--run-dir", s.RunDir, "--state-dir", s.StateDir}
	if s.opts.User != 0 {
		id := strconv.Itoa(s.opts.User)
		caps := "-all"
		for _, c := range s.opts.Caps {
			caps += ",+" + c
		}
		args = append([]string{
			"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups",
			"--inh-caps=" + caps, "--ambient-caps=" + caps, "--bounding-set=" + caps,
		}, args...)
	}
	if s.opts.DB != "" {
		args = append(args, "--db", s.opts.DB)
	}
	args = append(args, s.opts.Args...)
	cmd := s.Netns.Wrap(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), s.opts.Env...)
	return cmd
}

// Start starts the daemon, again after Stop or Kill, and returns when it answers.
func (s *Switch) Start() {
	s.t.Helper()
	if s.proc != nil {
		s.logs = append(s.logs, s.proc)
	}
	var err error
	if s.proc, err = proc.Start(s.command()); err != nil {
		s.t.Fatal(err)
	}
	var last error
	for end := time.Now().Add(startTime); time.Now().Before(end) && s.proc.Alive(); time.Sleep(20 * time.Millisecond) {
		if _, last = s.TryCtl("show"); last == nil {
			return
		}
	}
	s.t.Fatalf("gvswitchd (%s) does not answer: %v\n%s", s.proc.State(), last, s.proc.Output())
}

// Kill ends the daemon as a crash does.
func (s *Switch) Kill() { s.proc.Kill() }

// Stop ends the daemon as an operator does; it must end by itself, with status 0.
func (s *Switch) Stop() {
	s.t.Helper()
	if err := s.proc.Stop(startTime); err != nil {
		s.t.Error(err)
	} else if code := s.proc.ExitCode(); code != 0 {
		s.t.Errorf("gvswitchd ended with %s", s.proc.State())
	}
}

// finish is what is checked at the end of every test.
func (s *Switch) finish() {
	if s.proc.Alive() {
		s.CheckConservation()
		s.Stop()
	} else if s.proc.ExitCode() != 0 {
		s.t.Errorf("gvswitchd died: %s", s.proc.State())
	}
	if s.t.Failed() {
		for _, p := range append(s.logs, s.proc) {
			s.t.Logf("log of gvswitchd %d:\n%s", p.Pid(), p.Output())
		}
	}
}

// CheckConservation has the switch add up its counters: what it received, copied,
// sent and dropped under a name must agree.
func (s *Switch) CheckConservation() {
	s.t.Helper()
	if _, err := s.TryCtl("conservation/check"); err != nil {
		s.t.Errorf("packets are not accounted for: %v", err)
	}
}

// ctlTime is how long any command may take.
const ctlTime = 30 * time.Second

// TryCtl runs gvsctl. The error has its exit status and what it printed.
func (s *Switch) TryCtl(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ctlTime)
	defer cancel()
	return proc.Run(ctx, filepath.Join(binDir, "gvsctl"), append([]string{"--run-dir", s.RunDir}, args...)...)
}

// Ctl is TryCtl for a command that must succeed.
func (s *Switch) Ctl(args ...string) string {
	s.t.Helper()
	out, err := s.TryCtl(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// statistic reads a counter of an Interface row; the daemon writes them now and then.
func (s *Switch) statistic(port, key string) (uint64, error) {
	out, err := s.TryCtl("get", "Interface", port, "statistics:"+key)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(out), 10, 64)
}

// AddPort adds a port to br0: its Interface gets the settings "COLUMN=VALUE".
func (s *Switch) AddPort(name string, settings ...string) {
	s.t.Helper()
	s.Ctl(append([]string{"add-port", "br0", name, "--", "set", "Interface", name}, settings...)...)
}

// AddVhost adds a vhost-user server port to br0 and returns its socket.
func (s *Switch) AddVhost(name string, settings ...string) string {
	s.t.Helper()
	s.AddPort(name, append([]string{"type=dpdkvhostuser"}, settings...)...)
	return filepath.Join(s.RunDir, name)
}

// AddNetns makes a namespace behind a veth port of br0 and gives its eth0
// addresses. No offload setting is touched.
func (s *Switch) AddNetns(port string, addrs ...string) *peers.Netns {
	s.t.Helper()
	n := newNetns(s.t, port)
	s.AddPort(port, "type=veth", "options:peer=eth0", "options:netns="+n.Name)
	if err := n.AddAddrs(context.Background(), "eth0", addrs...); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Pid is the daemon's process id.
func (s *Switch) Pid() int { return s.proc.Pid() }

// Signal sends the daemon a signal.
func (s *Switch) Signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.proc.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Log is what this daemon has logged.
func (s *Switch) Log() string { return s.proc.Output() }

func newNetns(t testing.TB, word string) *peers.Netns {
	t.Helper()
	n, err := peers.NewNetns(context.Background(), word)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Remove)
	return n
}

// eventually calls f until it returns nil, and fails the test with its last error
// when that takes too long.
func eventually(t testing.TB, timeout time.Duration, what string, f func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("%s: not within %v: %v", what, timeout, err)
}

// want is an error unless text has all the words.
func want(text string, words ...string) error {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return fmt.Errorf("no %q in:\n%s", w, text)
		}
	}
	return nil
}
