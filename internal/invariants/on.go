//go:build invariants || race

package invariants

// Enabled tells whether assertions are on. Code under "if invariants.Enabled" is
// not compiled when they are off.
const Enabled = true

// Check panics with msg unless cond holds. When assertions are off it does nothing,
// but its arguments are evaluated: put costly ones under Enabled.
func Check(cond bool, msg string) {
	if !cond {
		panic("invariant broken: " + msg)
	}
}

// CheckBounds panics unless 0 <= i < n.
func CheckBounds(i, n int) {
	if uint(i) >= uint(n) {
		panic("invariant broken: index out of range")
	}
}

// Mangle overwrites b, which nobody may use any more, so that whoever does
// shows it.
func Mangle(b []byte) {
	for i := range b {
		b[i] = 0xcc
	}
}

// Closer checks that something is closed once and not used afterwards. The zero
// value is open.
type Closer struct{ closed bool }

// Close marks c closed. It panics if it already was.
func (c *Closer) Close() {
	Check(!c.closed, "closed twice")
	c.closed = true
}

// AssertOpen panics if c is closed.
func (c *Closer) AssertOpen() { Check(!c.closed, "used after Close") }
