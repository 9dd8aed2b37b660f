package virtiouser

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
)

// replyTime is how long the back end may take to answer, and to read what it is sent.
const replyTime = 10 * time.Second

// errRefused is a back end's answer that it did not obey.
var errRefused = errors.New("refused by the back end")

// conn is a front end's connection. It belongs to one goroutine.
type conn struct {
	*vhostuser.Conn
	ack bool // the back end answers what it is asked to
}

func newConn(c *net.UnixConn) *conn { return &conn{Conn: vhostuser.NewConn(c)} }

// reply waits for an answer to r and gives its payload, good until the next one.
func (c *conn) reply(r vhostuser.Request) ([]byte, error) {
	if err := c.Unix().SetReadDeadline(time.Now().Add(replyTime)); err != nil {
		return nil, err
	}
	var m vhostuser.Message
	fds, err := c.Read(&m)
	if err != nil {
		return nil, fmt.Errorf("answer to %v: %w", r, err)
	}
	vhostuser.CloseFDs(fds)
	if m.Request != r || m.Flags&vhostuser.FlagReply == 0 {
		return nil, fmt.Errorf("%v was answered by %v with flags %#x", r, m.Request, m.Flags)
	}
	return m.Payload, nil
}

// send sends a message. A back end that never reads is not waited for forever.
func (c *conn) send(m *vhostuser.Message, fds ...int) error {
	if err := c.Unix().SetWriteDeadline(time.Now().Add(replyTime)); err != nil {
		return err
	}
	return c.Write(m, fds...)
}

// get sends a message that is answered by definition.
func (c *conn) get(r vhostuser.Request, payload []byte) ([]byte, error) {
	if err := c.send(&vhostuser.Message{Request: r, Flags: vhostuser.Version, Payload: payload}); err != nil {
		return nil, err
	}
	return c.reply(r)
}

// number is get of an answer that is one number.
func (c *conn) number(r vhostuser.Request) (uint64, error) {
	p, err := c.get(r, nil)
	if err == nil && len(p) != 8 {
		err = fmt.Errorf("answer to %v has %d bytes, want 8", r, len(p))
	}
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(p), nil
}

// set sends a message and hears how it went, if the back end says so.
func (c *conn) set(r vhostuser.Request, payload []byte, fds ...int) error {
	m := vhostuser.Message{Request: r, Flags: vhostuser.Version, Payload: payload}
	if c.ack {
		m.Flags |= vhostuser.FlagNeedReply
	}
	if err := c.send(&m, fds...); err != nil || !c.ack {
		return err
	}
	p, err := c.reply(r)
	switch {
	case err != nil:
		return err
	case len(p) != 8:
		return fmt.Errorf("answer to %v has %d bytes, want 8", r, len(p))
	case binary.LittleEndian.Uint64(p) != 0:
		return fmt.Errorf("%v: %w", r, errRefused)
	}
	return nil
}

// setNumber is set of one number.
func (c *conn) setNumber(r vhostuser.Request, v uint64) error {
	return c.set(r, vhostuser.AppendU64(nil, v))
}

// vring is set of a number that belongs to a vring.
func (c *conn) vring(r vhostuser.Request, vring int, v uint32) error {
	return c.set(r, vhostuser.VringState{Index: uint32(vring), Num: v}.Append(nil))
}

// base stops a vring and asks where it stood.
func (c *conn) base(vring int) (uint32, error) {
	p, err := c.get(vhostuser.GetVringBase, vhostuser.VringState{Index: uint32(vring)}.Append(nil))
	if err == nil && len(p) != 8 {
		err = fmt.Errorf("answer to %v has %d bytes, want 8", vhostuser.GetVringBase, len(p))
	}
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(p[4:]), nil
}
