package vhostuser

import (
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
)

// A front end that asks and never reads the answers loses its connection, and meanwhile nobody
// else waits long for the port.
func TestFrontEndNeverReads(t *testing.T) {
	l := newLab(t, nil)
	c := l.dial()
	if err := c.Unix().SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for c.Post(vhostuser.GetFeatures, nil) == nil {
		n++
	}
	start := time.Now()
	if err := l.ports[0].dev.(*Device).Announce(); err == nil {
		t.Error("a guest without a control queue was announced")
	}
	if d := time.Since(start); d > limit(replyTime) {
		t.Errorf("Announce waited %v after %d questions", d, n)
	}
	eventually(t, "the front end is gone", func() bool { return l.ports[0].dev.Info().Status["status"] == "disconnected" })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	l.alive()
}
