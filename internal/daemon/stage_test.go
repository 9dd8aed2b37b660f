package daemon

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Each connection has its own text; it is gone when it was taken, and when the connection is gone.
func TestStage(t *testing.T) {
	var s stage
	a, endA := context.WithCancel(t.Context())
	b, endB := context.WithCancel(t.Context())
	defer endB()
	for _, piece := range []string{"x", "y", ""} {
		if s.add(a, piece) != nil || s.add(b, strings.ToUpper(piece)) != nil {
			t.Fatal("refused")
		}
	}
	if got := s.take(b); got != "XY" || s.take(b) != "" || s.total != 2 {
		t.Errorf("got %q, %d bytes are left", got, s.total)
	}
	endA()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		left := s.total + len(s.texts)
		s.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d left of a connection that is gone", left)
		}
	}
}

// There is a bound, and what is over it does not count.
func TestStageBound(t *testing.T) {
	s := stage{total: maxStaged - 3}
	if err := s.add(t.Context(), "four"); err == nil || s.total != maxStaged-3 {
		t.Errorf("%v, %d", err, s.total)
	}
	if err := s.add(t.Context(), "now"); err != nil {
		t.Error(err)
	}
}

// However often a connection has its text taken, nothing is left of it.
func TestStageLeavesNothing(t *testing.T) {
	var s stage
	ctx := &counted{Context: t.Context()}
	for range 10 {
		if err := s.add(ctx, "x"); err != nil || s.take(ctx) != "x" {
			t.Fatal(err)
		}
	}
	if n := ctx.waiting.Load(); n != 0 {
		t.Errorf("%d wait for the end of the connection", n)
	}
}

// counted counts what waits for its end.
type counted struct {
	context.Context
	waiting atomic.Int32
}

// AfterFunc is what context.AfterFunc uses.
func (c *counted) AfterFunc(func()) func() bool {
	c.waiting.Add(1)
	return func() bool { c.waiting.Add(-1); return true }
}
