package vhostuser

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
)

// misbehave lives a guest's life up to a random point.
func misbehave(c *frontend.Conn, r *rand.Rand) {
	defer c.Close()
	switch r.IntN(5) {
	case 0: // nothing at all
	case 1: // half a message
		_, _ = c.Unix().Write(make([]byte, 1+r.IntN(11)))
	case 2: // a few messages, nobody waits for answers
		for range r.IntN(10) {
			_ = c.Post(vhostuser.GetFeatures, nil)
		}
	default:
		g, err := frontend.NewGuest(c, frontend.Config{})
		if err != nil {
			return
		}
		defer g.Close()
		for i := range r.IntN(30) {
			g.Queues[0].Send(frame(i, 100))
			if r.IntN(4) == 0 {
				_ = g.RAM.Table(g.Conn)
			}
		}
	}
	time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
}

// B18: ports are deleted in the middle of anything. In client mode the guest's socket is
// made anew at the same moment.
func TestDeleteRaces(t *testing.T) {
	for _, mode := range []string{"server", "client"} {
		t.Run(mode, func(t *testing.T) {
			l := newLab(t, nil)
			dir := t.TempDir()
			r := rand.New(rand.NewPCG(1, 2))
			for i := range many(100, 2000) {
				path := filepath.Join(dir, "vm")
				o := netdev.Options{RunDir: dir, Map: map[string]string{"vhost-server-path": path}}
				done := make(chan struct{})
				seed := r.Uint64()
				open, peer := OpenServer, func(r *rand.Rand) {
					for range 1 + r.IntN(3) {
						if c, err := frontend.Dial(path); err == nil {
							misbehave(c, r)
						}
					}
				}
				if mode == "client" {
					open, peer = OpenClient, func(r *rand.Rand) {
						for range 1 + r.IntN(3) {
							_ = os.Remove(path)
							ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
							if err != nil {
								continue
							}
							if c, err := frontend.Accept(ln, 30*time.Millisecond); err == nil {
								misbehave(c, r)
							}
							ln.Close()
						}
					}
				}
				p := l.add(t, open, fmt.Sprintf("vm%d", i), o)
				go func() {
					defer close(done)
					peer(rand.New(rand.NewPCG(seed, 1)))
				}()
				time.Sleep(time.Duration(r.IntN(20000)) * time.Microsecond)
				l.remove(t, p)
				<-done
			}
			l.alive()
		})
	}
}

// B20: a second guest on the same socket is refused at once, any number of times,
// and the first one does not notice.
func TestSecondGuest(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], frontend.Config{})
	for range many(300, 1000) {
		c := l.dial()
		if err := c.Closed(); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	pass(t, a, b)
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	// When the first one has gone, the next is served, however soon it comes.
	for range many(30, 300) {
		a.Close()
		next, err := tryAttach(l.paths[0], frontend.Config{})
		if err != nil {
			t.Fatal(err)
		}
		a = next
	}
	pass(t, a, b)
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	a.Close()
	b.Close()
	l.alive()
}

// B21: whatever a guest was offered, it is offered again as long as the port lives.
func TestOfferNeverShrinks(t *testing.T) {
	l := newLab(t, nil)
	d := l.ports[0].dev.(*Device)
	offered := func() (f, pairs uint64) {
		t.Helper()
		c := l.dial()
		defer c.Close()
		f, err := c.GetU64(vhostuser.GetFeatures)
		if err != nil {
			t.Fatal(err)
		}
		if pairs, err = c.GetU64(vhostuser.GetQueueNum); err != nil {
			t.Fatal(err)
		}
		// It is content with what there is.
		if err := c.SetProtocol(vhostuser.ProtoReplyAck); err != nil {
			t.Fatal(err)
		}
		if err := c.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, f)); err != nil {
			t.Fatal(err)
		}
		return f, pairs
	}
	first, _ := offered()
	if first != baseFeatures|ctrlFeatures {
		t.Errorf("offer %#x", first)
	}
	adjust := func(m map[string]string) {
		t.Helper()
		if err := d.Adjust(netdev.Options{RunDir: l.dir, Map: m}); err != nil {
			t.Fatal(err)
		}
	}
	adjust(map[string]string{"vhost-offload": "true", "vhost-max-queue-pairs": "4"})
	more, pairs := offered()
	if more != baseFeatures|ctrlFeatures|offloadFeatures|virtio.NetFMQ || pairs != 4 {
		t.Errorf("offer %#x, %d pairs", more, pairs)
	}
	for _, m := range []map[string]string{nil, {"vhost-offload": "false"}, {"n_rxq": "2"}} {
		adjust(m)
		if f, n := offered(); f != more || n != 4 {
			t.Errorf("with %v: offer %#x, %d pairs; was %#x, 4", m, f, n, more)
		}
	}
	// A guest that wants more is refused, without harm.
	c := l.dial()
	if err := c.SetProtocol(vhostuser.ProtoReplyAck); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, more|virtio.NetFHostUFO)); !errors.Is(err, frontend.ErrRefused) {
		t.Error(err)
	}
	c.Close()
	l.alive()
}

// B26: options change under an attached guest.
func TestAdjust(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], frontend.Config{})
	d := l.ports[0].dev.(*Device)
	for i := range 20 {
		if err := d.Adjust(netdev.Options{RunDir: l.dir, Map: map[string]string{
			"tx-retries-max": fmt.Sprint(i), "dq-zero-copy": []string{"true", "false"}[i%2], "socket-mode": "0660",
		}}); err != nil {
			t.Fatal(err)
		}
		numbered(t, a.Queues[0], b.Queues[0], i, 3)
	}
	if st, err := os.Stat(l.paths[0]); err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	for _, m := range []map[string]string{{"vhost-server-path": "elsewhere"}, {}} {
		if err := d.Adjust(netdev.Options{RunDir: l.dir, Map: m}); !errors.Is(err, netdev.ErrReopen) {
			t.Errorf("%v: %v", m, err)
		}
	}
	if err := d.Adjust(netdev.Options{RunDir: l.dir, Map: map[string]string{"tx-retries-max": "33"}}); err == nil || !strings.Contains(err.Error(), "tx-retries-max=33") {
		t.Error(err)
	}
	// The same path for another port.
	if _, err := OpenServer("twin", netdev.Options{Map: map[string]string{"vhost-server-path": l.paths[0]}}, l); err == nil || !strings.Contains(err.Error(), "listens") {
		t.Errorf("two ports on one socket: %v", err)
	}
	pass(t, a, b)
	a.Close()
	b.Close()
	l.alive()
}
