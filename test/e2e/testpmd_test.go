package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
)

var (
	countsForm = regexp.MustCompile(`port +(\S+): rx pkts=(\d+),.*\n +tx pkts=(\d+),`)
	errorsForm = regexp.MustCompile(`errs=(\d+)`)
)

// checkCounts compares the switch's counters of vu0, vu1 ... with testpmd's, once both stand still: what has come since
// before was taken.
func checkCounts(ctx context.Context, t *testing.T, s *Switch, pmd *peers.Testpmd, before map[string]peers.PortStats) {
	t.Helper()
	eventually(t, 45*time.Second, "the switch's counters", func() error {
		stats, err := pmd.Stats(ctx)
		if err != nil {
			return err
		}
		now := portCounts(t, s)
		for i, p := range stats {
			port := fmt.Sprintf("vu%d", i)
			rx, tx := now[port].Rx-before[port].Rx, now[port].Tx-before[port].Tx
			// What was sent to testpmd after its last poll is in its ring.
			if rx != p.Tx || tx < p.Rx {
				return fmt.Errorf("%s: rx %d, tx %d; testpmd sent %d, received %d", port, rx, tx, p.Tx, p.Rx)
			}
		}
		return nil
	})
}

// portCounts are the counters of br0's ports by name.
func portCounts(t *testing.T, s *Switch) map[string]peers.PortStats {
	t.Helper()
	out := s.Ctl("dump-ports", "--names", "br0")
	counts := map[string]peers.PortStats{}
	for _, m := range countsForm.FindAllStringSubmatch(out, -1) {
		rx, err1 := strconv.ParseUint(m[2], 10, 64)
		tx, err2 := strconv.ParseUint(m[3], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("dump-ports: %v, %v", err1, err2)
		}
		counts[m[1]] = peers.PortStats{Rx: rx, Tx: tx}
	}
	return counts
}

// noBadFrames fails if any port of br0 counts frames or rings that were not as they must be.
func noBadFrames(t *testing.T, s *Switch) {
	t.Helper()
	out := s.Ctl("dump-ports", "--names", "br0")
	found := errorsForm.FindAllStringSubmatch(out, -1)
	if len(found) == 0 {
		t.Fatalf("dump-ports tells of no errors:\n%s", out)
	}
	for _, m := range found {
		if m[1] != "0" {
			t.Errorf("ports have errors:\n%s", out)
			return
		}
	}
}

func command(ctx context.Context, t *testing.T, pmd *peers.Testpmd, text string) {
	t.Helper()
	if _, err := pmd.Command(ctx, text); err != nil {
		t.Fatal(err)
	}
}
