package ready

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// helper is the goroutine and its epoll instance. It lives while anything is
// watched.
type helper struct {
	epfd int
	wake int           // eventfd that ends it
	done chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	words map[uint64]*Word
}

// current is the one helper, nil while nothing is watched.
var current struct {
	mu     sync.Mutex
	h      *helper
	lastID uint64 // never reused, so a late event cannot hit another's word
}

// Watch starts to watch fd, which must be non-blocking and stay open until
// Unwatch. The word is set at first, so that its thread looks once by itself.
func Watch(fd int) (*Word, error) {
	current.mu.Lock()
	defer current.mu.Unlock()
	if current.h == nil {
		h, err := start()
		if err != nil {
			return nil, fmt.Errorf("readiness helper: %w", err)
		}
		current.h = h
	}
	h := current.h
	current.lastID++
	id := current.lastID
	w := &Word{epfd: h.epfd, fd: fd}
	w.event.Fd, w.event.Pad = int32(uint32(id)), int32(uint32(id>>32))
	w.Set()
	h.mu.Lock()
	h.words[id] = w
	h.mu.Unlock()
	event := w.event // no events but errors until the first Rearm
	event.Events = unix.EPOLLONESHOT
	if err := unix.EpollCtl(h.epfd, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		h.forget(w)
		return nil, fmt.Errorf("readiness helper: %w", err)
	}
	return w, nil
}

// Unwatch ends the watch. The word's thread no longer uses it.
func Unwatch(w *Word) {
	current.mu.Lock()
	defer current.mu.Unlock()
	_ = unix.EpollCtl(w.epfd, unix.EPOLL_CTL_DEL, w.fd, nil)
	current.h.forget(w)
}

// forget removes w, and the helper with the last one. The caller holds current.mu.
func (h *helper) forget(w *Word) {
	h.mu.Lock()
	delete(h.words, id(&w.event))
	last := len(h.words) == 0
	h.mu.Unlock()
	if last {
		h.stop()
		current.h = nil
	}
}

func id(e *unix.EpollEvent) uint64 { return uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32 }

func start() (*helper, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epfd)
		return nil, err
	}
	if err := unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		_, _ = unix.Close(epfd), unix.Close(wake)
		return nil, err
	}
	h := &helper{epfd: epfd, wake: wake, done: make(chan struct{}), words: map[uint64]*Word{}}
	go h.run()
	return h, nil
}

func (h *helper) stop() {
	one := [8]byte{1}
	_, _ = unix.Write(h.wake, one[:]) // an eventfd at zero takes it
	<-h.done
	_, _ = unix.Close(h.wake), unix.Close(h.epfd)
}

func (h *helper) run() {
	defer close(h.done)
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(h.epfd, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return // only a programming error leads here: EBADF, EFAULT, EINVAL
		}
		h.mu.Lock()
		for i := range max(n, 0) {
			if id(&events[i]) == 0 { // the eventfd
				h.mu.Unlock()
				return
			}
			if w := h.words[id(&events[i])]; w != nil {
				w.Set()
			}
		}
		h.mu.Unlock()
	}
}
