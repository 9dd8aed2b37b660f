package vhostuser

import (
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// controlPoll is how often a control queue without a kick descriptor is looked at.
const controlPoll = 5 * time.Millisecond

// control serves a control virtqueue. It has a goroutine, which touches the ring only
// while it holds peer.mu and the ring is still the peer's: so whoever has peer.mu can take it away.
type control struct {
	p     *peer
	index int // of the vring
	ring  virtio.Ring
	call  int
	kick  *os.File      // our own, so that it can be waited for without peer.mu; nil without
	quit  chan struct{} // closed by close
	cmd   []byte
}

// newControl makes one that does not run yet. kick is non-blocking, or -1.
func newControl(p *peer, index int, ring virtio.Ring, kick, call int) (*control, error) {
	c := &control{p: p, index: index, ring: ring, call: call, quit: make(chan struct{})}
	if kick < 0 {
		return c, nil
	}
	fd, err := unix.FcntlInt(uintptr(kick), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c.kick = os.NewFile(uintptr(fd), "kick")
	return c, nil
}

// close ends it. p.mu is held, and the ring is not in p.rings any more.
func (c *control) close() {
	close(c.quit)
	if c.kick != nil {
		_ = c.kick.Close()
	}
}

// run serves commands until the ring is taken away.
func (c *control) run() {
	debug.SetPanicOnFault(true)
	pace := controlPace()
	pause := func(t time.Duration) bool { return c.p.d.pauseOr(c.quit, t) }
	for {
		for c.turn() {
			if !pace.take(pause) {
				return
			}
		}
		if !c.wait() || !pace.take(pause) {
			return
		}
	}
}

// wait returns when the guest may have said something, or false when nothing is to
// be served any more.
func (c *control) wait() bool {
	if c.kick == nil {
		return c.p.d.pauseOr(c.quit, controlPoll)
	}
	raw, err := c.kick.SyscallConn()
	if err != nil {
		return false
	}
	return raw.Read(func(fd uintptr) bool { return kicked(int(fd)) }) == nil
}

// kicked empties a kick descriptor and tells whether there was anything. What has been
// hung up is always readable; the pace bounds what that costs.
func kicked(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, 0); n <= 0 || err != nil {
		return false
	}
	drain(fd)
	return true
}

// turn obeys one command, if there is one; else it asks to be told of the next.
func (c *control) turn() (more bool) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.rings[c.index]; r == nil || r.control != c || p.dead.Load() {
		return false
	}
	var err error // a fault has ended the peer
	defer p.recoverFault(&err)
	if c.ring.Gather(1) == 0 {
		return !c.ring.Arm()
	}
	held := c.ring.Held()
	chain := &held.Chains[0]
	if chain.Fault == virtio.OK {
		segs := held.Segs[chain.First:][:chain.Count]
		chain.Written = c.answer(segs[:chain.Reads], segs[chain.Reads:])
		// Whoever keeps account of what is written counts from the first segment.
		chain.First, chain.Count = chain.First+uint32(chain.Reads), chain.Count-chain.Reads
	}
	c.ring.Use(1)
	if c.call >= 0 && c.ring.NeedNotify() {
		notify(c.call)
	}
	return true
}

// answer obeys the command in the pieces of ask, and writes how it went to reply. What it asks
// for is in force before the guest can see the answer. It returns how many
// bytes were written.
func (c *control) answer(ask, reply []virtio.Seg) uint32 {
	if len(reply) == 0 {
		return 0 // without room for an answer it is no command
	}
	ack := byte(virtio.CtrlErr)
	if c.read(ask) && c.p.command(c.cmd) {
		ack = virtio.CtrlOK
	}
	mem.CopyOut(reply[0].Addr, []byte{ack})
	return 1
}

// read copies a command, so that the guest cannot change it any more; false if it is too long.
func (c *control) read(ask []virtio.Seg) bool {
	size := 0
	for _, s := range ask {
		if size += int(s.Len); size > virtio.MaxCtrlCommand {
			return false
		}
	}
	c.cmd = append(c.cmd[:0], make([]byte, size)...)
	at := 0
	for _, s := range ask {
		mem.CopyIn(c.cmd[at:at+int(s.Len)], s.Addr)
		at += int(s.Len)
	}
	return true
}

// command obeys one command. p.mu is held.
func (p *peer) command(cmd []byte) bool {
	next, what, ok := p.control.Do(cmd)
	if !ok {
		return false
	}
	p.control = next
	if what&virtio.ChangedFilter != 0 {
		p.filter()
	}
	if what&virtio.ChangedMAC != 0 {
		mac, _ := next.Want.OwnMAC()
		p.ownMAC = mac[:]
	}
	if what&virtio.Announced != 0 {
		p.announcing = false
	}
	// These take rings from the poll threads and give them others.
	if what&virtio.ChangedPairs != 0 {
		p.linkSettles(func() { p.session.SetPairs(next.Pairs) })
	}
	if what&virtio.ChangedOffloads != 0 {
		p.linkSettles(p.session.RefitReceive)
	}
	p.show()
	return true
}

// filter lets the transmit queues know what the guest wants.
func (p *peer) filter() {
	if f := p.control.Want; f.All() {
		p.want.Store(nil)
	} else {
		p.want.Store(&f)
	}
}

// ResetControl implements vhostuser.Device. p.mu is held.
func (p *peer) ResetControl() {
	var own [6]byte
	if p.session.Features&virtio.NetFMAC != 0 {
		p.d.mu.Lock()
		copy(own[:], p.d.set.mac)
		p.d.mu.Unlock()
	}
	p.control = virtio.NewControl(p.session.Features, p.pin.Pairs, own)
	p.announcing, p.ownMAC = false, nil
	p.filter()
}

// takes is what of the features holds for what is sent to the guest: without the offloads that it has
// given up by the control queue.
func (p *peer) takes(features uint64) uint64 {
	return features &^ (p.control.Features & virtio.GuestOffloads &^ p.control.Offloads)
}

// buildControl makes the ring of a control vring.
func (p *peer) buildControl(s *vhostuser.RingStart, r *ring) error {
	var err error
	r.control, err = newControl(p, s.Index, r.ring, s.Vring.Kick.Num, s.Vring.Call.Num)
	if err == nil {
		p.d.wg.Go(r.control.run) // it waits for p.mu
	}
	return err
}
