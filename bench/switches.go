package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// bridge is a running switch with the bridge br0.
type bridge interface {
	// vhost adds a vhost-user port that the switch serves and returns its socket.
	vhost(ctx context.Context, name string) (string, error)
	// ctl runs a runtime command and returns its text.
	ctl(ctx context.Context, args ...string) (string, error)
	// ofctl runs ovs-ofctl's command on br0, or gvsctl's of the same name.
	ofctl(ctx context.Context, command string, args ...string) (string, error)
	// ofport is a port's number in rules.
	ofport(ctx context.Context, name string) (string, error)
	// namespace is where its kernel devices are, and nic adds one of them as a port.
	namespace() *peers.Netns
	nic(ctx context.Context, name string) error
	// driver adds a port that is attached to the socket of a vhost-user back end.
	driver(ctx context.Context, name, socket string) error
	stop()
}

// contender is a switch that can be started.
type contender struct {
	name  string
	start func(ctx context.Context) (bridge, error)
}

func (b *bench) contenders(settings ...string) []contender {
	return []contender{
		{"gvswitch", func(ctx context.Context) (bridge, error) { return b.startGV(ctx, settings...) }},
		{"OVS-DPDK", func(ctx context.Context) (bridge, error) { return b.startOVS(ctx, settings...) }},
	}
}

// gv is a gvswitchd with folders and a network namespace of its own.
type gv struct {
	b   *bench
	dir string
	ns  *peers.Netns
	p   *proc.Process
}

// startGV starts gvswitch with one poll thread on CPU 0 and the other_config
// settings KEY=VALUE; "adaptive" alone leaves everything at its default.
func (b *bench) startGV(ctx context.Context, settings ...string) (*gv, error) {
	dir, err := os.MkdirTemp(b.dir, "gv")
	if err != nil {
		return nil, err
	}
	g := &gv{b: b, dir: dir}
	if g.ns, err = peers.NewNetns(ctx, "gv"); err != nil {
		return nil, err
	}
	if err := g.launch(ctx); err != nil {
		g.stop()
		return nil, err
	}
	set := []string{"add-br", "br0"}
	if len(settings) == 0 || settings[0] != "adaptive" {
		set = append(set, "--", "set", "Open_vSwitch", ".", "other_config:pmd-cpu-mask=0x1", "other_config:pmd-sleep-max=0")
		for _, s := range settings {
			set = append(set, "other_config:"+s)
		}
	}
	if _, err := g.ctl(ctx, set...); err != nil {
		g.stop()
		return nil, err
	}
	return g, nil
}

func (g *gv) launch(ctx context.Context) (err error) {
	g.p, err = proc.Start(g.ns.Wrap(filepath.Join(g.b.bin, "gvswitchd"), "--run-dir", g.dir, "--state-dir", g.dir))
	if err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err = g.ctl(ctx, "show"); err == nil {
			return nil
		}
		if time.Now().After(end) || !g.p.Alive() {
			return fmt.Errorf("gvswitchd does not answer: %w\n%s", err, g.p.Output())
		}
	}
}

func (g *gv) ctl(ctx context.Context, args ...string) (string, error) {
	return proc.Run(ctx, filepath.Join(g.b.bin, "gvsctl"), append([]string{"--run-dir", g.dir}, args...)...)
}

func (g *gv) vhost(ctx context.Context, name string) (string, error) {
	_, err := g.ctl(ctx, "add-port", "br0", name, "--", "set", "Interface", name, "type=dpdkvhostuser")
	return filepath.Join(g.dir, name), err
}

func (g *gv) namespace() *peers.Netns { return g.ns }

func (g *gv) nic(ctx context.Context, name string) error {
	_, err := g.ctl(ctx, "add-port", "br0", name)
	return err
}

func (g *gv) driver(ctx context.Context, name, socket string) error {
	_, err := g.ctl(ctx, "add-port", "br0", name, "--", "set", "Interface", name, "type=virtio-user", "options:path="+socket, "options:queue_size=1024")
	return err
}

func (g *gv) ofctl(ctx context.Context, command string, args ...string) (string, error) {
	return g.ctl(ctx, append([]string{command, "br0"}, args...)...)
}

func (g *gv) ofport(ctx context.Context, name string) (string, error) {
	return g.ctl(ctx, "get", "Interface", name, "ofport")
}

func (g *gv) stop() {
	if g.p != nil {
		_ = g.p.Stop(10 * time.Second)
	}
	g.ns.Remove()
	_ = os.RemoveAll(g.dir)
}

// ovs is an OVS-DPDK in a namespace of its own.
type ovs struct{ *peers.OVS }

func (b *bench) startOVS(ctx context.Context, settings ...string) (bridge, error) {
	if len(settings) > 0 && settings[0] == "adaptive" {
		settings = settings[1:]
	}
	dir, err := os.MkdirTemp(b.dir, "ovs")
	if err != nil {
		return nil, err
	}
	o, err := peers.StartOVS(ctx, dir, "0x1", settings...)
	if err != nil {
		return nil, err
	}
	return ovs{o}, nil
}

func (o ovs) vhost(ctx context.Context, name string) (string, error) { return o.AddVhost(ctx, name) }

func (o ovs) ctl(ctx context.Context, args ...string) (string, error) { return o.Appctl(ctx, args...) }

func (o ovs) namespace() *peers.Netns { return o.Netns() }

func (o ovs) nic(ctx context.Context, name string) error {
	_, err := o.Vsctl(ctx, "add-port", "br0", name)
	return err
}

func (o ovs) driver(ctx context.Context, name, socket string) error {
	_, err := o.Vsctl(ctx, "add-port", "br0", name, "--", "set", "Interface", name, "type=dpdk", "options:n_rxq_desc=1024", "options:n_txq_desc=1024",
		fmt.Sprintf("options:dpdk-devargs=\"net_virtio_user_%s,path=%s,queue_size=1024\"", name, socket))
	return err
}

func (o ovs) ofctl(ctx context.Context, command string, args ...string) (string, error) {
	return proc.Run(ctx, "ovs-ofctl", append([]string{command, "unix:" + filepath.Join(o.Dir, "br0.mgmt")}, args...)...)
}

func (o ovs) ofport(ctx context.Context, name string) (string, error) {
	return o.Vsctl(ctx, "get", "Interface", name, "ofport")
}

func (o ovs) stop() {
	o.Stop()
	_ = os.RemoveAll(o.Dir)
}

// pair adds two vhost-user ports.
func pair(ctx context.Context, sw bridge) (sockets [2]string, err error) {
	for i := range sockets {
		if sockets[i], err = sw.vhost(ctx, fmt.Sprintf("vu%d", i)); err != nil {
			return sockets, err
		}
	}
	return sockets, nil
}

var cyclesLine = regexp.MustCompile(`avg processing cycles per packet: ([0-9.]+)`)

// cycles is the switch's own figure of busy cycles per packet.
func cycles(ctx context.Context, sw bridge) (float64, error) {
	return figure(ctx, sw, "dpif-netdev/pmd-stats-show", cyclesLine)
}

// figure is a number that a command tells, the first group of line.
func figure(ctx context.Context, sw bridge, command string, line *regexp.Regexp) (float64, error) {
	text, err := sw.ctl(ctx, command)
	if err != nil {
		return 0, err
	}
	m := line.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%s: there is no %q in\n%s", command, line, text)
	}
	return strconv.ParseFloat(m[1], 64)
}

// measure sends traffic through a fresh switch with two ports.
func (b *bench) measure(ctx context.Context, c contender, t traffic) (sample, error) {
	sw, err := c.start(ctx)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", c.name, err)
	}
	defer sw.stop()
	sockets, err := pair(ctx, sw)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", c.name, err)
	}
	return b.through(ctx, sw, sockets, t)
}

// through sends traffic through two ports of a running switch.
func (b *bench) through(ctx context.Context, sw bridge, sockets [2]string, t traffic) (sample, error) {
	s, err := b.generate(ctx, sockets, t, nil)
	if err != nil {
		return s, err
	}
	s.Cycles, err = cycles(ctx, sw)
	return s, err
}
