package netdev

import "errors"

// Options is what an Interface row asks of a device, as values; every provider
// checks the ones it knows and refuses the ones it does not.
type Options struct {
	Map    map[string]string // the options column
	MTU    int               // mtu_request, 0 = leave as it is
	MAC    string            // the mac column, "" = leave as it is
	RunDir string            // where sockets go that have no path of their own

	// StateDir is where a device may keep what it has to know in its next life, in
	// files of its own; "" = nowhere.
	StateDir string
}

// ErrReopen is Adjust's answer when a change needs the device to be made anew.
var ErrReopen = errors.New("device must be reopened")

// CheckFunc says, before the device that a port has is given up for one of this type,
// what Open would find wrong with the name and the options themselves. It makes nothing.
type CheckFunc func(name string, o Options) error

// OpenFunc makes a device. It returns when the device exists; attaching its
// peer may take longer and is announced by Host.Changed.
type OpenFunc func(name string, o Options, h Host) (Device, error)
