package control

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// POSIX locks do not exclude their own process, so the other daemon of these tests is this test binary run again.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CONTROL_TEST_CLAIM"); dir != "" {
		claimAndWait(dir)
		return
	}
	os.Exit(m.Run())
}

func claimAndWait(dir string) {
	r, err := Claim(dir)
	if err == nil {
		_, err = r.Listen()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("claimed")
	select {}
}

// other starts a second process that claims dir; say is the first line that it printed.
func other(t *testing.T, dir string) (cmd *exec.Cmd, say string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CONTROL_TEST_CLAIM="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	say, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(say)
}

func TestSecondDaemonIsRefused(t *testing.T) {
	dir := t.TempDir()
	r, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, say := other(t, dir)
	want := fmt.Sprintf("run directory %s is in use by another gvswitchd, pid %d; stop it or choose another with --run-dir", dir, os.Getpid())
	if say != want {
		t.Errorf("got  %s\nwant %s", say, want)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, say := other(t, dir); say != "claimed" {
		t.Errorf("after the first has gone: %s", say)
	}
}

// A killed daemon has the lock until the kernel is done with it; the next one waits for that.
func TestClaimAtOnceAfterKill(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		cmd, say := other(t, dir)
		if say != "claimed" {
			t.Fatal(say)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		r, err := Claim(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestExiting(t *testing.T) {
	cmd, _ := other(t, t.TempDir())
	pid := cmd.Process.Pid
	if exiting(pid) {
		t.Error("a process that lives")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !exiting(pid); { // it stays a zombie until Wait
		if time.Now().After(end) {
			t.Fatal("a process that was killed")
		}
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Wait()
	if !exiting(pid) {
		t.Error("a process that is gone")
	}
}

// A kill -9 leaves files; the next daemon replaces them.
func TestKilledDaemonIsReplaced(t *testing.T) {
	dir := t.TempDir()
	cmd, say := other(t, dir)
	if say != "claimed" {
		t.Fatal(say)
	}
	if socket, err := Target(dir, "ovs-vswitchd"); err != nil || socket != filepath.Join(dir, fmt.Sprintf("ovs-vswitchd.%d.ctl", cmd.Process.Pid)) {
		t.Errorf("target: %q, %v", socket, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := Target(dir, "ovs-vswitchd"); err == nil || !strings.Contains(err.Error(), "No such process") {
		t.Errorf("the pid file of a dead process is believed: %v", err)
	}

	r, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := fmt.Sprintf("gvswitchd.ctl gvswitchd.pid ovs-vswitchd.%d.ctl ovs-vswitchd.pid", os.Getpid())
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if info, err := os.Stat(Socket(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	listen := func(t *testing.T, dir string) error {
		t.Helper()
		r, err := Claim(dir)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = r.Close() })
		l, err := r.Listen()
		if err == nil {
			_ = l.Close()
		}
		return err
	}
	t.Run("not a socket", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(Socket(dir), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := listen(t, dir); err == nil || !strings.Contains(err.Error(), Socket(dir)) {
			t.Errorf("got %v", err)
		}
		if b, _ := os.ReadFile(Socket(dir)); string(b) != "mine" {
			t.Error("the file was touched")
		}
	})
	t.Run("a socket in use", func(t *testing.T) {
		dir := t.TempDir()
		l, err := net.Listen("unix", Socket(dir))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := listen(t, dir); err == nil || !strings.Contains(err.Error(), "another process listens") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a running ovs-vswitchd", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "ovs-vswitchd.pid")
		// A child holds the lock, as ovs-vswitchd would.
		child, say := other(t, t.TempDir())
		if say != "claimed" {
			t.Fatal(say)
		}
		if err := os.Link(filepath.Join(strings.TrimPrefix(child.Env[len(child.Env)-1], "CONTROL_TEST_CLAIM="), "gvswitchd.pid"), path); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("run directory %s is in use by ovs-vswitchd, pid %d", dir, child.Process.Pid)
		if err := listen(t, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("a dead ovs-vswitchd's pid file", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "ovs-vswitchd.pid"), []byte("1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := listen(t, dir); err != nil {
			t.Error(err)
		}
	})
}

func TestClaimErrors(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, strings.Repeat("x", 110))
	if _, err := Claim(long); err == nil || !strings.Contains(err.Error(), "at most 107") {
		t.Errorf("long path: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as run directory: %v", err)
	}
}

func TestTargetErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("words.pid", "hello\n")
	write("stale.pid", "1\n")
	for name, want := range map[string]string{
		"none":  fmt.Sprintf("cannot read pidfile %q (No such file or directory)", dir+"/none.pid"),
		"words": fmt.Sprintf("cannot read pidfile %q (%q is not a process id)", dir+"/words.pid", "hello\n"),
		"stale": fmt.Sprintf("cannot read pidfile %q (No such process)", dir+"/stale.pid"),
	} {
		if _, err := Target(dir, name); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if s, err := Target(dir, "/a/socket"); err != nil || s != "/a/socket" {
		t.Errorf("a path: %q, %v", s, err)
	}
}
