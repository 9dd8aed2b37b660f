//go:build !invariants && !race

package invariants

// Enabled tells whether assertions are on. Code under "if invariants.Enabled" is
// not compiled when they are off.
const Enabled = false

// Check panics with msg unless cond holds. When assertions are off it does nothing,
// but its arguments are evaluated: put costly ones under Enabled.
func Check(bool, string) {}

// CheckBounds panics unless 0 <= i < n.
func CheckBounds(int, int) {}

// Mangle overwrites b, which nobody may use any more, so that whoever does
// shows it.
func Mangle([]byte) {}

// Closer checks that something is closed once and not used afterwards. The zero
// value is open.
type Closer struct{}

// Close marks c closed. It panics if it already was.
func (c *Closer) Close() {}

// AssertOpen panics if c is closed.
func (c *Closer) AssertOpen() {}
