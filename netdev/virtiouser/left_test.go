package virtiouser

import (
	"fmt"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
)

// Frames that nobody took before other settings or the end of the connection took the rings away are counted.
func TestMissed(t *testing.T) {
	for _, o := range []map[string]string{
		{}, {"packed": "true"}, {"mrg_rxbuf": "false"}, {"in_order": "false", "mrg_rxbuf": "false"}, {"mtu": "9000"},
	} {
		t.Run(fmt.Sprint(o), func(t *testing.T) {
			size := 100
			if o["mtu"] != "" { // several buffers of a frame
				size = 4500
			}
			delete(o, "mtu")
			l := newLab(t, o, nil)
			settings := netdev.Options{Map: map[string]string{"path": l.paths[0]}, MTU: 9000}
			for k, v := range o {
				settings.Map[k] = v
			}
			renew := func(k int, retries string) {
				t.Helper()
				settings.Map["path"], settings.Map["tx-retries-max"] = l.paths[k], retries
				if err := l.ports[k].(*Device).Adjust(settings); err != nil {
					t.Fatal(err)
				}
				d := l.ports[k].(*Device)
				netdevtest.Eventually(t, 10*time.Second, "other settings", func() bool {
					d.mu.Lock()
					defer d.mu.Unlock()
					return d.session != nil && !d.session.news.Load() && d.view.link
				})
				l.up(t)
			}
			renew(0, "7")
			renew(1, "7")
			sent := 0
			arrived := func() bool { return int(l.back.tx.Packets.Load()) == sent }
			before := int(l.back.tx.Packets.Load())
			sent = before
			for i := range 5 {
				sent += l.send(0, 0, [][]byte{netdevtest.Frame(size, byte(i))})
			}
			if sent != before+5 {
				t.Fatalf("%d of 5 frames sent", sent-before)
			}
			netdevtest.Eventually(t, 10*time.Second, "frames in the ring", arrived)
			renew(1, "6")
			if n := l.ports[1].Info().Missed; n != 5 {
				t.Errorf("%d frames missed, want 5", n)
			}
			sent += l.send(0, 0, [][]byte{netdevtest.Frame(size, 1), netdevtest.Frame(size, 2)})
			netdevtest.Eventually(t, 10*time.Second, "frames in the ring", arrived)
			l.ports[1].(*Device).Fault("test")
			netdevtest.Eventually(t, 10*time.Second, "7 frames missed", func() bool { return l.ports[1].Info().Missed == 7 })
		})
	}
}
