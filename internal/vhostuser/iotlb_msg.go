package vhostuser

// An IOMMU of the guest (feature FeatureAccessPlatform): the addresses in descriptors, and
// those of rings, are I/O virtual addresses. The front end translates them a piece
// at a time, when it is asked to over the back end's channel, and takes translations
// back when the guest does.

// IOTLBType is what an IOTLB message is about.
type IOTLBType uint8

// The kinds of IOTLB message.
const (
	IOTLBMiss       IOTLBType = 1 // back end to front end: which address is this?
	IOTLBUpdate     IOTLBType = 2
	IOTLBInvalidate IOTLBType = 3
)

// Perm is what may be done with memory.
type Perm uint8

// The permissions.
const (
	PermRead  Perm = 1
	PermWrite Perm = 2
)

// IOTLBMsg is the payload of IOTLB_MSG in both directions (struct vhost_iotlb_msg).
type IOTLBMsg struct {
	IOVA uint64
	Size uint64 // bytes
	User uint64 // address in the front end's process
	Perm Perm
	Type IOTLBType
}

const iotlbMsgSize = 32 // with 6 bytes that mean nothing

// BackendIOTLB is the message to the front end over the channel of SET_BACKEND_REQ_FD that carries
// an IOTLBMsg.
const BackendIOTLB Request = 1

// Append appends the payload to b.
func (m IOTLBMsg) Append(b []byte) []byte {
	for _, v := range []uint64{m.IOVA, m.Size, m.User, uint64(m.Perm) | uint64(m.Type)<<8} {
		b = le.AppendUint64(b, v)
	}
	return b
}

// ParseIOTLBMsg reads a payload.
func ParseIOTLBMsg(p []byte) (m IOTLBMsg, ok bool) {
	if len(p) != iotlbMsgSize {
		return m, false
	}
	return IOTLBMsg{le.Uint64(p), le.Uint64(p[8:]), le.Uint64(p[16:]), Perm(p[24]), IOTLBType(p[25])}, true
}

// iotlb obeys an update or an invalidation.
func (s *Session) iotlb(m *Message) error {
	p, _ := ParseIOTLBMsg(m.Payload)
	switch {
	case s.Features&FeatureAccessPlatform == 0:
		return ignoref("%v: ACCESS_PLATFORM not negotiated", m.Request)
	case p.Type != IOTLBUpdate && p.Type != IOTLBInvalidate:
		return ignoref("%v: type %d, want update (%d) or invalidate (%d)", m.Request, p.Type, IOTLBUpdate, IOTLBInvalidate)
	case p.Type == IOTLBUpdate && (p.Size == 0 || p.IOVA+p.Size-1 < p.IOVA || p.Perm&^(PermRead|PermWrite) != 0):
		return ignoref("%v: update of %#x bytes at %#x with permissions %#x: empty, wraps or has others than read (1) and write (2)", m.Request, p.Size, p.IOVA, p.Perm)
	}
	if err := s.dev.IOTLB(p); err != nil {
		return ignoref("%v: %w", m.Request, err)
	}
	return nil
}
