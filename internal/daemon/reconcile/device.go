package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/netdev"
)

// applyDevice makes the port's device what next says. When that fails the old device is there as before; when only a setting that stands
// by itself is refused, all others are in force, and the error says which one is not.
func (p *port) applyDevice(next spec) error {
	defer p.settleClaims()
	before := p.spec
	var refused error
	for {
		err := p.changeDevice(next)
		var setting *netdev.SettingError
		if !errors.As(err, &setting) {
			return both(refused, err)
		}
		refused = both(refused, err)
		rest, ok := next.without(setting.Key, before)
		if !ok {
			return refused
		}
		next = rest
	}
}

// without is s with one setting as it is in before, if that is of the same kind, or else not set. ok is false if it was so already.
func (s spec) without(key string, before spec) (rest spec, ok bool) {
	if before.kind != s.kind {
		before = spec{}
	}
	if key == netdev.MTURequest {
		mtu := s.options.MTU
		s.options.MTU = before.options.MTU
		if mtu == s.options.MTU {
			s.options.MTU = 0
		}
		return s, s.options.MTU != mtu
	}
	value, set := s.options.Map[key]
	old, had := before.options.Map[key]
	m := maps.Clone(s.options.Map)
	delete(m, key)
	if had && old != value {
		m[key] = old
	}
	s.options.Map = m
	return s, set
}

// changeDevice makes the port's device exactly what next says, or leaves it.
func (p *port) changeDevice(next spec) error {
	if next.kind == desired.Patch {
		p.closeDevice()
		p.spec = next
		return nil
	}
	switch {
	case p.dev == nil:
		if err := descriptorsLeft(); err != nil {
			return err
		}
		return p.openDevice(next)
	case p.spec.equal(next):
		return nil
	}
	if p.spec.kind != next.kind {
		if err := p.check(next); err != nil {
			return err
		}
	}
	if a, ok := p.dev.(netdev.Adjuster); ok && p.spec.kind == next.kind {
		err := a.Adjust(next.options)
		if err == nil {
			p.spec = next
			p.log.Info("device adjusted")
			return nil
		}
		if !errors.Is(err, netdev.ErrReopen) {
			return err
		}
	}
	if slices.ContainsFunc(next.claims, func(c string) bool { return slices.Contains(p.spec.claims, c) }) {
		return p.replaceInPlace(next)
	}
	return p.replace(next)
}

// check finds what is wrong with next before the device that runs, of another kind, is given up for it: closing a device of the switch's own
// making takes away what others have set on it, in a container for instance.
func (p *port) check(next spec) error {
	if p.spec.kind == desired.Veth && next.kind == desired.System && next.options.Map["netns"] == "" {
		return fmt.Errorf("type=%s: device %s is this port's veth pair and would go with it; delete the port first", next.kind, p.name)
	}
	if check := p.b.r.checks[next.kind]; check != nil {
		return check(p.name, next.options)
	}
	return nil
}

// open makes a device.
func (p *port) open(s spec) (netdev.Device, error) {
	open := p.b.r.providers[s.kind]
	if open == nil {
		return nil, fmt.Errorf("type=%s: not available in this build", s.kind)
	}
	return open(p.name, s.options, p.b.r.dp)
}

func (p *port) openDevice(next spec) error {
	dev, err := p.open(next)
	if err != nil {
		return err
	}
	p.dev, p.spec = dev, next
	return p.attach()
}

// attach gives the device to the datapath, if the port is there already. A device that
// is not taken is closed: the next apply would think that it works.
func (p *port) attach() error {
	if p.dp == nil {
		return nil
	}
	err := p.dp.Attach(p.dev)
	if err != nil {
		p.closeDevice()
	}
	return err
}

// replace opens the new device before it closes the old one.
func (p *port) replace(next spec) error {
	dev, err := p.open(next)
	if err != nil {
		return err
	}
	p.closeDevice()
	p.dev, p.spec = dev, next
	if err := p.attach(); err != nil {
		return err
	}
	p.log.Info("device replaced")
	return nil
}

// replaceInPlace closes the old device first, since both would have something that only one can have, and takes it up again if the new one
// cannot be opened.
func (p *port) replaceInPlace(next spec) error {
	old := p.spec
	p.closeDevice()
	err := p.openDevice(next)
	if err == nil {
		p.log.Info("device reopened")
		return nil
	}
	if back := p.openDevice(old); back != nil {
		return fmt.Errorf("%w; and the device as it was cannot be had any more: %w", err, back)
	}
	return err
}

func (p *port) closeDevice() {
	if p.dev == nil {
		return
	}
	if p.dp != nil {
		p.dp.Detach()
	}
	if err := p.dev.Close(); err != nil {
		p.log.Warn("device closed with an error", "error", err)
	}
	p.dev, p.spec, p.fault = nil, spec{}, ""
}
