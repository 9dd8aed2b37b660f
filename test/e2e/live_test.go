package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// liveChanges are what an operator may do while packets flow; none concerns the
// ports that they flow between.
var liveChanges = []string{
	"set Open_vSwitch . other_config:pmd-cpu-mask=0x1",
	"set Open_vSwitch . other_config:pmd-cpu-mask=0x3",
	"set Open_vSwitch . other_config:pmd-rxq-assign=roundrobin",
	"set Open_vSwitch . other_config:pmd-sleep-max=0",
	"add-port br0 extra -- set Interface extra type=tap",
	"set Open_vSwitch . other_config:pmd-rxq-assign=group",
	"set Open_vSwitch . other_config:pmd-cpu-mask=0x2",
	"set Port extra tag=5",
	"set Interface extra mtu_request=2000",
	"fdb/flush br0",
	"set Open_vSwitch . other_config:pmd-sleep-max=200",
	"add-br br1",
	"set Interface vu0 other_config:pmd-rxq-affinity=0:1",
	"dpif-netdev/pmd-stats-clear",
	"dpif-netdev/pmd-rxq-rebalance",
	"remove Interface vu0 other_config pmd-rxq-affinity",
	"set Bridge br0 other_config:mac-table-size=100",
	"vlog/set dbg",
	"vlog/set info",
	"del-br br1",
	"del-port extra",
	"clear Open_vSwitch . other_config",
	"clear Bridge br0 other_config",
}

// Traffic goes on while everything around it changes, and no packet is lost count of.
func TestLiveChanges(t *testing.T) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a := bootGuest(t, "a", 1, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu0")})
	b := bootGuest(t, "b", 2, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu1")})
	ns := addNamespace(s, "veth0", 3)
	pingAll(t, a, b, ns)

	const span = 15 * time.Second
	done := make(chan error, 2)
	for _, pair := range [][2]station{{a, b}, {ns, a}} {
		go func() {
			r, err := peers.Iperf(ctx, pair[0].host, pair[1].host, pair[1].ip, span)
			if err == nil && r.Mbps < minMbps {
				err = fmt.Errorf("only %.1f Mbit/s", r.Mbps)
			}
			if err != nil {
				err = fmt.Errorf("%s to %s: %w", pair[0].name, pair[1].name, err)
			}
			done <- err
		}()
	}
	rounds := 0
	for end := time.Now().Add(span - 2*time.Second); time.Now().Before(end); rounds++ {
		for _, c := range liveChanges {
			if _, err := s.TryCtl(strings.Fields(c)...); err != nil {
				t.Fatalf("%s: %v", c, err)
			}
		}
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d changes", rounds*len(liveChanges))
	pingAll(t, a, b, ns)
}

// Frames of 9000 bytes, where everybody agrees to them. (A guest without mergeable
// buffers has to know the MTU when it makes its buffers.)
func TestJumbo(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	const jumbo = "mtu_request=9000"
	a := bootGuest(t, "a", 1, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu0", jumbo), MTU: 9000})
	b := bootGuest(t, "b", 2, guest.Config{Kind: guest.QEMU, Socket: s.AddVhost("vu1", jumbo), MTU: 9000, NoMrg: true, Device: "host_mtu=9000"})
	ns := addNamespace(s, "veth0", 3)
	s.Ctl("set", "Interface", "veth0", jumbo)
	if _, err := ns.host.Run(context.Background(), "ip link set eth0 mtu 9000"); err != nil {
		t.Fatal(err)
	}
	pingAll(t, a, b, ns)
	for _, pair := range [][2]station{{a, b}, {b, a}, {a, ns}, {ns, a}, {ns, b}} {
		if _, err := pair[0].host.Run(context.Background(), "busybox ping -c 3 -W 5 -s 8972 "+pair[1].ip); err != nil {
			t.Errorf("9000 bytes from %s to %s: %v", pair[0].name, pair[1].name, err)
		}
		transfer(t, pair[0], pair[1], pair[1].ip)
	}
}
