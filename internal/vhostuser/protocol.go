package vhostuser

import (
	"fmt"
	"math/bits"
)

// Feature bits of GET_FEATURES that the protocol itself looks at; all others are
// the device's business.
const (
	FeatureCtrlVQ         uint64 = 1 << 17 // virtio-net: there is a control queue
	FeatureMQ             uint64 = 1 << 22 // virtio-net: several queue pairs
	FeatureLogAll         uint64 = 1 << 26 // log dirty pages
	FeatureProtocol       uint64 = 1 << 30 // protocol features can be negotiated
	FeatureAccessPlatform uint64 = 1 << 33 // addresses are an IOMMU's
	FeatureRingPacked     uint64 = 1 << 34 // rings are packed
)

// Protocol feature bits.
const (
	ProtoMQ                uint64 = 1 << 0
	ProtoLogSHMFD          uint64 = 1 << 1
	ProtoRARP              uint64 = 1 << 2
	ProtoReplyAck          uint64 = 1 << 3
	ProtoMTU               uint64 = 1 << 4
	ProtoBackendReq        uint64 = 1 << 5
	ProtoPageFault         uint64 = 1 << 8
	ProtoConfig            uint64 = 1 << 9
	ProtoBackendSendFD     uint64 = 1 << 10
	ProtoInflightSHMFD     uint64 = 1 << 12
	ProtoResetDevice       uint64 = 1 << 13
	ProtoConfigureMemSlots uint64 = 1 << 15
	ProtoStatus            uint64 = 1 << 16
)

// ProtocolFeatures is what this package implements, but for ProtoPageFault, which not every device
// serves. A front end uses all that it knows of what is offered, so nothing else may be.
const ProtocolFeatures = ProtoMQ | ProtoLogSHMFD | ProtoRARP | ProtoReplyAck | ProtoMTU | ProtoBackendReq |
	ProtoConfig | ProtoBackendSendFD | ProtoInflightSHMFD | ProtoResetDevice | ProtoConfigureMemSlots | ProtoStatus

var protocolNames = map[uint64]string{
	ProtoMQ: "MQ", ProtoLogSHMFD: "LOG_SHMFD", ProtoRARP: "RARP", ProtoReplyAck: "REPLY_ACK", ProtoMTU: "MTU",
	ProtoBackendReq: "BACKEND_REQ", ProtoPageFault: "PAGEFAULT", ProtoConfig: "CONFIG", ProtoBackendSendFD: "BACKEND_SEND_FD",
	ProtoInflightSHMFD: "INFLIGHT_SHMFD",
	ProtoResetDevice:   "RESET_DEVICE", ProtoConfigureMemSlots: "CONFIGURE_MEM_SLOTS", ProtoStatus: "STATUS",
}

// ProtocolNames lists the names of the protocol feature bits set in f, lowest
// first; a bit without a name is "BIT_n".
func ProtocolNames(f uint64) []string {
	var names []string
	for ; f != 0; f &= f - 1 {
		n := bits.TrailingZeros64(f)
		name, ok := protocolNames[1<<n]
		if !ok {
			name = fmt.Sprintf("BIT_%d", n)
		}
		names = append(names, name)
	}
	return names
}

const (
	// MaxQueuePairs is the most queue pairs of a device: vring messages carry the
	// vring's number in 8 bits.
	MaxQueuePairs = 128
	maxVrings     = 2 * MaxQueuePairs
	// MaxMemSlots is the most memory regions, by ADD_MEM_REG. The answer to
	// GET_MAX_MEM_SLOTS must never get smaller, or a guest that was migrated or
	// reconnects may not fit any more.
	MaxMemSlots = 256
	// maxRingSize is the largest split ring (virtio 1.2, section 2.7).
	maxRingSize = 32768
	// MinMTU and MaxMTU bound the MTU that a front end may set (virtio 1.2, section
	// 5.1.4.1; the field has 16 bits).
	MinMTU = 68
	MaxMTU = 65535
	// maxConfig is the longest configuration space.
	maxConfig = 256
)
