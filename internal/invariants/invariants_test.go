package invariants

import (
	"reflect"
	"testing"
)

// panics tells whether f does.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// Each assertion fires exactly when assertions are on and it is broken.
func TestAssertions(t *testing.T) {
	var open, closed, twice Closer
	closed.Close()
	twice.Close()
	for name, f := range map[string]func(){
		"Check":      func() { Check(false, "x") },
		"at bound":   func() { CheckBounds(3, 3) },
		"negative":   func() { CheckBounds(-1, 3) },
		"AssertOpen": closed.AssertOpen,
		"twice":      twice.Close,
	} {
		if panics(f) != Enabled {
			t.Errorf("%s: panics is %v, want %v", name, !Enabled, Enabled)
		}
	}
	for name, f := range map[string]func(){
		"Check":      func() { Check(true, "x") },
		"in bounds":  func() { CheckBounds(2, 3) },
		"AssertOpen": open.AssertOpen,
		"Close":      open.Close,
	} {
		if panics(f) {
			t.Errorf("%s: panics though all is well", name)
		}
	}
}

func TestMangle(t *testing.T) {
	b := []byte{1, 2, 3}
	if Mangle(b); (b[0] == 0xcc && b[2] == 0xcc) != Enabled {
		t.Errorf("mangled to % x", b)
	}
}

// An assertion that is off takes no room either.
func TestSize(t *testing.T) {
	if n := reflect.TypeFor[Closer]().Size(); (n == 0) == Enabled {
		t.Errorf("Closer has %d bytes", n)
	}
}
