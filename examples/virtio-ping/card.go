package main

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/virtiouser"
	"github.com/gvswitch/gvswitch/packet"
)

// card is a virtio network card and all that its driver wants of the world around it. Whoever uses
// its queues holds the lock, which is what lets Changed keep its promise: when it returns, nobody uses
// queues that are no longer there.
type card struct {
	mu    sync.Mutex
	dev   netdev.Device
	burst packet.Burst // large: made once
	rx    netdev.RxStats
	tx    netdev.TxStats
}

func openCard(name string, o netdev.Options) (*card, error) {
	c := &card{}
	dev, err := virtiouser.Open(name, o, c)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.dev = dev
	c.mu.Unlock()
	return c, nil
}

// Changed implements netdev.Host.
func (c *card) Changed(netdev.Device) {
	c.mu.Lock()
	defer c.mu.Unlock()
}

// Inject implements netdev.Host; only devices with guests call it.
func (c *card) Inject(netdev.Device, []byte) {}

func (c *card) close() { _ = c.dev.Close() }

// receive calls f with each frame that is there. The frame is f's.
func (c *card) receive(f func(frame []byte)) {
	for _, frame := range c.take() {
		f(frame)
	}
}

func (c *card) take() (frames [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rx, _ := c.dev.Queues()
	for _, q := range rx {
		n := q.Recv(&c.burst, &c.rx)
		for i := range n {
			frames = append(frames, c.burst.Pkts[i].AppendTo(nil))
		}
		if n > 0 {
			q.Release()
		}
	}
	return frames
}

// send sends a frame, or drops it while there is no back end.
func (c *card) send(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, tx := c.dev.Queues(); len(tx) > 0 {
		c.burst.Pkts[0].SetBytes(frame)
		c.burst.Start(1)
		tx[0].Send(&c.burst, []uint16{0}, &c.tx)
	}
}

// wait sleeps until frames come, or for a time.
func (c *card) wait(most time.Duration) {
	fds, armed, ready := c.arm()
	if !ready {
		_, _ = unix.Poll(fds, int(most.Milliseconds()))
	}
	for _, q := range armed {
		c.disarm(q)
	}
}

func (c *card) arm() (fds []unix.PollFd, armed []netdev.RxQueue, ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rx, _ := c.dev.Queues()
	for _, q := range rx {
		ready = !q.Arm() || ready
		armed = append(armed, q)
		fds = append(fds, unix.PollFd{Fd: int32(q.FD()), Events: unix.POLLIN})
	}
	return fds, armed, ready
}

// disarm ends arm's effect on a queue, if that is still there.
func (c *card) disarm(armed netdev.RxQueue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rx, _ := c.dev.Queues()
	for _, q := range rx {
		if q == armed {
			q.Disarm()
		}
	}
}
