package guest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/guest/wire"
	"github.com/gvswitch/gvswitch/test/peers"
)

// Two QEMU guests on the switch that everybody knows to work: when this fails,
// the harness is broken and not gvswitch. (UML takes part in the end-to-end
// tests only: it cannot live with the features that OVS offers.)
func TestGuestsOnOVS(t *testing.T) {
	ctx := context.Background()
	ovs, err := peers.StartOVS(ctx, t.TempDir(), "0x2")
	if err != nil {
		t.Fatal(err)
	}
	defer ovs.Stop()
	served, err := ovs.AddVhost(ctx, "vu0")
	if err != nil {
		t.Fatal(err)
	}
	listening := t.TempDir() + "/vu1"
	if err := ovs.AddVhostClient(ctx, "vu1", listening); err != nil {
		t.Fatal(err)
	}
	a := guest.Boot(t, guest.Config{Name: "a", Kind: guest.QEMU, Socket: served, IP: "10.9.0.1/24", MAC: "02:00:00:00:00:01", NoMrg: true})
	b := guest.Boot(t, guest.Config{Name: "b", Kind: guest.QEMU, Socket: listening, Listen: true, IP: "10.9.0.2/24", IP6: "fd09::2/64", MTU: 1400, Queues: 2})
	if err := peers.Ping(ctx, a, "10.9.0.2", 45*time.Second); err != nil {
		t.Error(err)
	}
	for command, want := range map[string]string{
		"cat /sys/class/net/eth0/mtu":           "1400",
		"ip -6 addr show dev eth0":              "fd09::2/64",
		"ls -d /sys/class/net/eth0/queues/rx-1": "rx-1",
		"hostname":                              "b",
	} {
		out, err := b.Run(ctx, command)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: got %q, %v; want %s", command, out, err, want)
		}
	}
	r, err := peers.Iperf(ctx, b, a, "10.9.0.1", 2*time.Second)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%.0f Mbit/s between QEMU guests on OVS-DPDK", r.Mbps)
	testExec(ctx, t, a)
}

func testExec(ctx context.Context, t *testing.T, g *guest.Guest) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		command string
		want    guest.Result
	}{
		{"echo out; echo err >&2; exit 3", guest.Result{Stdout: "out\n", Stderr: "err\n", Code: 3}},
		{"printf " + long, guest.Result{Stdout: long}},
		{"kill -9 $$", guest.Result{Code: 137}},
		{"nosuchprogram", guest.Result{Stderr: "/bin/sh: 1: nosuchprogram: not found\n", Code: 127}},
	} {
		if got, err := g.Exec(ctx, c.command); err != nil || got != c.want {
			t.Errorf("%.40q: got %.100v, %v; want %.100v", c.command, got, err, c.want)
		}
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if got, err := g.Exec(short, "sleep 100"); err != nil || got.Code != wire.TimeoutCode {
		t.Errorf("after its time: got %v, %v; want code %d", got, err, wire.TimeoutCode)
	}
}
