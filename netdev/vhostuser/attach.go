package vhostuser

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

const (
	minBackoff = 20 * time.Millisecond
	maxBackoff = 500 * time.Millisecond
	// handover is how long a new connection is kept waiting for the end of one
	// whose other side has closed already.
	handover = 500 * time.Millisecond
	// settled is how long a connection must last for the next attempt to
	// come at once.
	settled = time.Second
)

// accept serves the guests that connect, one at a time. A second one is refused at
// once, which it can see, and not left to wait.
func (d *Device) accept() {
	pace := connectionPace()
	for {
		c, err := d.socket.l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptors left, most likely
			d.warn("accept", err)
			if !d.pause(maxBackoff) {
				return
			}
			continue
		}
		if !pace.take(d.pause) {
			_ = c.Close()
			return
		}
		d.awaitHandover()
		p := d.attach(c)
		if p == nil {
			_ = c.Close()
			d.warn("second connection refused", errors.New("a guest is connected already"))
			continue
		}
		d.wg.Go(func() { d.gone(p.serve()) })
	}
}

// awaitHandover waits for the end of a peer whose guest has gone: one that
// reconnects is often faster than its farewell.
func (d *Device) awaitHandover() {
	d.mu.Lock()
	p := d.peer
	d.mu.Unlock()
	if p == nil || !hungUp(p.conn.Unix()) && !p.dead.Load() {
		return
	}
	timer := time.NewTimer(handover)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	case <-d.quit:
	}
}

// hungUp tells whether the other side of a connection has closed.
func hungUp(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	hup := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		hup = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return hup || err != nil
}

// connect connects to the guest's socket, and again whenever that ends. What
// fails the same way as before is not logged again.
func (d *Device) connect(path string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d.wg.Go(func() { <-d.quit; cancel() })
	var dialer net.Dialer
	backoff, last := minBackoff, ""
	for {
		c, err := dialer.DialContext(ctx, "unix", path)
		if err != nil {
			if text := err.Error(); text != last && ctx.Err() == nil {
				d.info("guest's socket not reached, trying on", "error", err)
				last = text
			}
		} else if p := d.attach(c.(*net.UnixConn)); p == nil {
			_ = c.Close()
			return
		} else {
			start := time.Now()
			d.gone(p.serve())
			last = ""
			if time.Since(start) > settled {
				backoff = minBackoff
			}
		}
		if !d.pause(backoff) {
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// gone tells that a guest has left.
func (d *Device) gone(err error) {
	if err != nil {
		d.warn("guest disconnected", err)
		return
	}
	d.info("guest disconnected")
}
