package peers_test

import (
	"context"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
)

// Two namespaces on a veth pair: what Ping and Iperf say about the kernel is so.
func TestNetnsPingIperf(t *testing.T) {
	ctx := context.Background()
	a, b := netns(t, "a"), netns(t, "b")
	if _, err := a.Run(ctx, "ip link add eth0 type veth peer name eth0 netns "+b.Name); err != nil {
		t.Fatal(err)
	}
	for n, addrs := range map[*peers.Netns][]string{a: {"10.9.0.1/24", "fd09::1/64"}, b: {"10.9.0.2/24", "fd09::2/64"}} {
		if err := n.AddAddrs(ctx, "eth0", addrs...); err != nil {
			t.Fatal(err)
		}
	}
	for _, addr := range []string{"10.9.0.2", "fd09::2"} {
		if err := peers.Ping(ctx, a, addr, 30*time.Second); err != nil {
			t.Error(err)
		}
		r, err := peers.Iperf(ctx, a, b, addr, time.Second)
		if err != nil || r.Mbps < 1 {
			t.Errorf("iperf3 to %s: %v, %v", addr, r, err)
		}
	}
	if peers.Ping(ctx, a, "10.9.0.3", time.Second) == nil {
		t.Error("a host that is not there answered")
	}
}

// Testpmd in both modes on OVS-DPDK: packets circulate.
func TestTestpmdOnOVS(t *testing.T) {
	ctx := context.Background()
	ovs, err := peers.StartOVS(ctx, t.TempDir(), "0x1")
	if err != nil {
		t.Fatal(err)
	}
	defer ovs.Stop()
	var sockets []string
	for _, name := range []string{"vu0", "vu1"} {
		s, err := ovs.AddVhost(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, s)
	}
	pmd, err := peers.StartTestpmd(ctx, peers.TestpmdConfig{Sockets: sockets})
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	for _, c := range []string{"set fwd flowgen", "start"} {
		if _, err := pmd.Command(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		stats, err := pmd.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(stats) == 2 && stats[0].Rx > 1000 && stats[1].Rx > 1000 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("packets do not circulate: %+v", stats)
		}
	}
	if _, err := pmd.Command(ctx, "no such command"); err == nil {
		t.Error("a wrong command is no error")
	}
}

func netns(t *testing.T, word string) *peers.Netns {
	t.Helper()
	n, err := peers.NewNetns(context.Background(), word)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Remove)
	return n
}
