package virtiouser

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
)

// A thread that armed a queue is woken by the next frame, and by none while it polls.
func TestSleep(t *testing.T) {
	for name, o := range combinations() {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, o, nil)
			l.pass(t, 0, 0, 10, 100)
			rx, _ := l.ports[1].Queues()
			q := rx[0]
			under := func(f func() bool) bool {
				l.front.mu.Lock()
				defer l.front.mu.Unlock()
				return f()
			}
			for i := range 5 {
				under(func() bool { q.Disarm(); return true })
				l.send(0, 0, [][]byte{netdevtest.Frame(100, 1)})
				netdevtest.Eventually(t, 5*time.Second, "a frame", func() bool { return len(l.receive(1, 0)) == 1 })
				if netdevtest.Readable(t, q.FD(), 0) {
					t.Fatalf("round %d: woken while it polls", i)
				}
				if !under(q.Arm) {
					t.Fatalf("round %d: not empty", i)
				}
				if netdevtest.Readable(t, q.FD(), 10*time.Millisecond) {
					t.Fatalf("round %d: woken by nothing", i)
				}
				l.send(0, 0, [][]byte{netdevtest.Frame(100, 2)})
				if !netdevtest.Readable(t, q.FD(), 5*time.Second) {
					t.Fatalf("round %d: it sleeps over a frame", i)
				}
				if under(q.Arm) {
					t.Fatalf("round %d: it would sleep over a frame", i)
				}
				l.receive(1, 0)
			}
		})
	}
}

// A port whose memory failed is out of service until its back end attaches anew, which is at once.
func TestFault(t *testing.T) {
	l := newLab(t, nil, nil)
	d := l.ports[0].(*Device)
	s := d.memory.Load()
	if !d.OwnsAddr(s.from) || !d.OwnsAddr(s.to-1) || d.OwnsAddr(s.to) || d.OwnsAddr(s.from-1) {
		t.Error("OwnsAddr is wrong at the ends of the memory")
	}
	before, _ := d.Queues()
	d.Fault("a test")
	if rx, tx := d.Queues(); len(rx)+len(tx) != 0 && rx[0] == before[0] {
		t.Error("the queues are still there")
	}
	netdevtest.Eventually(t, 10*time.Second, "other queues", func() bool {
		now, _ := d.Queues()
		return len(now) == 1 && now[0] != before[0]
	})
	l.up(t)
	l.pass(t, 0, 0, 100, 1514)
	if f := d.Info().Fault; f != "" {
		t.Errorf("fault %q", f)
	}
}

// Who has the card's memory cannot make it shorter.
func TestSealed(t *testing.T) {
	for _, n := range []int{1, 3 << 20} {
		m, err := newMemory(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.bytes) < n {
			t.Errorf("%d bytes, want %d", len(m.bytes), n)
		}
		if err := unix.Ftruncate(m.fd, 0); err != unix.EPERM {
			t.Errorf("truncating: %v", err)
		}
		m.close()
	}
	if _, err := mapMemory(1<<50, 0); err == nil {
		t.Error("a petabyte of memory")
	}
}

var (
	_ netdev.Faulter  = (*Device)(nil)
	_ netdev.Adjuster = (*Device)(nil)
)
