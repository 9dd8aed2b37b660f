package rules

import "testing"

// A table has a bound even if nobody has set one.
func TestMost(t *testing.T) {
	var x table
	if n := x.most(); n != MaxRules {
		t.Errorf("%d", n)
	}
	x.limit.Store(2)
	if n := x.most(); n != 2 {
		t.Errorf("%d, want 2", n)
	}
}
