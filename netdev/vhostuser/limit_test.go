package vhostuser

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
)

// However fast it is asked, a bucket lets no more through than its burst and one each
// so often; whoever asks slowly does not wait.
func TestBucket(t *testing.T) {
	b := bucket{burst: 10, every: time.Millisecond}
	asked := time.Duration(0)
	wait := func(d time.Duration) bool {
		asked += d
		time.Sleep(d)
		return true
	}
	start := time.Now()
	for i := range 60 {
		if !b.take(wait) {
			t.Fatal("refused")
		}
		if i < 10 && asked != 0 {
			t.Fatalf("waited %v at %d", asked, i)
		}
	}
	if took := time.Since(start); took < 45*time.Millisecond {
		t.Errorf("60 took %v", took)
	}
	time.Sleep(30 * time.Millisecond)
	refuse := func(time.Duration) bool { return false }
	if !b.take(refuse) {
		t.Error("still full")
	}
	b = bucket{burst: 1, every: time.Hour}
	if !b.take(refuse) || b.take(refuse) {
		t.Error("not refused when the wait was broken off")
	}
}

// A guest can stop its port as often as it connects; the log does not grow with that.
func TestFaultsAreLoggedInModeration(t *testing.T) {
	d, err := newDevice("vm0", true, netdev.Options{RunDir: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	d.log = slog.New(slog.NewTextHandler(&log, nil))
	for range 1000 {
		d.stop("memory vanished")
	}
	if n := strings.Count(log.String(), "memory vanished"); n == 0 || n > 2*logBurst {
		t.Errorf("%d lines for 1000 faults", n)
	}
}
