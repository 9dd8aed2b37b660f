package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// kills is how often the daemon is killed.
const kills = 20

// restart kills gvswitchd while a QEMU guest, which listens for it, is pinged every 10 ms from a namespace,
// starts it again, and measures the time without an answer from the start of the
// new daemon.
func (b *bench) restart(ctx context.Context) (table, error) {
	t := table{head: []string{"after kill -9", "p50 ms", "p90 ms", "longest ms"}}
	g, err := b.startGV(ctx, "adaptive")
	if err != nil {
		return t, err
	}
	defer func() { g.stop() }()
	ns, err := peers.NewNetns(ctx, "bench")
	if err != nil {
		return t, err
	}
	defer ns.Remove()
	if _, err := g.ns.Run(ctx, "ip link add gvbench0 type veth peer name eth0 netns "+ns.Name+" && ip link set gvbench0 up"); err != nil {
		return t, err
	}
	if _, err := g.ctl(ctx, "add-port", "br0", "gvbench0"); err != nil {
		return t, err
	}
	if err := ns.AddAddrs(ctx, "eth0", addrs[netns][0]+"/24"); err != nil {
		return t, err
	}
	socket := b.dir + "/restart-vm"
	if _, err := g.ctl(ctx, "add-port", "br0", "vm0", "--", "set", "Interface", "vm0", "type=dpdkvhostuserclient", "options:vhost-server-path="+socket); err != nil {
		return t, err
	}
	vm, err := guest.Start(ctx, guest.Config{Name: "g0", Kind: guest.QEMU, Socket: socket, Listen: true, IP: addrs[guest0][0] + "/24", MAC: "02:00:00:00:77:00"})
	if err != nil {
		return t, err
	}
	defer vm.Stop()
	var took []float64
	for range kills {
		if err := peers.Ping(ctx, ns, addrs[guest0][0], 10*time.Second); err != nil {
			return t, err
		}
		g.p.Kill()
		begin := time.Now()
		if err := g.launch(ctx); err != nil {
			return t, err
		}
		for {
			if _, err := ns.Run(ctx, "ping -c 1 -W 0.02 "+addrs[guest0][0]); err == nil {
				break
			}
			if time.Since(begin) > 30*time.Second {
				return t, fmt.Errorf("no traffic 30 s after the restart")
			}
		}
		took = append(took, float64(time.Since(begin).Microseconds())/1000)
	}
	slices.Sort(took)
	t.add(fmt.Sprintf("QEMU guest, client mode, %d times", kills), fmt.Sprintf("%.0f", took[kills/2]), fmt.Sprintf("%.0f", took[kills*9/10]), fmt.Sprintf("%.0f", took[kills-1]))
	return t, nil
}
