package datapath

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/packet"
)

const (
	// idleSpin is how long a thread polls in vain before it sleeps. Sleeping and
	// being woken costs some 10 us here, and the sender a system call, so
	// frames less than this apart should find the thread awake.
	idleSpin = 100 * time.Microsecond
	// timedLimit is how many packets an iteration brings at least when a thread with
	// timed sleep has no time to sleep, timedStep how much longer it sleeps after
	// each one that brings fewer. Both are Open vSwitch's.
	timedLimit = packet.MaxBurst / 2
	timedStep  = time.Microsecond
)

// sleeper is a thread's means to sleep. It is the thread's own.
type sleeper struct {
	busy      bool   // the last iteration brought packets
	idleSince uint64 // cycle count, 0: not idle
	spin      uint64 // idleSpin in cycles
	step      time.Duration
	epfd      int
	of        *work // whose queues epfd has
	events    [16]unix.EpollEvent
}

func (s *sleeper) init() {
	s.epfd = -1
	s.spin = uint64(idleSpin.Seconds() * float64(cpu.HZ()))
	// Timed sleeps are a few microseconds; the kernel's usual slack is 50.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0)
}

func (s *sleeper) close() {
	if s.epfd >= 0 {
		_ = unix.Close(s.epfd)
		s.epfd = -1
	}
}

// rest is called after an iteration without packets, which ended at now.
func (t *thread) rest(now uint64) {
	switch t.w.mode {
	case BusyPoll:
		return
	case Timed:
		t.restTimed(0)
		return
	}
	s := &t.sleep
	if s.idleSince == 0 {
		s.idleSince = now
	}
	if now-s.idleSince < s.spin {
		return
	}
	if !t.resting() {
		return
	}
	s.idleSince = 0
	for _, q := range t.w.rxqs {
		if !q.dead && q.q.FD() < 0 {
			return
		}
	}
	if t.armQueues() && t.watch() {
		t.wait()
	}
	if t.work.Load() == t.w {
		t.wakeQueues()
	} // else reload does it, for the queues that are still there
	t.last = cpu.Cycles()
}

// armQueues arms all queues and reports whether all are empty.
func (t *thread) armQueues() bool {
	for i, q := range t.w.rxqs {
		if !t.arm(i, q) {
			return false
		}
	}
	return true
}

func (t *thread) arm(i int, q *rxq) (empty bool) {
	defer t.recoverBurst()
	if q.dead {
		return true
	}
	t.cur, t.stage = i, arming
	q.armed = true
	empty = q.q.Arm()
	t.stage = nothing
	return empty
}

// wakeQueues disarms the queues that are armed.
func (t *thread) wakeQueues() {
	for i, q := range t.w.rxqs {
		if q.armed {
			t.disarm(i, q)
		}
	}
}

func (t *thread) disarm(i int, q *rxq) {
	defer t.recoverBurst()
	q.armed = false
	if q.dead {
		return
	}
	t.cur, t.stage = i, arming
	t.quiet[i] = 0
	q.q.Disarm()
	t.stage = nothing
}

// watch makes the epoll set that of the present snapshot. It is built anew when
// the snapshot is another one: that is rare, and needs no thought about
// descriptors that were closed and used again meanwhile.
func (t *thread) watch() bool {
	s := &t.sleep
	if s.of == t.w && s.epfd >= 0 {
		return true
	}
	s.close()
	s.of = nil
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	s.epfd = fd
	ok := s.add(t.waker.fd)
	for _, q := range t.w.rxqs {
		ok = ok && (q.dead || s.add(q.q.FD()))
	}
	if ok {
		s.of = t.w
	}
	return ok
}

func (s *sleeper) add(fd int) bool {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	err := unix.EpollCtl(s.epfd, unix.EPOLL_CTL_ADD, fd, &ev)
	return err == nil || err == unix.EEXIST // two queues may share a descriptor
}

// wait sleeps until a device or control code wakes the thread. Between the
// two stores to asleep it touches nothing of the snapshot. It goes by Syscall,
// so that the runtime may give the processor to somebody else.
func (t *thread) wait() {
	s := &t.sleep
	t.stats.since.Store(cpu.Cycles())
	t.settleAll()
	t.settled = true
	t.asleep.Store(true)
	for t.mayWait() {
		n, err := unix.EpollWait(s.epfd, s.events[:], -1)
		if err == unix.EINTR {
			continue
		}
		for i := range max(n, 0) {
			if s.events[i].Fd == int32(t.waker.fd) {
				t.waker.drain()
			}
		}
		break
	}
	t.asleep.Store(false)
	t.stats.slept(cpu.Cycles())
}

// mayWait tells whether nothing came for the thread until it said that it sleeps;
// what comes later wakes it.
func (t *thread) mayWait() bool {
	return t.work.Load() == t.w && !t.inbox.some.Load() && !t.stopping.Load() && t.resting() && t.call.Load() == nil
}

// restTimed sleeps for a time that grows with each iteration that brings few
// packets, and not at all after one that brings many.
func (t *thread) restTimed(got int) {
	s := &t.sleep
	if got >= timedLimit {
		s.step = 0
		return
	}
	s.step = min(s.step+timedStep, t.w.sleepMax)
	if s.step <= 0 {
		return
	}
	t.stats.since.Store(cpu.Cycles())
	t.settleAll()
	t.settled = true
	t.asleep.Store(true)
	if t.mayWait() {
		ts := unix.NsecToTimespec(int64(s.step))
		_ = unix.Nanosleep(&ts, nil)
	}
	t.asleep.Store(false)
	t.last = cpu.Cycles()
	t.stats.slept(t.last)
}

// waker wakes a sleeping thread.
type waker struct{ fd int }

func (w *waker) open() error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	w.fd = fd
	return err
}

func (w *waker) close() { _ = unix.Close(w.fd) }

func (w *waker) drain() {
	var b [8]byte
	_, _ = unix.Read(w.fd, b[:])
}

// wake makes the thread look at its snapshot and inbox if it sleeps.
func (t *thread) wake() {
	if t.asleep.Load() {
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], 1)
		_, _ = unix.Write(t.waker.fd, b[:])
	}
}
