package vhostuser

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	guardEvery = 250 * time.Millisecond
	// guardPardons is how often a guest may make a descriptor block: one that means no harm
	// may set its end up late.
	guardPardons = 3
)

// guard keeps the descriptors that poll threads write to and read from non-blocking. The
// flag belongs to the open file, which is the guest's as well: it can take the
// flag away, and a thread that then writes to a full descriptor would wait for
// ever. So this looks now and then, and lets such a thread go. It takes no
// peer.mu: whoever has that may be waiting for the very thread.
func (p *peer) guard() {
	for strikes := 0; p.d.pauseOr(p.done, guardEvery); {
		if !p.d.unblock() {
			continue
		}
		if strikes++; strikes > guardPardons {
			p.d.stop("the guest's side keeps taking O_NONBLOCK from a descriptor")
			return
		}
	}
}

// unblock reports whether a descriptor in use had become blocking. None is any more, and
// nobody waits in one. While d.mu is held none of them is closed.
func (d *Device) unblock() (found bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, fd := range d.guarded {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK != 0 {
			continue
		}
		found = true
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_NONBLOCK)
		release(fd)
	}
	return found
}

// release ends the wait of a thread in fd, whatever it is: an eventfd is emptied, a pipe
// made larger, a socket shut down.
func release(fd int) {
	drain(fd)
	if size, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); err == nil {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 2*size)
	}
	_ = unix.Shutdown(fd, unix.SHUT_RDWR) // ENOTSOCK for the others
}
