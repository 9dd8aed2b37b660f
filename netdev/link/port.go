package link

import (
	"fmt"
	"net"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
)

// SettingsOf are the kernel settings that a port's options ask for.
func SettingsOf(port string, o netdev.Options, up bool) (Settings, error) {
	s := Settings{MTU: o.MTU, Up: up}
	if o.MAC != "" {
		mac, err := net.ParseMAC(o.MAC)
		if err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			return s, fmt.Errorf("%s: mac %q: is not the address of a device", port, o.MAC)
		}
		s.MAC = mac
	}
	return s, nil
}

// Describe is what a port on the device says of itself; with a fault, only that
// and the driver.
func Describe(st State, hw Hardware, fault error) *netdev.Info {
	info := &netdev.Info{Driver: hw.Driver, Status: map[string]string{}}
	if info.Driver != "" {
		info.Status["driver_name"] = info.Driver
	}
	if fault != nil {
		info.Fault = fault.Error()
		return info
	}
	info.Link, info.MTU, info.MAC, info.IfIndex = st.Running, st.MTU, st.MAC, st.Index
	info.Speed, info.Duplex = hw.Speed, hw.Duplex
	info.Status["admin_state"] = "down"
	if st.Up {
		info.Status["admin_state"] = "up"
	}
	return info
}

// Retries of what failed: soon, then less often. A fault is also looked at when an
// event comes.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second
)

// Run calls follow after each event, and again and again as long as it reports a
// fault, until quit is closed.
func (w *Watcher) Run(quit <-chan struct{}, follow func() (fault bool)) {
	retry := firstRetry
	var timer <-chan time.Time
	for {
		select {
		case <-quit:
			return
		case <-w.C:
		case <-timer:
		}
		timer = nil
		if follow() {
			timer = time.After(retry)
			retry = min(2*retry, lastRetry)
		} else {
			retry = firstRetry
		}
	}
}
