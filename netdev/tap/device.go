package tap

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/link"
	"github.com/gvswitch/gvswitch/netdev/opt"
)

// Device is a tap or internal port. It implements netdev.Device and
// netdev.Adjuster.
type Device struct {
	name      string
	options   map[string]string
	up        bool // the switch sets the device up
	host      netdev.Host
	ns        *link.Namespace
	watch     *link.Watcher
	unreserve func()
	gate      gate

	info   atomic.Pointer[netdev.Info]
	queues atomic.Pointer[queues] // nil while there is no tap

	quit chan struct{}
	done chan struct{}

	mu       sync.Mutex // guards what follows
	settings link.Settings
	state    link.State // as last seen
	hardware link.Hardware
	moved    bool // others have moved the tap to another namespace
}

var _, _ netdev.OpenFunc = Open, OpenInternal

// Open makes the tap of that name and sets it up. Options:
//
//	netns  the namespace to make it in: a name, a process id or a path
func Open(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	return open(name, true, o, h)
}

// OpenInternal makes an internal port: as Open, but the device stays down until
// the operator sets it up, as in Open vSwitch. Nobody asked for the host to be
// in the bridge's network, and a guest's router advertisement would put it there.
func OpenInternal(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	return open(name, false, o, h)
}

func open(name string, up bool, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	netns, settings, err := parse(name, up, o)
	if err != nil {
		return nil, err
	}
	d := &Device{
		name: name, options: maps.Clone(o.Map), up: up, host: h, settings: settings,
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	if d.ns, err = link.Acquire(netns); err != nil {
		return nil, fmt.Errorf("%s: options:netns: %w", name, err)
	}
	if d.unreserve, err = d.ns.Reserve(name); err != nil {
		d.ns.Release()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.watch = d.ns.Watch(name)
	if err := d.attach(); err != nil {
		return nil, errors.Join(err, d.free())
	}
	d.info.Store(link.Describe(d.state, d.hardware, nil))
	go d.run()
	return d, nil
}

// Check looks at options as Open would, those of an internal port too.
func Check(name string, o netdev.Options) error {
	netns, _, err := parse(name, true, o)
	if err != nil {
		return err
	}
	ns, err := link.Acquire(netns)
	if err != nil {
		return fmt.Errorf("%s: options:netns: %w", name, err)
	}
	ns.Release()
	return nil
}

func parse(name string, up bool, o netdev.Options) (netns string, s link.Settings, err error) {
	if err := netdev.CheckIfName(name); err != nil {
		return "", s, err
	}
	r := opt.New(name, o.Map)
	netns = r.String("netns", "")
	if err := r.Done(); err != nil {
		return "", s, err
	}
	s, err = link.SettingsOf(name, o, up)
	return netns, s, err
}

// attach opens the tap and brings it to the port's settings.
func (d *Device) attach() error {
	q, err := openQueues(d.ns, d.name, &d.gate)
	if err != nil {
		return err
	}
	if err = d.ns.Apply(d.name, d.settings); err == nil {
		d.state, err = d.ns.Get(d.name)
	}
	if err != nil {
		return errors.Join(err, q.close())
	}
	d.watch.Follow(d.state.Index)
	d.hardware, d.moved = d.ns.Hardware(d.name), false
	d.gate.set(d.state, false)
	d.queues.Store(q)
	return nil
}

// Info implements netdev.Device.
func (d *Device) Info() netdev.Info {
	info := *d.info.Load()
	info.Status = maps.Clone(info.Status)
	return info
}

// Queues implements netdev.Device. There are none while there is no tap.
func (d *Device) Queues() ([]netdev.RxQueue, []netdev.TxQueue) {
	if q := d.queues.Load(); q != nil {
		return q.rxs, q.txs
	}
	return nil, nil
}

// Adjust implements netdev.Adjuster: MTU and MAC address change at once.
func (d *Device) Adjust(o netdev.Options) error {
	_, s, err := parse(d.name, d.up, o)
	if err != nil {
		return err
	}
	if !maps.Equal(o.Map, d.options) {
		return netdev.ErrReopen
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.queues.Load(); q != nil {
		if err := d.apply(q, s); err != nil {
			return errors.Join(err, d.apply(q, d.settings)) // the old ones worked before
		}
	}
	d.settings = s
	return nil
}

// Close implements netdev.Device.
func (d *Device) Close() error {
	close(d.quit)
	<-d.done
	return d.free()
}

// free gives back all that Open took, as far as it came.
func (d *Device) free() error {
	d.watch.Stop()
	var err error
	if q := d.queues.Swap(nil); q != nil {
		err = q.close()
	}
	d.unreserve()
	d.ns.Release()
	return err
}

// run follows the kernel device until Close.
func (d *Device) run() {
	defer close(d.done)
	d.watch.Run(d.quit, func() bool {
		gone := d.look()
		if gone != nil {
			// Somebody deleted or renamed the tap. Poll threads let go of the queues
			// before their descriptor is closed; then the tap is made anew.
			if q := d.queues.Swap(nil); q != nil {
				d.announce(link.State{}, gone)
				_ = q.close() // nothing can be done about it
			}
			d.mu.Lock()
			gone = d.attach()
			d.mu.Unlock()
		}
		d.mu.Lock()
		st, moved := d.state, d.moved
		d.mu.Unlock()
		d.announce(st, gone)
		return gone != nil || moved // a namespace of others is not watched: that would keep it alive
	})
}

// look reads the device's state. An error says that the tap is not there any more.
func (d *Device) look() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.queues.Load()
	if q == nil {
		return fmt.Errorf("%s: %w", d.name, link.ErrNoDevice)
	}
	st, err := d.ns.Get(d.name)
	if d.moved || err != nil || st.Index != d.state.Index {
		if d.lookAway(q) == nil {
			return nil
		}
	}
	switch {
	case err != nil:
		return err
	case d.moved || st.Index != d.state.Index:
		return fmt.Errorf("%s: was replaced by another device", d.name)
	}
	d.seen(st, d.ns, d.name)
	return nil
}

// seen takes note of the tap's state. d.mu is held.
func (d *Device) seen(st link.State, ns *link.Namespace, name string) {
	if !reflect.DeepEqual(st, d.state) {
		d.state, d.hardware = st, ns.Hardware(name)
	}
	d.gate.set(st, d.moved)
}

// announce publishes what changed, if anything did.
func (d *Device) announce(st link.State, fault error) {
	info := link.Describe(st, d.hardware, fault)
	if old := d.info.Load(); !reflect.DeepEqual(old, info) {
		d.info.Store(info)
		d.host.Changed(d)
	}
}
