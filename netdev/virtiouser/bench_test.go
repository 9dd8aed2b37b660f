package virtiouser

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/packet"
)

// BenchmarkRoundTrip is a burst of small frames sent by one port, forwarded by its back end and
// received by another port, all on one thread: what driver and device cost in instructions, without
// the way between caches.
func BenchmarkRoundTrip(b *testing.B) {
	for name, o := range combinations() {
		b.Run(name, func(b *testing.B) {
			l := newLab(b, with(o, "queue_size", "1024"), nil)
			l.front.mu.Lock()
			defer l.front.mu.Unlock()
			l.back.mu.Lock() // the other thread waits
			from, to := l.backs[0], l.backs[1]
			brx, _ := from.Queues()
			_, btx := to.Queues()
			rx, _ := l.ports[1].Queues()
			_, tx := l.ports[0].Queues()
			list := identity()
			sent := new(packet.Burst)
			for i := range list {
				sent.Pkts[i].SetBytes(netdevtest.Frame(64, byte(i)))
			}
			sent.Start(len(list))
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			n, start := 0, cpuTime(b)
			for b.Loop() {
				tx[0].Send(sent, list, &l.front.tx)
				k := brx[0].Recv(&l.back.burst, &l.back.rx)
				btx[0].Send(&l.back.burst, list[:k], &l.back.tx)
				brx[0].Release()
				n += rx[0].Recv(&l.front.burst, &l.front.rx)
				rx[0].Release()
			}
			l.back.mu.Unlock()
			b.ReportMetric(float64(cpuTime(b)-start)/float64(n), "cpu-ns/packet")
		})
	}
}

// cpuTime is the time in nanoseconds that this thread has run: others on the machine do not count.
func cpuTime(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}
