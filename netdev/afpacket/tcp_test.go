package afpacket_test

import (
	"testing"

	"github.com/gvswitch/gvswitch/netdev/netdevtest"
)

// Two hosts with the kernel's own TCP and UDP, offloads as they are by default, and
// two ports with a poll thread between them (B47, B48).
func TestKernelTCPThrough(t *testing.T) {
	left, right, middle := netdevtest.Netns(t), netdevtest.Netns(t), netdevtest.Netns(t)
	netdevtest.Pair(t, middle, "v0", left, "h0")
	netdevtest.Pair(t, middle, "v1", right, "h1")
	netdevtest.Hosts(t, map[string]string{left: "h0", right: "h1"}, left, right)
	_, a := open(t, middle, "v0")
	_, b := open(t, middle, "v1")
	netdevtest.Forward(t, a, b)
	for _, host := range []string{"10.9.0.2", "fd09::2"} {
		netdevtest.Transfer(t, left, right, host, 64<<20)
		netdevtest.Datagrams(t, left, right, host)
	}
	netdevtest.NoChecksumErrors(t, left, right)
	if n := netdevtest.Drops(&a.RxSt.Drops) + netdevtest.Drops(&b.RxSt.Drops); n != 0 {
		t.Errorf("%d lost at receive", n)
	}
}
