package link

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// newNetns makes a named namespace for the test.
func newNetns(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("gvslink-%d-%d", os.Getpid(), time.Now().UnixNano()%1e6)
	run(t, "netns", "add", name)
	t.Cleanup(func() { run(t, "netns", "del", name) })
	return name
}

func acquire(t *testing.T, s string) *Namespace {
	t.Helper()
	n, err := Acquire(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Release)
	return n
}

func TestAcquire(t *testing.T) {
	ns := newNetns(t)
	byName, byPath := acquire(t, ns), acquire(t, "/run/netns/"+ns)
	if byName != byPath {
		t.Error("one namespace, two objects")
	}
	own, byPid := acquire(t, ""), acquire(t, fmt.Sprint(os.Getpid()))
	if own != byPid || own == byName {
		t.Error("the own namespace is not told by its process")
	}
	for s, want := range map[string]string{
		"/etc/passwd":       "is not a network namespace",
		"/proc/self/ns/ipc": "is not a network namespace",
		"/":                 "is not a network namespace",
		"nonexistent":       "no such file or directory",
		"..":                "invalid argument",
		"999999999":         "no such file or directory",
	} {
		if n, err := Acquire(s); err == nil {
			n.Release()
			t.Errorf("%q accepted", s)
		} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s) {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
}

func TestDo(t *testing.T) {
	ns := newNetns(t)
	n := acquire(t, ns)
	link := func() string {
		s, _ := os.Readlink("/proc/thread-self/ns/net")
		return s
	}
	outside, inside := link(), ""
	if err := n.Do(func() error { inside = link(); return unix.EBUSY }); !errors.Is(err, unix.EBUSY) {
		t.Errorf("error %v", err)
	}
	if inside == "" || inside == outside {
		t.Errorf("inside %q, outside %q", inside, outside)
	}
	for range 100 {
		if link() != outside {
			t.Fatal("a thread stayed in the namespace")
		}
		runtime.Gosched()
	}
}

func TestStateAndApply(t *testing.T) {
	ns := newNetns(t)
	n := acquire(t, ns)
	if _, err := n.Get("v0"); !errors.Is(err, ErrNoDevice) || err.Error() != "v0: no such device" {
		t.Errorf("error %v", err)
	}
	run(t, "-n", ns, "link", "add", "v0", "type", "veth", "peer", "name", "v1")
	run(t, "-n", ns, "link", "property", "add", "dev", "v0", "altname", "other")
	if _, err := n.Get("other"); !errors.Is(err, ErrNoDevice) {
		t.Errorf("an alternative name: error %v", err)
	}
	mac := []byte{2, 1, 2, 3, 4, 5}
	if err := n.Apply("v0", Settings{MTU: 1400, MAC: mac, Up: true}); err != nil {
		t.Fatal(err)
	}
	st, err := n.Get("v0")
	if err != nil || st.MTU != 1400 || st.MAC.String() != "02:01:02:03:04:05" || !st.Up || st.Running || st.Kind != "veth" || !st.Ether {
		t.Errorf("%+v, %v", st, err)
	}
	if err := n.Apply("v1", Settings{Up: true}); err != nil {
		t.Fatal(err)
	}
	if st, _ := n.Get("v0"); !st.Running {
		t.Error("no carrier")
	}
	if err := n.Apply("v0", Settings{MTU: 70000}); err == nil || !strings.Contains(err.Error(), "setting MTU 70000") {
		t.Errorf("error %v", err)
	}
	if hw := n.Hardware("v0"); hw.Driver != "veth" || hw.Speed != 10e9 || hw.Duplex != "full" {
		t.Errorf("%+v", hw)
	}
	if err := n.Delete("v0", st.Index+1000); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Get("v0"); err != nil {
		t.Fatal("another device of that name was deleted")
	}
	if err := n.Delete("v0", st.Index); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Get("v1"); !errors.Is(err, ErrNoDevice) {
		t.Error("the pair is still there")
	}
}

// awaits a signal.
func signalled(w *Watcher, d time.Duration) bool {
	select {
	case <-w.C:
		return true
	case <-time.After(d):
		return false
	}
}

func TestWatch(t *testing.T) {
	before := runtime.NumGoroutine()
	ns := newNetns(t)
	n, err := Acquire(ns)
	if err != nil {
		t.Fatal(err)
	}
	w := n.Watch("v0")
	run(t, "-n", ns, "link", "add", "x0", "type", "veth", "peer", "name", "x1")
	if signalled(w, 100*time.Millisecond) {
		t.Error("woken by another device")
	}
	run(t, "-n", ns, "link", "add", "v0", "type", "veth", "peer", "name", "v1")
	if !signalled(w, 10*time.Second) {
		t.Fatal("not woken when the device came")
	}
	st, _ := n.Get("v0")
	w.Follow(st.Index)
	time.Sleep(100 * time.Millisecond)
	signalled(w, 0)
	if err := n.Apply("v0", Settings{MTU: st.MTU}); err != nil || signalled(w, 100*time.Millisecond) {
		t.Errorf("a change that changes nothing woke it, or failed: %v", err)
	}
	run(t, "-n", ns, "link", "set", "v0", "name", "renamed")
	if !signalled(w, 10*time.Second) {
		t.Error("not woken by the renaming")
	}
	w.Stop()
	n.Release()
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("%d goroutines, %d before", got, before)
	}
}
