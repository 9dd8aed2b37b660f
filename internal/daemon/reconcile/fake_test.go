package reconcile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/netdev"
)

// world is where fake devices live. It remembers what was done to them.
type world struct {
	mu      sync.Mutex
	log     []string
	missing map[string]string      // devices that cannot be opened, and why
	open    map[string]*fakeDevice // by name
	info    map[string]netdev.Info // of open devices, where it is not the ordinary
}

func newWorld() *world {
	return &world{missing: map[string]string{}, open: map[string]*fakeDevice{}, info: map[string]netdev.Info{}}
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// providers has a fake for every kind of device.
func (w *world) providers() map[desired.Kind]netdev.OpenFunc {
	m := map[desired.Kind]netdev.OpenFunc{}
	for _, k := range []desired.Kind{desired.System, desired.Internal, desired.Tap, desired.Veth, desired.VhostServer, desired.VhostClient, desired.Dummy} {
		m[k] = func(name string, o netdev.Options, _ netdev.Host) (netdev.Device, error) { return w.make(k, name, o) }
	}
	return m
}

// checks refuse what no device of the kind takes.
func (w *world) checks() map[desired.Kind]netdev.CheckFunc {
	return map[desired.Kind]netdev.CheckFunc{
		desired.Tap: func(_ string, o netdev.Options) error {
			if v, ok := o.Map["peer"]; ok {
				return fmt.Errorf("options:peer=%s: not of a tap", v)
			}
			return refused(o)
		},
	}
}

func (w *world) make(k desired.Kind, name string, o netdev.Options) (netdev.Device, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if why := w.missing[name]; why != "" {
		w.note("open %s %s fails", k, name)
		return nil, fmt.Errorf("%s", why)
	}
	if bad, ok := o.Map["bad"]; ok {
		w.note("open %s %s fails", k, name)
		return nil, fmt.Errorf("options:bad=%s: is bad", bad)
	}
	if err := refused(o); err != nil {
		w.note("open %s %s%s fails", k, name, showOptions(o))
		return nil, err
	}
	if w.open[name] != nil {
		w.note("open %s %s while another is open", k, name)
	}
	d := &fakeDevice{w: w, name: name, options: o}
	w.open[name] = d
	w.note("open %s %s%s", k, name, showOptions(o))
	return d, nil
}

func showOptions(o netdev.Options) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(o.Map)) {
		fmt.Fprintf(&b, " %s=%s", k, o.Map[k])
	}
	if o.MTU != 0 {
		fmt.Fprintf(&b, " mtu=%d", o.MTU)
	}
	return b.String()
}

// refused is the error of an MTU that is too long, or of an option "tune" that is not good: a device can do without both.
func refused(o netdev.Options) error {
	if o.MTU > 65535 {
		return &netdev.SettingError{Key: netdev.MTURequest, Err: fmt.Errorf("MTU %d: is bad", o.MTU)}
	}
	if v := o.Map["tune"]; strings.HasPrefix(v, "bad") {
		return &netdev.SettingError{Key: "tune", Err: fmt.Errorf("options:tune=%s: is bad", v)}
	}
	return nil
}

// fakeDevice has an option "size" that needs a new device; all others can be adjusted, except to "bad".
type fakeDevice struct {
	w       *world
	name    string
	options netdev.Options
	closed  bool
}

func (d *fakeDevice) Info() netdev.Info {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	if i, ok := d.w.info[d.name]; ok {
		return i
	}
	return netdev.Info{Link: true, Driver: "fake", MTU: 1500}
}

func (*fakeDevice) Queues() ([]netdev.RxQueue, []netdev.TxQueue) { return nil, nil }

func (d *fakeDevice) Adjust(o netdev.Options) error {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	if bad, ok := o.Map["bad"]; ok {
		d.w.note("adjust %s fails", d.name)
		return fmt.Errorf("options:bad=%s: is bad", bad)
	}
	if err := refused(o); err != nil {
		d.w.note("adjust %s%s fails", d.name, showOptions(o))
		return err
	}
	if o.Map["size"] != d.options.Map["size"] || o.Map["vhost-server-path"] != d.options.Map["vhost-server-path"] {
		return netdev.ErrReopen
	}
	d.options = o
	d.w.note("adjust %s%s", d.name, showOptions(o))
	return nil
}

func (d *fakeDevice) Close() error {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	if d.closed {
		d.w.note("close %s twice", d.name)
	}
	d.closed = true
	if d.w.open[d.name] == d {
		delete(d.w.open, d.name)
	}
	d.w.note("close %s", d.name)
	return nil
}
