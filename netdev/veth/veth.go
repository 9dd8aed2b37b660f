// Package veth is the device type "veth": a veth pair made by the switch, one end a
// port, the other a device for a namespace, such as a container's.
//
// The port is named like the near end and is an afpacket port on it; this package only
// makes and removes the pair. A pair that an earlier run left behind (kill -9) is
// known by the alias of its near end and taken over if it leads to the same
// place, otherwise made anew. A device that the switch did not make is never
// touched.
//
// All of it is control code.
package veth

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/afpacket"
	"github.com/gvswitch/gvswitch/netdev/link"
	"github.com/gvswitch/gvswitch/netdev/opt"
)

// alias marks the near end of a pair as made by the switch.
const alias = "gvswitch veth port"

var _ netdev.OpenFunc = Open

// Open makes the pair and opens the port. Options:
//
//	peer      the other end's name (needed)
//	netns     where the other end goes: a name, a process id or a path
//	peer-mac  the other end's MAC address
func Open(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	p := &pair{name: name}
	if err := p.parse(o); err != nil {
		return nil, err
	}
	return afpacket.New(name, "", o, p, h)
}

// Check looks at options as Open would, and at whether the far end can be made.
func Check(name string, o netdev.Options) error {
	p := &pair{name: name}
	return p.Check(o)
}

// pair implements afpacket.Maker.
type pair struct {
	name    string
	peer    string
	netns   string
	peerMAC net.HardwareAddr
	index   int // of the near end that we made or took over
}

func (p *pair) parse(o netdev.Options) error {
	if err := netdev.CheckIfName(p.name); err != nil {
		return err
	}
	r := opt.New(p.name, o.Map)
	p.peer, p.netns = r.String("peer", ""), r.String("netns", "")
	mac := r.String("peer-mac", "")
	if p.peer == "" {
		return fmt.Errorf("%s: options:peer is missing: the name of the pair's other end", p.name)
	}
	if err := netdev.CheckIfName(p.peer); err != nil {
		r.Refuse("peer", err.Error())
	} else if p.peer == p.name && p.netns == "" {
		r.Refuse("peer", "must not be the port's own name")
	}
	s, err := link.SettingsOf(p.name, netdev.Options{MAC: mac}, true)
	if err != nil {
		r.Refuse("peer-mac", "is not the address of a device")
	}
	p.peerMAC = s.MAC
	if err := r.Done(); err != nil {
		return err
	}
	_, err = link.SettingsOf(p.name, o, true)
	return err
}

// Check implements afpacket.Maker. What would fail after the present pair is gone
// fails here: with the pair goes what its far end's user has set up on it.
func (p *pair) Check(o netdev.Options) error {
	next := &pair{name: p.name}
	if err := next.parse(o); err != nil {
		return err
	}
	far, err := link.Acquire(next.netns)
	if err != nil {
		return fmt.Errorf("%s: options:netns: %w", p.name, err)
	}
	defer far.Release()
	if next.peer == p.peer {
		// The same namespace by another name is the same.
		if now, err := link.Acquire(p.netns); err == nil {
			defer now.Release()
			if now == far {
				return nil
			}
		}
	}
	return next.free(far)
}

// free is an error when the far end's name is taken.
func (p *pair) free(far *link.Namespace) error {
	if _, err := far.Get(p.peer); err == nil {
		return fmt.Errorf("%s: options:peer=%s: %w in that namespace", p.name, p.peer, unix.EEXIST)
	}
	return nil
}

// Make implements afpacket.Maker. The peer's namespace is held only meanwhile: we do
// not keep a container's alive when it ends. The pair that is in use is never
// made anew: its far end may have been renamed since, as container tools do, and
// then it is theirs.
func (p *pair) Make(ns *link.Namespace, s link.Settings) error {
	far, err := link.Acquire(p.netns)
	if err != nil {
		return fmt.Errorf("%s: options:netns: %w", p.name, err)
	}
	defer far.Release()
	made := false
	st, err := ns.Get(p.name)
	if err == nil {
		if st.Kind != "veth" || st.Alias != alias {
			return fmt.Errorf("%s: %w: a device of this name exists that the switch did not make (%s)", p.name, unix.EEXIST, st.Kind)
		}
		if st.Index != p.index && !p.leadsTo(far, st) {
			if err := ns.Delete(p.name, st.Index); err != nil {
				return err
			}
			err = link.ErrNoDevice
		}
	}
	if errors.Is(err, link.ErrNoDevice) {
		if err := p.free(far); err != nil {
			return err
		}
		if err := ns.AddVeth(p.name, p.peer, far, alias); err != nil {
			return err
		}
		made = true
		ns.NoIPv6Address(p.name)
		st, err = ns.Get(p.name)
	}
	if err != nil {
		return err
	}
	p.index = st.Index
	err = ns.Apply(p.name, s)
	if err == nil {
		err = far.Apply(p.peer, link.Settings{MTU: s.MTU, MAC: p.peerMAC, Up: true})
	}
	switch {
	case err != nil && made:
		return errors.Join(err, p.Remove(ns))
	case errors.Is(err, link.ErrNoDevice):
		return nil // renamed
	}
	return err
}

// leadsTo tells whether the near end's other end is the one that we want.
func (p *pair) leadsTo(far *link.Namespace, near link.State) bool {
	st, err := far.Get(p.peer)
	return err == nil && st.Kind == "veth" && st.Peer == near.Index && near.Peer == st.Index
}

// Remove implements afpacket.Maker: the other end goes too, wherever it is.
func (p *pair) Remove(ns *link.Namespace) error { return ns.Delete(p.name, p.index) }
