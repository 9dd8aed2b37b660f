package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/netdev/vhostuser"
)

// asProgram makes the test's binary the program itself.
const asProgram = "GVSGEN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// call runs the program.
func call(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(append([]string{"gvsgen"}, args...), &out, &errs)
	return status, out.String(), errs.String()
}

// What cannot be used is refused by name and value, before any port is touched where that is possible.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pcap")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "0 ports"},
		{"dummy:a dummy:b dummy:c", "3 ports"},
		{"xyz:a", `type "xyz"`},
		{"--nonsense dummy:a", "nonsense"},
		{"--rate fast dummy:a", "--rate fast:"},
		{"--duration x dummy:a", `"x"`},
		{"--duration 5 dummy:a", "--duration 5: a time needs a unit, as 5s or 5ms"},
		{"--duration 0s dummy:a", "--duration 0s:"},
		{"--interval 0s dummy:a", "--interval 0s:"},
		{"--burst 33 dummy:a", "--burst 33:"},
		{"--size 13 dummy:a", "--size 13:"},
		{"--size 50 dummy:a", "--size 50:"},
		{"--size 64 --ipv6 dummy:a", "at least 76 bytes"},
		{"--size 1515 dummy:a", "--size 1515:"},
		{"--flows 0 dummy:a", "--flows 0:"},
		{"--flows 70000 --vary src-port dummy:a", "--flows 70000:"},
		{"--vary mac dummy:a", "--vary mac:"},
		{"--macs 0 dummy:a", "--macs 0:"},
		{"--order best dummy:a", "--order best:"},
		{"--proto sctp dummy:a", "--proto sctp:"},
		{"--src-mac 01:00:00:00:00:01 dummy:a", "--src-mac 01:00:00:00:00:01:"},
		{"--src-ip 10.0.0 dummy:a", "--src-ip 10.0.0:"},
		{"--dst-ip fd00::1 dummy:a", "--dst-ip fd00::1:"},
		{"--src-port 65536 dummy:a", "--src-port 65536:"},
		{"--vlan 4096 dummy:a", "--vlan 4096:"},
		{"--checksum right dummy:a", "--checksum right:"},
		{"--checksum none --proto tcp dummy:a", "--checksum none:"},
		{"--checksum partial dummy:a", "--checksum partial:"},
		{"--replay /nowhere dummy:a", "--replay /nowhere:"},
		{"--replay " + empty + " dummy:a", "--replay " + empty},
		{"--replay /etc/passwd dummy:a", "--replay /etc/passwd: neither a pcap nor a pcapng file"},
		{"--check all dummy:a", "--check all:"},
		{"--expect-loss lots dummy:a", "--expect-loss lots:"},
		{"--expect-rate x dummy:a", "--expect-rate x:"},
		{"--allow errors dummy:a", "--allow errors:"},
		{"--search 101% dummy:a", "--search 101%:"},
		{"--search 0 --resolution 5 dummy:a", "--resolution 5:"},
		{"--search 0 --rate 5 dummy:a", "--rate 5:"},
		{"--search 0 --min-rate 5 --max-rate 4 --warmup 0 dummy:a", "--min-rate 5:"},
		{"--search 0 --min-rate 2Mpps --max-rate 1Mpps --warmup 0s dummy:a", "--min-rate 2Mpps: must be less than --max-rate 1Mpps"},
		{"--min-rate 5 dummy:a", "--min-rate 5:"},
		{"--one-way dummy:a", "--one-way:"},
		{"--send-only dummy:a dummy:b", "--send-only:"},
		{"--send-only --reflect dummy:a", "--reflect:"},
		{"--send-only --expect-loss 0 dummy:a", "--expect-loss 0:"},
		{"--cpus x dummy:a", "--cpus x:"},
		{"--cpus 4096 --warmup 0 dummy:a", "CPU 4096"},
		{"--cpus 77 dummy:a", "--cpus 77: CPU 77 is not one of those that gvsgen may use:"},
		{"--rate 50% --warmup 0 dummy:a", "--rate 50%:"},
		{"--window 5 --flows 9 --check none dummy:a,n_txq=2", "--window 5:"},
		{"dummy:a,mtu=5", "mtu=5"},
		{"--wait 10ms dummy:a,link=false", "no link"},
		{"dummy:a,color=red", "color=red"},
		{"virtio-user:", "gvsgen: port virtio-user:: options:path: missing"},
		{"virtio-user:path=/nowhere/s --rate 1kpps", "--rate: stands behind a port; options come before the ports"},
		{"--wait 100ms virtio-user:path=/nowhere/s", "no back end at /nowhere/s: no such file or directory"},
	} {
		status, out, errs := call(strings.Fields(c.args)...)
		if status != exitError || out != "" || !strings.HasPrefix(errs, "gvsgen: ") || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("gvsgen %s: status %d, %q, %q; want %q", c.args, status, out, errs, c.want)
		}
	}
}

// Frames longer than the back end's MTU are refused before they are lost.
func TestBackEndMTU(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	b, err := vhostuser.OpenServer("b", netdev.Options{Map: map[string]string{"vhost-server-path": path}, MTU: 2000}, host{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	want := "--size 2019: port virtio-user:path=" + path + ": the back end's MTU is 2000, so frames have at most 2018 bytes"
	status, _, errs := call("--send-only", "--size", "2019", "virtio-user:path="+path)
	if status != exitError || !strings.Contains(errs, want) {
		t.Errorf("status %d, %q, want %q", status, errs, want)
	}
	if status, _, errs = call("--send-only", "-q", "-n", "1", "--warmup", "0s", "--size", "2018", "virtio-user:path="+path); status != 0 {
		t.Errorf("status %d, %q", status, errs)
	}
}

// host is a switch that does nothing.
type host struct{}

func (host) Changed(netdev.Device)        {}
func (host) Inject(netdev.Device, []byte) {}

// pair makes a namespace with a pair of devices.
func pair(t *testing.T) (a, b string) {
	t.Helper()
	ns := netdevtest.Netns(t)
	netdevtest.IP(t, "-n "+ns+" link add va type veth peer name vb")
	netdevtest.IP(t, "-n "+ns+" link set va up")
	netdevtest.IP(t, "-n "+ns+" link set vb up")
	return "system:va,netns=" + ns, "system:vb,netns=" + ns
}

// result is the part of the JSON form that is looked at.
type result struct {
	Seconds float64
	Ports   []struct{ Sent, Received, Lost, Duplicate, Reordered, Corrupt uint64 }
	Latency struct{ N uint64 }
	Search  struct {
		Rate  float64
		Steps []struct{ Passed bool }
	}
	Failed []string
}

// Through a pair of devices of the kernel everything arrives, and the program says so to programs and to people.
func TestThroughKernel(t *testing.T) {
	a, b := pair(t)
	for _, c := range []struct {
		args  string
		count uint64 // of each port
		back  uint64
	}{
		{"--count 500 --rate 5000", 500, 500},
		{"--count 300 --rate 5000 --one-way --size 64-1514 --flows 100 --macs 3 --proto tcp", 300, 0},
		{"--count 300 --rate 5000 --size 100:3,1400 --flows 7 --ipv6 --checksum partial", 300, 300},
		{"--duration 200ms --rate 2000 --vlan 5,6 --size 300", 400, 400},
		{"--count 300 --rate 3000 --check seq --burst 8", 300, 300},
	} {
		args := append(strings.Fields(c.args), "--json", "--quiet", "--warmup", "50ms", "--expect-loss", "0", a, b)
		status, out, errs := call(args...)
		var r result
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%s: %v: %s%s", c.args, err, out, errs)
		}
		if status != 0 || errs != "" || len(r.Failed) > 0 || len(r.Ports) != 2 {
			t.Fatalf("%s: status %d, %s%s", c.args, status, out, errs)
		}
		for i, want := range []uint64{c.count, c.back} {
			if p, q := r.Ports[i], r.Ports[1-i]; p.Sent > want || p.Sent < want/2 || q.Received != p.Sent || q.Lost+q.Duplicate+q.Reordered+q.Corrupt != 0 {
				t.Errorf("%s: port %d sent %d of %d: %s", c.args, i, p.Sent, want, out)
			}
		}
	}
	status, out, _ := call("--count", "100", "--rate", "1000", "--warmup", "0s", a, b)
	for _, word := range []string{" at 1.000 kpps", "lost", "0 (0.0000%)", "latency p50", "us"} {
		if status != 0 || !strings.Contains(out, word) {
			t.Errorf("status %d, no %q in\n%s", status, word, out)
		}
	}
}

// What is not as expected is told, with a status of its own.
func TestFailures(t *testing.T) {
	a, b := pair(t)
	status, out, errs := call("--count", "100", "--rate", "1000", "--warmup", "0s", "--expect-rate", "2Mpps", a, b)
	if status != exitFailed || strings.Count(out, "FAILED: port system:v") != 2 {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
	// Nobody sends back what is sent to a dummy.
	status, out, errs = call("--count", "100", "--rate", "10000", "--warmup", "0s", "--expect-loss", "99%", "--json", "dummy:x")
	var r result
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitFailed || len(r.Failed) != 2 || r.Failed[0] != "nothing arrived" || r.Ports[0].Lost != 100 {
		t.Errorf("status %d, %v:\n%s%s", status, err, out, errs)
	}
	status, out, errs = call("--count", "100", "--warmup", "0s", "--send-only", "dummy:x")
	if status != 0 || !strings.Contains(out, "100") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
}

// Captures are sent as they are, counted, and sent back.
func TestReplayAndReflect(t *testing.T) {
	a, b := pair(t)
	dir := t.TempDir()
	// A dummy port writes what it is sent to a file.
	file := filepath.Join(dir, "x.pcap")
	if status, _, errs := call("--count", "50", "--send-only", "--warmup", "0s", "--size", "200", "dummy:x,tx_pcap="+file); status != 0 {
		t.Fatal(errs)
	}
	status, out, errs := call("--replay", file, "--count", "120", "--rate", "2000", "--warmup", "0s", "--one-way", "--json", a, b)
	var r result
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 || r.Ports[0].Sent != 120 || r.Ports[1].Received < 120 || r.Ports[1].Received > 130 {
		t.Errorf("status %d, %v:\n%s%s", status, err, out, errs)
	}
	// In a process of its own: two programs in one process race for the flags that urfave/cli keeps for all.
	reflector := exec.Command("/proc/self/exe", "--reflect", "--duration", "2m", "--json", "--quiet", b)
	reflector.Env = append(os.Environ(), asProgram+"=1")
	reflected := new(bytes.Buffer)
	reflector.Stdout, reflector.Stderr = reflected, reflected
	if err := reflector.Start(); err != nil {
		t.Fatal(err)
	}
	// It is ready at some time.
	for end := time.Now().Add(time.Minute); ; {
		status, out, errs = call("--count", "100", "--rate", "200", "--warmup", "0s", "--expect-loss", "10%", "--json", a)
		if status == 0 {
			break
		}
		if time.Now().After(end) {
			t.Errorf("status %d:\n%s%s", status, out, errs)
			break
		}
	}
	_ = reflector.Process.Signal(os.Interrupt)
	if err := reflector.Wait(); err != nil || !strings.Contains(reflected.String(), `"failed": []`) {
		t.Errorf("%v:\n%s", err, reflected)
	}
}

// A search ends with a rate or says that there is none.
func TestSearch(t *testing.T) {
	a, b := pair(t)
	args := []string{"--search", "0", "--max-rate", "4kpps", "--min-rate", "100", "--duration", "100ms", "--warmup", "0s", "--json", "--resolution", "40%", a, b}
	status, out, errs := call(args...)
	var r result
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 || r.Search.Rate < 100 || r.Search.Rate > 4000 || len(r.Search.Steps) == 0 {
		t.Errorf("status %d, %v:\n%s%s", status, err, out, errs)
	}
	if !strings.Contains(errs, "missed") {
		t.Errorf("no progress: %s", errs)
	}
	status, out, _ = call("--search", "0", "--max-rate", "4kpps", "--duration", "50ms", "--warmup", "0s", "--resolution", "40%", "dummy:x")
	if status != exitFailed || !strings.Contains(out, "no rate passed") {
		t.Errorf("status %d:\n%s", status, out)
	}
}

// The manual page in docs/man is the one that the program prints.
func TestManualPage(t *testing.T) {
	status, out, _ := call("man")
	page, err := os.ReadFile("../../docs/man/gvsgen.8")
	if status != 0 || err != nil || string(page) != out {
		t.Errorf("%v; go generate ./cmd/gvsgen writes it", err)
	}
}
