package daemon

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/afpacket"
	"github.com/gvswitch/gvswitch/netdev/dummy"
	"github.com/gvswitch/gvswitch/netdev/tap"
	"github.com/gvswitch/gvswitch/netdev/veth"
	"github.com/gvswitch/gvswitch/netdev/vhostuser"
	"github.com/gvswitch/gvswitch/netdev/virtiouser"
)

// Providers are all kinds of devices.
func Providers() map[desired.Kind]netdev.OpenFunc {
	return map[desired.Kind]netdev.OpenFunc{
		desired.VhostServer: vhostuser.OpenServer,
		desired.VhostClient: vhostuser.OpenClient,
		desired.VirtioUser:  virtiouser.Open,
		desired.Internal:    privileged(tap.OpenInternal),
		desired.Tap:         privileged(tap.Open),
		desired.System:      privileged(afpacket.Open),
		desired.Veth:        privileged(veth.Open),
		desired.Dummy:       dummy.Open,
	}
}

// checks look at a configuration before a device of another kind is given up for it. A dummy is not worth one.
func checks() map[desired.Kind]netdev.CheckFunc {
	return map[desired.Kind]netdev.CheckFunc{
		desired.VhostServer: vhostuser.CheckServer,
		desired.VhostClient: vhostuser.CheckClient,
		desired.VirtioUser:  virtiouser.Check,
		desired.Internal:    tap.Check,
		desired.Tap:         tap.Check,
		desired.System:      afpacket.Check,
		desired.Veth:        veth.Check,
	}
}

// privileged adds the likely reason when a device of the kernel cannot be opened without the privilege that it needs. What the kernel said may
// have lost its type on the way, so any failure counts.
func privileged(open netdev.OpenFunc) netdev.OpenFunc {
	return func(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
		dev, err := open(name, o, h)
		if err != nil && !hasCapability(unix.CAP_NET_ADMIN) {
			err = fmt.Errorf("%w (gvswitchd lacks CAP_NET_ADMIN)", err)
		}
		return dev, err
	}
}
