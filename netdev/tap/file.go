package tap

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev/link"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// wanted are the flags without which frames would be misread.
const wanted = unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR

// offloads is what the kernel may leave undone in frames for us.
const offloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_TSO_ECN

// file is an open tap.
type file struct {
	fd         int
	persistent bool // it outlives the descriptor
}

// openFile makes the tap of that name in the namespace, or attaches to the one that is
// there.
func openFile(ns *link.Namespace, name string) (*file, error) {
	st, err := ns.Get(name)
	exists := err == nil
	switch {
	case err != nil && !errors.Is(err, link.ErrNoDevice):
		return nil, err
	case exists && st.Kind != "tuntap":
		return nil, fmt.Errorf("%s: %w: a device of this name exists and is no tap (%s)", name, unix.EEXIST, st.Kind)
	case exists && st.Master != 0:
		return nil, fmt.Errorf("%s: %w: it belongs to another bridge or bond (device index %d)", name, unix.EBUSY, st.Master)
	}
	f := &file{fd: -1}
	if err := ns.Do(func() error { return f.attach(name, exists) }); err != nil {
		if f.fd >= 0 {
			_ = unix.Close(f.fd)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// attach opens the driver, binds the descriptor to the device and makes sure that it has
// the format that the queues expect, whoever used it before.
func (f *file) attach(name string, exists bool) (err error) {
	f.fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening /dev/net/tun: %w", err)
	}
	var flags uint16 = wanted
	if !exists {
		flags |= unix.IFF_TUN_EXCL // nobody made one meanwhile
	}
	ifr, err := set(f.fd, name, flags)
	if errors.Is(err, unix.EINVAL) && exists {
		ifr, err = set(f.fd, name, flags|unix.IFF_MULTI_QUEUE)
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("making the tap: %w (CAP_NET_ADMIN is needed)", err)
	case errors.Is(err, unix.EINVAL) && exists:
		return fmt.Errorf("using the existing device: %w (a tun device, not a tap?)", err)
	case err != nil:
		return fmt.Errorf("making the tap: %w", err)
	}
	if ifr.Name() != name {
		return fmt.Errorf("the kernel made %q instead", ifr.Name())
	}
	if err := unix.IoctlIfreq(f.fd, unix.TUNGETIFF, ifr); err != nil {
		return fmt.Errorf("reading the tap's flags: %w", err)
	}
	if got := ifr.Uint16(); got&wanted != wanted {
		return fmt.Errorf("%w: another process has this tap open with other flags (%#x): frames would be misread", unix.EBUSY, got)
	}
	f.persistent = ifr.Uint16()&unix.IFF_PERSIST != 0
	if err := unix.IoctlSetPointerInt(f.fd, unix.TUNSETVNETHDRSZ, vnet.Len); err != nil {
		return fmt.Errorf("setting the net header's size: %w", err)
	}
	if n, err := unix.IoctlGetInt(f.fd, unix.TUNGETVNETHDRSZ); err != nil || n != vnet.Len {
		return fmt.Errorf("the net header has %d bytes, not %d (%v)", n, vnet.Len, err)
	}
	if err := unix.IoctlSetInt(f.fd, unix.TUNSETOFFLOAD, offloads); err != nil {
		return fmt.Errorf("setting offloads: %w", err)
	}
	return nil
}

func set(fd int, name string, flags uint16) (*unix.Ifreq, error) {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	ifr.SetUint16(flags)
	return ifr, unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
}

// close ends our use of the tap; the kernel removes one that we made.
func (f *file) close() error {
	if f.persistent {
		// Its next user may not expect unfinished frames.
		_ = unix.IoctlSetInt(f.fd, unix.TUNSETOFFLOAD, 0)
	}
	return unix.Close(f.fd)
}
