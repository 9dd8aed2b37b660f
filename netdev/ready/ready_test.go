package ready

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair is a datagram socket pair, non-blocking at our end.
func pair(t *testing.T) (us, peer int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) })
	return fds[0], fds[1]
}

func send(t *testing.T, fd int) {
	t.Helper()
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		t.Fatal(err)
	}
}

func empty(fd int) bool {
	var b [8]byte
	_, err := unix.Read(fd, b[:])
	return errors.Is(err, unix.EAGAIN)
}

func await(t *testing.T, w *Word) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !w.Ready(); {
		if time.Now().After(end) {
			t.Fatal("the word was never set")
		}
		time.Sleep(50 * time.Microsecond)
	}
}

func watch(t *testing.T, fd int) *Word {
	t.Helper()
	w, err := Watch(fd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Unwatch(w) })
	return w
}

func TestWord(t *testing.T) {
	us, peer := pair(t)
	w := watch(t, us)
	if !w.Ready() {
		t.Error("a new word is not set")
	}
	w.Rearm()
	time.Sleep(20 * time.Millisecond)
	if w.Ready() {
		t.Fatal("set while nothing came")
	}
	send(t, peer)
	await(t, w)
	send(t, peer)
	_ = empty(us)
	w.Rearm() // something is still there
	await(t, w)
	_ = empty(us)
	w.Rearm()
	w.Mute()
	send(t, peer)
	time.Sleep(20 * time.Millisecond)
	if w.Ready() {
		t.Error("set though muted")
	}
	w.Rearm()
	await(t, w)
}

// Reader and writer race; each message is followed by a wait for its arrival, so
// one lost wake-up stops the test.
func TestNoLostWakeups(t *testing.T) {
	us, peer := pair(t)
	w := watch(t, us)
	const rounds = 20000
	got := make(chan struct{}, rounds)
	go func() {
		for n := 0; n < rounds; {
			if !w.Ready() {
				runtime.Gosched()
				continue
			}
			if empty(us) {
				w.Rearm()
				continue
			}
			n++
			got <- struct{}{}
		}
	}()
	limit := time.After(60 * time.Second)
	for i := range rounds {
		send(t, peer)
		select {
		case <-got:
		case <-limit:
			t.Fatalf("message %d was never noticed", i)
		}
	}
}

func TestManyAndEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	var words []*Word
	var peers []int
	for range 100 {
		us, peer := pair(t)
		w, err := Watch(us)
		if err != nil {
			t.Fatal(err)
		}
		w.Rearm()
		words, peers = append(words, w), append(peers, peer)
	}
	for i, w := range words {
		send(t, peers[i])
		await(t, w)
	}
	for _, w := range words {
		Unwatch(w)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if current.h != nil {
		t.Error("the helper is still there")
	}
}

func TestWatchRefuses(t *testing.T) {
	if _, err := Watch(-1); err == nil || !strings.Contains(err.Error(), "bad file descriptor") {
		t.Errorf("error %v", err)
	}
	if current.h != nil {
		t.Error("the helper is still there")
	}
}

func TestNoAllocs(t *testing.T) {
	us, peer := pair(t)
	w := watch(t, us)
	_ = peer
	if n := testing.AllocsPerRun(100, func() { w.Set(); w.Ready(); w.Mute(); w.Rearm() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
