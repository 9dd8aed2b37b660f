package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gvswitch/gvswitch/test/peers"
)

// zcPath is a way from one port to another, or back to the same, on which a guest's frames are forwarded.
type zcPath struct {
	name string
	// measure sends frames of a size through a switch that was just started, with zero copy as it is told if it is gvswitch.
	measure func(b *bench, ctx context.Context, sw bridge, zc string, size string) (sample, error)
}

// headersOnly makes the generator write a frame's headers and leave the rest as it was in the buffer, as testpmd does when
// it generates: else it would be slower than the switches.
var headersOnly = []string{"fill=128"}

// sourceGain is what the system that first had dequeue zero copy gained by it at 1518 B.
const sourceGain = 1.22

// zeroCopy compares gvswitch with dequeue zero copy off and on, and OVS-DPDK, which has it no more.
func (b *bench) zeroCopy(ctx context.Context) (table, error) {
	t := table{head: []string{"from, to", "off, Mpps", "on, Mpps", "gain", "OVS-DPDK Mpps", "off, ratio", "off, cycles", "on, cycles", "OVS-DPDK cycles", "bar"}}
	for _, path := range []zcPath{
		{"vhost to vhost", (*bench).vhostToVhost},
		{"virtio-user to virtio-user", (*bench).driverToDriver},
		{"vhost to NIC (veth)", (*bench).vhostToNIC},
		{"NIC (veth) to vhost to NIC", (*bench).nicToVhostToNIC},
	} {
		for _, size := range []string{"64", "256", "512", "1518"} {
			if !b.wanted(path.name + ", " + size + " B") {
				continue
			}
			if err := b.zcLine(ctx, &t, path, size); err != nil {
				return t, fmt.Errorf("%s, %s B: %w", path.name, size, err)
			}
		}
	}
	t.notes = append(t.notes, "One way, 1024 flows; the guest writes 128 bytes of each frame. A virtio-user port has nothing to turn off: its two columns are the same. A veth stands for the NIC, by AF_PACKET with both switches.")
	return t, nil
}

func (b *bench) zcLine(ctx context.Context, t *table, path zcPath, size string) error {
	who := b.contenders()
	var off, on, other []sample
	for range b.rounds {
		for _, c := range []struct {
			contender
			zc   string
			into *[]sample
		}{{who[0], "false", &off}, {who[0], "true", &on}, {who[1], "", &other}} {
			s, err := b.zcSample(ctx, c.contender, path, c.zc, size)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			*c.into = append(*c.into, s)
		}
	}
	gain, ahead := medianRatio(on, off, sample.mpps), medianRatio(off, other, sample.mpps)
	verdict := ""
	switch {
	case path.name != "vhost to vhost":
	case size == "1518":
		verdict = bar(fmt.Sprintf("gain %.2f, off ratio 1.2", sourceGain), gain >= sourceGain && ahead >= 1.2)
	case size == "64":
		verdict = bar("no loss", gain >= 0.97)
	}
	mpps := func(s []sample) string { return fmt.Sprintf("%.2f", median(s, sample.mpps)) }
	per := func(s []sample) string { return fmt.Sprintf("%.0f", median(s, sampleCycles)) }
	t.add(path.name+", "+size+" B", mpps(off), mpps(on), fmt.Sprintf("%.2f", gain), mpps(other), fmt.Sprintf("%.2f", ahead), per(off), per(on), per(other), verdict)
	return nil
}

func (b *bench) zcSample(ctx context.Context, c contender, path zcPath, zc, size string) (sample, error) {
	sw, err := c.start(ctx)
	if err != nil {
		return sample{}, err
	}
	defer sw.stop()
	s, err := path.measure(b, ctx, sw, zc, size)
	if err != nil {
		return s, err
	}
	s.Cycles, err = cycles(ctx, sw)
	return s, err
}

// setZeroCopy sets what only gvswitch has, on the ports given.
func setZeroCopy(ctx context.Context, sw bridge, zc string, ports ...string) error {
	for _, p := range ports {
		if zc == "" {
			return nil
		}
		if _, err := sw.ctl(ctx, "set", "Interface", p, "options:dq-zero-copy="+zc); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) vhostToVhost(ctx context.Context, sw bridge, zc, size string) (sample, error) {
	sockets, err := pair(ctx, sw)
	if err == nil {
		err = setZeroCopy(ctx, sw, zc, "vu0", "vu1")
	}
	if err != nil {
		return sample{}, err
	}
	return b.generate(ctx, sockets, traffic{size: size, flows: 1024, macs: 1, oneWay: true, secs: b.secs, options: headersOnly}, nil)
}

// driverToDriver sends between two back ends of the generator's, to which the switch is attached as a driver. Such ports lend the driver's own
// buffers in any case.
func (b *bench) driverToDriver(ctx context.Context, sw bridge, _, size string) (s sample, err error) {
	t := traffic{size: size, flows: 1024, macs: 1, secs: b.secs, options: headersOnly}
	file, err := b.frames(t, 0)
	if err != nil {
		return s, err
	}
	dir, err := os.MkdirTemp(b.dir, "back")
	if err != nil {
		return s, err
	}
	sockets := []string{filepath.Join(dir, "0"), filepath.Join(dir, "1")}
	var vdevs []string
	for i, path := range sockets {
		vdevs = append(vdevs, fmt.Sprintf("net_vhost%d,iface=%s,queues=1", i, path))
	}
	g, err := b.startGenOn(&peers.Netns{}, vdevs, []string{file, "-"}, t)
	if err != nil {
		return s, err
	}
	defer g.stop()
	if err := awaitSocket(ctx, g.p, sockets[1]); err != nil {
		return s, err
	}
	for i, path := range sockets {
		if err := sw.driver(ctx, fmt.Sprint("vu", i), path); err != nil {
			return s, err
		}
	}
	if err := b.setRules(ctx, sw, []string{"in_port=1,actions=output:2", "in_port=2,actions=output:1"}); err != nil {
		return s, err
	}
	return g.result(ctx)
}

// nicPort adds nic0, one end of a veth whose other end wire0 stands for the network, in the switch's namespace.
func nicPort(ctx context.Context, sw bridge) (*peers.Netns, error) {
	ns := sw.namespace()
	_, err := ns.Run(ctx, "ip link add nic0 type veth peer name wire0 && sysctl -qw net.ipv6.conf.nic0.disable_ipv6=1 net.ipv6.conf.wire0.disable_ipv6=1 && "+
		"ip link set nic0 mtu 1700 up && ip link set wire0 mtu 1700 up")
	if err != nil {
		return nil, err
	}
	return ns, sw.nic(ctx, "nic0")
}

// wireCount is how many frames have come out of the switch at wire0.
func wireCount(ctx context.Context, ns *peers.Netns) (n float64, err error) {
	out, err := ns.Run(ctx, "cat /sys/class/net/wire0/statistics/rx_packets")
	if err == nil {
		_, err = fmt.Sscan(out, &n)
	}
	return n, err
}

// guestAndNIC adds the ports of a guest and of the NIC, in this order, and sets the rules.
func (b *bench) guestAndNIC(ctx context.Context, sw bridge, zc string, rules ...string) (socket string, ns *peers.Netns, err error) {
	if socket, err = sw.vhost(ctx, "vu0"); err == nil {
		err = setZeroCopy(ctx, sw, zc, "vu0")
	}
	if err == nil {
		ns, err = nicPort(ctx, sw)
	}
	if err == nil {
		err = b.setRules(ctx, sw, rules)
	}
	return socket, ns, err
}

func (b *bench) vhostToNIC(ctx context.Context, sw bridge, zc, size string) (s sample, err error) {
	socket, ns, err := b.guestAndNIC(ctx, sw, zc, "actions=normal")
	if err != nil {
		return s, err
	}
	return b.toWire(ctx, ns, socket, traffic{size: size, flows: 1024, macs: 1, secs: b.secs, options: headersOnly})
}

// toWire sends from one guest, and counts what comes out at wire0.
func (b *bench) toWire(ctx context.Context, ns *peers.Netns, socket string, t traffic) (s sample, err error) {
	file, err := b.frames(t, 0)
	if err != nil {
		return s, err
	}
	t.options = append(slices.Clone(t.options), "blind=1")
	g, err := b.startGenOn(&peers.Netns{}, []string{virtioUser(0, socket, t)}, []string{file}, t)
	if err != nil {
		return s, err
	}
	defer g.stop()
	if err := g.measuring(ctx); err != nil {
		return s, err
	}
	before, err := wireCount(ctx, ns)
	if err != nil {
		return s, err
	}
	if s, err = g.result(ctx); err != nil {
		return s, err
	}
	after, err := wireCount(ctx, ns)
	s.Received = after - before
	return s, err
}

// nicToVhostToNIC sends frames into wire0, to a guest that sends them back.
func (b *bench) nicToVhostToNIC(ctx context.Context, sw bridge, zc, size string) (s sample, err error) {
	socket, ns, err := b.guestAndNIC(ctx, sw, zc, "in_port=1,actions=output:2", "in_port=2,actions=output:1")
	if err != nil {
		return s, err
	}
	t := traffic{size: size, flows: 1024, macs: 1, secs: b.secs, window: 512}
	file, err := b.frames(t, 0)
	if err != nil {
		return s, err
	}
	g, err := b.startGenOn(ns, []string{"net_af_packet0,iface=wire0,framesz=2048,blocksz=65536,framecnt=1024,qpairs=1", virtioUser(1, socket, t)}, []string{file, "~"}, t)
	if err != nil {
		return s, err
	}
	defer g.stop()
	return g.result(ctx)
}
