package virtiouser

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/gvswitch/gvswitch/internal/unixsock"
	"golang.org/x/sys/unix"
)

const (
	minBackoff = 20 * time.Millisecond
	maxBackoff = 500 * time.Millisecond
	// settled is how long a connection must last for the next attempt to come at once.
	settled = time.Second
)

// listen makes the socket of a server. One that nobody listens on any more is replaced.
func listen(name, path string) (*net.UnixListener, error) {
	err := unixsock.RemoveStale(path)
	if err == nil {
		var l *net.UnixListener
		if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("port %s: %w", name, err)
}

// accept serves the back ends that connect, one after the other.
func (d *Device) accept() {
	for {
		c, err := d.socket.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptors left, most likely
			d.log.Warn("accept", "error", err)
			if !d.pause(maxBackoff) {
				return
			}
			continue
		}
		if !d.serve(c) || !d.pause(minBackoff) {
			return
		}
	}
}

// connect connects to the back end's socket, and again whenever that ends. What fails the same
// way as before is not logged again.
func (d *Device) connect(path string) {
	ctx, cancel := d.quitting()
	defer cancel()
	var dialer net.Dialer
	backoff, last := minBackoff, ""
	for {
		c, err := dialer.DialContext(ctx, "unix", path)
		if err != nil {
			if text := err.Error(); text != last && ctx.Err() == nil {
				d.log.Info("back end's socket not reached, trying on", "error", err)
				last = text
				d.explain(fmt.Sprintf("no back end at %s: %v", path, root(err)))
			}
		} else {
			start := time.Now()
			if !d.serve(c.(*net.UnixConn)) {
				return
			}
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

// serve is a back end from its beginning to its end; false if the device is closed.
func (d *Device) serve(c *net.UnixConn) bool {
	s := &session{d: d, conn: newConn(c)}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.session = s
	}
	d.mu.Unlock()
	if closed {
		_ = c.Close()
		return false
	}
	silent := time.AfterFunc(settled, func() {
		d.mu.Lock()
		waiting := d.session == s && !s.greeted
		d.mu.Unlock()
		if waiting {
			d.explain("the back end at " + d.set.path + " does not answer; it may be in use")
		}
	})
	err := s.run()
	silent.Stop()
	d.mu.Lock()
	d.session = nil
	said := err != nil && err.Error() == d.said
	d.said = ""
	if err != nil {
		d.said = err.Error()
	}
	if err != nil && !gone(err) && !d.closed { // else the fault, if any, is what Fault said
		d.fault = err.Error()
	} else if gone(err) && !s.published && d.fault == "" {
		d.fault = "the back end at " + d.set.path + " closed the connection"
	}
	closed = d.closed
	d.mu.Unlock()
	if closed {
		return false
	}
	if s.published {
		said = false
	}
	switch {
	case said: // the same as before, and nothing in between
	case err == nil || gone(err):
		d.log.Info("back end disconnected")
	default:
		d.log.Warn("back end given up", "error", err)
	}
	d.changed()
	return true
}

// explain says why there is no link, until there is one.
func (d *Device) explain(why string) {
	d.mu.Lock()
	news := d.fault != why && !d.closed
	if news {
		d.fault = why
	}
	d.mu.Unlock()
	if news {
		d.changed()
	}
}

// root is what an error is about at last.
func root(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// gone tells whether an error only says that the other side, or we ourselves, closed.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}
