package afpacket

import (
	"math/bits"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/link"
	"github.com/gvswitch/gvswitch/netdev/opt"
)

// Slots of the receive ring, see option n_rxq_desc.
const (
	defaultSlots = 1024
	minSlots     = 64
	maxSlots     = 32768
)

var _ netdev.OpenFunc = Open

// Open opens a port on the existing kernel device of that name. Options:
//
//	netns       the namespace it is in: a name, a process id or a path
//	n_rxq_desc  slots of the receive ring, a power of two
//	n_rxq       1
func Open(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
	c, err := parse(name, o)
	if err != nil {
		return nil, err
	}
	return device(start(c, h))
}

// Check looks at options as Open would.
func Check(name string, o netdev.Options) error {
	_, err := parse(name, o)
	return err
}

// New opens a port on a device that m makes and removes. The options are m's,
// and have been checked; netns says where the device is.
func New(name, netns string, o netdev.Options, m Maker, h netdev.Host) (netdev.Device, error) {
	return device(start(config{name: name, netns: netns, slots: defaultSlots, maker: m, option: o}, h))
}

// device keeps a nil pointer from becoming a Device.
func device(d *Device, err error) (netdev.Device, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

func parse(name string, o netdev.Options) (config, error) {
	c := config{name: name, option: o}
	if err := netdev.CheckIfName(name); err != nil {
		return c, err
	}
	r := opt.New(name, o.Map)
	c.netns = r.String("netns", "")
	c.slots = r.Int("n_rxq_desc", defaultSlots, minSlots, maxSlots)
	if bits.OnesCount(uint(c.slots)) != 1 {
		r.RefuseAlone("n_rxq_desc", "must be a power of two")
	}
	r.Int("n_rxq", 1, 1, 1)
	if err := r.Done(); err != nil {
		return c, err
	}
	_, err := link.SettingsOf(name, o, false)
	return c, err
}
