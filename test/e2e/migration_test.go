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

// maxGap is the longest that a guest may be out of reach because it migrates, beyond the time for
// which QEMU itself stops it. On a machine that does other things it takes longer: make test allows
// ten times as much.
const maxGap = 300 * time.Millisecond

// mover is a guest that migrates between places, and the traffic that it has meanwhile.
type mover struct {
	t      *testing.T
	guest  *guest.Guest
	places []string // vhost-user sockets
	at     int
	peer   station // whom it talks to
	from   *peers.Netns
}

// start boots the guest at the first place.
func (m *mover) start(c guest.Config) station {
	c.Kind, c.Socket, c.Migrates = guest.QEMU, m.places[0], true
	s := bootGuest(m.t, "mover", 1, c)
	m.guest = s.host.(*guest.Guest)
	return s
}

// move migrates the guest to the next place.
func (m *mover) move() guest.Migration {
	m.t.Helper()
	m.at = (m.at + 1) % len(m.places)
	g, how, err := m.guest.Migrate(context.Background(), m.places[m.at])
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		g.Stop()
		if m.t.Failed() {
			m.t.Logf("console of guest %s after it migrated:\n%s", g.Name, g.Console())
		}
	})
	m.guest = g
	return how
}

// run migrates the guest so often under traffic: bytes to it and back on one TCP connection,
// bytes from it on another, and echo requests. The connections outlive all migrations.
func (m *mover) run(addr string, times int) {
	m.t.Helper()
	to := dialEcho(m.t, m.guest, m.from, addr)
	of := listenCount(m.t, m.guest, m.from, m.peer.ip)
	echoes := startEchoes(m.t, m.from, addr)
	var worst, sum time.Duration
	for i := range times {
		echoes.gap.reset()
		time.Sleep(time.Second)
		usual := echoes.gap.longest() // what the guest does not answer anyway, on this machine at this moment
		to.gap.reset()
		echoes.gap.reset()
		before := [2]uint64{to.done.Load(), of.done.Load()}
		how := m.move()
		time.Sleep(time.Second)
		gap := max(0, echoes.gap.longest()-how.Downtime)
		worst, sum = max(worst, gap), sum+gap
		m.t.Logf("migration %d: %v, of which the guest stood still for %v, %d passes; out of reach for %v more (TCP %v), in the second before for %v; %d and %d bytes meanwhile",
			i+1, how.Total, how.Downtime, how.Passes, gap.Round(time.Millisecond), max(0, to.gap.longest()-how.Downtime).Round(time.Millisecond),
			usual.Round(time.Millisecond),
			to.done.Load()-before[0], of.done.Load()-before[1])
		for what, n := range map[string]uint64{"to the guest and back": to.done.Load() - before[0], "from the guest": of.done.Load() - before[1]} {
			if n == 0 {
				m.t.Errorf("migration %d: no bytes %s", i+1, what)
			}
		}
	}
	echoes.end()
	wrong := to.end() + of.end()
	m.t.Logf("%d migrations: out of reach beyond QEMU's downtime for %v at most, %v on average; %d bytes to the guest and back, %d from it, %d wrong",
		times, worst.Round(time.Millisecond), (sum / time.Duration(times)).Round(time.Millisecond), to.done.Load(), of.done.Load(), wrong)
	limit := 10 * maxGap
	if soak {
		limit = maxGap
	}
	if worst > limit {
		m.t.Errorf("the guest was out of reach for %v beyond QEMU's downtime, more than %v", worst, limit)
	}
}

// letters migrates the guest so often with unread bytes in its memory.
func (m *mover) letters(addr string, times int) {
	m.t.Helper()
	for range times {
		l := m.write(addr)
		m.move()
		l.read(m.guest)
	}
}

// migrations is how often each guest migrates.
func migrations() int {
	if soak {
		return 20
	}
	return 1
}

// A running guest goes from one port of a switch to another, again and again.
func TestMigration(t *testing.T) {
	for name, c := range map[string]struct {
		guest.Config
		port string
	}{
		"default":          {},
		"1024, no merge":   {Config: guest.Config{NoMrg: true, QueueSize: 1024}},
		"packed":           {Config: guest.Config{Device: "packed=on"}},
		"two queues":       {Config: guest.Config{Queues: 2}},
		"announces itself": {port: "options:virtio-features=+CTRL_VQ,+GUEST_ANNOUNCE"},
	} {
		if name != "default" && !soak {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := NewSwitch(t, Options{})
			s.Ctl("add-br", "br0")
			ns := addNamespace(s, "veth0", 2)
			m := mover{t: t, peer: ns, from: ns.host.(*peers.Netns)}
			for _, port := range []string{"vu0", "vu1"} {
				options := []string{"options:n_rxq=2", "options:vhost-offload=true"}
				if c.port != "" {
					options = append(options, c.port)
				}
				m.places = append(m.places, s.AddVhost(port, options...))
			}
			g := m.start(c.Config)
			pingAll(t, g, ns)
			m.letters(g.ip, migrations())
			m.run(g.ip, migrations())
			g.host = m.guest
			pingAll(t, g, ns)
			transfer(t, g, ns, ns.ip)
			transfer(t, ns, g, g.ip6)
			wantPort(t, s, []string{"vu0", "vu1"}[m.at])
		})
	}
}

// wantPort fails unless the guest's MAC was learned at a port.
func wantPort(t *testing.T, s *Switch, port string) {
	t.Helper()
	number := strings.TrimSpace(s.Ctl("get", "Interface", port, "ofport"))
	found := false
	table := s.Ctl("fdb/show", "br0")
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		found = found || len(f) > 2 && f[0] == number && f[2] == "02:00:00:00:00:01"
	}
	if !found {
		t.Errorf("the guest's address was not learned at %s, which is %s:\n%s", port, number, table)
	}
}

// A running guest goes from one switch to another, joined by a link, and back: the first
// learns from the second's announcement where it is now.
func TestMigrationBetweenSwitches(t *testing.T) {
	var m mover
	m.t = t
	var switches []*Switch
	for range 2 {
		s := NewSwitch(t, Options{})
		s.Ctl("add-br", "br0")
		m.places = append(m.places, s.AddVhost("vu0", "options:vhost-offload=true"))
		switches = append(switches, s)
	}
	a, b := switches[0], switches[1]
	shell(t, a.Netns, fmt.Sprintf("ip link add w0 type veth peer name w0 netns %s && ip link set w0 up", b.Netns.Name))
	shell(t, b.Netns, "ip link set w0 up")
	for _, s := range switches {
		s.Ctl("add-port", "br0", "w0")
	}
	ns := addNamespace(a, "veth0", 2)
	m.peer, m.from = ns, ns.host.(*peers.Netns)
	g := m.start(guest.Config{})
	far := addNamespace(b, "veth0", 3)
	pingAll(t, g, ns, far)
	m.letters(g.ip, migrations())
	m.run(g.ip, migrations())
	g.host = m.guest
	pingAll(t, g, ns, far)
	transfer(t, ns, g, g.ip)
	transfer(t, g, ns, ns.ip6)
}
