package frontend

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// Control is a control queue that the front end hands to the back end, as User Mode
// Linux does. It belongs to the guest's goroutine.
type Control struct {
	Ring       *virtiotest.Ring
	Kick, Call int
	Vring      int
	Buf        uint64 // guest address of ControlBuf bytes for commands and answers
	Patience   time.Duration
	g          *Guest
}

// A control ring and its buffers lie behind those of the guest's queues, where NewGuest
// leaves a page.
const (
	controlSize = 8
	ControlBuf  = 2048 // bytes at Control.Buf
)

// StartControl sets up and enables the control queue as the given vring, which begins at index base.
func (g *Guest) StartControl(vring int, base uint32) (*Control, error) {
	at := g.Config.Base + uint64(2*g.Config.Pairs*g.ringSpace())
	c := &Control{g: g, Vring: vring, Ring: virtiotest.New(g.RAM.Mem, at, controlSize, g.Features), Patience: Timeout}
	c.Buf = at + uint64(virtiotest.RingBytes(controlSize))
	var err error
	if c.Kick, err = EventFD(); err != nil {
		return nil, err
	}
	if c.Call, err = EventFD(); err != nil {
		_ = unix.Close(c.Kick)
		return nil, err
	}
	if err = g.StartRing(vring, c.Ring, c.Kick, c.Call, base); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the descriptors.
func (c *Control) Close() {
	for _, fd := range []*int{&c.Kick, &c.Call} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
		}
		*fd = -1
	}
}

// Do sends a command in pieces of the given lengths (the last takes the rest) and waits for the answer.
func (c *Control) Do(cmd []byte, cuts ...int) (ack byte, err error) {
	const ackAt = ControlBuf - 1
	m := c.g.RAM.Mem
	copy(m.At(c.Buf, len(cmd)), cmd)
	m.At(c.Buf+ackAt, 1)[0] = 0xff
	var chain []virtiotest.Elem
	at := c.Buf
	for _, n := range append(cuts, len(cmd)) {
		if n = min(n, len(cmd)-int(at-c.Buf)); n > 0 {
			chain = append(chain, virtiotest.Elem{Addr: at, Len: uint32(n)})
			at += uint64(n)
		}
	}
	chain = append(chain, virtiotest.Elem{Addr: c.Buf + ackAt, Len: 1, Write: true})
	n, err := c.Post(chain)
	if err == nil && n != 1 {
		err = fmt.Errorf("%d bytes written, want 1", n)
	}
	return m.At(c.Buf+ackAt, 1)[0], err
}

// Post makes a chain of any form available, and waits until it is used.
func (c *Control) Post(chain []virtiotest.Elem) (written uint32, err error) {
	if _, ok := c.Ring.Add(chain...); !ok {
		return 0, fmt.Errorf("control ring has no room for %d elements", len(chain))
	}
	c.Ring.Publish()
	if c.Ring.NeedKick() {
		Signal(c.Kick)
	}
	for end := time.Now().Add(c.Patience); time.Now().Before(end); time.Sleep(20 * time.Microsecond) {
		if _, n, ok := c.Ring.Take(); ok {
			return n, nil
		}
	}
	return 0, fmt.Errorf("no answer by the control queue within %v", c.Patience)
}
