package frontend

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
)

// Timeout is how long a reply may take.
const Timeout = 10 * time.Second

// Conn is a front end's connection.
type Conn struct {
	*vhostuser.Conn
	// Protocol is what was acknowledged by SetProtocol; it decides whether Set waits
	// for an answer.
	Protocol uint64

	mu sync.Mutex // one question at a time
}

// Dial connects to a back end that listens.
func Dial(path string) (*Conn, error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: vhostuser.NewConn(c)}, nil
}

// Accept waits for a back end that connects.
func Accept(l *net.UnixListener, timeout time.Duration) (*Conn, error) {
	if err := l.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	c, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: vhostuser.NewConn(c)}, nil
}

// Post sends a message and waits for nothing.
func (c *Conn) Post(r vhostuser.Request, payload []byte, fds ...int) error {
	return c.Write(&vhostuser.Message{Request: r, Flags: vhostuser.Version, Payload: payload}, fds...)
}

// Reply waits for a message of the back end.
func (c *Conn) Reply(timeout time.Duration) (*vhostuser.Message, error) {
	if err := c.Unix().SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	var m vhostuser.Message
	fds, err := c.Read(&m)
	if err != nil {
		return nil, err
	}
	vhostuser.CloseFDs(fds)
	if len(fds) > 0 || m.Flags != vhostuser.Version|vhostuser.FlagReply {
		return nil, fmt.Errorf("reply %v with flags %#x and %d descriptors", m.Request, m.Flags, len(fds))
	}
	return &m, nil
}

// Get sends a message that is answered by definition, and gives the answer's payload.
func (c *Conn) Get(r vhostuser.Request, payload []byte, fds ...int) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.Post(r, payload, fds...); err != nil {
		return nil, err
	}
	m, err := c.Reply(Timeout)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", r, err)
	}
	if m.Request != r {
		return nil, fmt.Errorf("%v: answered by %v", r, m.Request)
	}
	return m.Payload, nil
}

// GetU64 is Get for an answer of one number.
func (c *Conn) GetU64(r vhostuser.Request) (uint64, error) {
	p, err := c.Get(r, nil)
	if err != nil {
		return 0, err
	}
	if len(p) != 8 {
		return 0, fmt.Errorf("%v: answer of %d bytes", r, len(p))
	}
	return binary.LittleEndian.Uint64(p), nil
}

// ErrRefused is a back end's answer that it did not obey.
var ErrRefused = errors.New("refused by the back end")

// Set sends a message and, if REPLY_ACK was acknowledged, waits for the answer how
// it went.
func (c *Conn) Set(r vhostuser.Request, payload []byte, fds ...int) error {
	m := vhostuser.Message{Request: r, Flags: vhostuser.Version, Payload: payload}
	c.mu.Lock()
	defer c.mu.Unlock()
	ack := c.Protocol&vhostuser.ProtoReplyAck != 0
	if ack {
		m.Flags |= vhostuser.FlagNeedReply
	}
	if err := c.Write(&m, fds...); err != nil || !ack {
		return err
	}
	reply, err := c.Reply(Timeout)
	switch {
	case err != nil:
		return fmt.Errorf("%v: %w", r, err)
	case reply.Request != r || len(reply.Payload) != 8:
		return fmt.Errorf("%v: answered by %v of %d bytes", r, reply.Request, len(reply.Payload))
	case binary.LittleEndian.Uint64(reply.Payload) != 0:
		return fmt.Errorf("%v: %w", r, ErrRefused)
	}
	return nil
}

// SetProtocol acknowledges protocol features.
func (c *Conn) SetProtocol(f uint64) error {
	c.Protocol = f
	return c.Set(vhostuser.SetProtocolFeatures, vhostuser.AppendU64(nil, f))
}

// Silent fails if the back end sends anything, or closes, within d.
func (c *Conn) Silent(d time.Duration) error {
	m, err := c.Reply(d)
	var timeout net.Error
	switch {
	case err == nil:
		return fmt.Errorf("unexpected %v", m.Request)
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil
	}
	return err
}

// Closed waits for the back end to close the connection.
func (c *Conn) Closed() error {
	if err := c.Unix().SetReadDeadline(time.Now().Add(Timeout)); err != nil {
		return err
	}
	var m vhostuser.Message
	for {
		fds, err := c.Read(&m)
		vhostuser.CloseFDs(fds)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			return errors.New("the back end keeps the connection open")
		case err != nil:
			return nil
		}
	}
}

// EventFD makes an eventfd as front ends do.
func EventFD() (int, error) { return unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK) }
