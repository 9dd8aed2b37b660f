package link

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
)

// State is what a device is at one moment.
type State struct {
	Name    string
	Index   int
	MTU     int
	MAC     net.HardwareAddr
	Up      bool   // administratively
	Running bool   // up, with carrier
	Kind    string // netlink's: "veth", "tuntap", "device" for hardware
	Alias   string // ifalias, free text
	Peer    int    // veth: the other end's index (in its namespace)
	Ether   bool   // carries Ethernet frames
	Loop    bool   // the namespace's loopback
	Master  int    // index of the bridge, bond or VRF that it is part of, 0 if none
}

// ErrNoDevice: there is no device of that name. It reads as the kernel's own.
var ErrNoDevice error = unix.ENODEV

// Get reads the state of the device of that name, which must have passed
// netdev.CheckIfName. The error is ErrNoDevice when there is none (an alternative
// name of another device does not count).
func (n *Namespace) Get(name string) (State, error) {
	l, err := n.find(name)
	if err != nil {
		return State{}, err
	}
	a := l.Attrs()
	return State{
		Name:    a.Name,
		Index:   a.Index,
		MTU:     a.MTU,
		MAC:     a.HardwareAddr,
		Up:      a.RawFlags&unix.IFF_UP != 0,
		Running: a.RawFlags&(unix.IFF_UP|unix.IFF_RUNNING) == unix.IFF_UP|unix.IFF_RUNNING,
		Kind:    l.Type(),
		Alias:   a.Alias,
		Peer:    a.ParentIndex,
		Ether:   a.EncapType == "ether",
		Loop:    a.RawFlags&unix.IFF_LOOPBACK != 0,
		Master:  a.MasterIndex,
	}, nil
}

func (n *Namespace) find(name string) (netlink.Link, error) {
	l, err := n.handle.LinkByName(name)
	if err != nil {
		if errors.As(err, &netlink.LinkNotFoundError{}) || errors.Is(err, unix.ENODEV) {
			return nil, fmt.Errorf("%s: %w", name, ErrNoDevice)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if l.Attrs().Name != name {
		return nil, fmt.Errorf("%s: %w", name, ErrNoDevice)
	}
	return l, nil
}

// Settings of a device that Apply brings about; the zero value asks for nothing.
type Settings struct {
	MTU int              // bytes, 0 = leave
	MAC net.HardwareAddr // nil = leave
	Up  bool             // set it up
}

// Apply changes what differs from what is asked for, and nothing else, so that
// it causes no events when all is well. The error names the setting; it is a
// netdev.SettingError when the device refuses the MTU, and the MAC address is set then.
func (n *Namespace) Apply(name string, s Settings) error {
	l, err := n.find(name)
	if err != nil {
		return err
	}
	a := l.Attrs()
	if s.MAC != nil && a.HardwareAddr.String() != s.MAC.String() {
		if err := n.handle.LinkSetHardwareAddr(l, s.MAC); err != nil {
			return fmt.Errorf("%s: setting MAC address %s: %w", name, s.MAC, err)
		}
	}
	if s.MTU != 0 && a.MTU != s.MTU {
		if err := n.handle.LinkSetMTU(l, s.MTU); err != nil {
			return &netdev.SettingError{Key: netdev.MTURequest, Err: fmt.Errorf("%s: setting MTU %d: %w", name, s.MTU, err)}
		}
	}
	if s.Up && a.RawFlags&unix.IFF_UP == 0 {
		if err := n.handle.LinkSetUp(l); err != nil {
			return fmt.Errorf("%s: setting it up: %w", name, err)
		}
	}
	return nil
}

// SetAlias sets the device's ifalias, a text for people, at most 255 bytes.
func (n *Namespace) SetAlias(name, alias string) error {
	l, err := n.find(name)
	if err != nil {
		return err
	}
	if err := n.handle.LinkSetAlias(l, alias); err != nil {
		return fmt.Errorf("%s: setting its alias: %w", name, err)
	}
	return nil
}

// Delete removes the device if there is one of this name and index.
func (n *Namespace) Delete(name string, index int) error {
	l, err := n.find(name)
	if errors.Is(err, ErrNoDevice) || err == nil && l.Attrs().Index != index {
		return nil
	}
	if err != nil {
		return err
	}
	if err := n.handle.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%s: deleting it: %w", name, err)
	}
	return nil
}
