package daemon

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/vhostuser"
)

// Providers are all kinds of devices.
func Providers() map[desired.Kind]netdev.OpenFunc {
	return map[desired.Kind]netdev.OpenFunc{
		desired.VhostServer: vhostuser.OpenServer,
		desired.VhostClient: vhostuser.OpenClient,
	}
}

// privileged makes the reason clear when a device of the kernel cannot be opened for want of privilege.
func privileged(open netdev.OpenFunc) netdev.OpenFunc {
	return func(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
		dev, err := open(name, o, h)
		if err != nil && errors.Is(err, fs.ErrPermission) && !hasCapability(unix.CAP_NET_ADMIN) {
			err = fmt.Errorf("%w (gvswitchd lacks CAP_NET_ADMIN)", err)
		}
		return dev, err
	}
}
