package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
)

// The port's options take features away while a QEMU guest that has them runs. It goes on after a restart
// and a crash of the switch with what it was offered; the next QEMU is offered what the options say.
func TestFeaturePinning(t *testing.T) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	socket := s.AddVhost("vu0", "options:vhost-offload=true")
	a := bootGuest(t, "a", 1, guest.Config{Kind: guest.QEMU, Socket: socket, Reconnect: time.Second})
	ns := addNamespace(s, "veth0", 2)
	pingAll(t, a, ns)
	status := func(key string) string {
		t.Helper()
		return strings.Trim(s.Ctl("--if-exists", "get", "Interface", "vu0", "status:"+key), "\"\n")
	}
	expect := func(key string, words ...string) {
		t.Helper()
		eventually(t, 30*time.Second, "status:"+key, func() error {
			if got := status(key); len(words) == 0 && got != "" {
				return fmt.Errorf("is %q", got)
			}
			return want(status(key), words...)
		})
	}
	expect("virtio-features", "MRG_RXBUF", "HOST_TSO4")
	expect("features-pinned")

	s.Ctl("remove", "Interface", "vu0", "options", "vhost-offload", "--", "set", "Interface", "vu0", "options:virtio-features=-MRG_RXBUF,-EVENT_IDX")
	for _, end := range []func(){s.Stop, s.Kill} {
		end()
		s.Start()
		// The switch makes the pair anew, unless it had no time to remove it.
		ip, ip6 := addrs(2)
		_, _ = ns.host.Run(ctx, fmt.Sprintf("until ip link show dev eth0; do sleep 0.1; done; ip addr replace %s dev eth0; ip -6 addr replace %s dev eth0 nodad; ip link set eth0 up", ip, ip6))
		reachable(ctx, t, a, ns, 30*time.Second)
		expect("features-pinned", "MRG_RXBUF", "EVENT_IDX", "HOST_TSO4", "CSUM")
		expect("features-pinned-because", "process", "started anew")
		expect("virtio-features", "MRG_RXBUF", "HOST_TSO4")
		transfer(t, a, ns, ns.ip)
		transfer(t, ns, a, a.ip)
	}

	a.host.(*guest.Guest).Kill()
	b := bootGuest(t, "b", 1, guest.Config{Kind: guest.QEMU, Socket: socket, Reconnect: time.Second})
	reachable(ctx, t, b, ns, 30*time.Second)
	expect("features-pinned")
	expect("mergeable", "false")
	expect("ring-event-idx", "false")
	if offered := status("features-offered"); strings.Contains(offered, "MRG_RXBUF") || strings.Contains(offered, "TSO4") {
		t.Errorf("the next guest is offered %s", offered)
	}
	transfer(t, ns, b, b.ip)
	_, _ = s.TryCtl("set", "Interface", "vu0", "options:virtio-features=+NOSUCH") // which says so, or the row does
	eventually(t, 10*time.Second, "error of an unknown feature", func() error {
		return want(s.Ctl("get", "Interface", "vu0", "error"), `there is no feature`, "NOSUCH")
	})
}
