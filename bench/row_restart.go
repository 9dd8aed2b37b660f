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

// restart kills gvswitchd, starts it again, and measures how long after that a QEMU guest that
// listens for it answers to a namespace, asked fifty times a second.
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
		if _, err := ns.Run(ctx, "busybox ping -i 0.02 -w 30 "+addrs[guest0][0]+" | grep -m 1 -q 'bytes from'"); err != nil {
			return t, fmt.Errorf("no traffic 30 s after the restart: %w", err)
		}
		took = append(took, float64(time.Since(begin).Microseconds())/1000)
	}
	slices.Sort(took)
	t.add(fmt.Sprintf("QEMU guest, client mode, %d times", kills), fmt.Sprintf("%.0f", took[kills/2]), fmt.Sprintf("%.0f", took[kills*9/10]), fmt.Sprintf("%.0f", took[kills-1]))
	return t, nil
}
