package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// asDaemon in the environment makes the test's own binary gvswitchd.
const asDaemon = "GVSWITCHD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// home is a daemon's directories.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := os.MkdirTemp("", "gvd") // t.TempDir's paths are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &home{t, dir}
}

func (h *home) run() string { return filepath.Join(h.dir, "run") }
func (h *home) db() string  { return filepath.Join(h.dir, "state", "conf.db") }

// command is a daemon that is not started yet, in a network namespace of its own, since each bridge makes a device.
func (h *home) command(args ...string) *exec.Cmd {
	args = append([]string{"--run-dir", h.run(), "--state-dir", filepath.Dir(h.db())}, args...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asDaemon+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	return cmd
}

// start starts a daemon and waits until it answers.
func (h *home) start(args ...string) *proc.Process {
	h.t.Helper()
	p, err := proc.Start(h.command(args...))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if p.Alive() {
			p.Kill()
		}
	})
	h.wait("the command socket", func() error {
		if !p.Alive() {
			h.t.Fatalf("gvswitchd ended: %s\n%s", p.State(), p.Output())
		}
		_, err := h.appctl("version")
		return err
	})
	return p
}

// fails runs a daemon that cannot start and returns what it says.
func (h *home) fails(cmd *exec.Cmd) string {
	h.t.Helper()
	p, err := proc.Start(cmd)
	if err != nil {
		h.t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
		p.Kill()
		h.t.Fatalf("gvswitchd runs, but should have refused to\n%s", p.Output())
	}
	if p.ExitCode() != 1 {
		h.t.Errorf("exit status %d, want 1", p.ExitCode())
	}
	return p.Output()
}

func (h *home) appctl(args ...string) (string, error) {
	return proc.Run(context.Background(), "ovs-appctl", append([]string{"--timeout=5", "-t", filepath.Join(h.run(), "gvswitchd.ctl")}, args...)...)
}

func (h *home) vsctl(args ...string) (string, error) {
	return proc.Run(context.Background(), "ovs-vsctl", append([]string{"--db=unix:" + h.run() + "/db.sock", "--timeout=5"}, args...)...)
}

func (h *home) must(out string, err error) string {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (h *home) wait(what string, f func() error) {
	h.t.Helper()
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	h.t.Fatalf("%s: %v", what, err)
}

// ends sends SIGTERM and checks that the daemon ends well and leaves nothing behind.
func (h *home) ends(p *proc.Process) {
	h.t.Helper()
	if err := p.Stop(10 * time.Second); err != nil || p.ExitCode() != 0 {
		h.t.Errorf("after SIGTERM: %v, %s\n%s", err, p.State(), p.Output())
	}
	left, err := os.ReadDir(h.run())
	if err != nil || len(left) != 0 {
		h.t.Errorf("left in the run directory: %v, %v", left, err)
	}
}

// addPorts makes a bridge with two vhost-user ports.
func (h *home) addPorts() {
	h.t.Helper()
	h.must(h.vsctl("add-br", "br0"))
	for _, p := range []string{"vu0", "vu1"} {
		h.must(h.vsctl("add-port", "br0", p, "--", "set", "Interface", p, "type=dpdkvhostuser"))
	}
}

func TestNotifiesAndEndsCleanly(t *testing.T) {
	h := newHome(t)
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(h.dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(h.dir, "notify"))
	p := h.start()
	h.addPorts()
	if _, err := os.Stat(filepath.Join(h.run(), "vu1")); err != nil {
		t.Error(err)
	}
	h.ends(p)
	var states []string
	for range 2 {
		b := make([]byte, 100)
		_ = listener.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, err := listener.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, string(b[:n]))
	}
	if got := strings.Join(states, " "); got != "READY=1 STOPPING=1" {
		t.Errorf("systemd was told %q", got)
	}
}

func TestExitCommand(t *testing.T) {
	h := newHome(t)
	p := h.start()
	h.must(h.appctl("exit"))
	select {
	case <-p.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("still runs")
	}
	if p.ExitCode() != 0 {
		t.Errorf("ended with %s", p.State())
	}
}

func TestSecondInstance(t *testing.T) {
	h := newHome(t)
	p := h.start("--pidfile")
	out := h.fails(h.command())
	if want := fmt.Sprintf("run directory %s is in use by another gvswitchd", h.run()); !strings.Contains(out, want) {
		t.Errorf("got %q, want %q", out, want)
	}
	h.must(h.appctl("version"))
	h.ends(p)
}

// After kill -9 the configuration is there again, with the same port numbers, and what was left behind does not matter.
func TestKill(t *testing.T) {
	h := newHome(t)
	p := h.start()
	h.addPorts()
	h.must(h.vsctl("set", "Interface", "vu1", "external_ids:iface-id=x"))
	for range 3 {
		p.Kill()
		p = h.start()
		h.wait("ports", func() error {
			for port, want := range map[string]string{"vu0": "1", "vu1": "2"} {
				if got, err := h.vsctl("get", "Interface", port, "ofport"); err != nil || strings.TrimSpace(got) != want {
					return fmt.Errorf("ofport of %s is %q, %v", port, got, err)
				}
				if c, err := net.Dial("unix", filepath.Join(h.run(), port)); err != nil {
					return err
				} else if err := c.Close(); err != nil {
					return err
				}
			}
			return nil
		})
		if got := h.must(h.vsctl("get", "Interface", "vu1", "external_ids:iface-id")); got != "x" {
			t.Errorf("iface-id is %q", got)
		}
	}
	h.ends(p)
}

func TestDamagedDatabase(t *testing.T) {
	h := newHome(t)
	p := h.start()
	h.addPorts()
	h.ends(p)
	good, err := os.ReadFile(h.db())
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-20] ^= 1
	for name, text := range map[string][]byte{
		"empty":           {},
		"cut":             good[:len(good)-7],
		"cut in header":   good[:11],
		"one bit flipped": flipped,
		"something else":  []byte("PK\x03\x04"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(h.db(), text, 0o600); err != nil {
				t.Fatal(err)
			}
			out := (&home{t, h.dir}).fails(h.command())
			if !strings.Contains(out, "gvswitchd: database "+h.db()) || strings.Count(out, "\n") > 3 {
				t.Errorf("says %q", out)
			}
			if now, err := os.ReadFile(h.db()); err != nil || !bytes.Equal(now, text) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
	if err := os.WriteFile(h.db(), good, 0o600); err != nil {
		t.Fatal(err)
	}
	h.ends(h.start())
}

func TestLogFile(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(h.dir, "log")
	p := h.start("--log-file", file, "--log-format", "json", "--pidfile="+filepath.Join(h.dir, "pid"))
	if pid := h.must(proc.Run(t.Context(), "cat", filepath.Join(h.dir, "pid"))); pid != fmt.Sprint(p.Pid()) {
		t.Errorf("pid file says %s, want %d", pid, p.Pid())
	}
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.wait("new log file", func() error { _, err := os.Stat(file); return err })
	h.ends(p)
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"msg":"ending"`) {
		t.Errorf("new log is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "pid")); err == nil {
		t.Error("the pid file is left")
	}
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--no-such-flag"}, "no-such-flag"},
		{[]string{"--log-level", "loud"}, `log level "loud" is not one of`},
		{[]string{"--log-format", "xml"}, `log format "xml" is neither`},
		{[]string{"--log-file", "/nonexistent/log"}, "log file: open /nonexistent/log"},
		{[]string{"--db", "ssl:1.2.3.4:6640"}, `database address "ssl:1.2.3.4:6640"`},
		{[]string{"--run-dir", "/" + strings.Repeat("x", 107)}, "a unix socket path has at most 107"},
		{[]string{"extra"}, `unexpected argument "extra"`},
	} {
		h := newHome(t)
		if out := h.fails(h.command(c.args...)); !strings.Contains(out, c.want) {
			t.Errorf("%q: says %q", c.args, out)
		}
	}
}

// Somebody without any privilege is told what is missing, and can run a switch for vhost-user guests in directories of his own.
func TestUnprivileged(t *testing.T) {
	h := newHome(t)
	program := filepath.Join(h.dir, "gvswitchd")
	h.must(proc.Run(t.Context(), "cp", os.Args[0], program))
	if err := os.Chmod(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	nobody := func(args ...string) *exec.Cmd {
		cmd := h.command(args...)
		cmd.Path = program
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		return cmd
	}
	if out := h.fails(nobody()); !strings.Contains(out, "permission denied (gvswitchd runs as user 65534; run it as root, or give it directories of its own") {
		t.Errorf("says %q", out)
	}
	own := filepath.Join(h.dir, "own")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(own, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	h.dir = own
	p, err := proc.Start(nobody())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	h.wait("the command socket", func() error { _, err := h.appctl("version"); return err })
	h.must(h.vsctl("add-br", "br0")) // Debian's ovs-vsctl says what is wrong and exits with 0
	if out := h.must(h.vsctl("get", "Interface", "br0", "error")); !strings.Contains(out, "CAP_NET_ADMIN") {
		t.Errorf("error of br0 is %s", out)
	}
	h.must(h.vsctl("add-port", "br0", "vu0", "--", "set", "Interface", "vu0", "type=dpdkvhostuser"))
	if !strings.Contains(p.Output(), "CAP_NET_ADMIN") {
		t.Errorf("the log does not name what is missing:\n%s", p.Output())
	}
	h.ends(p)
}

// Debian's ovsdb-server holds the configuration; it is ended and started again under a running switch.
func TestExternalDatabase(t *testing.T) {
	h := newHome(t)
	dir := filepath.Join(h.dir, "ovs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := peers.StartOVSDB(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { db.Stop() }()
	vsctl := func(args ...string) string { t.Helper(); return h.must(db.Vsctl(t.Context(), args...)) }

	p := h.start("--db", db.Address)
	vsctl("add-br", "br0")
	vsctl("add-port", "br0", "vu0", "--", "set", "Interface", "vu0", "type=dpdkvhostuser")
	if _, err := os.Stat(h.db()); err == nil {
		t.Error("an embedded database was made as well")
	}
	h.must(h.vsctl("br-exists", "br0")) // by db.sock in the run directory
	db.Stop()
	h.must(h.appctl("fdb/show", "br0")) // goes on meanwhile
	if db, err = peers.StartOVSDB(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	// link_state is ephemeral, so the new server has it from the switch again.
	vsctl("wait-until", "Interface", "vu0", "link_state=down")
	vsctl("del-port", "vu0")
	h.wait("the port to go", func() error {
		if out, err := h.appctl("dpif/show"); err != nil || strings.Contains(out, "vu0") {
			return fmt.Errorf("%s, %v", out, err)
		}
		return nil
	})

	// A second switch on the same database waits for the first.
	other := newHome(t)
	q := other.start("--db", db.Address)
	h.wait("the second switch to say that it waits", func() error {
		if !strings.Contains(q.Output(), "another switch acts on this database") {
			return fmt.Errorf("it says %s", q.Output())
		}
		return nil
	})
	h.ends(p)
	other.wait("the second switch to take over", func() error {
		if out, err := other.appctl("ofproto/list"); err != nil || strings.TrimSpace(out) != "br0" {
			return fmt.Errorf("%s, %v", out, err)
		}
		return nil
	})
	other.ends(q)
}
