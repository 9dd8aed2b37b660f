package afpacket

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/link"
)

// Device is a port on a kernel device. It implements netdev.Device and
// netdev.Adjuster.
type Device struct {
	name    string
	options map[string]string
	maker   Maker
	host    netdev.Host

	ns        *link.Namespace
	watch     *link.Watcher
	unreserve func()
	fd        int
	rx        *rxQueue
	rxs       []netdev.RxQueue
	txs       []netdev.TxQueue
	gate      gate

	info   atomic.Pointer[netdev.Info]
	missed atomic.Uint64 // frames the kernel had no room for

	quit chan struct{}
	done chan struct{}

	mu       sync.Mutex // guards what follows, and the socket's binding
	settings link.Settings
	state    link.State // as last seen
	hardware link.Hardware
	bound    int    // index of the device that the socket is bound to, 0 if none
	undoARP  func() // see link.QuietARP; nil if there is nothing to undo
}

// Maker makes the kernel device of a port that does not only use an existing one.
type Maker interface {
	// Make sees to it that the device exists as it should, or says why it cannot.
	// It is called at Open, when the device has vanished, and after each change
	// of settings; it changes nothing when all is well.
	Make(ns *link.Namespace, s link.Settings) error
	// Remove removes it.
	Remove(ns *link.Namespace) error
	// Check looks at new options as Open would.
	Check(o netdev.Options) error
}

// config is what Open and New have in common.
type config struct {
	name   string
	netns  string
	slots  int
	maker  Maker
	option netdev.Options
}

// maxTx is how many tx queues a port has at most. They cost 14 KB each and spare
// threads the wait for each other.
const maxTx = 8

// start makes the device of c, which has been checked.
func start(c config, h netdev.Host) (_ *Device, err error) {
	settings, err := link.SettingsOf(c.name, c.option, c.maker != nil)
	if err != nil {
		return nil, err
	}
	d := &Device{
		name: c.name, options: maps.Clone(c.option.Map), maker: c.maker, host: h,
		settings: settings, fd: -1, quit: make(chan struct{}), done: make(chan struct{}),
	}
	made := false
	if d.ns, err = link.Acquire(c.netns); err != nil {
		return nil, fmt.Errorf("%s: options:netns: %w", c.name, err)
	}
	defer func() {
		if err != nil {
			if made {
				_ = d.maker.Remove(d.ns)
			}
			_ = d.free()
		}
	}()
	if d.unreserve, err = d.ns.Reserve(c.name); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	if d.maker != nil {
		if err = d.maker.Make(d.ns, settings); err != nil {
			return nil, err
		}
		made = true
	}
	if d.state, err = d.ns.Get(c.name); err != nil {
		return nil, err
	}
	if err = d.open(c.slots); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	d.watch = d.ns.Watch(c.name)
	if err = d.bind(d.state); err != nil {
		return nil, err
	}
	if d.state, err = d.ns.Get(c.name); err != nil { // settings changed it
		return nil, err
	}
	d.hardware = d.ns.Hardware(c.name)
	d.info.Store(link.Describe(d.state, d.hardware, nil))
	go d.run()
	return d, nil
}

// open makes socket, ring and queues.
func (d *Device) open(slots int) error {
	err := d.ns.Do(func() (err error) {
		d.fd, err = newSocket()
		return err
	})
	if err != nil {
		return err
	}
	r, err := newRing(d.fd, slots, slotFor(d.state.MTU))
	if err != nil {
		return err
	}
	d.rx = &rxQueue{fd: d.fd, ring: r}
	if d.rx.long, err = mem.Alloc(longRoom); err != nil {
		return err
	}
	d.rxs = []netdev.RxQueue{d.rx}
	for range min(runtime.NumCPU(), maxTx) {
		d.txs = append(d.txs, &txQueue{fd: d.fd, gate: &d.gate})
	}
	return nil
}

// bind brings the socket to the device of state st and the device to the port's
// settings.
func (d *Device) bind(st link.State) error {
	if st.Loop {
		return fmt.Errorf("%s: is the loopback, by which programs of the host reach each other; it cannot be a port", d.name)
	}
	if !st.Ether {
		return fmt.Errorf("%s: does not carry Ethernet frames", d.name)
	}
	if st.Master != 0 {
		return fmt.Errorf("%s: %w: it belongs to another bridge or bond (device index %d)", d.name, unix.EBUSY, st.Master)
	}
	if err := d.ns.Apply(d.name, d.settings); err != nil {
		return err
	}
	if err := bind(d.fd, st.Index); err != nil {
		return fmt.Errorf("%s: binding the packet socket: %w", d.name, err)
	}
	if err := promiscuous(d.fd, st.Index, true); err != nil {
		return fmt.Errorf("%s: promiscuous mode: %w", d.name, err)
	}
	hear(d.fd)
	d.undoARP = d.ns.QuietARP(d.name, st.Index)
	d.bound = st.Index
	d.watch.Follow(st.Index)
	d.gate.mtu.Store(uint32(st.MTU))
	d.gate.open.Store(true)
	return nil
}

// unbind takes the socket off a device that is ours no more.
func (d *Device) unbind() error {
	if d.bound == 0 {
		return nil
	}
	d.gate.open.Store(false)
	d.hearARP()
	_ = promiscuous(d.fd, d.bound, false) // it may be gone
	d.bound = 0
	return deafen(d.fd)
}

// hearARP lets the host answer on the device as it did.
func (d *Device) hearARP() {
	if d.undoARP != nil {
		d.undoARP()
		d.undoARP = nil
	}
}

// Info implements netdev.Device.
func (d *Device) Info() netdev.Info {
	info := *d.info.Load()
	info.Status = maps.Clone(info.Status)
	info.Missed = d.missed.Add(missed(d.fd))
	return info
}

// Queues implements netdev.Device. They are the same for ever.
func (d *Device) Queues() ([]netdev.RxQueue, []netdev.TxQueue) { return d.rxs, d.txs }

// Adjust implements netdev.Adjuster: MTU and MAC address change at once.
func (d *Device) Adjust(o netdev.Options) error {
	if !maps.Equal(o.Map, d.options) {
		if err := d.check(o); err != nil {
			return err
		}
		return netdev.ErrReopen
	}
	s, err := link.SettingsOf(d.name, o, d.maker != nil)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bound != 0 {
		if err := d.apply(s); err != nil {
			return errors.Join(err, d.apply(d.settings)) // the old ones worked before
		}
	}
	d.settings = s
	return nil
}

func (d *Device) apply(s link.Settings) error {
	if d.maker != nil {
		if err := d.maker.Make(d.ns, s); err != nil {
			return err
		}
	}
	return d.ns.Apply(d.name, s)
}

func (d *Device) check(o netdev.Options) error {
	if d.maker != nil {
		return d.maker.Check(o)
	}
	_, err := parse(d.name, o)
	return err
}

// Close implements netdev.Device.
func (d *Device) Close() error {
	close(d.quit)
	<-d.done
	d.hearARP() // before the device goes
	var err error
	if d.maker != nil {
		err = d.maker.Remove(d.ns)
	}
	return errors.Join(err, d.free())
}

// free gives back all that start took, as far as it came.
func (d *Device) free() error {
	var errs []error
	d.hearARP()
	if d.watch != nil {
		d.watch.Stop()
	}
	if d.rx != nil {
		errs = append(errs, d.rx.ring.close())
		if d.rx.long != nil {
			errs = append(errs, mem.Free(d.rx.long))
		}
	}
	if d.fd >= 0 {
		errs = append(errs, unix.Close(d.fd))
	}
	if d.unreserve != nil {
		d.unreserve()
	}
	d.ns.Release()
	return errors.Join(errs...)
}

// run follows the kernel device until Close.
func (d *Device) run() {
	defer close(d.done)
	d.watch.Run(d.quit, func() bool {
		info := d.follow()
		if old := d.info.Load(); !reflect.DeepEqual(old, info) {
			d.info.Store(info)
			d.host.Changed(d)
		}
		return info.Fault != ""
	})
}

// follow looks at the device, binds to it anew if need be, and describes what is.
func (d *Device) follow() *netdev.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	st, err := d.ns.Get(d.name)
	if errors.Is(err, link.ErrNoDevice) && d.maker != nil {
		if err = d.maker.Make(d.ns, d.settings); err == nil {
			st, err = d.ns.Get(d.name)
		}
	}
	if err == nil && st.Index != d.bound {
		if err = d.unbind(); err == nil {
			err = d.bind(st)
		}
		if err == nil {
			st, err = d.ns.Get(d.name)
		}
	}
	if err != nil {
		if e := d.unbind(); e != nil {
			err = errors.Join(err, e)
		}
		return link.Describe(link.State{}, d.hardware, err)
	}
	if !reflect.DeepEqual(st, d.state) {
		d.state, d.hardware = st, d.ns.Hardware(d.name)
	}
	d.gate.mtu.Store(uint32(st.MTU))
	return link.Describe(st, d.hardware, nil)
}
