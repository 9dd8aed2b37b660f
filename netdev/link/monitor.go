package link

import (
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// eventBuffer is the event socket's receive buffer in bytes: a thousand devices
// made at once fit.
const eventBuffer = 4 << 20

// errorPause keeps an error that repeats from using a CPU.
const errorPause = 10 * time.Millisecond

// monitor listens for device events of one namespace.
type monitor struct {
	sock *nl.NetlinkSocket
	quit chan struct{} // closed to end the goroutine
	done chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex
	watchers map[*Watcher]struct{}
}

// Watcher learns that a device may have changed. It says that, not what: whoever
// watches reads the state anew and compares, so events that were merged, lost
// or caused by himself do no harm.
type Watcher struct {
	C    <-chan struct{} // holds at most one signal
	c    chan struct{}
	mon  *monitor
	name string

	mu    sync.Mutex
	index int
}

func newMonitor(ns netns.NsHandle) (*monitor, error) {
	s, err := nl.SubscribeAt(ns, netns.None(), unix.NETLINK_ROUTE, unix.RTNLGRP_LINK)
	if err != nil {
		return nil, err
	}
	if err := s.SetReceiveBufferSize(eventBuffer, true); err != nil {
		// No CAP_NET_ADMIN in the first user namespace: overruns are survived
		// too.
		_ = s.SetReceiveBufferSize(eventBuffer, false)
	}
	m := &monitor{sock: s, quit: make(chan struct{}), done: make(chan struct{}), watchers: map[*Watcher]struct{}{}}
	go m.run()
	return m, nil
}

func (m *monitor) close() {
	close(m.quit)
	m.sock.Close()
	<-m.done
}

func (m *monitor) run() {
	defer close(m.done)
	for {
		msgs, from, err := m.sock.Receive()
		switch {
		case err != nil:
			// Closed; or an overrun (ENOBUFS) or a message that cannot be read, and
			// then anything may have happened to anybody.
			m.signal("", 0)
			select {
			case <-m.quit:
				return
			case <-time.After(errorPause):
			}
		case from.Pid == nl.PidKernel:
			for i := range msgs {
				m.event(&msgs[i])
			}
		}
	}
}

func (m *monitor) event(msg *syscall.NetlinkMessage) {
	if msg.Header.Type != unix.RTM_NEWLINK && msg.Header.Type != unix.RTM_DELLINK {
		return
	}
	header := unix.NlMsghdr(msg.Header)
	l, err := netlink.LinkDeserialize(&header, msg.Data)
	if err != nil {
		m.signal("", 0)
		return
	}
	m.signal(l.Attrs().Name, l.Attrs().Index)
}

// signal wakes those who watch the name or the index, or all if both are empty.
func (m *monitor) signal(name string, index int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.watchers {
		w.mu.Lock()
		mine := name == "" && index == 0 || w.name == name || w.index != 0 && w.index == index
		w.mu.Unlock()
		if mine {
			w.Poke()
		}
	}
}

// Watch watches the device of that name, there or not. Stop ends it.
func (n *Namespace) Watch(name string) *Watcher {
	c := make(chan struct{}, 1)
	w := &Watcher{C: c, c: c, mon: n.mon, name: name}
	n.mon.mu.Lock()
	n.mon.watchers[w] = struct{}{}
	n.mon.mu.Unlock()
	return w
}

// Follow makes w watch the device with this index too, under whatever name: it
// may be renamed away.
func (w *Watcher) Follow(index int) {
	w.mu.Lock()
	w.index = index
	w.mu.Unlock()
}

// Poke signals w.
func (w *Watcher) Poke() {
	select {
	case w.c <- struct{}{}:
	default:
	}
}

// Stop ends the watch.
func (w *Watcher) Stop() {
	w.mon.mu.Lock()
	delete(w.mon.watchers, w)
	w.mon.mu.Unlock()
}
