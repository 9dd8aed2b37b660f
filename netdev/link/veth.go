package link

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// AddVeth makes a veth pair: name here, peer in the other namespace. Neither is up
// yet. The alias marks the end here.
func (n *Namespace) AddVeth(name, peer string, other *Namespace, alias string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	v := netlink.NewVeth(attrs)
	v.PeerName, v.PeerNamespace = peer, netlink.NsFd(other.fd)
	if err := n.handle.LinkAdd(v); err != nil {
		if errors.Is(err, unix.EPERM) {
			return fmt.Errorf("%s: making the veth pair: %w (CAP_NET_ADMIN is needed)", name, err)
		}
		return fmt.Errorf("%s: making the veth pair with %s: %w", name, peer, err)
	}
	return n.SetAlias(name, alias)
}

// NoIPv6Address keeps the kernel from giving the device a link-local address, and so from
// speaking IPv6 on it. A kernel without IPv6 does not anyway.
func (n *Namespace) NoIPv6Address(name string) {
	if l, err := n.find(name); err == nil {
		_ = n.handle.LinkSetIP6AddrGenMode(l, 1) // IN6_ADDR_GEN_MODE_NONE of linux/if_link.h
	}
}
