package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
)

// DPDK's own virtio driver, in pairwise combinations of what it can do; the full
// product in a soak run.
func TestTestpmd(t *testing.T) {
	cases := []peers.TestpmdConfig{
		{Queues: 1, QueueSize: 256, Devargs: "mrg_rxbuf=1"},
		{Queues: 2, QueueSize: 1024, Devargs: "mrg_rxbuf=0"},
		{Queues: 1, QueueSize: 1024, Devargs: "mrg_rxbuf=1", Server: true},
		{Queues: 2, QueueSize: 256, Devargs: "mrg_rxbuf=0", Server: true},
	}
	if soak {
		cases = nil
		for _, queues := range []int{1, 2, 4} {
			for _, size := range []int{64, 256, 1024} {
				for _, dev := range []string{"mrg_rxbuf=1", "mrg_rxbuf=0", "mrg_rxbuf=0,vectorized=1"} {
					for _, server := range []bool{false, true} {
						cases = append(cases, peers.TestpmdConfig{Queues: queues, QueueSize: size, Devargs: dev, Server: server})
					}
				}
			}
		}
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("queues=%d,size=%d,%s,server=%v", c.Queues, c.QueueSize, c.Devargs, c.Server), func(t *testing.T) {
			testTestpmd(t, c)
		})
	}
}

func testTestpmd(t *testing.T, c peers.TestpmdConfig) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	s.Ctl("set", "Open_vSwitch", ".", "other_config:pmd-cpu-mask=0x1")
	s.Ctl("add-br", "br0")
	for _, port := range []string{"vu0", "vu1"} {
		path, queues := filepath.Join(s.RunDir, port), fmt.Sprintf("options:n_rxq=%d", c.Queues)
		if c.Server {
			path += ".pmd"
			s.AddPort(port, "type=dpdkvhostuserclient", "options:vhost-server-path="+path, queues)
		} else {
			s.AddVhost(port, queues)
		}
		c.Sockets = append(c.Sockets, path)
	}
	pmd, err := peers.StartTestpmd(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	command(ctx, t, pmd, "set fwd flowgen")
	command(ctx, t, pmd, "start")
	// Packets both ways, many times the rings' size.
	const enough = 100_000
	eventually(t, 30*time.Second, "packets through the switch", func() error {
		stats, err := pmd.Stats(ctx)
		if err != nil {
			return err
		}
		for i, p := range stats {
			if p.Rx < enough {
				return fmt.Errorf("port %d received %d packets of %d", i, p.Rx, enough)
			}
		}
		return nil
	})
	command(ctx, t, pmd, "stop")
	checkCounts(ctx, t, s, pmd)
}

// checkCounts compares the switch's counters with testpmd's, once both stand still.
func checkCounts(ctx context.Context, t *testing.T, s *Switch, pmd *peers.Testpmd) {
	t.Helper()
	eventually(t, 20*time.Second, "the switch's counters", func() error {
		stats, err := pmd.Stats(ctx)
		if err != nil {
			return err
		}
		for i, p := range stats {
			port := fmt.Sprintf("vu%d", i)
			rx, err := s.statistic(port, "rx_packets")
			if err != nil {
				return err
			}
			tx, err := s.statistic(port, "tx_packets")
			if err != nil {
				return err
			}
			// What was sent to testpmd after its last poll is in its ring.
			if rx != p.Tx || tx < p.Rx {
				return fmt.Errorf("%s: rx %d, tx %d; testpmd sent %d, received %d", port, rx, tx, p.Tx, p.Rx)
			}
		}
		return nil
	})
}

func command(ctx context.Context, t *testing.T, pmd *peers.Testpmd, text string) {
	t.Helper()
	if _, err := pmd.Command(ctx, text); err != nil {
		t.Fatal(err)
	}
}
