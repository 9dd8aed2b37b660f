package vhostuser

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/netdev"
)

// Device is a vhost-user port. At most one peer is attached at a time.
type Device struct {
	name   string
	server bool
	host   netdev.Host
	log    *slog.Logger
	quit   chan struct{}  // closed by Close
	wg     sync.WaitGroup // goroutines
	socket *socket        // of a server
	memory atomic.Pointer[mem.Map]

	dirty    atomic.Pointer[vhostuser.DirtyLog] // of the peer's front end, while it has one
	inflight atomic.Pointer[vhostuser.Inflight] // the same

	// The peer's, of which there is one at a time; that it connects anew gains it nothing.
	messages, starts bucket

	pinFile  string     // where the pin is kept, "" nowhere
	pinSaved pin        // in it; under mu
	pinWrite sync.Mutex // held while it is written; mu may be taken meanwhile
	pinAcked time.Time  // when what is acknowledged was written; under pinWrite

	mu      sync.Mutex
	set     settings
	closed  bool
	fault   string
	pin     pin // what the present front end, or the last one, was offered
	refusal refusal
	forget  bool // the port was deleted
	rx      []netdev.RxQueue
	tx      []netdev.TxQueue
	link    bool
	guarded []int // descriptors that poll threads may use
	peer    *peer
	view    view // of the peer, or the last one
	said    map[slog.Level]*limiter
}

// OpenServer makes a port that listens for its guest: type dpdkvhostuser. The
// socket is options:vhost-server-path, or the port's name in o.RunDir.
func OpenServer(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	d, err := newDevice(name, true, o, h)
	if err != nil {
		return nil, err
	}
	if d.socket, err = listen(&d.set); err != nil {
		return nil, fmt.Errorf("port %s: %w", name, err)
	}
	d.wg.Go(d.accept)
	return d, nil
}

// OpenClient makes a port that connects to its guest's socket,
// options:vhost-server-path: type dpdkvhostuserclient.
func OpenClient(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	d, err := newDevice(name, false, o, h)
	if err != nil {
		return nil, err
	}
	path := d.set.path
	d.wg.Go(func() { d.connect(path) })
	return d, nil
}

// CheckServer looks at options as OpenServer would.
func CheckServer(name string, o netdev.Options) error {
	_, err := parse(name, true, o)
	return err
}

// CheckClient looks at options as OpenClient would.
func CheckClient(name string, o netdev.Options) error {
	_, err := parse(name, false, o)
	return err
}

func newDevice(name string, server bool, o netdev.Options, h netdev.Host) (*Device, error) {
	set, err := parse(name, server, o)
	if err != nil {
		return nil, err
	}
	log := slog.Default().With("module", "vhost-user", "port", name)
	d := &Device{
		name: name, server: server, host: h, log: log, quit: make(chan struct{}), set: set,
		messages: messagePace(), starts: startPace(),
		said:    map[slog.Level]*limiter{slog.LevelInfo: {}, slog.LevelWarn: {}},
		pinFile: pinFile(o.StateDir, set.path),
	}
	if d.pin, err = loadPin(d.pinFile, set.path); err != nil {
		log.Warn("what was offered before is not known", "error", err)
	}
	d.pinSaved = d.pin
	return d, nil
}

// Queues implements netdev.Device.
func (d *Device) Queues() ([]netdev.RxQueue, []netdev.TxQueue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rx, d.tx
}

// Adjust implements netdev.Adjuster. Only another socket needs another device.
func (d *Device) Adjust(o netdev.Options) error {
	set, err := parse(d.name, d.server, o)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.set
	if set.path != old.path {
		return netdev.ErrReopen
	}
	if d.socket != nil && (set.mode != old.mode || set.group != old.group) {
		if set.mode == 0 && old.mode != 0 || set.group < 0 && old.group >= 0 {
			return netdev.ErrReopen // to what it would have been, whatever that was
		}
		if err := d.socket.permit(&set); err != nil {
			return err
		}
	}
	d.set = set
	if d.closed {
		return nil
	}
	rings := set.retries != old.retries
	config := set.mtu != old.mtu || !slices.Equal(set.mac, old.mac)
	// The rest waits for the peer's turn and calls the host, which must not
	// happen here.
	if p := d.peer; p != nil && (rings || config) {
		d.wg.Go(func() { p.reconfigure(rings, config) })
	}
	if p := d.peer; p != nil && set.zeroCopy != old.zeroCopy {
		d.wg.Go(p.lendAnew)
	}
	if config {
		d.wg.Go(func() { d.changed() })
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
	if m := d.memory.Load(); m != nil && m.Owns(addr) {
		return true
	}
	if l := d.dirty.Load(); l != nil && l.Owns(addr) {
		return true
	}
	t := d.inflight.Load()
	return t != nil && t.Owns(addr)
}

// stop is Fault for what the device found out itself, and so has to report.
func (d *Device) stop(reason string) {
	d.say(slog.LevelWarn, "port stopped", "reason", reason)
	d.Fault(reason)
}

// Fault implements netdev.Faulter. The port is of use again when a peer attaches
// anew.
func (d *Device) Fault(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.fault = reason
	d.rx, d.tx, d.link = nil, nil, false
	if d.peer != nil {
		d.peer.end() // its goroutine tells the host and takes everything down
	}
}

// Close implements netdev.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	d.closed = true
	close(d.quit)
	if d.peer != nil {
		d.peer.end()
	}
	d.mu.Unlock()
	var err error
	if d.socket != nil {
		err = d.socket.close()
	}
	d.wg.Wait()
	d.mu.Lock()
	forget := d.forget
	d.mu.Unlock()
	if !forget {
		d.writePin(true)
	} else if d.pinFile != "" {
		_ = os.Remove(d.pinFile) // often there is none
	}
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
