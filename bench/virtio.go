package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// way is how frames go between a host, which has the device side of virtio, on CPU 0, and a guest, which has the driver side, on
// CPU 1. Neither looks at them.
type way string

const (
	pvp         way = "PVP"           // a second guest sends, the host forwards, the guest sends back; both are one program
	guestToHost way = "guest to host" // the guest sends, the host takes
	hostToGuest way = "host to guest"
	loopback    way = "loopback" // both send back what comes: some frames go round and round
)

// pairing is a host and a guest and what they agree on.
type pairing struct {
	host, guest string // "gvswitch" or "DPDK"
	way         way
	mrg         bool
	offload     bool     // the guest asks for checksums and segmentation, so that headers must be read
	dev         string   // more arguments of DPDK's driver
	port        string   // more options of gvswitch's
	options     []string // more of the generator's
	queues      int      // queue pairs, each filled by a thread of the host's and all drained by one of the guest's; 1 when 0
}

// hostRoles are what io and testpmd are told.
var hostRoles = map[way]struct{ io, testpmd string }{
	pvp: {"forward", "io"}, guestToHost: {"receive", "rxonly"}, hostToGuest: {"send", "txonly"}, loopback: {"reflect", "io"},
}

var guestRoles = map[way][]string{pvp: {"both", "reflect"}, guestToHost: {"send"}, hostToGuest: {"receive"}, loopback: {"kick"}}

// pairs measures a host and a guest. Of guest to host, the figure is what was sent: all of it is taken.
func (b *bench) pairs(ctx context.Context, p pairing, secs float64) (sample, error) {
	dir, err := os.MkdirTemp(b.dir, "pair")
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(dir)
	p.queues = max(1, p.queues)
	var sockets []string
	for i := range guestRoles[p.way] {
		sockets = append(sockets, filepath.Join(dir, fmt.Sprint("vu", i)))
	}
	host, err := b.startHost(p, sockets)
	if err != nil {
		return sample{}, err
	}
	defer func() { _ = host.Stop(5 * time.Second) }()
	if err := awaitSocket(ctx, host, sockets[len(sockets)-1]); err != nil {
		return sample{}, err
	}
	g, err := b.startGuest(p, sockets, secs)
	if err != nil {
		return sample{}, err
	}
	defer g.stop()
	s, err := g.result(ctx)
	if err != nil {
		return s, fmt.Errorf("%w\nhost: %s", err, host.Output())
	}
	if p.way == guestToHost {
		s.Received = s.Sent
	}
	return s, nil
}

func awaitSocket(ctx context.Context, p *proc.Process, path string) error {
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		if time.Now().After(end) || !p.Alive() || ctx.Err() != nil {
			return fmt.Errorf("the host does not come up: %s", p.Output())
		}
	}
}

// hostTime is longer than any measurement: the host ends by a signal.
const hostTime = "3600"

func (b *bench) startHost(p pairing, sockets []string) (*proc.Process, error) {
	if p.host == "gvswitch" {
		args := []string{"-warm", hostTime, "-cpus", "0" + strings.Repeat(",0", p.queues-1)}
		for _, path := range sockets {
			args = append(args, fmt.Sprintf("%s=dpdkvhostuser:vhost-server-path=%s,vhost-offload=true,n_rxq=%d", hostRoles[p.way].io, path, p.queues))
		}
		return proc.Start(exec.Command(b.io, args...))
	}
	// Lcore 0 answers to commands on CPU 1, the others forward on CPU 0.
	lcores := "0@1"
	for i := range p.queues {
		lcores += fmt.Sprintf(",%d@0", i+1)
	}
	args := []string{
		"--lcores", lcores, "--main-lcore", "0", "--no-pci", "--in-memory", "-m", "512", "--no-telemetry",
		"--file-prefix", fmt.Sprintf("%s-h%d", filepath.Base(b.dir), b.gens.Add(1)),
	}
	for i, path := range sockets {
		args = append(args, fmt.Sprintf("--vdev=net_vhost%d,iface=%s,queues=%d", i, path, p.queues))
	}
	args = append(args, "--", fmt.Sprintf("--nb-cores=%d", p.queues), "--forward-mode="+hostRoles[p.way].testpmd, "--txd=1024", "--rxd=1024",
		fmt.Sprintf("--rxq=%d", p.queues), fmt.Sprintf("--txq=%d", p.queues), "--no-mlockall", "--stats-period=3600")
	if len(sockets) == 1 {
		args = append(args, "--port-topology=loop")
	}
	return proc.Start(exec.Command("dpdk-testpmd", args...))
}

func (b *bench) startGuest(p pairing, sockets []string, secs float64) (*generator, error) {
	t := traffic{size: "64", flows: 1024, macs: 1, secs: secs, queues: p.queues, options: p.options, dev: "mrg_rxbuf=" + bit(p.mrg)}
	if p.guest == "gvswitch" {
		return b.startIOGuest(p, sockets, secs)
	}
	if p.dev != "" {
		t.dev += "," + p.dev
	}
	if p.offload {
		t.options = append([]string{"offload=1"}, t.options...)
	}
	frames, err := b.frames(t, 0)
	if err != nil {
		return nil, err
	}
	files := map[way][]string{pvp: {frames, "~"}, guestToHost: {frames}, hostToGuest: {"-"}, loopback: {"~" + frames}}[p.way]
	if p.way == guestToHost {
		t.options = append([]string{"blind=1"}, t.options...)
	}
	var vdevs []string
	for i, path := range sockets {
		vdevs = append(vdevs, virtioUser(i, path, t))
	}
	return b.startGenOn(&peers.Netns{}, vdevs, files, t)
}

// startIOGuest starts gvswitch's driver. Its result looks like the generator's.
func (b *bench) startIOGuest(p pairing, sockets []string, secs float64) (*generator, error) {
	args := []string{"-secs", fmt.Sprint(secs), "-cpus", "1"}
	for i, path := range sockets {
		port := fmt.Sprintf("%s=virtio-user:path=%s,queue_size=1024,queues=%d,mrg_rxbuf=%v", guestRoles[p.way][i], path, p.queues, p.mrg)
		if p.offload {
			port += ",csum=true,tso=true"
		}
		if p.port != "" {
			port += "," + p.port
		}
		args = append(args, port)
	}
	g := &generator{out: &gate{open: make(chan struct{})}, limit: time.Duration(secs*float64(time.Second)) + 30*time.Second}
	cmd := exec.Command(b.io, args...)
	cmd.Stdout = g.out
	var err error
	g.p, err = proc.Start(cmd)
	return g, err
}

func bit(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
