package main

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/client"
	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// fakeSwitch applies changes as gvswitchd does: it gives every interface a port number, or an error if its type is "bad", reports on
// other rows that ask for it in external_ids, and makes cur_cfg follow next_cfg.
func fakeSwitch(t *testing.T, db string) {
	t.Helper()
	dial, err := client.Address(db)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := client.Open(ctx, dial, client.Options{Tables: map[string][]string{
		"Open_vSwitch": nil, "Interface": nil, "Bridge": nil, "Port": nil,
	}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for now := r.Snapshot(); ; {
			apply(ctx, r, now)
			next, err := r.Wait(ctx, now)
			if err != nil {
				return
			}
			now = next
		}
	}()
	t.Cleanup(func() { cancel(); r.Close(); <-done })
}

func apply(ctx context.Context, r *client.Replica, now *client.Snapshot) {
	ovs := now.First("Open_vSwitch")
	if ovs == nil {
		return
	}
	next, _ := ovs.Get("next_cfg").Int()
	if cur, _ := ovs.Get("cur_cfg").Int(); cur >= next {
		return
	}
	x := r.Begin()
	ifaces := now.Rows("Interface")
	slices.SortFunc(ifaces, func(a, b *client.Row) int { return strings.Compare(a.Get("name").Str(), b.Get("name").Str()) })
	last := int64(0)
	for _, i := range ifaces {
		n, _ := i.Get("ofport").Int()
		last = max(last, n)
	}
	for _, i := range ifaces {
		if i.Get("type").Str() == "bad" {
			x.Update("Interface", i.UUID(), client.Columns{
				"ofport": ovsdb.Scalar(ovsdb.Int(-1)), "error": ovsdb.Scalar(ovsdb.Str("type: bad is not known")),
			})
			continue
		}
		n, ok := i.Get("ofport").Int()
		if !ok || n < 1 {
			last++
			n = last
		}
		cols := client.Columns{"ofport": ovsdb.Scalar(ovsdb.Int(n)), "error": ovsdb.Datum{}}
		if peer, ok := i.Get("options").MapValue("peer"); ok {
			cols["error"] = ovsdb.Scalar(ovsdb.Str("options:peer=" + peer + ": there is no patch port of that name"))
			if strings.Contains(peer, " ") {
				cols["error"] = ovsdb.Scalar(ovsdb.Str(peer))
			}
			if peer == "worse" {
				cols["error"] = ovsdb.Scalar(ovsdb.Str("a; options:peer=" + peer + ": there is no patch port of that name"))
			}
		} else if i.Get("type").Str() == "half" {
			cols["error"] = ovsdb.Scalar(ovsdb.Str("half is not set"))
		}
		x.Update("Interface", i.UUID(), cols)
	}
	for _, table := range []string{"Bridge", "Port"} {
		for _, row := range now.Rows(table) {
			status := row.Get("external_ids").StringMap()
			maps.DeleteFunc(status, func(k, _ string) bool { return k != "error" && k != "warning" })
			x.Update(table, row.UUID(), client.Columns{"status": ovsdb.StringMap(status)})
		}
	}
	x.Update("Open_vSwitch", ovs.UUID(), client.Columns{"cur_cfg": ovsdb.Scalar(ovsdb.Int(next))})
	_ = r.Commit(ctx, x) // one that fails shows in the test's timeout
}

// What the switch could not do is told, and is in the exit status.
func TestWaitForSwitch(t *testing.T) {
	db := ovsdbServer(t)
	fakeSwitch(t, db)
	for _, c := range []struct {
		program, line string
		status        int
		stderr        string
	}{
		{"gvsctl", "init", 0, ""},
		{"gvsctl", "add-br br0 -- add-port br0 ok", 0, ""},
		{"gvsctl", "get Interface ok ofport", 0, ""},
		{"gvsctl", "add-port br0 p1 type=bad", 1, "gvsctl: Error detected while setting up 'p1': type: bad is not known\n"},
		{"gvsctl", "add-port br0 p2", 0, ""}, // p1 is an old story
		{"gvsctl", "set Interface p2 type=half", 1, "gvsctl: Error detected while setting up 'p2': half is not set\n"},
		{"gvsctl", "set Interface p2 mtu_request=1400", 1, "gvsctl: Error detected while setting up 'p2': half is not set\n"},
		{"gvsctl", "set Interface p2 type=fine", 0, ""},
		{"gvsctl", "--no-wait add-port br0 p3 type=bad", 0, ""},
		{"gvsctl", "del-port p3", 0, ""},
		{"gvsctl", "set Bridge br0 external_ids:error=nonsense", 1, "gvsctl: Bridge br0: nonsense\n"},
		{"gvsctl", "set Bridge br0 external_ids={}", 0, ""},
		{"gvsctl", "set Port ok external_ids:warning=no_stp", 0, "gvsctl: warning: Port ok: no_stp\n"},
		{"gvsctl", "set Port ok tag=1", 0, ""}, // the warning is known
		{"gvsctl", "set Port ok external_ids:error=a external_ids:warning=b", 1, "gvsctl: Port ok: a\n"},
		{"gvsctl", "set Port ok tag=2", 1, "gvsctl: Port ok: a\n"},
		{"gvsctl", "set Port ok external_ids:x=y", 0, ""}, // nothing that the switch cares for
		{"gvsctl", "add-port br0 h0 type=patch options:peer=h1", 0, "gvsctl: warning: Interface h0: options:peer=h1: there is no patch port of that name\n"},
		{"gvsctl", "set Interface h0 mtu_request=1400", 0, ""}, // it is known
		{"gvsctl", "set Interface h0 options:peer=worse", 1, "gvsctl: Error detected while setting up 'h0': a\n"},
		{"gvsctl", "set Bridge br0 external_ids={}", 0, ""},
		{"gvsctl", "set Port h0 external_ids:error=late -- set Interface h0 'options:peer=\"port h0: late\"'", 1, "gvsctl: Error detected while setting up 'h0': port h0: late\n"},
		{"ovs-vsctl", "set Bridge br0 external_ids:error=nonsense", 0, ""},
		{"ovs-vsctl", "add-port br0 q1 -- set Interface q1 type=bad", 65, "ovs-vsctl: Error detected while setting up 'q1': type: bad is not known.  See ovs-vswitchd log for details.\n"},
		{"ovs-vsctl", "set Interface q1 type=bad mtu_request=1400", 0, ""},
	} {
		got := call(nil, c.program, append([]string{"-t", "20", "--db=" + db}, words(c.line)...)...)
		if got.status != c.status || got.stderr != c.stderr {
			t.Errorf("%s %s: %v\nwant status %d, stderr %q", c.program, c.line, got, c.status, c.stderr)
		}
	}
}

// Nobody applies the change: the time runs out, with the reason.
func TestTimeout(t *testing.T) {
	db := ovsdbServer(t)
	for _, c := range []struct {
		program, line string
		status        int
		want          string
	}{
		{"gvsctl", "add-br br0", 1, "gvsctl: timed out after 1s: the change is in the database, but the switch has not applied it"},
		{"ovs-vsctl", "add-br br1", 142, "ovs-vsctl: timed out after 1s"},
		{"gvsctl", "wait-until Interface nosuch", 1, "gvsctl: timed out after 1s: no answer from the database, or wait-until was not fulfilled"},
		{"gvsctl", "--retry --db=unix:/nonexistent/db.sock show", 1, "gvsctl: timed out after 1s"},
	} {
		started := time.Now()
		got := call(nil, c.program, append([]string{"-t1", "--db=" + db}, words(c.line)...)...)
		if got.status != c.status || !strings.HasPrefix(got.stderr, c.want) {
			t.Errorf("%s: %v", c.line, got)
		}
		if d := time.Since(started); d < 900*time.Millisecond {
			t.Errorf("%s: it took only %v", c.line, d)
		}
	}
}

// wait-until returns when another client has made it true.
func TestWaitUntil(t *testing.T) {
	db := ovsdbServer(t)
	done := make(chan outcome, 1)
	go func() {
		done <- call(nil, "gvsctl", "-t120", "--no-wait", "--db="+db, "wait-until", "Bridge", "br0", "other_config:x=1", "--", "get", "Bridge", "br0", "name")
	}()
	for _, line := range []string{"add-br br0", "set Bridge br0 other_config:x=2", "set Bridge br0 other_config:x=1"} {
		select {
		case o := <-done:
			t.Fatalf("before %q: %v", line, o)
		case <-time.After(50 * time.Millisecond):
		}
		if o := callReal(t, "ovs-vsctl", append([]string{"--no-wait", "--db=" + db}, words(line)...)...); o.status != 0 {
			t.Fatal(o)
		}
	}
	if o := <-done; o.status != 0 || o.stdout != "br0\n" {
		t.Error(o)
	}
}

// Many at once: each change counts, none is lost, none fails.
func TestConcurrentChanges(t *testing.T) {
	db := ovsdbServer(t)
	if o := call(nil, "gvsctl", "--no-wait", "--db="+db, "add-br", "br0"); o.status != 0 {
		t.Fatal(o)
	}
	const n = 24
	results := make(chan outcome, n)
	var want []string
	for i := range n {
		name := "p" + string(rune('a'+i))
		want = append(want, name)
		go func() {
			results <- call(nil, "gvsctl", "-t120", "--no-wait", "--db="+db, "add-port", "br0", name, "--", "add", "Bridge", "br0", "flood_vlans", string(rune('1'+i%9)), "--", "set", "Bridge", "br0", "other_config:"+name+"=1")
		}()
	}
	for range n {
		if o := <-results; o.status != 0 {
			t.Error(o)
		}
	}
	got := strings.Fields(call(nil, "gvsctl", "--db="+db, "list-ports", "br0").stdout)
	if !slices.Equal(got, want) {
		t.Errorf("got ports %v", got)
	}
	o := call(nil, "gvsctl", "--db="+db, "get", "Bridge", "br0", "other_config", "flood_vlans")
	if strings.Count(o.stdout, "=") != n || !strings.Contains(o.stdout, "[1, 2, 3, 4, 5, 6, 7, 8, 9]") {
		t.Errorf("lost changes: %v", o)
	}
}

// The database is restarted while we wait for the switch.
func TestDatabaseRestart(t *testing.T) {
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "conf.db"), filepath.Join(dir, "db.sock")
	if out, err := exec.Command("ovsdb-tool", "create", file, vswitchSchema).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	start := func() *exec.Cmd {
		cmd := exec.Command("ovsdb-server", file, "--remote=punix:"+socket, "--unixctl="+filepath.Join(dir, "ctl"), "-vconsole:off", "--no-chdir")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	stop := func(cmd *exec.Cmd) { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = os.Remove(socket) }
	first := start()
	done := make(chan outcome, 1)
	go func() { done <- call(nil, "gvsctl", "-t120", "--retry", "--db=unix:"+socket, "add-br", "br0") }()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		o := call(nil, "gvsctl", "--db=unix:"+socket, "br-exists", "br0")
		if o.status == 0 {
			break
		}
		if time.Now().After(deadline) {
			stop(first)
			t.Fatal(o)
		}
	}
	stop(first)
	second := start()
	defer stop(second)
	time.Sleep(100 * time.Millisecond)
	fakeSwitch(t, waitFor(t, socket))
	if o := <-done; o.status != 0 || o.stderr != "" {
		t.Error(o)
	}
}
