package daemon

import (
	"log/slog"

	"golang.org/x/sys/unix"
)

// hasCapability reports whether this process has the capability in force.
func hasCapability(n uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[n/32].Effective&(1<<(n%32)) != 0
}

// warnPrivilege says early what will fail later. Vhost-user ports need no privilege, so a daemon without any is still of use.
func warnPrivilege(log *slog.Logger) {
	for _, c := range []struct {
		n    uint
		name string
		what string
	}{
		{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN", "tap, internal, veth and system ports, so each bridge's own port, cannot be opened"},
		{unix.CAP_NET_RAW, "CAP_NET_RAW", "system and veth ports cannot be opened"},
	} {
		if !hasCapability(c.n) {
			log.Warn("missing permission", "capability", c.name, "consequence", c.what)
		}
	}
}
