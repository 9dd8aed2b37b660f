package netdevtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gvswitch/gvswitch/netdev/link"
)

var lastNetns atomic.Uint32

// Netns makes a namespace without IPv6 (whose router solicitations would be
// counted as frames), removed at the test's end, and gives its name.
func Netns(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("gvsdev-%d-%d", os.Getpid(), lastNetns.Add(1))
	IP(t, "netns add "+name)
	t.Cleanup(func() { IP(t, "netns del "+name) })
	Run(t, "ip", "netns", "exec", name, "sh", "-c",
		"for i in all default; do echo 1 >/proc/sys/net/ipv6/conf/$i/disable_ipv6; done")
	IP(t, "-n "+name+" link set lo up")
	return name
}

// IP runs ip(8) with words separated by blanks.
func IP(t testing.TB, words string) string {
	t.Helper()
	return Run(t, "ip", strings.Fields(words)...)
}

// Run runs a command, which must succeed, and gives its output.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Pair makes a veth pair between two namespaces, both ends up.
func Pair(t testing.TB, ns, name, peerNS, peer string) {
	t.Helper()
	IP(t, fmt.Sprintf("-n %s link add %s type veth peer name %s netns %s", ns, name, peer, peerNS))
	IP(t, fmt.Sprintf("-n %s link set %s up", ns, name))
	IP(t, fmt.Sprintf("-n %s link set %s up", peerNS, peer))
}

// In runs f in the namespace of that name; sockets made there stay there.
func In(t testing.TB, ns string, f func() error) {
	t.Helper()
	n, err := link.Acquire(ns)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Release()
	if err := n.Do(f); err != nil {
		t.Fatalf("in %s: %v", ns, err)
	}
}
