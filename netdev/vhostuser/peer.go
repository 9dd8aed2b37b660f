package vhostuser

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// replyTime is how long a front end may leave no room for an answer.
const replyTime = 2 * time.Second

// peer is a connection to a front end, and the device that its session asks for.
type peer struct {
	d    *Device
	conn *vhostuser.Conn
	done chan struct{} // closed when the peer is gone with everything it had
	dead atomic.Bool   // no ring may be served any more

	mu      sync.Mutex // held while a message is obeyed
	session *vhostuser.Session
	memory  vhostuser.Memory
	rings   map[int]*ring
	owed    []int  // descriptors to be notified when the rings are served, and guarded
	channel int    // for messages to the front end, -1 none
	iommu   *iommu // of a guest that may have one, or arrives by postcopy

	postcopy *postcopy // of a guest that arrives
	control  virtio.Control

	ownMAC     net.HardwareAddr                // that the guest has set by it, nil if none
	announcing bool                            // the guest was asked to announce itself
	want       atomic.Pointer[virtio.RxFilter] // of control, for transmit queues

	pin    pin    // what it is offered
	id     string // see identity
	busy   bool   // a message is obeyed
	linkUp bool   // by the rings as they are
	asked  bool   // what features there are
	agreed bool   // on features
}

// attach makes a connection the device's peer, unless the device is closed or has one.
func (d *Device) attach(c *net.UnixConn) *peer {
	id := d.identity(c)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.peer != nil {
		return nil
	}
	p := &peer{d: d, conn: vhostuser.NewConn(c), done: make(chan struct{}), rings: map[int]*ring{}, channel: -1}
	p.id, p.pin = id, d.offer(id)
	p.session = vhostuser.NewSession(d.terms(&p.pin), p)
	if p.pin.Offered&vhostuser.FeatureAccessPlatform != 0 {
		p.iommu = newIOMMU()
	}
	d.peer = p
	d.view = view{connected: true}
	return p
}

// end makes serve return. d.mu may be held.
func (p *peer) end() {
	p.dead.Store(true)
	_ = p.conn.Close()
}

// serve obeys messages until the connection ends, and then takes everything
// down. It tells why it ended, nil if the front end closed.
func (p *peer) serve() (err error) {
	p.d.info("guest connected")
	p.d.wg.Go(p.watch)
	p.d.wg.Go(p.guard)
	if p.iommu != nil {
		p.d.wg.Go(func() { p.translate(p.iommu) })
	}
	// A region that vanishes raises SIGBUS. The rings' memory is read here, too.
	debug.SetPanicOnFault(true)
	var m vhostuser.Message
	for err == nil {
		var fds []int
		if fds, err = p.conn.Read(&m); err == nil {
			err = p.handle(&m, fds)
		}
		if !p.d.messages.take(p.d.pause) {
			break
		}
	}
	p.teardown()
	p.d.mu.Lock()
	p.d.refusal.note(p.id, p.asked && !p.agreed)
	p.d.mu.Unlock()
	if p.asked && !p.agreed {
		p.d.warn("guest left without agreeing on features", fmt.Errorf("it may insist on others than %#x", p.pin.Offered))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	return err
}

// handle obeys one message and answers it.
func (p *peer) handle(m *vhostuser.Message, nums []int) (err error) {
	fds := make([]vhostuser.FD, len(nums))
	for i, n := range nums {
		fds[i] = vhostuser.Inspect(n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.recoverFault(&err)
	if m.Request == vhostuser.GetFeatures {
		p.d.mu.Lock()
		p.keepPin()
		p.d.mu.Unlock()
		p.d.savePin()
	}
	err = p.obey(m, fds)
	p.show()
	return err
}

func (p *peer) obey(m *vhostuser.Message, fds []vhostuser.FD) (err error) {
	var reply vhostuser.Message
	has := false
	// Whoever has the answer may ask for the link.
	p.linkSettles(func() { reply, has, err = p.session.Handle(m, fds) })
	if has {
		// A front end that never reads would keep p.mu.
		_ = p.conn.Unix().SetWriteDeadline(time.Now().Add(replyTime))
		werr := p.conn.Write(&reply, reply.FDs...)
		vhostuser.CloseFDs(reply.FDs)
		if err == nil && werr != nil {
			err = fmt.Errorf("reply to %w", werr)
		}
	}
	return err
}

// recoverFault turns a fault in the guest's memory into an error.
func (p *peer) recoverFault(err *error) {
	r := recover()
	if r == nil {
		return
	}
	f, ok := r.(interface{ Addr() uintptr })
	if !ok || !p.d.OwnsAddr(f.Addr()) {
		panic(r)
	}
	reason := fmt.Sprintf("guest memory at %#x vanished", f.Addr())
	p.d.stop(reason)
	*err = errors.New(reason)
}

// show makes the session's state visible in Info. p.mu is held.
func (p *peer) show() {
	s := p.session
	p.agreed = p.agreed || s.FeaturesSet
	sizes := make([]uint32, 0, len(s.Vrings))
	for i := range s.Vrings {
		if n := s.Vrings[i].Num; n != 0 {
			sizes = append(sizes, n)
		}
	}
	defer p.d.savePin()
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if s.FeaturesSet {
		p.keepPin()
		p.d.pin.agree(s.Features)
	}
	v := &p.d.view
	v.features, v.agreed, v.protocol, v.sizes = s.Features, s.FeaturesSet, s.Protocol, sizes
	v.control, v.ownMAC = nil, p.ownMAC
	if s.ControlRan {
		c := p.control
		v.control = &c
	}
}

// teardown gives up all that the peer had.
func (p *peer) teardown() {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.d.mu.Lock()
	p.d.view.connected = false
	p.d.mu.Unlock()
	p.session.Close()
	for _, r := range p.rings { // of a start that a fault ended: nobody has seen them
		r.close()
	}
	_ = p.SetLog(vhostuser.LogArea{}, false) // one that a fault kept the session from knowing
	p.d.mu.Lock()
	p.d.peer = nil
	p.d.view.sizes = nil
	p.d.mu.Unlock()
	close(p.done)
}

// reconfigure lets a change of settings take effect.
func (p *peer) reconfigure(rings, config bool) {
	debug.SetPanicOnFault(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error // a fault has ended the peer, which needs no more
	defer p.recoverFault(&err)
	if p.dead.Load() {
		return
	}
	if rings {
		p.linkSettles(p.session.Restart)
	}
	if config {
		p.configChanged()
	}
}
