package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// pmd is testpmd with two net_vhost ports, forwarding every frame from one to the
// other without looking at it: what copying alone costs with DPDK.
type pmd struct {
	dir string
	p   *proc.Process
}

func (b *bench) startPMD(context.Context) (bridge, error) {
	dir, err := os.MkdirTemp(b.dir, "pmd")
	if err != nil {
		return nil, err
	}
	args := []string{"-l", "0,1", "--main-lcore", "1", "--no-pci", "--in-memory", "-m", "512", "--no-telemetry", "--file-prefix", filepath.Base(dir)}
	for i := range 2 {
		args = append(args, fmt.Sprintf("--vdev=net_vhost%d,iface=%s/vu%d,queues=1", i, dir, i))
	}
	args = append(args, "--", "--nb-cores=1", "--forward-mode=io", "--txd=1024", "--rxd=1024", "--no-mlockall", "--stats-period=3600")
	p, err := proc.Start(exec.Command("dpdk-testpmd", args...))
	if err != nil {
		return nil, err
	}
	d := &pmd{dir, p}
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "vu1")); err == nil {
			return d, nil
		}
		if time.Now().After(end) || !p.Alive() {
			d.stop()
			return nil, fmt.Errorf("testpmd did not start: %s", p.Output())
		}
	}
}

func (d *pmd) vhost(_ context.Context, name string) (string, error) {
	return filepath.Join(d.dir, name), nil
}

// ctl answers the one command that is asked: testpmd accounts for no cycles.
func (d *pmd) ctl(context.Context, ...string) (string, error) {
	return "avg processing cycles per packet: 0", nil
}

func (d *pmd) ofctl(_ context.Context, command string, _ ...string) (string, error) {
	return "", fmt.Errorf("testpmd has no flows for %q", command)
}

func (d *pmd) ofport(context.Context, string) (string, error) { return "", nil }

func (d *pmd) namespace() *peers.Netns { return &peers.Netns{} }

func (d *pmd) nic(_ context.Context, name string) error {
	return fmt.Errorf("testpmd has no bridge for %q", name)
}

func (d *pmd) driver(_ context.Context, name, _ string) error {
	return fmt.Errorf("testpmd has no bridge for %q", name)
}

func (d *pmd) stop() {
	_ = d.p.Stop(5 * time.Second)
	_ = os.RemoveAll(d.dir)
}

// testpmd compares gvswitch, learning and looking up, with testpmd, which does neither.
func (b *bench) testpmd(ctx context.Context) (table, error) {
	t := table{head: []string{"frames", "gvswitch Mpps", "testpmd io Mpps", "rate ratio"}}
	who := []contender{b.contenders()[0], {"testpmd", b.startPMD}}
	for _, size := range []string{"64", "512", "1518"} {
		got, err := b.versus(ctx, who, traffic{size: size, flows: 1024, macs: 1, secs: b.secs})
		if err != nil {
			return t, err
		}
		g, p := median(got[0], sample.mpps), median(got[1], sample.mpps)
		t.add(size+" B", fmt.Sprintf("%.2f", g), fmt.Sprintf("%.2f", p), ratio(g, p))
	}
	return t, nil
}
