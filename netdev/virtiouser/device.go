package virtiouser

import (
	"context"
	"log/slog"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
)

// Device is a virtio-user port. At most one back end is attached at a time.
type Device struct {
	name   string
	host   netdev.Host
	log    *slog.Logger
	quit   chan struct{}        // closed by Close
	wg     sync.WaitGroup       // goroutines
	socket *net.UnixListener    // of a server
	memory atomic.Pointer[span] // the card's
	missed atomic.Uint64        // frames that were in rings when they were taken away

	mu      sync.Mutex
	set     settings
	closed  bool
	fault   string
	said    string // why the last connection ended
	rx      []netdev.RxQueue
	tx      []netdev.TxQueue
	view    view // of the back end, or the last one
	session *session
}

// Open makes a port that is a network card of its own: type virtio-user. The back end's socket
// is options:path; with options:server=true the port listens there. It returns before
// a back end is attached.
func Open(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	set, err := parse(name, o)
	if err != nil {
		return nil, err
	}
	d := &Device{
		name: name, host: h, quit: make(chan struct{}), set: set,
		log: slog.Default().With("module", "virtio-user", "port", name),
	}
	if !set.server {
		d.wg.Go(func() { d.connect(set.path) })
		return d, nil
	}
	if d.socket, err = listen(name, set.path); err != nil {
		return nil, err
	}
	d.wg.Go(d.accept)
	return d, nil
}

// Check looks at options as Open would.
func Check(name string, o netdev.Options) error {
	_, err := parse(name, o)
	return err
}

// Queues implements netdev.Device.
func (d *Device) Queues() ([]netdev.RxQueue, []netdev.TxQueue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rx, d.tx
}

// Adjust implements netdev.Adjuster. Only another socket needs another device; everything else
// is negotiated anew over the connection that there is.
func (d *Device) Adjust(o netdev.Options) error {
	set, err := parse(d.name, o)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.set
	if set.path != old.path || set.server != old.server {
		return netdev.ErrReopen
	}
	if reflect.DeepEqual(set, old) {
		return nil
	}
	d.set = set
	if s := d.session; s != nil {
		s.renew()
	}
	return nil
}

// changed tells the host, unless it has let go of the device.
func (d *Device) changed() {
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if !closed {
		d.host.Changed(d)
	}
}

// OwnsAddr implements netdev.Faulter.
func (d *Device) OwnsAddr(addr uintptr) bool {
	s := d.memory.Load()
	return s != nil && addr >= s.from && addr < s.to
}

// Fault implements netdev.Faulter. The port is of use again when a back end attaches anew.
func (d *Device) Fault(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.fault = reason
	d.rx, d.tx, d.view.link = nil, nil, false
	if d.session != nil {
		d.session.end() // its goroutine tells the host and takes everything down
	}
}

// Close implements netdev.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	d.closed = true
	close(d.quit)
	if d.session != nil {
		d.session.end()
	}
	d.mu.Unlock()
	var err error
	if d.socket != nil {
		err = d.socket.Close()
	}
	d.wg.Wait()
	return err
}

// pause waits for t, or less if the device is closed; then it reports false.
func (d *Device) pause(t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-d.quit:
		return false
	case <-timer.C:
		return true
	}
}

// quitting is a context that ends with the device.
func (d *Device) quitting() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	d.wg.Go(func() {
		select {
		case <-d.quit:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}
