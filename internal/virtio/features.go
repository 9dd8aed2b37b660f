package virtio

import (
	"fmt"
	"math/bits"
	"strings"
)

// Feature bits of a network device and of its rings (virtio 1.2, sections 5.1.3
// and 6; vhost-user for the two of its own).
const (
	NetFCsum          uint64 = 1 << 0  // device takes partial checksums
	NetFGuestCsum     uint64 = 1 << 1  // driver takes partial checksums
	NetFGuestOffloads uint64 = 1 << 2  // control queue: what the driver takes can change (CTRL_GUEST_OFFLOADS)
	NetFMTU           uint64 = 1 << 3  // config has mtu
	NetFMAC           uint64 = 1 << 5  // config has mac
	NetFGSO           uint64 = 1 << 6  // legacy: device takes any segmentation work
	NetFGuestTSO4     uint64 = 1 << 7  // driver takes TCPv4 segmentation work
	NetFGuestTSO6     uint64 = 1 << 8  // driver takes TCPv6 segmentation work
	NetFGuestECN      uint64 = 1 << 9  // driver takes it with ECN
	NetFGuestUFO      uint64 = 1 << 10 // driver takes UDP fragmentation work
	NetFHostTSO4      uint64 = 1 << 11 // device takes TCPv4 segmentation work
	NetFHostTSO6      uint64 = 1 << 12 // device takes TCPv6 segmentation work
	NetFHostECN       uint64 = 1 << 13 // device takes it with ECN
	NetFHostUFO       uint64 = 1 << 14 // device takes UDP fragmentation work
	NetFMrgRxbuf      uint64 = 1 << 15 // receive buffers may be joined
	NetFStatus        uint64 = 1 << 16 // config has status
	NetFCtrlVQ        uint64 = 1 << 17 // there is a control queue
	NetFCtrlRx        uint64 = 1 << 18 // control queue: what to receive
	NetFCtrlVLAN      uint64 = 1 << 19 // control queue: which VLANs to receive
	NetFCtrlRxExtra   uint64 = 1 << 20 // control queue: more of what to receive
	NetFGuestAnnounce uint64 = 1 << 21 // driver can send gratuitous packets
	NetFMQ            uint64 = 1 << 22 // several queue pairs
	NetFCtrlMACAddr   uint64 = 1 << 23 // control queue: the driver's MAC address
	FNotifyOnEmpty    uint64 = 1 << 24 // legacy: notify when a ring runs empty
	VhostFLogAll      uint64 = 1 << 26 // log dirty pages
	FAnyLayout        uint64 = 1 << 27 // header and data laid out at will
	FIndirectDesc     uint64 = 1 << 28
	FEventIdx         uint64 = 1 << 29
	FProtocolFeatures uint64 = 1 << 30 // vhost-user protocol features
	FVersion1         uint64 = 1 << 32
	FAccessPlatform   uint64 = 1 << 33
	FRingPacked       uint64 = 1 << 34
	FInOrder          uint64 = 1 << 35
	FOrderPlatform    uint64 = 1 << 36
	FSRIOV            uint64 = 1 << 37
	FNotificationData uint64 = 1 << 38
	FRingReset        uint64 = 1 << 40
	NetFVQNotfCoal    uint64 = 1 << 52
	NetFNotfCoal      uint64 = 1 << 53
	NetFGuestUSO4     uint64 = 1 << 54
	NetFGuestUSO6     uint64 = 1 << 55
	NetFHostUSO       uint64 = 1 << 56
	NetFHashReport    uint64 = 1 << 57
	NetFGuestHdrLen   uint64 = 1 << 59
	NetFRSS           uint64 = 1 << 60
	NetFRSCExt        uint64 = 1 << 61
	NetFStandby       uint64 = 1 << 62
	NetFSpeedDuplex   uint64 = 1 << 63
)

var featureNames = map[uint64]string{
	NetFCsum: "CSUM", NetFGuestCsum: "GUEST_CSUM", NetFMTU: "MTU", NetFMAC: "MAC",
	NetFGuestTSO4: "GUEST_TSO4", NetFGuestTSO6: "GUEST_TSO6", NetFGuestECN: "GUEST_ECN", NetFGuestUFO: "GUEST_UFO",
	NetFHostTSO4: "HOST_TSO4", NetFHostTSO6: "HOST_TSO6", NetFHostECN: "HOST_ECN", NetFHostUFO: "HOST_UFO",
	NetFMrgRxbuf: "MRG_RXBUF", NetFStatus: "STATUS", NetFCtrlVQ: "CTRL_VQ", NetFCtrlRx: "CTRL_RX",
	NetFCtrlVLAN: "CTRL_VLAN", NetFGuestAnnounce: "GUEST_ANNOUNCE", NetFMQ: "MQ", NetFCtrlMACAddr: "CTRL_MAC_ADDR",
	VhostFLogAll: "LOG_ALL", FAnyLayout: "ANY_LAYOUT", FIndirectDesc: "INDIRECT_DESC", FEventIdx: "EVENT_IDX",
	FProtocolFeatures: "PROTOCOL_FEATURES", FVersion1: "VERSION_1", FAccessPlatform: "ACCESS_PLATFORM",
	FRingPacked: "RING_PACKED", FInOrder: "IN_ORDER", NetFGuestUSO4: "GUEST_USO4", NetFGuestUSO6: "GUEST_USO6",
	NetFHostUSO: "HOST_USO", NetFGuestOffloads: "CTRL_GUEST_OFFLOADS", NetFGSO: "GSO", NetFCtrlRxExtra: "CTRL_RX_EXTRA",
	FNotifyOnEmpty: "NOTIFY_ON_EMPTY", FOrderPlatform: "ORDER_PLATFORM", FSRIOV: "SR_IOV",
	FNotificationData: "NOTIFICATION_DATA", FRingReset: "RING_RESET", NetFVQNotfCoal: "VQ_NOTF_COAL",
	NetFNotfCoal: "NOTF_COAL", NetFHashReport: "HASH_REPORT", NetFGuestHdrLen: "GUEST_HDRLEN", NetFRSS: "RSS",
	NetFRSCExt: "RSC_EXT", NetFStandby: "STANDBY", NetFSpeedDuplex: "SPEED_DUPLEX",
}

// FeatureNames lists the names of the bits set in f, lowest first; a bit without
// a name is "BIT_n".
func FeatureNames(f uint64) []string {
	var names []string
	for ; f != 0; f &= f - 1 {
		n := bits.TrailingZeros64(f)
		name, ok := featureNames[1<<n]
		if !ok {
			name = fmt.Sprintf("BIT_%d", n)
		}
		names = append(names, name)
	}
	return names
}

// ParseFeature is the bit with the given name (see FeatureNames); case does not
// matter.
func ParseFeature(name string) (uint64, bool) {
	for bit, n := range featureNames {
		if strings.EqualFold(n, name) {
			return bit, true
		}
	}
	return 0, false
}

// NetHdrLen is the length of the header in front of each frame (virtio 1.2, section
// 5.1.6): 12 bytes, or 10 with a legacy driver that takes no merged buffers.
func NetHdrLen(features uint64) int {
	if features&(FVersion1|NetFMrgRxbuf) != 0 {
		return 12
	}
	return 10
}
