package ofp

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ofctl runs ovs-ofctl, which must be there.
func ofctl(t *testing.T, args ...string) (out string, failed bool) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command("ovs-ofctl", args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return stderr.String(), true
	case err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2 || args[0] != "diff-flows"):
		t.Fatalf("ovs-ofctl %v: %v (Debian's package openvswitch-common has it)\n%s", args, err, stderr.String())
	}
	return stdout.String(), false
}

// lines are the lines of a file in testdata that are no comments.
func lines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "#") && line != "" {
			list = append(list, line)
		}
	}
	return list
}

func temp(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "flows")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// asDiff writes f as ovs-ofctl's diff-flows does, which shows flows as they were written.
func asDiff(f *Flow) string {
	b := []byte{}
	if f.Table != 0 {
		b = append(appendUint(b, "table=", uint64(f.Table)), ' ')
	}
	b = f.AppendRule(b, nil)
	if f.Cookie != 0 {
		b = appendHex(append(b, " cookie="...), f.Cookie)
	}
	b = appendSome(b, " idle_timeout=", f.Idle)
	b = appendSome(b, " hard_timeout=", f.Hard)
	b = appendSome(b, " importance=", f.Importance)
	return string(AppendActions(append(b, " actions="...), f.Actions, nil))
}

// TestFlowsAsWritten compares what both make of the corpus, as ovs-ofctl's diff-flows shows it.
func TestFlowsAsWritten(t *testing.T) {
	corpus := lines(t, "flows.txt")
	if len(corpus) < 300 {
		t.Fatalf("the corpus has %d flows", len(corpus))
	}
	compareWritten(t, corpus)
}

// TestFlowsCrossed does the same with the match of one flow and the actions of two others, as far as they
// are taken.
func TestFlowsCrossed(t *testing.T) {
	corpus := lines(t, "flows.txt")
	r := rand.New(rand.NewPCG(1, 2))
	pick := func() (before, actions string) {
		before, actions, _ = cutActions(corpus[r.IntN(len(corpus))])
		return before, actions
	}
	var flows []string
	for range 20_000 {
		before, _ := pick()
		_, one := pick()
		_, two := pick()
		text := before + " actions=" + one + "," + two
		if _, err := ParseFlow(text, nil, Add); err == nil && !strings.Contains(before, "priority") {
			flows = append(flows, text)
		}
	}
	if len(flows) < 2000 {
		t.Fatalf("only %d flows are taken", len(flows))
	}
	compareWritten(t, flows)
}

// compareWritten compares what both make of each flow. Each gets a cookie, to find it by, and unless it says
// one itself a priority, as flows with the same match would replace each other.
func compareWritten(t *testing.T, corpus []string) {
	t.Helper()
	var file strings.Builder
	want := map[uint64]string{}
	cookies := make([]uint64, len(corpus))
	texts := make([]string, len(corpus))
	for i, line := range corpus {
		texts[i] = fmt.Sprintf("cookie=%d,priority=%d,%s", 0x10000+i, 10+i, line)
		cookies[i] = 0x10000 + uint64(i)
		if before, _, _ := cutActions(line); strings.Contains(before, "cookie") {
			// It sets its own cookie, and the priority tells.
			cookies[i] = uint64(10 + i)
		}
		file.WriteString(texts[i] + "\n")
	}
	out, failed := ofctl(t, "diff-flows", temp(t, ""), temp(t, file.String()))
	if failed {
		t.Fatal(out)
	}
	cookie := regexp.MustCompile(` cookie=0x([0-9a-f]+)`)
	priority := regexp.MustCompile(`priority=(\d+)`)
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "+"), "\n")
		if m := cookie.FindStringSubmatch(line); m != nil {
			n, _ := strconv.ParseUint(m[1], 16, 64)
			if n>>16 == 1 {
				want[n] = line
				continue
			}
		}
		if m := priority.FindStringSubmatch(line); m != nil {
			n, _ := strconv.ParseUint(m[1], 10, 64)
			want[n] = line
		}
	}
	for i, text := range texts {
		m, err := ParseFlow(text, nil, Add)
		if err != nil {
			t.Errorf("%s: %v", corpus[i], err)
			continue
		}
		got := asDiff(&m.Flow)
		w, ok := want[cookies[i]]
		if !ok {
			w, ok = want[uint64(m.Flow.Priority)]
		}
		if !ok {
			t.Errorf("%s: ovs-ofctl shows nothing of it", corpus[i])
		} else if got != w {
			t.Errorf("%s:\n got %s\nwant %s", corpus[i], got, w)
		}
	}
}

// rewritten are words in actions that OpenFlow 1.5 says in another way.
var rewritten = regexp.MustCompile(`mod_|load:|strip_vlan|set_vlan|enqueue|set_mpls_(label|tc)|set_tunnel|note:|write_actions\(drop\)|CONTROLLER|controller`)

// lost is what OpenFlow 1.5 cannot say at all.
var lost = regexp.MustCompile(`in_port=CONTROLLER|vlan_tci=0x(0000|6000/|2000/)|->dl_vlan|->OXM_OF_VLAN_VID`)

// TestFlowsOnTheWire compares with parse-flows, which encodes a flow for OpenFlow 1.5 and decodes it.
// What OpenFlow 1.5 says in other words is left out; so are flows that it cannot say.
func TestFlowsOnTheWire(t *testing.T) {
	var file strings.Builder
	var texts []string
	for _, line := range lines(t, "flows.txt") {
		m, err := ParseFlow(line, nil, Add)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if c := (checker{m: m.Flow.Match, table: m.Flow.Table}); c.list(m.Flow.Actions) != nil || c.lax != "" {
			continue
		}
		text := string(m.Flow.Append(nil, nil))
		if lost.MatchString(text) {
			continue
		}
		texts = append(texts, text)
		file.WriteString(text + "\n")
	}
	out, failed := ofctl(t, "-O", "OpenFlow15", "parse-flows", temp(t, file.String()))
	if failed {
		t.Fatal(out)
	}
	var got []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "OFPT_FLOW_MOD") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(got) != len(texts) {
		t.Fatalf("%d flows, and ovs-ofctl shows %d", len(texts), len(got))
	}
	whole := 0
	for i, line := range got {
		_, line, _ = strings.Cut(line, " ADD ")
		m, err := ParseFlow(texts[i], nil, Add)
		if err != nil {
			t.Fatal(err)
		}
		f := &m.Flow
		var b []byte
		if f.Table != 0 {
			b = append(appendUint(b, "table:", uint64(f.Table)), ' ')
		}
		n := len(b)
		if b = f.AppendRule(b, nil); len(b) > n {
			b = append(b, ' ')
		}
		if f.Cookie != 0 && f.Cookie != 1<<64-1 {
			b = append(appendHex(append(b, "cookie:"...), f.Cookie), ' ')
		}
		for _, x := range []struct {
			name string
			v    uint16
		}{{"idle:", f.Idle}, {"hard:", f.Hard}, {"importance:", f.Importance}} {
			if x.v != 0 {
				b = append(appendUint(b, x.name, uint64(x.v)), ' ')
			}
		}
		b = append(appendFlags(b, f.Flags), "actions="...)
		n = len(b)
		b = AppendActions(b, f.Actions, nil)
		want := string(b)
		if rewritten.MatchString(want) {
			want = want[:n]
			line = line[:min(n, len(line))]
		} else {
			whole++
		}
		if line != want {
			t.Errorf("%s:\novs-ofctl %s\nours      %s", texts[i], line, want)
		}
	}
	if whole < 300 {
		t.Errorf("only %d flows were compared as a whole", whole)
	}
}

// TestRefused has both refuse the same.
func TestRefused(t *testing.T) {
	for _, line := range lines(t, "refused.txt") {
		if m, err := ParseFlow(line, nil, Add); err == nil {
			t.Errorf("%s: taken as%s", line, m.Flow.Append(nil, nil))
		}
		if out, failed := ofctl(t, "parse-flow", line); !failed && !strings.Contains(out, "decode error") {
			t.Errorf("%s: ovs-ofctl takes it: %s", line, out)
		}
	}
}

// TestDumpedFlows reads back what is printed: nothing may change.
func TestDumpedFlows(t *testing.T) {
	for _, line := range lines(t, "flows.txt") {
		m, err := ParseFlow(line, nil, Add)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for _, text := range []string{
			string(m.Flow.Append(nil, nil)),
			string(m.Flow.AppendStats(nil, nil, Stats{Packets: 5, Bytes: 500, Duration: 12345, IdleAge: 1000, HardAge: 3000})),
		} {
			again, err := ParseFlow(text, nil, Add)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if a, b := string(again.Flow.Append(nil, nil)), string(m.Flow.Append(nil, nil)); a != b || again.Flow.Match != m.Flow.Match {
				t.Errorf("%s:\nprinted %s\nagain   %s", line, b, a)
			}
		}
	}
}

func TestGroupsAsOfctl(t *testing.T) {
	for _, line := range lines(t, "groups.txt") {
		g, err := ParseGroup(line, nil)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		out, failed := ofctl(t, "-O", "OpenFlow15", "parse-group", line)
		_, want, ok := strings.Cut(strings.TrimSuffix(out, "\n"), "\n ADD")
		if failed || !ok {
			t.Errorf("%s: ovs-ofctl: %s", line, out)
			continue
		}
		got := string(g.Append(nil, nil))
		if again, err := ParseGroup(got, nil); err != nil || string(again.Append(nil, nil)) != got {
			t.Errorf("%s: read again: %v, %s", got, err, again.Append(nil, nil))
		}
		if !rewritten.MatchString(got) && got != want {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
	}
	for _, line := range lines(t, "groups_refused.txt") {
		if g, err := ParseGroup(line, nil); err == nil {
			t.Errorf("%s: taken as%s", line, g.Append(nil, nil))
		}
		if out, failed := ofctl(t, "-O", "OpenFlow15", "parse-group", line); !failed && !strings.Contains(out, "decode error") {
			t.Errorf("%s: ovs-ofctl takes it: %s", line, out)
		}
	}
}
