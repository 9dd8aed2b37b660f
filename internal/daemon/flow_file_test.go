package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// What a file's text says is read back as the same, and flows with timeouts are not in it.
func TestFlowFileText(t *testing.T) {
	tables := rules.New()
	mods, err := readFlows(`
table=3,priority=7,cookie=9,importance=2,tcp,tcp_dst=80,actions=set_field:10.0.0.1->ip_dst,output:3
priority=1,idle_timeout=5,actions=drop
priority=2,hard_timeout=5,actions=drop
in_port=LOCAL,dl_vlan=5,actions=strip_vlan,normal
actions=learn(table=4,hard_timeout=9,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),resubmit(,4)
`, "x", "any", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tables.Apply(mods, rules.Options{}); err != nil {
		t.Fatal(err)
	}
	text := string(flowFileText(tables))
	if strings.Count(text, "\n") != 4 || strings.Contains(text, " idle_timeout") {
		t.Errorf("got\n%s", text)
	}
	flows, err := readFlowsToAdd(text, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	again := rules.New()
	if _, err := again.Replace(flows, rules.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := string(flowFileText(again)); got != text {
		t.Errorf("read back\n%s\nwritten\n%s", got, text)
	}
}

// When a file cannot be replaced, the old one is there as it was, and nothing else is left.
func TestReplaceFileFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "flows")
	if err := replaceFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(path, []byte("new")); err == nil {
		t.Error("no error")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Remove(path + ".tmp"); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(path, []byte("new")); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if err := replaceFile(filepath.Join(dir, "no", "such"), nil); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

// The place of a flow in a text counts lines, not flows.
func TestPlace(t *testing.T) {
	text := "a\n# comment\n\n  \nb # x\nc"
	for i, want := range []string{"f:1: ", "f:5: ", "f:6: ", "f: "} {
		if got := place(text, "f", i); got != want {
			t.Errorf("flow %d: %q, want %q", i, got, want)
		}
	}
	if got := place(text, "", 0); got != "" {
		t.Errorf("the one flow: %q", got)
	}
	if got := everyLine(text, "add "); got != "add a\n# comment\n\n  \nadd b # x\nadd c" {
		t.Errorf("got %q", got)
	}
}

// ct is refused wherever it stands.
func TestRefusedAction(t *testing.T) {
	ct := ofp.CT{Text: "commit"}
	for _, list := range [][]ofp.Action{
		{ct}, {ofp.Output{Port: 1}, ct}, {ofp.Clone{Actions: []ofp.Action{ofp.Clone{Actions: []ofp.Action{ct}}}}}, {ofp.WriteActions{Actions: []ofp.Action{ct}}},
	} {
		if why := refusedAction(list); !strings.Contains(why, "ct(commit)") {
			t.Errorf("%v: %q", list, why)
		}
	}
	if why := refusedAction([]ofp.Action{ofp.Output{Port: 1}, ofp.CTClear{}, ofp.Clone{}}); why != "" {
		t.Error(why)
	}
}

// A command waits until the flows that will take the place of all others are there.
func TestCommandsWaitForFlowFile(t *testing.T) {
	var f flowFiles
	b := new(datapath.Bridge)
	f.wait(b)
	end := f.begin(b)
	var ended atomic.Bool
	waited := make(chan bool)
	go func() {
		f.wait(b)
		waited <- ended.Load()
	}()
	time.Sleep(20 * time.Millisecond)
	ended.Store(true)
	end()
	if !<-waited {
		t.Error("did not wait")
	}
	f.wait(b)
}

// flowFileBridge is a bridge without a daemon.
func flowFileBridge(t *testing.T, f *flowFiles, name string) *reconcile.BridgeEntry {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	d := datapath.New(datapath.Config{Log: log})
	t.Cleanup(d.Close)
	b, err := d.AddBridge(name, datapath.BridgeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	f.log, f.now, f.reserve = log, func() int64 { return 0 }, func(int64) func() { return func() {} }
	t.Cleanup(func() { f.Detach(b) })
	return &reconcile.BridgeEntry{Name: name, DP: b}
}

// A file says what groups and meters there are, too.
func TestFlowFileReplaces(t *testing.T) {
	var f flowFiles
	b := flowFileBridge(t, &f, "br0")
	path := filepath.Join(t.TempDir(), "flows")
	for _, text := range []string{
		"meter meter=1 pktps bands=type=drop rate=5\nmeter meter=2 pktps bands=type=drop rate=6\n" +
			"group group_id=1,type=all,bucket=output:1\ngroup group_id=2,type=all,bucket=output:2\nactions=meter:1,group:2\nin_port=1,actions=group:1\n",
		"meter meter=2 pktps bands=type=drop rate=7\ngroup group_id=3,type=all,bucket=output:2\nactions=meter:2,group:3\n",
		"actions=drop\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Attach(b, path); err != nil {
			t.Fatal(err)
		}
		got := string(flowFileText(b.DP.Tables()))
		if strings.Count(got, "\n") != strings.Count(text, "\n")+1 {
			t.Errorf("file\n%s\ngives\n%s", text, got)
		}
	}
}

// Two bridges cannot have one file, whatever they call it; and it stays what a link leads to.
func TestFlowFileLinks(t *testing.T) {
	var f flowFiles
	a, b := flowFileBridge(t, &f, "br0"), flowFileBridge(t, &f, "br1")
	dir := t.TempDir()
	path, link, dirLink := filepath.Join(dir, "flows"), filepath.Join(dir, "link"), filepath.Join(dir, "dir")
	if err := errors.Join(os.Symlink("flows", link), os.Symlink(".", dirLink)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Attach(a, path); err != nil {
		t.Fatal(err)
	}
	// The file is not there yet.
	if _, err := f.Attach(b, filepath.Join(dirLink, "flows")); err == nil || !strings.Contains(err.Error(), "it is the file of bridge br0") {
		t.Errorf("before the file is written: %v", err)
	}
	f.Detach(a.DP)
	if err := os.WriteFile(path, []byte("actions=drop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Attach(a, link); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Attach(b, path); err == nil || !strings.Contains(err.Error(), "it is the file of bridge br0") {
		t.Errorf("by a link: %v", err)
	}
	f.Changed(a.DP)
	f.Detach(a.DP)
	if to, err := os.Readlink(link); err != nil || to != "flows" {
		t.Errorf("the link: %q, %v", to, err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "#") {
		t.Errorf("the file: %q, %v", text, err)
	}
}
