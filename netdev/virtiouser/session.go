package virtiouser

import (
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/driver"
	"github.com/gvswitch/gvswitch/netdev"
)

// Bits of the device status (virtio 1.2, section 2.1).
const (
	statusAcknowledge = 1
	statusDriver      = 2
	statusDriverOK    = 4
	statusFeaturesOK  = 8
)

// lookEvery is how often the rings are looked at by control code.
const lookEvery = 500 * time.Millisecond

// protocolWanted is what of the protocol's features is of use here.
const protocolWanted = vhostuser.ProtoMQ | vhostuser.ProtoReplyAck | vhostuser.ProtoMTU | vhostuser.ProtoConfig | vhostuser.ProtoStatus

// session is a connection to a back end and the card on it. It belongs to its goroutine but for end
// and renew.
type session struct {
	d    *Device
	conn *conn
	news atomic.Bool // other settings
	dead atomic.Bool

	watching bool // renew may interrupt a read; d.mu

	greeted   bool // the back end answered; d.mu
	published bool // it was good for something

	protocol uint64
	offered  uint64
	features uint64
	status   uint8
	starts   int // how often the card was made
	plan     plan
	memory   *memory
	pairs    []*pair

	fdsMu    sync.Mutex
	fds      []int // that poll threads use, and this one
	blocking atomic.Bool
}

var errBlocking = errors.New("the back end keeps taking O_NONBLOCK from a descriptor")

// end makes run return. d.mu may be held.
func (s *session) end() {
	s.dead.Store(true)
	_ = s.conn.Close()
}

// renew makes run negotiate anew with the device's settings. d.mu is held.
func (s *session) renew() {
	s.news.Store(true)
	if s.watching {
		_ = s.conn.Unix().SetReadDeadline(time.Unix(1, 0))
	}
}

// run is the connection from its beginning to its end; it tells why it ended.
func (s *session) run() (err error) {
	debug.SetPanicOnFault(true)
	over := make(chan struct{})
	s.d.wg.Go(func() { s.guard(over) })
	defer func() {
		s.end()
		s.withdraw()
		err = errors.Join(err, s.missLeft())
		s.release()
		close(over)
		if s.blocking.Load() {
			err = errBlocking
		}
	}()
	defer s.recoverFault(&err)
	if err := s.greet(); err != nil {
		return err
	}
	for {
		s.news.Store(false)
		s.d.mu.Lock()
		set := s.d.set
		s.d.mu.Unlock()
		if err := s.start(&set); err != nil {
			return err
		}
		if err := s.watch(); err != nil {
			return err
		}
		s.withdraw()
		if err = s.stop(); err == nil {
			err = s.missLeft()
		}
		if err != nil {
			return err
		}
		s.release()
	}
}

// recoverFault turns a fault in the card's memory into an error.
func (s *session) recoverFault(err *error) {
	r := recover()
	if r == nil {
		return
	}
	f, ok := r.(interface{ Addr() uintptr })
	if !ok || !s.d.OwnsAddr(f.Addr()) {
		panic(r)
	}
	*err = fmt.Errorf("the card's memory at %#x vanished", f.Addr())
}

// greet does what is done once for a connection.
func (s *session) greet() error {
	if err := s.conn.set(vhostuser.SetOwner, nil); err != nil {
		return err
	}
	var err error
	if s.offered, err = s.conn.number(vhostuser.GetFeatures); err != nil {
		return err
	}
	s.d.mu.Lock()
	s.greeted = true
	s.d.mu.Unlock()
	if s.offered&virtio.FProtocolFeatures == 0 {
		return nil
	}
	offered, err := s.conn.number(vhostuser.GetProtocolFeatures)
	if err != nil {
		return err
	}
	s.protocol = offered & protocolWanted
	if err := s.conn.setNumber(vhostuser.SetProtocolFeatures, s.protocol); err != nil {
		return err
	}
	s.conn.ack = s.protocol&vhostuser.ProtoReplyAck != 0
	return nil
}

// progress tells the back end how far the driver is.
func (s *session) progress(bits uint8) error {
	if s.protocol&vhostuser.ProtoStatus == 0 {
		return nil
	}
	s.status |= bits
	if bits == 0 {
		s.status = 0
	}
	return s.conn.setNumber(vhostuser.SetStatus, uint64(s.status))
}

// start negotiates, makes the card, and starts its rings.
func (s *session) start(set *settings) error {
	if err := errors.Join(s.progress(0), s.progress(statusAcknowledge), s.progress(statusDriver)); err != nil {
		return err
	}
	queues := set.queues
	if s.offered&virtio.NetFMQ == 0 {
		queues = 1
	} else if s.protocol&vhostuser.ProtoMQ != 0 && queues > 1 {
		most, err := s.conn.number(vhostuser.GetQueueNum)
		if err != nil {
			return err
		}
		queues = int(min(uint64(queues), max(most, 1)))
	}
	s.features = choose(s.offered, set, s.protocol&vhostuser.ProtoConfig != 0)
	if err := s.conn.setNumber(vhostuser.SetFeatures, s.features); err != nil {
		return fmt.Errorf("features %#x of %#x: %w", s.features, s.offered, err)
	}
	if err := s.progress(statusFeaturesOK); err != nil {
		return err
	}
	v := view{connected: true, offered: s.offered, features: s.features, protocol: s.protocol, offloads: set.offloads, layout: set.layout}
	if err := s.configure(set, &v); err != nil {
		return err
	}
	if err := s.build(set, queues, &v); err != nil {
		return err
	}
	if err := s.startRings(); err != nil {
		return err
	}
	if err := s.progress(statusDriverOK); err != nil {
		return err
	}
	s.publish(&v)
	return nil
}

// build makes the memory and the queues.
func (s *session) build(set *settings, queues int, v *view) (err error) {
	s.plan = newPlan(s.features, set)
	p := &s.plan
	if s.memory, err = newMemory(queues * p.end); err != nil {
		return err
	}
	s.memory.guest = guestBase(s.starts)
	s.starts++
	s.d.memory.Store(s.memory.span())
	v.paths = Select(s.features, set.offloads, set.layout)
	v.size = p.size
	for i := range queues {
		q, err := p.newPair(s.memory, i*p.end, v.paths, set)
		if err != nil {
			return err
		}
		s.pairs = append(s.pairs, q)
		s.fdsMu.Lock()
		for _, fd := range q.fds() {
			s.fds = append(s.fds, *fd)
		}
		s.fdsMu.Unlock()
	}
	region := vhostuser.Region{Guest: s.memory.guest, Size: uint64(len(s.memory.bytes)), User: s.memory.guest}
	return s.conn.set(vhostuser.SetMemTable, vhostuser.AppendMemTable(nil, []vhostuser.Region{region}), s.memory.fd)
}

// startRings hands the rings over.
func (s *session) startRings() error {
	p := &s.plan
	for i, q := range s.pairs {
		for k, r := range []*ringPlan{&p.rx, &p.tx} {
			c := p.config(s.memory, r, i*p.end)
			kick, call := q.rxKick, q.rxCall
			if k == 1 {
				kick, call = q.txKick, q.txCall
			}
			if err := s.startRing(2*i+k, &c, kick, call); err != nil {
				return fmt.Errorf("vring %d: %w", 2*i+k, err)
			}
		}
		if q.rxRing.NeedKick() {
			notify(q.rxKick)
		}
	}
	return nil
}

func (s *session) startRing(vring int, c *driver.Config, kick, call int) error {
	user := func(host uintptr) uint64 { return s.memory.guest + uint64(host-s.memory.host(0)) }
	addr := vhostuser.VringAddr{Index: uint32(vring), Desc: user(c.Desc), Avail: user(c.Avail), Used: user(c.Used)}
	index := vhostuser.AppendU64(nil, uint64(vring))
	steps := []func() error{
		func() error { return s.conn.set(vhostuser.SetVringCall, index, call) },
		func() error { return s.conn.vring(vhostuser.SetVringNum, vring, uint32(c.Size)) },
		func() error { return s.conn.vring(vhostuser.SetVringBase, vring, c.Base) },
		func() error { return s.conn.set(vhostuser.SetVringAddr, addr.Append(nil)) },
		func() error { return s.conn.set(vhostuser.SetVringKick, index, kick) },
		func() error {
			if s.features&virtio.FProtocolFeatures == 0 {
				return nil // it is enabled by that
			}
			return s.conn.vring(vhostuser.SetVringEnable, vring, 1)
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// stop takes the rings back.
func (s *session) stop() error {
	for i := range 2 * len(s.pairs) {
		if s.features&virtio.FProtocolFeatures != 0 {
			if err := s.conn.vring(vhostuser.SetVringEnable, i, 0); err != nil {
				return err
			}
		}
	}
	for i := range 2 * len(s.pairs) {
		if _, err := s.conn.base(i); err != nil {
			return err
		}
	}
	return nil
}

// release gives back what the card is made of. No poll thread uses it any more.
func (s *session) release() {
	s.fdsMu.Lock()
	s.fds = nil
	s.fdsMu.Unlock()
	for _, q := range s.pairs {
		q.close()
	}
	s.pairs = nil
	if s.memory != nil {
		s.d.memory.Store(nil)
		s.memory.close()
		s.memory = nil
	}
}

// publish makes the queues the device's.
func (s *session) publish(v *view) {
	var rx []netdev.RxQueue
	var tx []netdev.TxQueue
	for _, q := range s.pairs {
		rx, tx = append(rx, q.rx), append(tx, q.tx)
	}
	if v.link = true; !s.published {
		s.d.log.Info("back end connected")
	}
	s.published = true
	d := s.d
	d.mu.Lock()
	if !s.dead.Load() {
		d.rx, d.tx, d.view, d.fault = rx, tx, *v, ""
	}
	d.mu.Unlock()
	d.logStart(v, len(rx))
	d.changed()
}

// withdraw takes the queues away and returns when no poll thread uses them.
func (s *session) withdraw() {
	d := s.d
	d.mu.Lock()
	d.rx, d.tx = nil, nil
	d.view.link, d.view.connected = false, !s.dead.Load()
	d.mu.Unlock()
	d.changed()
}

// watch waits for other settings (nil) or the end of the connection.
func (s *session) watch() error {
	var m vhostuser.Message
	defer s.setWatching(false)
	for {
		if err := s.setWatching(true); err != nil {
			return err
		}
		if s.news.Load() {
			return nil
		}
		fds, err := s.conn.Read(&m)
		vhostuser.CloseFDs(fds) // of messages that nobody asked for
		var timeout net.Error
		if err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
			return err
		}
		for _, q := range s.pairs {
			if f := q.broken(); f != driver.OK {
				return fmt.Errorf("the back end breaks the rules: %v", f)
			}
		}
	}
}

// guard keeps the descriptors non-blocking, see unblock. The session's own goroutine cannot: it may
// wait in one itself, or for a poll thread that does.
func (s *session) guard(over <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for strikes := 0; ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		s.fdsMu.Lock()
		found := unblock(s.fds)
		s.fdsMu.Unlock()
		if found {
			if strikes++; strikes > 3 {
				s.blocking.Store(true)
				s.end()
			}
		}
	}
}

func (s *session) setWatching(on bool) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.watching = on
	return s.conn.Unix().SetReadDeadline(time.Now().Add(lookEvery))
}

func eventFD() (int, error) { return unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK) }

func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}
