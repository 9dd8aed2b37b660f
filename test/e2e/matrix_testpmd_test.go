package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
)

// DPDK's own virtio driver (net_virtio_user) with all that it can be told.
var testpmdFactors = []factor{
	{"packed_vq", []string{"0", "1"}},
	{"mrg_rxbuf", []string{"0", "1"}},
	{"in_order", []string{"0", "1"}},
	{"vectorized", []string{"0", "1"}},
	{"queue_size", []string{"256", "1024"}},
	{"server", []string{"0", "1"}},
	{"queues", []string{"1", "2"}},
}

// smallBuffer is the size of testpmd's buffers where the driver may join them: frames take several.
const smallBuffer = 640

// TestMatrixTestpmd has two wires talk through testpmd, which forwards each frame from one
// vhost-user port to the other, and then testpmd send as fast as it can.
func TestMatrixTestpmd(t *testing.T) {
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	avx512 := bytes.Contains(cpu, []byte(" avx512vl")) && bytes.Contains(cpu, []byte(" avx512bw"))
	rules := []exclusion{{
		"DPDK's vector paths for packed rings need AVX-512, which this CPU has not",
		func(c combination) bool { return !avx512 && c.on("packed_vq") && c.on("vectorized") },
	}}
	matrix(t, testpmdFactors, rules, matrixTestpmd)
}

func matrixTestpmd(t *testing.T, c combination) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	// Two poll threads, so that both of two queues are sent to.
	s.Ctl("set", "Open_vSwitch", ".", "other_config:pmd-cpu-mask=0x3")
	s.Ctl("add-br", "br0")
	a, b := addWire(s, "a"), addWire(s, "b")
	size, err := strconv.Atoi(c["queue_size"])
	if err != nil {
		t.Fatal(err)
	}
	queues, err := strconv.Atoi(c["queues"])
	if err != nil {
		t.Fatal(err)
	}
	cfg := peers.TestpmdConfig{
		Queues: queues, QueueSize: size, Server: c.on("server"),
		Devargs: fmt.Sprintf("packed_vq=%s,mrg_rxbuf=%s,in_order=%s,vectorized=%s", c["packed_vq"], c["mrg_rxbuf"], c["in_order"], c["vectorized"]),
		// Without this the packed ring's vector paths are not taken.
		EAL: []string{"--force-max-simd-bitwidth=512", "--log-level=pmd.net.virtio.init:info"},
		// Rings of 1024 twice, in two queues of two ports, hold a buffer for each descriptor.
		Args: []string{"--forward-mode=io", "--auto-start", "--total-num-mbufs=24000"},
	}
	if c.on("mrg_rxbuf") {
		cfg.Args = append(cfg.Args, fmt.Sprintf("--mbuf-size=%d", smallBuffer), "--enable-scatter")
	}
	for _, port := range []string{"vu0", "vu1"} {
		path := filepath.Join(s.RunDir, port)
		if cfg.Server {
			path += ".pmd"
			s.AddPort(port, "type=dpdkvhostuserclient", "options:vhost-server-path="+path, "options:n_rxq="+c["queues"])
		} else {
			s.AddVhost(port, "options:n_rxq="+c["queues"])
		}
		cfg.Sockets = append(cfg.Sockets, path)
	}
	s.Ctl("del-flows", "br0")
	for _, rule := range []string{
		"in_port=a,actions=output:vu0", "in_port=vu1,actions=output:b",
		"in_port=b,actions=output:vu1", "in_port=vu0,actions=output:a",
	} {
		s.Ctl("add-flow", "br0", rule)
	}
	pmd, err := peers.StartTestpmd(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	for _, port := range []string{"vu0", "vu1"} {
		checkAcked(t, s, port, map[string]bool{
			"RING_PACKED": c.on("packed_vq"), "MRG_RXBUF": c.on("mrg_rxbuf"), "IN_ORDER": c.on("in_order"), "MQ": queues > 1, "VERSION_1": true,
		})
		status(t, s, port, "vring_0_size", c["queue_size"])
		status(t, s, port, "n_rxq", c["queues"])
	}
	if out := pmd.Output(); !strings.Contains(out, testpmdPath(c)) {
		t.Errorf("the driver does not say %q:\n%s", testpmdPath(c), out)
	}
	carryBothWays(t, a, b, 1000, 1514)
	noBadFrames(t, s)

	// Many times the rings' size, so that all positions come round.
	for _, rule := range []string{"in_port=vu0,actions=output:vu1", "in_port=vu1,actions=output:vu0"} {
		s.Ctl("mod-flows", "--strict", "br0", rule)
	}
	command(ctx, t, pmd, "stop")
	command(ctx, t, pmd, "clear port stats all")
	before := portCounts(t, s)
	command(ctx, t, pmd, "set fwd flowgen")
	command(ctx, t, pmd, "start")
	const enough = 50_000
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
	checkCounts(ctx, t, s, pmd, before)
	noBadFrames(t, s)
}

// testpmdPath is what DPDK 22.11's driver says of the receive path that it takes: the order of
// the tests is its own.
func testpmdPath(c combination) string {
	packed, mrg, inOrder, vector := c.on("packed_vq"), c.on("mrg_rxbuf"), c.on("in_order"), c.on("vectorized")
	path := "standard Rx path"
	switch {
	case packed && vector && inOrder && !mrg:
		path = "packed ring vectorized Rx path"
	case packed && mrg:
		path = "packed ring mergeable buffer Rx path"
	case packed:
		path = "packed ring standard Rx path"
	case vector && !mrg && !inOrder:
		path = "vectorized Rx path"
	case inOrder:
		path = "inorder Rx path"
	case mrg:
		path = "mergeable buffer Rx path"
	}
	return "virtio: using " + path + " on port 0"
}

// checkAcked fails unless the port's peer acknowledged the features that are true, and not those that are false.
func checkAcked(t *testing.T, s *Switch, port string, features map[string]bool) {
	t.Helper()
	eventually(t, 45*time.Second, "features of "+port, func() error {
		out, err := s.TryCtl("get", "Interface", port, "status:virtio-features")
		if err != nil {
			return err
		}
		acked := strings.Fields(strings.Trim(strings.TrimSpace(out), `"`))
		for name, want := range features {
			got := false
			for _, f := range acked {
				got = got || f == name
			}
			if got != want {
				return fmt.Errorf("%s is %v, want %v, in %s", name, got, want, acked)
			}
		}
		return nil
	})
	s.Ctl("--timeout=10", "wait-until", "Interface", port, "link_state=up")
}

// status fails unless a key of the port's status gets the value.
func status(t *testing.T, s *Switch, port, key, value string) {
	t.Helper()
	eventually(t, 45*time.Second, key+" of "+port, func() error {
		out, err := s.TryCtl("get", "Interface", port, "status:"+key)
		if got := strings.Trim(strings.TrimSpace(out), `"`); err != nil || got != value {
			return fmt.Errorf("got %q, %v; want %s", got, err, value)
		}
		return nil
	})
}
