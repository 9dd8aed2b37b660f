package link

import "os"

// QuietARP keeps the host from answering, on this device, ARP requests for addresses
// that it has on others, as it does by default: the switch forwards the request
// to where the address is, and a second answer from here would lead the asker
// around the switch. Addresses of the device itself are still answered for. The
// function that it returns undoes it.
//
// It is arp_ignore of the kernel's Documentation/networking/ip-sysctl.rst. Where that
// cannot be set, in a container with a read-only /proc/sys, all stays as it is.
func (n *Namespace) QuietARP(name string) (undo func()) {
	path := "/proc/sys/net/ipv4/conf/" + name + "/arp_ignore"
	changed := false
	_ = n.Do(func() error {
		old, err := os.ReadFile(path)
		if err != nil || string(old) != "0\n" {
			return err
		}
		err = os.WriteFile(path, []byte("1\n"), 0)
		changed = err == nil
		return err
	})
	return func() {
		if changed {
			_ = n.Do(func() error { return os.WriteFile(path, []byte("0\n"), 0) }) // the device may be gone
		}
	}
}
