package tap

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev/link"
)

// Others move taps and internal ports to namespaces, as container tools do, and rename
// them there. The descriptor goes on working, and tells where the device is.

// away finds the namespace and the name of a tap that is not in home any more. The
// caller releases the namespace.
func (f *file) away(home *link.Namespace) (*link.Namespace, string, error) {
	fd, err := unix.IoctlRetInt(f.fd, unix.TUNGETDEVNETNS)
	if err != nil {
		return nil, "", err // EBADFD: deleted
	}
	defer func() { _ = unix.Close(fd) }()
	ifr, err := unix.NewIfreq("")
	if err != nil {
		return nil, "", err
	}
	if err := unix.IoctlIfreq(f.fd, unix.TUNGETIFF, ifr); err != nil {
		return nil, "", err
	}
	ns, err := link.Acquire(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, "", err
	}
	if ns == home {
		ns.Release()
		return nil, "", fmt.Errorf("%s: was renamed", ifr.Name())
	}
	return ns, ifr.Name(), nil
}

// lookAway reads the state of a tap that was moved. An error says that it was not.
// d.mu is held.
func (d *Device) lookAway(q *queues) error {
	ns, name, err := q.file.away(d.ns)
	if err != nil {
		return err
	}
	defer ns.Release()
	st, err := ns.Get(name)
	if err != nil {
		return err
	}
	d.moved = true
	d.seen(st, ns, name)
	return nil
}

// apply brings the tap to the settings, wherever it is. d.mu is held.
func (d *Device) apply(q *queues, s link.Settings) error {
	if !d.moved {
		return d.ns.Apply(d.name, s)
	}
	ns, name, err := q.file.away(d.ns)
	if err != nil {
		return err
	}
	defer ns.Release()
	return ns.Apply(name, s)
}
