package dummy

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// Device is a dummy port. It implements netdev.Device and netdev.Adjuster.
type Device struct {
	name    string
	host    netdev.Host
	files   pcapFiles
	rx      []*rxQueue
	rxs     []netdev.RxQueue
	txs     []netdev.TxQueue
	record  record
	blocked atomic.Bool
	mtu     atomic.Uint32
	info    atomic.Pointer[netdev.Info]

	announcements sync.WaitGroup

	mu     sync.Mutex // guards what follows
	s      settings
	closed bool
}

var _ netdev.OpenFunc = Open

// Open makes the device; parse has the options.
func Open(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	s, err := parse(name, o)
	if err != nil {
		return nil, err
	}
	d := &Device{name: name, host: h, s: s, files: pcapFiles{}}
	if err := d.open(s); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), d.Close())
	}
	return d, nil
}

func (d *Device) open(s settings) error {
	in, err := d.files.open(s.rxPcap)
	if err == nil && in == nil {
		in, err = d.files.open(s.pcap)
	}
	if err != nil {
		return err
	}
	out, err := d.files.open(s.txPcap)
	if err == nil && out == nil {
		out, err = d.files.open(s.pcap)
	}
	if err != nil {
		return err
	}
	for range s.rxqs {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			return fmt.Errorf("eventfd: %w", err)
		}
		q := &rxQueue{fd: fd, pcap: in}
		d.rx, d.rxs = append(d.rx, q), append(d.rxs, q)
	}
	d.record.slots = make([]Sent, s.kept)
	for i := range s.txqs {
		d.txs = append(d.txs, &txQueue{
			number: i, caps: s.caps, blocked: &d.blocked, mtu: &d.mtu, record: &d.record, pcap: out,
		})
	}
	d.set(s)
	return nil
}

// set puts what can change in force.
func (d *Device) set(s settings) {
	d.s = s
	d.blocked.Store(s.blocked)
	d.mtu.Store(uint32(s.info.MTU))
	info := s.info
	info.Link = s.link
	d.info.Store(&info)
}

// Info implements netdev.Device.
func (d *Device) Info() netdev.Info {
	info := *d.info.Load()
	info.Status = maps.Clone(info.Status)
	return info
}

// Queues implements netdev.Device. They are the same for ever.
func (d *Device) Queues() ([]netdev.RxQueue, []netdev.TxQueue) { return d.rxs, d.txs }

// Adjust implements netdev.Adjuster: MTU, MAC address, link and blocked change at once.
func (d *Device) Adjust(o netdev.Options) error {
	s, err := parse(d.name, o)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !sameFixed(s, d.s) {
		return netdev.ErrReopen
	}
	d.change(s)
	return nil
}

// change puts live settings in force and announces what others can see.
func (d *Device) change(s settings) {
	if d.closed {
		return
	}
	old := d.s
	d.set(s)
	if !sameInfo(s, old) {
		// Not from within Adjust: the caller may hold what Changed waits for.
		d.announcements.Go(func() { d.host.Changed(d) })
	}
}

// SetLink brings the link up or down.
func (d *Device) SetLink(up bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.s
	s.link = up
	d.change(s)
}

// SetBlocked says whether the receiver has no room: then all that is sent is lost as
// packet.TxRingFull.
func (d *Device) SetBlocked(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.s
	s.blocked = on
	d.change(s)
}

// Receive lets the switch receive frames from the device's first queue. They are copied.
func (d *Device) Receive(frames ...[]byte) {
	for _, f := range frames {
		d.ReceiveOffload(0, [vnet.Len]byte{}, f)
	}
}

// ReceiveOffload lets the switch receive a frame with a virtio net header from the
// given queue (modulo their number), and reports false when the device is closed.
// The frame is copied.
func (d *Device) ReceiveOffload(queue int, hdr [vnet.Len]byte, f []byte) bool {
	return d.rx[queue%len(d.rx)].inject(frame{append([]byte(nil), f...), hdr})
}

// Transmitted are the frames that the switch sent, oldest first, as far as they are
// kept.
func (d *Device) Transmitted() [][]byte {
	var all [][]byte
	for _, s := range d.record.take(false) {
		all = append(all, s.Frame)
	}
	return all
}

// TakeTransmitted is Transmitted with all that is known of the frames, which are
// then forgotten.
func (d *Device) TakeTransmitted() []Sent { return d.record.take(true) }

// Close implements netdev.Device. Who still has the device, as a command that looked it up
// a moment ago, may go on calling it, without effect.
func (d *Device) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.announcements.Wait()
	errs := []error{d.files.close()}
	for _, q := range d.rx {
		errs = append(errs, q.close())
	}
	return errors.Join(errs...)
}
