package link

import "os"

// QuietARP keeps the host from answering, on this device, ARP requests for addresses
// that it has on others, as it does by default: the switch forwards the request
// to where the address is, and a second answer from here would lead the asker
// around the switch. Addresses of the device itself are still answered for. The
// function that it returns undoes it, unless somebody has changed it since.
//
// It is arp_ignore of the kernel's Documentation/networking/ip-sysctl.rst. Where that
// cannot be set, in a container with a read-only /proc/sys, all stays as it is.
func (n *Namespace) QuietARP(name string, index int) (undo func()) {
	changed := false
	_ = n.Do(func() (err error) {
		changed, err = setARPIgnore(name, "0", "1")
		return err
	})
	return func() {
		if !changed {
			return
		}
		changed = false
		// The device may have another name by now, and another device this one. In
		// another namespace it begins with that one's settings.
		l, err := n.handle.LinkByIndex(index)
		if err != nil {
			return
		}
		_ = n.Do(func() error {
			_, err := setARPIgnore(l.Attrs().Name, "1", "0")
			return err
		})
	}
}

// setARPIgnore changes the device's arp_ignore if it is as expected.
func setARPIgnore(name, from, to string) (changed bool, err error) {
	path := "/proc/sys/net/ipv4/conf/" + name + "/arp_ignore"
	old, err := os.ReadFile(path)
	if err != nil || string(old) != from+"\n" {
		return false, err
	}
	err = os.WriteFile(path, []byte(to+"\n"), 0)
	return err == nil, err
}
