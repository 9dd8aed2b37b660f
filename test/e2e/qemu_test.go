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

// Two QEMU guests: one connects to the switch, with two queues and without
// mergeable buffers; the other listens for it. Both live through a restart of the
// switch, and the switch through a restart of the one that listens.
func TestQEMU(t *testing.T) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a := bootGuest(t, "a", 1, guest.Config{
		Kind: guest.QEMU, Socket: s.AddVhost("vu0", "options:n_rxq=2"),
		Queues: 2, NoMrg: true, Reconnect: time.Second,
	})
	listening := filepath.Join(s.RunDir, "vu1.guest")
	s.AddPort("vu1", "type=dpdkvhostuserclient", "options:vhost-server-path="+listening)
	b := bootGuest(t, "b", 2, guest.Config{Kind: guest.QEMU, Socket: listening, Listen: true, QueueSize: 1024})

	pingAll(t, a, b)
	transfer(t, a, b, b.ip)
	transfer(t, b, a, a.ip6)
	if err := want(s.Ctl("dpif-netdev/pmd-rxq-show"), "vu0", "queue-id:  1", "vu1"); err != nil {
		t.Errorf("pmd-rxq-show: %v", err)
	}

	s.Stop()
	s.Start()
	// Ten times the second after which QEMU and the switch try again.
	reachable(ctx, t, a, b, 45*time.Second)
	transfer(t, b, a, a.ip)

	b.host.(*guest.Guest).Kill()
	eventually(t, 45*time.Second, "link of a guest that is gone", func() error {
		if state := strings.TrimSpace(s.Ctl("get", "Interface", "vu1", "link_state")); state != "down" {
			return fmt.Errorf("link_state is %s", state)
		}
		return nil
	})
	b = bootGuest(t, "b2", 2, guest.Config{Kind: guest.QEMU, Socket: listening, Listen: true})
	reachable(ctx, t, a, b, 45*time.Second)
}

// reachable fails when to does not answer from within the time.
func reachable(ctx context.Context, t *testing.T, from, to station, timeout time.Duration) {
	t.Helper()
	if err := peers.Ping(ctx, from.host, to.ip, timeout); err != nil {
		t.Fatalf("%s to %s: %v", from.name, to.name, err)
	}
}
