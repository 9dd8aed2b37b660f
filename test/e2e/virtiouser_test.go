package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// card is one combination of what a virtio-user port asks for.
type card struct{ packed, merge, order bool }

func (c card) options() []string {
	return []string{
		fmt.Sprintf("options:packed=%v", c.packed), fmt.Sprintf("options:mrg_rxbuf=%v", c.merge), fmt.Sprintf("options:in_order=%v", c.order),
	}
}

// paths are the words that the status must have when the back end grants everything.
func (c card) paths() []string {
	rx, tx, prefix := "simple", "simple", ""
	if c.merge {
		rx = "mergeable buffer"
	}
	if c.packed {
		prefix = "packed ring "
	}
	if c.order {
		prefix += "inorder "
	}
	return []string{"rx-path=" + quoted(prefix+rx), "tx-path=" + quoted(prefix+tx)}
}

// quoted is a string as the database's clients print it.
func quoted(s string) string {
	if strings.Contains(s, " ") {
		return strconv.Quote(s)
	}
	return s
}

// driverLab is a gvswitchd with two bridges, each with a namespace and a virtio-user port; what is
// between the ports is the back end under test.
type driverLab struct {
	*Switch
	stations [2]station
}

func newDriverLab(t *testing.T, sockets [2]string, options ...string) *driverLab {
	t.Helper()
	l := &driverLab{Switch: NewSwitch(t, Options{})}
	for i, socket := range sockets {
		bridge, veth := fmt.Sprintf("br%d", i), fmt.Sprintf("ns%d", i)
		n := newNetns(t, veth)
		l.Ctl("add-br", bridge)
		l.Ctl("add-port", bridge, veth, "--", "set", "Interface", veth, "type=veth", "options:peer=eth0", "options:netns="+n.Name)
		ip, ip6 := addrs(i + 1)
		if err := n.AddAddrs(context.Background(), "eth0", ip, ip6); err != nil {
			t.Fatal(err)
		}
		l.stations[i] = newStation(veth, i+1, n)
		port := fmt.Sprintf("vu%d", i)
		l.Ctl(append([]string{"add-port", bridge, port, "--", "set", "Interface", port, "type=virtio-user", "options:path=" + socket}, options...)...)
	}
	return l
}

// use has both ports negotiate anew, over the connections that they have.
func (l *driverLab) use(t *testing.T, c card) {
	t.Helper()
	for _, port := range []string{"vu0", "vu1"} {
		l.Ctl(append([]string{"set", "Interface", port}, c.options()...)...)
	}
}

// status waits until both ports say what they should.
func (l *driverLab) status(t *testing.T, words ...string) {
	t.Helper()
	for _, port := range []string{"vu0", "vu1"} {
		eventually(t, 30*time.Second, port+" has negotiated", func() error {
			out, err := l.TryCtl("get", "Interface", port, "link_state", "status")
			if err != nil {
				return err
			}
			return want(out, append([]string{"up", "status=connected"}, words...)...)
		})
	}
}

// exchange sends frames of all sizes both ways, contents compared by the kernels at both ends.
func (l *driverLab) exchange(t *testing.T) {
	t.Helper()
	a, b := l.stations[0], l.stations[1]
	if err := peers.Ping(context.Background(), a.host, b.ip, pingTime); err != nil {
		t.Errorf("%s to %s: %v", a.name, b.name, err)
		return
	}
	for _, to := range []struct {
		from station
		addr string
	}{{a, b.ip}, {b, a.ip}, {a, b.ip6}} {
		for _, size := range []int{0, 18, 100, 700, 1452} {
			// With -w it goes on until there are as many answers, however late they are.
			out, err := to.from.host.Run(context.Background(), fmt.Sprintf("ping -c %d -i 0.002 -w 20 -s %d -p a5 %s", wantEchoes, size, to.addr))
			if err == nil {
				err = noGap(out)
			}
			if err != nil || strings.Contains(out, "wrong data") {
				t.Errorf("%s to %s, %d bytes: %v\n%s", to.from.name, to.addr, size, err, out)
			}
		}
	}
	transfer(t, a, b, b.ip)
	transfer(t, b, a, a.ip)
}

// wantEchoes is how many answers a ping wants.
const wantEchoes = 40

var sequence = regexp.MustCompile(`icmp_seq=(\d+) `)

// noGap checks that of ping's echo requests, up to the last that was answered, each was answered once.
func noGap(out string) error {
	seen, last := map[int]bool{}, 0
	for _, m := range sequence.FindAllStringSubmatch(out, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || seen[n] {
			return fmt.Errorf("answer %s came twice", m[1])
		}
		seen[n] = true
		last = max(last, n)
	}
	if last < wantEchoes || len(seen) < last {
		return fmt.Errorf("%d answers to requests up to %d", len(seen), last)
	}
	return nil
}

// every runs f with every combination.
func (l *driverLab) every(t *testing.T, f func(*testing.T, card)) {
	for i := range 8 {
		c := card{i&1 != 0, i&2 != 0, i&4 != 0}
		t.Run(strings.ReplaceAll(strings.Join(c.options(), ","), "options:", ""), func(t *testing.T) {
			l.use(t, c)
			f(t, c)
		})
	}
}

// Another gvswitchd is the back end: each combination of ring kinds, chosen anew without a
// restart of either.
func TestVirtioUserGvswitchd(t *testing.T) {
	back := NewSwitch(t, Options{})
	back.Ctl("add-br", "br0")
	l := newDriverLab(t, [2]string{back.AddVhost("v0"), back.AddVhost("v1")})
	l.every(t, func(t *testing.T, c card) {
		l.status(t, c.paths()...)
		l.exchange(t)
	})
	// The back end goes and comes.
	back.Kill()
	eventually(t, 20*time.Second, "the ports lose their link", func() error {
		out, err := l.TryCtl("get", "Interface", "vu0", "link_state")
		if err != nil {
			return err
		}
		return want(out, "down")
	})
	back.Start()
	l.status(t)
	l.exchange(t)
}

// Offload bits are negotiated when they are asked for, and the paths follow.
func TestVirtioUserOffloads(t *testing.T) {
	back := NewSwitch(t, Options{})
	back.Ctl("add-br", "br0")
	l := newDriverLab(t, [2]string{
		back.AddVhost("v0", "options:vhost-offload=true"), back.AddVhost("v1", "options:vhost-offload=true"),
	}, "options:mrg_rxbuf=false", "options:in_order=false")
	l.status(t, `rx-path=simple`, `tx-path=simple`, "TCP_TSO", "TCP_LRO")
	l.exchange(t)
	for _, port := range []string{"vu0", "vu1"} {
		l.Ctl("set", "Interface", port, "options:csum=true", "options:tso=true", "options:lro=true", "options:mrg_rxbuf=true")
	}
	l.status(t, `rx-path="mergeable buffer"`, `tx-path=standard`, "HOST_TSO4", "GUEST_TSO4")
	l.exchange(t)
	for _, port := range []string{"vu0", "vu1"} {
		l.Ctl("remove", "Interface", port, "options", "csum", "tso", "lro")
	}
	l.status(t, `rx-path="mergeable buffer"`, `tx-path=simple`)
	l.exchange(t)
}

// The back end connects to a port that listens.
func TestVirtioUserServer(t *testing.T) {
	back := NewSwitch(t, Options{})
	back.Ctl("add-br", "br0")
	sockets := [2]string{filepath.Join(back.RunDir, "x0"), filepath.Join(back.RunDir, "x1")}
	l := newDriverLab(t, sockets, "options:server=true")
	for i, s := range sockets {
		back.AddPort(fmt.Sprintf("v%d", i), "type=dpdkvhostuserclient", "options:vhost-server-path="+s)
	}
	l.status(t, "mode=server")
	l.exchange(t)
}

// DPDK's own device side, net_vhost.
func TestVirtioUserTestpmd(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	sockets := [2]string{filepath.Join(dir, "s0"), filepath.Join(dir, "s1")}
	pmd, err := peers.StartTestpmd(ctx, peers.TestpmdConfig{
		EAL: []string{"--vdev=net_vhost0,iface=" + sockets[0], "--vdev=net_vhost1,iface=" + sockets[1]},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	l := newDriverLab(t, sockets)
	command(ctx, t, pmd, "start")
	l.every(t, func(t *testing.T, c card) {
		l.status(t, c.paths()...)
		l.exchange(t)
	})
}

// A program with a card of its own pings through the switch, and is pinged.
func TestVirtioUserExample(t *testing.T) {
	ctx := context.Background()
	program := filepath.Join(t.TempDir(), "virtio-ping")
	if _, err := proc.Run(ctx, "go", "build", "-o", program, "github.com/gvswitch/gvswitch/examples/virtio-ping"); err != nil {
		t.Fatal(err)
	}
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	socket := s.AddVhost("app0")
	ns := addNamespace(s, "ns0", 1)
	p, err := proc.Start(exec.Command(program, "-path", socket, "-addr", "10.9.0.9", "-ping", ns.ip))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if err := peers.Ping(ctx, ns.host, "10.9.0.9", pingTime); err != nil {
		t.Error(err)
	}
	eventually(t, pingTime, "answers to the program", func() error {
		if n := strings.Count(p.Output(), "answer from "+ns.ip); n < 3 {
			return fmt.Errorf("%d answers: %s", n, p.Output())
		}
		return nil
	})
}

// OVS-DPDK's dpdkvhostuser ports.
func TestVirtioUserOvsDpdk(t *testing.T) {
	ctx := context.Background()
	ovs, err := peers.StartOVS(ctx, t.TempDir(), "0x2")
	if err != nil {
		t.Fatal(err)
	}
	defer ovs.Stop()
	var sockets [2]string
	for i := range sockets {
		if sockets[i], err = ovs.AddVhost(ctx, fmt.Sprintf("v%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	l := newDriverLab(t, sockets)
	l.every(t, func(t *testing.T, c card) {
		l.status(t, c.paths()...)
		l.exchange(t)
	})
}
