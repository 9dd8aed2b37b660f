package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// churnPorts is how many ports are added, used and deleted in each round.
const churnPorts = 64

// Ports of all kinds come, carry traffic and go; nothing stays behind.
func TestPortChurn(t *testing.T) {
	rounds := 8
	if soak {
		rounds = 100
	}
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	// The first rounds fill the runtime's pools and the switch's.
	for range 3 {
		churn(t, s)
	}
	before := s.resources()
	for range rounds {
		churn(t, s)
	}
	memory := 8 << 20
	if checked {
		memory = 64 << 20
	}
	var after resources
	eventually(t, 30*time.Second, "resources given back", func() error {
		after = s.resources()
		switch {
		case after.FDs > before.FDs, after.Mappings > before.Mappings+8, after.Goroutines > before.Goroutines,
			after.Threads > before.Threads+4, after.RSS > before.RSS+memory:
			return fmt.Errorf("%d rounds of %d ports: before %v; after %v", rounds, churnPorts, before, after)
		}
		return nil
	})
	t.Logf("%d rounds of %d ports: before %v; after %v", rounds, churnPorts, before, after)
}

// churn is one round.
func churn(t *testing.T, s *Switch) {
	t.Helper()
	ctx := context.Background()
	var add, del []string
	var stations []station
	var sockets []string
	for i := range churnPorts {
		name := fmt.Sprintf("p%d", i)
		add = append(add, "--", "add-port", "br0", name, "--", "set", "Interface", name)
		del = append(del, "--", "del-port", "br0", name)
		switch i % 4 {
		case 0:
			n := newNetns(t, name)
			defer n.Remove()
			add = append(add, "type=veth", "options:peer=eth0", "options:netns="+n.Name)
			stations = append(stations, newStation(name, i+1, n))
		case 1:
			add = append(add, "type=tap")
		case 2:
			add = append(add, "type=dpdkvhostuser")
			sockets = append(sockets, filepath.Join(s.RunDir, name))
		case 3:
			add = append(add, "type=dummy")
		}
	}
	s.Ctl(add[1:]...)
	for i, st := range stations[:4] {
		ip, ip6 := addrs(i*4 + 1)
		if err := st.host.(*peers.Netns).AddAddrs(ctx, "eth0", ip, ip6); err != nil {
			t.Fatal(err)
		}
	}
	pmd, err := peers.StartTestpmd(ctx, peers.TestpmdConfig{Sockets: sockets[:2]})
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	command(ctx, t, pmd, "set fwd flowgen")
	command(ctx, t, pmd, "start")
	reachable(ctx, t, stations[0], stations[1], pingTime)
	reachable(ctx, t, stations[3], stations[2], pingTime)
	eventually(t, 45*time.Second, "packets to testpmd", func() error {
		stats, err := pmd.Stats(ctx)
		if err == nil && stats[0].Rx < 1000 {
			err = fmt.Errorf("only %d", stats[0].Rx)
		}
		return err
	})
	// With the guest attached and sending.
	s.Ctl(del[1:]...)
	if left := s.Ctl("list-ports", "br0"); left != "" {
		t.Fatalf("left: %s", left)
	}
}

// idleShare is ten times what an idle switch may use of a CPU.
const idleShare = 0.1

// With two guests that do nothing, the switch does nothing.
func TestIdle(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a := bootGuest(t, "a", 1, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu0")})
	b := bootGuest(t, "b", 2, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu1")})
	pingAll(t, a, b)
	time.Sleep(3 * time.Second) // the guests' router solicitations
	const span = 10 * time.Second
	before := s.cpuTime()
	time.Sleep(span)
	used := s.cpuTime() - before
	t.Logf("%v of CPU in %v: %.1f %%", used, span, 100*used.Seconds()/span.Seconds())
	if used.Seconds() > idleShare*span.Seconds() {
		t.Errorf("an idle switch used %v of CPU in %v", used, span)
	}
	pingAll(t, a, b)
}

// maxMemory is what gvswitchd may hold beyond the guests' memory.
const maxMemory = 64 << 20

// Two guests under load leave the daemon small.
func TestMemory(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a := bootGuest(t, "a", 1, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu0")})
	b := bootGuest(t, "b", 2, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu1")})
	transfer(t, a, b, b.ip)
	transfer(t, b, a, a.ip6)
	if r := s.resources(); r.RSS > maxMemory && !checked {
		t.Errorf("gvswitchd holds %v, more than %d MB", r, maxMemory>>20)
	} else {
		t.Logf("gvswitchd holds %v", r)
	}
}
