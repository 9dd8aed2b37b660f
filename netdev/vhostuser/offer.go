package vhostuser

import (
	"crypto/sha256"
	"encoding/binary"
	"net"
	"os"

	"github.com/gvswitch/gvswitch/internal/virtio"
)

// What is offered, and why not more: docs/decisions/0005-vhost-user-offer.md.
const (
	baseFeatures = virtio.FVersion1 | virtio.NetFMrgRxbuf | virtio.FIndirectDesc | virtio.FEventIdx |
		virtio.FAnyLayout | virtio.FInOrder | virtio.FRingPacked | virtio.FProtocolFeatures | virtio.NetFMTU | virtio.NetFStatus | virtio.NetFMAC |
		virtio.VhostFLogAll
	offloadFeatures = virtio.NetFCsum | virtio.NetFGuestCsum |
		virtio.NetFGuestTSO4 | virtio.NetFGuestTSO6 | virtio.NetFGuestECN |
		virtio.NetFHostTSO4 | virtio.NetFHostTSO6 | virtio.NetFHostECN
)

// Bits of the configuration space's status.
const (
	linkUp   = 1
	announce = 2 // the driver should send gratuitous packets
)

// configSpace is the device's configuration space (virtio 1.2, section 5.1.4).
func configSpace(mac net.HardwareAddr, status uint16, pairs, mtu int) []byte {
	b := append(make([]byte, 0, 12), mac...)
	b = binary.LittleEndian.AppendUint16(b, status)
	b = binary.LittleEndian.AppendUint16(b, uint16(pairs))
	return binary.LittleEndian.AppendUint16(b, uint16(mtu))
}

// portMAC is the address that a guest gets that has none of its own and for whom
// none is configured: always the same for the same socket on the same machine, and locally
// administered.
func portMAC(path string) net.HardwareAddr {
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		host, _ := os.Hostname()
		machine = []byte(host)
	}
	sum := sha256.Sum256(append(append([]byte("gvswitch port\x00"), machine...), path...))
	mac := net.HardwareAddr(sum[:6])
	mac[0] = mac[0]&^1 | 2
	return mac
}
