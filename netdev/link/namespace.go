package link

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// netnsDir is where ip-netns(8) keeps the named namespaces.
const netnsDir = "/run/netns/"

// Namespace is a network namespace. It stays usable, and alive, until released.
type Namespace struct {
	text   string // as the operator wrote it, "" for the switch's own
	key    nsKey
	fd     int
	own    bool // the one that the process is in: no need, and no right, to enter it
	handle *netlink.Handle
	mon    *monitor
	refs   int // guarded by shared.mu
}

// nsKey identifies a namespace whatever it was called.
type nsKey struct{ dev, ino uint64 }

// shared holds the namespaces in use.
var shared = struct {
	mu sync.Mutex
	m  map[nsKey]*Namespace
}{m: map[nsKey]*Namespace{}}

// deviceID is a device's name and where it is.
type deviceID struct {
	ns   nsKey
	name string
}

// reserved holds the devices that ports use.
var reserved = struct {
	mu sync.Mutex
	m  map[deviceID]bool
}{m: map[deviceID]bool{}}

// errNotNetns: what was named is something else.
var errNotNetns = errors.New("is not a network namespace")

// Acquire opens the namespace that s means: "" is the switch's own, otherwise the
// name of one under /run/netns, a process id, or a path. Release ends its use.
func Acquire(s string) (*Namespace, error) {
	fd, err := openNetns(s)
	if err != nil {
		return nil, fmt.Errorf("network namespace %q: %w", s, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("network namespace %q: %w", s, err)
	}
	key := nsKey{st.Dev, st.Ino}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if n := shared.m[key]; n != nil {
		_ = unix.Close(fd)
		n.refs++
		return n, nil
	}
	n := &Namespace{text: s, key: key, fd: fd, own: isOwn(key), refs: 1}
	if !n.own {
		// Package netlink's error would not say that it is one of permission.
		if err := n.Do(func() error { return nil }); err != nil {
			_ = unix.Close(fd)
			return nil, err
		}
	}
	if n.handle, err = netlink.NewHandleAt(n.nsHandle(), unix.NETLINK_ROUTE); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("network namespace %q: netlink: %w", s, err)
	}
	if n.mon, err = newMonitor(n.nsHandle()); err != nil {
		n.handle.Close()
		_ = unix.Close(fd)
		return nil, fmt.Errorf("network namespace %q: netlink events: %w", s, err)
	}
	shared.m[key] = n
	return n, nil
}

// Reserve makes name ours until the function that it returns is called, or reports
// EBUSY when another port has the device: one would take the other's frames.
func (n *Namespace) Reserve(name string) (func(), error) {
	reserved.mu.Lock()
	defer reserved.mu.Unlock()
	id := deviceID{n.key, name}
	if reserved.m[id] {
		return nil, fmt.Errorf("%w: another port uses this device", unix.EBUSY)
	}
	reserved.m[id] = true
	return func() {
		reserved.mu.Lock()
		defer reserved.mu.Unlock()
		delete(reserved.m, id)
	}, nil
}

// Release ends the use that an Acquire began.
func (n *Namespace) Release() {
	shared.mu.Lock()
	n.refs--
	last := n.refs == 0
	if last {
		delete(shared.m, n.key)
	}
	shared.mu.Unlock()
	if last {
		n.mon.close()
		n.handle.Close()
		_ = unix.Close(n.fd)
	}
}

// isOwn tells whether a namespace is the one that the process is in.
func isOwn(key nsKey) bool {
	var st unix.Stat_t
	err := unix.Stat("/proc/self/ns/net", &st)
	return err == nil && key == nsKey{st.Dev, st.Ino}
}

// nsHandle is the namespace for package netlink, which enters any that it is given:
// that takes CAP_SYS_ADMIN, which the process may lack.
func (n *Namespace) nsHandle() netns.NsHandle {
	if n.own {
		return netns.None()
	}
	return netns.NsHandle(n.fd)
}

// FD is the namespace's descriptor, good until Release.
func (n *Namespace) FD() int { return n.fd }

// String is what the namespace was called.
func (n *Namespace) String() string { return n.text }

// Do calls f on a thread that is in the namespace: sockets that f makes belong to
// it for ever.
func (n *Namespace) Do(f func() error) error {
	if n.own {
		return f()
	}
	done := make(chan error)
	go func() {
		// Unlocked only after the way back worked; otherwise the thread dies with
		// the goroutine.
		runtime.LockOSThread()
		own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			runtime.UnlockOSThread()
			done <- err
			return
		}
		defer func() { _ = unix.Close(own) }()
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("entering network namespace %q: %w", n.text, err)
			return
		}
		err = f()
		if unix.Setns(own, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

func openNetns(s string) (int, error) {
	path := s
	switch {
	case s == "":
		path = "/proc/thread-self/ns/net"
	case s == "." || s == ".." || strings.ContainsRune(s, 0):
		return -1, unix.EINVAL
	case strings.Contains(s, "/"):
	default:
		path = netnsDir + s
		if _, err := os.Stat(path); err != nil {
			if pid, perr := strconv.ParseUint(s, 10, 31); perr == nil {
				path = fmt.Sprintf("/proc/%d/ns/net", pid)
			}
		}
	}
	// Non-blocking: the path may be a FIFO.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if t, err := unix.IoctlRetInt(fd, unix.NS_GET_NSTYPE); err != nil || t != unix.CLONE_NEWNET {
		_ = unix.Close(fd)
		return -1, errNotNetns
	}
	return fd, nil
}
