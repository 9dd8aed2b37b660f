package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// kills is how often the daemon is killed under traffic.
const kills = 10

// recoveryTime is far more than what is promised between the start of a new daemon
// and the flow of traffic.
const recoveryTime = 30 * time.Second

// kill -9 under traffic, again and again: the configuration is back, a guest on a
// client-mode port is connected again, packets flow. QEMU does not know where the rings stand then.
func TestKillRestart(t *testing.T) {
	for _, packed := range []string{"off", "on"} {
		t.Run("packed="+packed, func(t *testing.T) { killRestart(t, "packed="+packed) })
	}
}

func killRestart(t *testing.T, device string) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	listening := filepath.Join(s.RunDir, "vu0.guest")
	s.AddPort("vu0", "type=dpdkvhostuserclient", "options:vhost-server-path="+listening)
	g := bootGuest(t, "g", 1, guest.Config{Kind: guest.QEMU, Socket: listening, Listen: true, Device: device})
	ns := addNamespace(s, "veth0", 2)
	s.Ctl("set", "Port", "veth0", "external_ids:kept=yes")
	reachable(ctx, t, ns, g, pingTime)
	stop, err := ns.host.Background(ctx, fmt.Sprintf("while :; do busybox ping -q -i 0.02 -s 1200 %s; done", g.ip))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	before := strings.Fields(s.Ctl("--columns=_uuid", "--bare", "list", "Port"))

	var worst time.Duration
	for i := range kills {
		s.Kill()
		start := time.Now()
		s.Start()
		if err := firstReply(ctx, ns, g.ip, recoveryTime); err != nil {
			t.Fatalf("after kill %d: %v", i+1, err)
		}
		worst = max(worst, time.Since(start))
	}
	t.Logf("traffic after %d kills: at most %v from the start of the new daemon", kills, worst.Round(time.Millisecond))
	if worst > recoveryTime {
		t.Errorf("traffic came back only after %v, more than %v", worst, recoveryTime)
	}
	if after := strings.Fields(s.Ctl("--columns=_uuid", "--bare", "list", "Port")); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("ports before %v, after %v", before, after)
	}
	if kept := strings.TrimSpace(s.Ctl("get", "Port", "veth0", "external_ids:kept")); kept != "yes" {
		t.Errorf("external_ids:kept is %q", kept)
	}
	transfer(t, ns, g, g.ip)
}

// firstReply waits for one echo reply, asking fifty times a second.
func firstReply(ctx context.Context, from station, addr string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout+5*time.Second)
	defer cancel()
	_, err := from.host.Run(ctx, fmt.Sprintf("busybox ping -i 0.02 -w %d %s | grep -m 1 -q 'bytes from'", int(timeout.Seconds()), addr))
	return err
}

// A database that the daemon cannot read is left alone and named.
func TestCorruptDatabase(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	s.Stop()
	files, err := filepath.Glob(s.StateDir + "/*.db")
	if err != nil || len(files) != 1 {
		t.Fatalf("databases in %s: %v, %v", s.StateDir, files, err)
	}
	whole := readFile(t, files[0])
	for name, broken := range map[string]string{
		"half written": whole[:len(whole)/2],
		"garbage":      "this is no database\n",
		"bit error":    strings.Replace(whole, "br0", "br1", 1),
	} {
		writeFile(t, files[0], broken)
		p := startDaemon(t, s)
		select {
		case <-p.Done():
		case <-time.After(startTime):
			t.Errorf("%s: gvswitchd runs on", name)
			p.Kill()
		}
		if p.ExitCode() == 0 || !strings.Contains(p.Output(), files[0]) {
			t.Errorf("%s: %s, and it does not name the file: %s", name, p.State(), p.Output())
		}
		if readFile(t, files[0]) != broken {
			t.Errorf("%s: gvswitchd changed the file", name)
		}
	}
	writeFile(t, files[0], whole)
	s.Start()
	if got := s.Ctl("list-br"); got != "br0\n" {
		t.Errorf("list-br says %q", got)
	}
}

// Unused peers of a crashed daemon's veth port are taken over, not doubled.
func TestCrashLeavesNoDevices(t *testing.T) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a, b := addNamespace(s, "veth0", 1), addNamespace(s, "veth1", 2)
	pingAll(t, a, b)
	before := links(ctx, t, s.Netns)
	s.Kill()
	s.Start()
	reachable(ctx, t, a, b, recoveryTime)
	if after := links(ctx, t, s.Netns); after != before {
		t.Errorf("devices before the crash: %s; after: %s", before, after)
	}
	s.Ctl("del-br", "br0")
	eventually(t, 45*time.Second, "devices of a deleted bridge", func() error {
		if left := links(ctx, t, s.Netns); left != "lo" {
			return fmt.Errorf("left: %s", left)
		}
		return nil
	})
}

// links are the names of a namespace's devices.
func links(ctx context.Context, t *testing.T, n *peers.Netns) string {
	t.Helper()
	out, err := n.Run(ctx, "ls /sys/class/net | grep -v -e '^tunl0$' -e '^sit0$' -e '^ip6tnl0$' -e '^gre' -e '^erspan' -e '^ip_vti0$' -e '^ip6_vti0$'")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(out), " ")
}
