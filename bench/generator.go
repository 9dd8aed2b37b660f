package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// generator is a running gen.
type generator struct {
	p     *proc.Process
	out   *gate
	limit time.Duration
}

// gate keeps what the generator prints on standard output and tells when it measures.
type gate struct {
	mu     sync.Mutex
	text   bytes.Buffer
	open   chan struct{} // closed by the line "measuring"
	opened bool
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text.Write(p)
	if !g.opened && bytes.Contains(g.text.Bytes(), []byte("measuring\n")) {
		g.opened = true
		close(g.open)
	}
	return len(p), nil
}

func (g *gate) last() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(g.text.String()), "\n")
	return lines[len(lines)-1]
}

// startGen starts it as the driver of two vhost-user sockets.
func (b *bench) startGen(_ context.Context, sockets [2]string, t traffic) (*generator, error) {
	var vdevs, files []string
	for i, path := range sockets {
		vdevs = append(vdevs, virtioUser(i, path, t))
		file, err := b.frameFile(t, i)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return b.startGenOn(&peers.Netns{}, vdevs, files, t)
}

// virtioUser is DPDK's virtio driver on a socket, as a device of the generator.
func virtioUser(i int, path string, t traffic) string {
	dev := fmt.Sprintf("net_virtio_user%d,path=%s,queues=%d,queue_size=1024", i, path, max(1, t.queues))
	if t.queues > 1 {
		dev += ",cq=1" // DPDK uses one pair without
	}
	if t.dev != "" {
		dev += "," + t.dev
	}
	return dev
}

// startGenOn starts it in a namespace on any devices of DPDK's, with a file of frames for each.
func (b *bench) startGenOn(ns *peers.Netns, vdevs, files []string, t traffic) (*generator, error) {
	if t.warm == 0 {
		t.warm = time.Second
	}
	args := []string{
		"-c", "1", b.gen, "-l", "1", "--no-pci", "--in-memory", "--single-file-segments", "-m", "256",
		"--file-prefix", fmt.Sprintf("%s-%d", filepath.Base(b.dir), b.gens.Add(1)), "--no-telemetry", "--log-level=4",
	}
	for _, dev := range vdevs {
		args = append(args, "--vdev="+dev)
	}
	args = append(args, "--", fmt.Sprintf("secs=%g", t.secs), fmt.Sprintf("warm=%g", t.warm.Seconds()), fmt.Sprintf("rate=%d", t.rate),
		fmt.Sprintf("window=%d", t.window), fmt.Sprintf("moves=%d", t.moves), fmt.Sprintf("learns=%d", t.learns), fmt.Sprintf("queues=%d", max(1, t.queues)))
	args = append(append(args, t.options...), files...)
	g := &generator{out: &gate{open: make(chan struct{})}, limit: t.warm + time.Duration(t.secs*float64(time.Second)) + 30*time.Second}
	cmd := ns.Wrap("taskset", args...)
	cmd.Stdout = g.out
	var err error
	g.p, err = proc.Start(cmd)
	return g, err
}

// measuring returns when measuring has begun.
func (g *generator) measuring(ctx context.Context) error {
	select {
	case <-g.out.open:
		return nil
	case <-g.p.Done():
		return g.failed()
	case <-time.After(g.limit):
		return fmt.Errorf("the generator does not begin: %s", g.p.Output())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// warm ends the time before measuring.
func (g *generator) warm() error { return g.p.Signal(syscall.SIGUSR1) }

// result waits for the end.
func (g *generator) result(ctx context.Context) (s sample, err error) {
	select {
	case <-g.p.Done():
	case <-time.After(g.limit):
		return s, fmt.Errorf("the generator does not end: %s", g.p.Output())
	case <-ctx.Done():
		return s, ctx.Err()
	}
	if g.p.ExitCode() != 0 {
		return s, g.failed()
	}
	if err := json.Unmarshal([]byte(g.out.last()), &s); err != nil {
		return s, fmt.Errorf("the generator printed %q: %w", g.out.last(), err)
	}
	return s, nil
}

func (g *generator) failed() error {
	return fmt.Errorf("the generator ended: %s: %s", g.p.State(), g.p.Output())
}

func (g *generator) stop() {
	if g.p.Alive() {
		g.p.Kill()
	}
}
