package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/schema"
)

var testTime = time.UnixMilli(1_700_000_000_000)

// TestCrashChild is not a test: TestKill runs it as the process to be killed.
// It counts next_cfg up and prints each value that Commit has promised.
func TestCrashChild(t *testing.T) {
	path := os.Getenv("GVSWITCH_CRASH_DB")
	if path == "" {
		return
	}
	s, err := Open(path, schema.OpenVSwitch())
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for {
		run(t, s, `[{"op":"mutate","table":"Open_vSwitch","where":[],"mutations":[["next_cfg","+=",1]]}]`)
		for _, r := range s.DB().Rows(s.DB().Schema().Tables["Open_vSwitch"]) {
			n, _ := r.Get(s.DB().Schema().Tables["Open_vSwitch"].Column("next_cfg")).Int()
			fmt.Println(n)
		}
	}
}

// Killed at any moment, a database opens again and has every promised change.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.db")
	s := open(t, path)
	run(t, s, addBridge)
	_ = s.Close()
	for round := range 20 {
		promised := killOne(t, path, time.Duration(5+rand.IntN(30))*time.Millisecond)
		s, err := Open(path, schema.OpenVSwitch())
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		tab := s.DB().Schema().Tables["Open_vSwitch"]
		for _, r := range s.DB().Rows(tab) {
			if n, _ := r.Get(tab.Column("next_cfg")).Int(); n != promised && n != promised+1 {
				t.Fatalf("round %d: next_cfg is %d, %d was promised", round, n, promised)
			}
		}
		_ = s.Close()
	}
}

// killOne runs the child for a while after its first change, and returns the
// last value that it promised.
func killOne(t *testing.T, path string, after time.Duration) (promised int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	cmd.Env = append(os.Environ(), "GVSWITCH_CRASH_DB="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Errorf("child: %s", lines.Text())
			break
		}
		if promised == 0 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		promised = n
	}
	_ = cmd.Wait()
	if promised == 0 {
		t.Fatal("child wrote nothing")
	}
	return promised
}

func BenchmarkCommit(b *testing.B) {
	for _, ports := range []int{64, 1000} {
		b.Run(fmt.Sprintf("ports=%d", ports), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "conf.db"))
			run(b, s, addBridge)
			for i := range ports {
				run(b, s, fmt.Sprintf(`[
				 {"op":"insert","table":"Interface","uuid-name":"i","row":{"name":"vm%d","type":"dpdkvhostuserclient","options":["map",[["vhost-server-path","/run/vm%d.sock"]]]}},
				 {"op":"insert","table":"Port","uuid-name":"p","row":{"name":"vm%d","interfaces":["named-uuid","i"]}},
				 {"op":"mutate","table":"Bridge","where":[],"mutations":[["ports","insert",["named-uuid","p"]]]}]`, i, i, i))
			}
			for b.Loop() {
				run(b, s, `[{"op":"mutate","table":"Open_vSwitch","where":[],"mutations":[["next_cfg","+=",1]]}]`)
			}
		})
	}
}
