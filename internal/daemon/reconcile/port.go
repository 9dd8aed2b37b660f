package reconcile

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/netdev"
)

// port is a port that runs or should.
type port struct {
	b     *bridge
	name  string // of the interface
	local bool
	log   *slog.Logger
	want  *desired.Port // asked for last

	dp      *datapath.Port // nil: not in the datapath
	bonded  bool           // it is in the bond that it belongs to
	cfg     datapath.PortConfig
	request int // ofport_request that the number was chosen by
	before  int // number that it had last, 0 if none; it is kept for it while the port does not run
	dev     netdev.Device
	spec    spec   // of dev
	link    bool   // last seen
	fault   string // of dev, as logged last
	resets  int64

	err   string // why it is not as asked for
	retry backoff
}

// spec is all that makes a device what it is.
type spec struct {
	kind    desired.Kind
	options netdev.Options
	claims  []string
}

func (r *Reconciler) spec(i *desired.Interface) spec {
	dir := i.SockDir
	if dir == "" {
		dir = r.runDir
	}
	return spec{kind: i.Kind, claims: i.Claims, options: netdev.Options{Map: i.Options, MTU: i.MTU, MAC: i.MAC, RunDir: dir, StateDir: r.stateDir}}
}

// keep puts into next, which i asks for, what i leaves to the device that runs as s.
func (s spec) keep(i *desired.Interface, next spec) spec {
	if i.KeepMAC && s.kind == next.kind {
		next.options.MAC = s.options.MAC
	}
	return next
}

func (s spec) equal(o spec) bool { return reflect.DeepEqual(s, o) }

// applyPort makes or changes one port. What failed before is left alone until its time has come or the configuration changed.
func (b *bridge) applyPort(want *desired.Port, changed bool) {
	i := want.Iface
	p := b.ports[i.Name]
	if p == nil {
		p = &port{b: b, name: i.Name, local: want.Local, log: b.log.With("port", i.Name)}
		b.ports[i.Name] = p
	}
	p.want = want
	if i.OFPortBefore != 0 {
		p.before = i.OFPortBefore
	}
	if p.err != "" && !changed && !p.retry.due(b.r.now()) {
		return
	}
	err := p.apply(want)
	if err == nil {
		p.err = ""
		p.retry.reset()
		return
	}
	if changed {
		p.retry.reset()
	}
	p.retry.failed(b.r.now())
	if err.Error() != p.err {
		p.err = err.Error()
		p.log.Error("port not as configured", "error", err)
	}
}

func (p *port) apply(want *desired.Port) error {
	i := want.Iface
	if i.Refused != "" {
		refused := errors.New(i.Refused)
		if p.dp == nil || p.spec.kind == desired.Patch {
			return refused
		}
		return both(refused, p.plug(want)) // the rest of the row is for the device that runs
	}
	if p.dp == nil && want.Config == nil {
		return errNothing // the reason is in the interface's report
	}
	next := p.spec.keep(i, p.b.r.spec(i))
	if err := p.claim(next.claims); err != nil {
		return err
	}
	if p.dp != nil && (p.spec.kind == desired.Patch) != (next.kind == desired.Patch) {
		var setting *netdev.SettingError
		if err := p.check(next); err != nil && !errors.As(err, &setting) {
			p.settleClaims()
			return err
		}
		p.unplug()
		p.closeDevice()
	}
	err := p.applyDevice(next)
	if p.dev == nil && p.spec.kind != desired.Patch {
		return err
	}
	return both(err, p.plug(want))
}

// both is two errors on one line; nil if there is none.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil || a.Error() == b.Error():
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// errNothing is the error of what is reported elsewhere.
var errNothing = errors.New("wrong configuration")

// claim takes what only one port may have.
func (p *port) claim(claims []string) error {
	r := p.b.r
	for _, c := range claims {
		if q := r.claims[c]; q != nil && q != p {
			kind, name, _ := strings.Cut(c, " ")
			return fmt.Errorf("%s %s is used by port %s of bridge %s", kind, name, q.name, q.b.name)
		}
	}
	for _, c := range claims {
		r.claims[c] = p
	}
	return nil
}

// settleClaims gives up the claims that the running device does not need.
func (p *port) settleClaims() {
	for c, q := range p.b.r.claims {
		if q == p {
			delete(p.b.r.claims, c)
		}
	}
	for _, c := range p.spec.claims {
		p.b.r.claims[c] = p
	}
}

// plug adds the port to the datapath with its device, or changes it.
func (p *port) plug(want *desired.Port) error {
	cfg := p.portConfig(want)
	if p.dp != nil {
		if reflect.DeepEqual(cfg, p.cfg) {
			return nil
		}
		if err := p.dp.Configure(cfg); err != nil {
			return err
		}
		p.cfg = cfg
		return nil
	}
	dp, err := p.add(cfg, want.Iface)
	if err != nil {
		return err
	}
	p.dp, p.cfg, p.request = dp, cfg, want.Iface.OFPortRequest
	p.cfg.OFPort = dp.OFPort()
	if p.dev != nil {
		if err := dp.Attach(p.dev); err != nil {
			p.unplug() // or the next apply would find all as it should be
			p.closeDevice()
			return err
		}
		p.link = p.dev.Info().Link
	}
	p.log.Info("port added", "ofport", dp.OFPort(), "type", p.spec.kind)
	return nil
}

// add adds the port to the datapath under the number asked for, else under the one that it had before, else under any.
func (p *port) add(cfg datapath.PortConfig, i *desired.Interface) (*datapath.Port, error) {
	if p.local {
		cfg.OFPort = datapath.LocalOFPort
		return p.b.dp.AddPort(p.name, cfg)
	}
	for _, number := range []int{i.OFPortRequest, p.before} {
		if number == 0 {
			continue
		}
		cfg.OFPort = uint16(number)
		dp, err := p.b.dp.AddPort(p.name, cfg)
		if err == nil {
			if number != i.OFPortRequest { // given out before a restart
				p.b.lastNumber = max(p.b.lastNumber, number)
			}
			return dp, nil
		}
		p.log.Warn("port number not available, taking another", "ofport", number, "error", err)
	}
	cfg.OFPort = p.b.freeNumber()
	return p.b.dp.AddPort(p.name, cfg)
}

// portConfig is the datapath's form of a port's settings. A wrong configuration gives the one that is in force.
func (p *port) portConfig(want *desired.Port) datapath.PortConfig {
	cfg := p.cfg
	if want.Config != nil {
		cfg = datapathConfig(want.Config)
		cfg.OFPort = p.cfg.OFPort
	}
	cfg.AdminUp = want.Bond == nil || p.bonded
	cfg.Peer = want.Iface.Peer
	cfg.Police = datapath.Policing(want.Iface.Police)
	cfg.Affinity = want.Iface.Affinity
	if want.Iface.KeepAffinity {
		cfg.Affinity = p.cfg.Affinity
	}
	return cfg
}

// unplug takes the port out of the datapath and keeps its device.
func (p *port) unplug() {
	if p.dp == nil {
		return
	}
	if p.dev != nil {
		p.dp.Detach()
	}
	p.dp.Remove()
	p.dp, p.cfg, p.bonded = nil, datapath.PortConfig{}, false
}

func (p *port) remove() {
	p.unplug()
	if f, ok := p.dev.(netdev.Forgetter); ok && !p.b.r.closing {
		f.Forget()
	}
	p.closeDevice()
	p.settleClaims()
	delete(p.b.ports, p.name)
	p.log.Info("port removed")
}

// backoff is when to try again what failed.
type backoff struct {
	at    time.Time // zero: nothing failed
	delay time.Duration
}

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

func (b *backoff) reset() { *b = backoff{} }

func (b *backoff) failed(now time.Time) {
	b.delay = min(max(2*b.delay, firstRetry), lastRetry)
	b.at = now.Add(b.delay)
}

func (b *backoff) due(now time.Time) bool { return !b.at.IsZero() && !now.Before(b.at) }
