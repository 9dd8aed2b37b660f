package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// iperf is the table of the source system's "userspace TSO" page: what TCP comes
// to between two Linux guests, a namespace behind a veth, and the host.
func (b *bench) iperf(ctx context.Context) (table, error) {
	t := table{head: []string{"from, to", "gvswitch Mbit/s", "OVS-DPDK Mbit/s", "ratio"}}
	gvRates, err := b.gvIperf(ctx)
	if err != nil {
		return t, fmt.Errorf("gvswitch: %w", err)
	}
	ovsRates, err := b.ovsIperf(ctx)
	if err != nil {
		return t, fmt.Errorf("OVS-DPDK: %w", err)
	}
	for i, p := range paths {
		t.add(p.name, fmt.Sprintf("%.0f", gvRates[i]), fmt.Sprintf("%.0f", ovsRates[i]), ratio(gvRates[i], ovsRates[i]))
	}
	t.notes = append(t.notes, "Guests are User Mode Linux, MTU 1500, one stream, offloads as each system sets them up by itself; "+
		"three processes share two CPUs.")
	return t, nil
}

// place is where a path begins or ends.
type place int

const (
	guest0 place = iota
	guest1
	netns
	local
)

var addrs = [...][2]string{{"10.77.0.1", "fd77::1"}, {"10.77.0.2", "fd77::2"}, {"10.77.0.3", "fd77::3"}, {"10.77.0.4", "fd77::4"}}

var paths = []struct {
	name     string
	from, to place
	v6       int
}{
	{"VM to VM, IPv4", guest0, guest1, 0},
	{"VM to VM, IPv6", guest0, guest1, 1},
	{"VM to namespace (veth), IPv4", guest0, netns, 0},
	{"namespace (veth) to VM, IPv4", netns, guest0, 0},
	{"VM to host (bridge port), IPv4", guest0, local, 0},
	{"host (bridge port) to VM, IPv4", local, guest0, 0},
}

func (b *bench) rates(ctx context.Context, hosts [4]peers.Host) ([]float64, error) {
	var rates []float64
	for _, p := range paths {
		to := addrs[p.to][p.v6]
		if err := peers.Ping(ctx, hosts[p.from], to, 10*time.Second); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		var runs []float64
		for range b.rounds {
			r, err := peers.Iperf(ctx, hosts[p.from], hosts[p.to], to, time.Duration(b.secs*float64(time.Second)))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			runs = append(runs, r.Mbps)
		}
		rates = append(rates, median(runs, func(v float64) float64 { return v }))
	}
	return rates, nil
}

func bootUML(ctx context.Context, n int, socket string) (*guest.Guest, error) {
	return guest.Start(ctx, guest.Config{
		Name: fmt.Sprintf("g%d", n), Kind: guest.UML, Socket: socket,
		IP: addrs[n][0] + "/24", IP6: addrs[n][1] + "/64", MAC: fmt.Sprintf("02:00:00:00:77:%02x", n),
	})
}

func (b *bench) gvIperf(ctx context.Context) ([]float64, error) {
	g, err := b.startGV(ctx, "adaptive")
	if err != nil {
		return nil, err
	}
	defer g.stop()
	ns, err := peers.NewNetns(ctx, "bench")
	if err != nil {
		return nil, err
	}
	defer ns.Remove()
	if _, err := g.ctl(ctx, "add-port", "br0", "gvbench0", "--", "set", "Interface", "gvbench0", "type=veth", "options:peer=eth0", "options:netns="+ns.Name); err != nil {
		return nil, err
	}
	if err := ns.AddAddrs(ctx, "eth0", addrs[netns][0]+"/24", addrs[netns][1]+"/64"); err != nil {
		return nil, err
	}
	host := g.ns
	if _, err := host.Run(ctx, "ip link set br0 up && ip addr add "+addrs[local][0]+"/24 dev br0"); err != nil {
		return nil, err
	}
	hosts := [4]peers.Host{netns: ns, local: host}
	for i := range 2 {
		socket, err := g.vhost(ctx, fmt.Sprintf("vm%d", i))
		if err != nil {
			return nil, err
		}
		vm, err := bootUML(ctx, i, socket)
		if err != nil {
			return nil, err
		}
		defer vm.Stop()
		hosts[i] = vm
	}
	return b.rates(ctx, hosts)
}

// ovsIperf builds the same with OVS-DPDK, inside its namespace. It is the client of
// the vhost-user sockets, because as server it drops TCP of such guests, and a
// proxy hides from the guests what User Mode Linux cannot take.
func (b *bench) ovsIperf(ctx context.Context) ([]float64, error) {
	sw, err := b.startOVS(ctx)
	if err != nil {
		return nil, err
	}
	defer sw.stop()
	o := sw.(ovs)
	ns, err := peers.NewNetns(ctx, "bench")
	if err != nil {
		return nil, err
	}
	defer ns.Remove()
	inside := o.Netns()
	if _, err := inside.Run(ctx, "ip link add gvbench0 type veth peer name eth0 netns "+ns.Name+" && ip link set gvbench0 up"); err != nil {
		return nil, err
	}
	if _, err := o.Vsctl(ctx, "add-port", "br0", "gvbench0"); err != nil {
		return nil, err
	}
	if err := ns.AddAddrs(ctx, "eth0", addrs[netns][0]+"/24", addrs[netns][1]+"/64"); err != nil {
		return nil, err
	}
	// OVS of this version sends frames without checksums to a veth: as its manual says, the
	// peer must not leave them to it.
	if _, err := ns.Run(ctx, "ethtool -K eth0 tx off"); err != nil {
		return nil, err
	}
	if _, err := inside.Run(ctx, "ip link set br0 up && ip addr add "+addrs[local][0]+"/24 dev br0"); err != nil {
		return nil, err
	}
	hosts := [4]peers.Host{netns: ns, local: inside}
	for i := range 2 {
		front, back := filepath.Join(o.Dir, fmt.Sprintf("f%d", i)), filepath.Join(o.Dir, fmt.Sprintf("b%d", i))
		stop, err := maskFeatures(front, back)
		if err != nil {
			return nil, err
		}
		defer stop()
		if err := o.AddVhostClient(ctx, fmt.Sprintf("vm%d", i), back); err != nil {
			return nil, err
		}
		vm, err := bootUML(ctx, i, front)
		if err != nil {
			return nil, err
		}
		defer vm.Stop()
		hosts[i] = vm
	}
	return b.rates(ctx, hosts)
}
