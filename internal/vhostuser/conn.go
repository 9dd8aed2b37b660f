package vhostuser

import (
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// Conn carries messages and descriptors over a socket. One goroutine reads;
// Close may be called from any.
type Conn struct {
	c   *net.UnixConn
	hdr [HeaderSize]byte
	buf [MaxPayload]byte
	oob []byte
	fds []int
	out []byte
}

// NewConn makes a Conn that owns c.
func NewConn(c *net.UnixConn) *Conn {
	return &Conn{c: c, oob: make([]byte, unix.CmsgSpace(4*MaxFDs))}
}

// Close ends the connection; a Read that waits returns.
func (c *Conn) Close() error { return c.c.Close() }

// Unix is the socket.
func (c *Conn) Unix() *net.UnixConn { return c.c }

// Read reads one message. Its payload and the list of descriptors are good until the next
// Read; the descriptors themselves become the caller's. With an error, there
// are none. io.EOF means that the other side closed between messages.
func (c *Conn) Read(m *Message) (fds []int, err error) {
	c.fds = c.fds[:0]
	size := 0
	if err = c.fill(c.hdr[:], true); err == nil {
		if size, err = parseHeader(&c.hdr, m); err == nil {
			err = c.fill(c.buf[:size], false)
		}
	}
	if err != nil {
		CloseFDs(c.fds)
		return nil, err
	}
	m.Payload = c.buf[:size]
	return c.fds, nil
}

// fill reads until b is full. Descriptors may come with any byte; they all
// belong to the message.
func (c *Conn) fill(b []byte, first bool) error {
	for len(b) > 0 {
		n, oobn, flags, _, err := c.c.ReadMsgUnix(b, c.oob)
		if oobn > 0 {
			if err := c.take(c.oob[:oobn]); err != nil {
				return err
			}
		}
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case n == 0 && first:
			return io.EOF
		case n == 0:
			return io.ErrUnexpectedEOF
		case flags&unix.MSG_CTRUNC != 0:
			return protocolErrorf("more than %d file descriptors, or no room for them in this process", MaxFDs)
		}
		b, first = b[n:], false
	}
	return nil
}

// take adds the descriptors in a control message to those of the message.
func (c *Conn) take(oob []byte) error {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return protocolErrorf("control message: %w", err)
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // of another type: it carries no descriptors
		}
		c.fds = append(c.fds, fds...)
	}
	if len(c.fds) > MaxFDs {
		return protocolErrorf("%d file descriptors with one message, at most %d are taken", len(c.fds), MaxFDs)
	}
	return nil
}

// Write sends a message with descriptors, which stay the caller's.
func (c *Conn) Write(m *Message, fds ...int) error {
	c.out = m.AppendTo(c.out[:0])
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	n, _, err := c.c.WriteMsgUnix(c.out, oob, nil)
	if err == nil && n < len(c.out) {
		_, err = c.c.Write(c.out[n:])
	}
	if err != nil {
		return fmt.Errorf("%v: %w", m.Request, err)
	}
	return nil
}
