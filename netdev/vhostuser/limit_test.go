package vhostuser

import (
	"testing"
	"time"
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
