package guest

import (
	"context"
	"testing"
)

// Boot is Start for a test: the test fails when the guest does not come up, the
// guest ends with the test, and its console is printed when the test failed.
func Boot(t testing.TB, c Config) *Guest {
	t.Helper()
	g, err := Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.Stop()
		if t.Failed() {
			t.Logf("console of guest %s:\n%s", g.Name, g.Console())
		}
	})
	return g
}
