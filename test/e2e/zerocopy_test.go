package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
)

// options:dq-zero-copy is changed again and again while frames pass: none is lost or changed, the guest notices nothing, and what is lent
// is counted.
func TestZeroCopyWhileRunning(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a, b := addWire(s, "a"), addWire(s, "b")
	cfg := peers.TestpmdConfig{Args: []string{"--forward-mode=io", "--auto-start"}}
	for _, port := range []string{"vu0", "vu1"} {
		cfg.Sockets = append(cfg.Sockets, s.AddVhost(port))
	}
	s.Ctl("del-flows", "br0")
	for _, rule := range []string{
		"in_port=a,actions=output:vu0", "in_port=vu1,actions=output:b",
		"in_port=b,actions=output:vu1", "in_port=vu0,actions=output:a",
	} {
		s.Ctl("add-flow", "br0", rule)
	}
	pmd, err := peers.StartTestpmd(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	s.Ctl("--timeout=10", "wait-until", "Interface", "vu0", "link_state=up")
	s.Ctl("--timeout=10", "wait-until", "Interface", "vu1", "link_state=up")

	// Counters come with the next writing of statistics.
	lent := func() uint64 {
		n, _ := s.statistic("vu1", "dq_zc_packets") // there is none as long as nothing was lent
		return n
	}
	s.Ctl("set", "Interface", "vu1", "options:dq-zero-copy=false")
	carryBothWays(t, a, b, 500, 1514)
	time.Sleep(6 * time.Second)
	if n := lent(); n != 0 {
		t.Errorf("%d frames lent with dq-zero-copy=false", n)
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		carryBothWays(t, a, b, 10_000, 1514)
	}()
	changes := 0
	for running := true; running; changes++ {
		s.Ctl("set", "Interface", "vu0", fmt.Sprintf("options:dq-zero-copy=%v", changes%2 == 0), "--", "set", "Interface", "vu1", fmt.Sprintf("options:dq-zero-copy=%v", changes%2 == 1))
		select {
		case <-done:
			running = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	if changes < 4 {
		t.Errorf("%d changes while frames passed: too few to say anything", changes)
	}
	eventually(t, 20*time.Second, "count of frames lent", func() error {
		if n := lent(); n < 1000 {
			return fmt.Errorf("it is %d", n)
		}
		return nil
	})
	noBadFrames(t, s)
}
