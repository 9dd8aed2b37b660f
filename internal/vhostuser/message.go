package vhostuser

import (
	"encoding/binary"
	"fmt"
)

// Request is a message's number, front end to back end.
type Request uint32

// The messages that a network back end answers.
const (
	GetFeatures         Request = 1
	SetFeatures         Request = 2
	SetOwner            Request = 3
	ResetOwner          Request = 4
	SetMemTable         Request = 5
	SetLogBase          Request = 6
	SetLogFD            Request = 7
	SetVringNum         Request = 8
	SetVringAddr        Request = 9
	SetVringBase        Request = 10
	GetVringBase        Request = 11
	SetVringKick        Request = 12
	SetVringCall        Request = 13
	SetVringErr         Request = 14
	GetProtocolFeatures Request = 15
	SetProtocolFeatures Request = 16
	GetQueueNum         Request = 17
	SetVringEnable      Request = 18
	SendRARP            Request = 19
	NetSetMTU           Request = 20
	SetBackendReqFD     Request = 21
	IOTLBMessage        Request = 22
	GetConfig           Request = 24
	SetConfig           Request = 25
	PostcopyAdvise      Request = 28
	PostcopyListen      Request = 29
	PostcopyEnd         Request = 30
	GetInflightFD       Request = 31
	SetInflightFD       Request = 32
	ResetDevice         Request = 34
	GetMaxMemSlots      Request = 36
	AddMemReg           Request = 37
	RemMemReg           Request = 38
	SetStatus           Request = 39
	GetStatus           Request = 40
)

var requestNames = map[Request]string{
	GetFeatures: "GET_FEATURES", SetFeatures: "SET_FEATURES", SetOwner: "SET_OWNER", ResetOwner: "RESET_OWNER",
	SetMemTable: "SET_MEM_TABLE", SetLogBase: "SET_LOG_BASE", SetLogFD: "SET_LOG_FD",
	SetVringNum: "SET_VRING_NUM", SetVringAddr: "SET_VRING_ADDR", SetVringBase: "SET_VRING_BASE",
	GetVringBase: "GET_VRING_BASE", SetVringKick: "SET_VRING_KICK", SetVringCall: "SET_VRING_CALL",
	SetVringErr: "SET_VRING_ERR", GetProtocolFeatures: "GET_PROTOCOL_FEATURES",
	SetProtocolFeatures: "SET_PROTOCOL_FEATURES", GetQueueNum: "GET_QUEUE_NUM", SetVringEnable: "SET_VRING_ENABLE",
	SendRARP: "SEND_RARP", NetSetMTU: "NET_SET_MTU", SetBackendReqFD: "SET_BACKEND_REQ_FD",
	PostcopyAdvise: "POSTCOPY_ADVISE", PostcopyListen: "POSTCOPY_LISTEN", PostcopyEnd: "POSTCOPY_END",
	IOTLBMessage: "IOTLB_MSG", GetConfig: "GET_CONFIG", SetConfig: "SET_CONFIG",
	GetInflightFD: "GET_INFLIGHT_FD", SetInflightFD: "SET_INFLIGHT_FD", ResetDevice: "RESET_DEVICE",
	GetMaxMemSlots: "GET_MAX_MEM_SLOTS", AddMemReg: "ADD_MEM_REG", RemMemReg: "REM_MEM_REG",
	SetStatus: "SET_STATUS", GetStatus: "GET_STATUS",
}

// String is the message's name in the specification.
func (r Request) String() string {
	if s, ok := requestNames[r]; ok {
		return s
	}
	return fmt.Sprintf("message %d", uint32(r))
}

// ParseRequest is the message with the given name.
func ParseRequest(name string) (Request, bool) {
	for r, s := range requestNames {
		if s == name {
			return r, true
		}
	}
	return 0, false
}

// ConfigChange is the one message that a back end sends on its own, over the
// channel of SET_BACKEND_REQ_FD: read the configuration space again.
const ConfigChange Request = 2

// Flags of a message's header.
const (
	Version       uint32 = 1 // protocol version, in the bits of versionMask
	versionMask   uint32 = 3
	FlagReply     uint32 = 1 << 2
	FlagNeedReply uint32 = 1 << 3
)

const (
	// HeaderSize is the length of a message's header in bytes.
	HeaderSize = 12
	// MaxPayload bounds what a message may carry. The longest known is a
	// configuration space of 256 bytes with its header; more leaves room for
	// messages to come, which are skipped.
	MaxPayload = 4096
	// MaxFDs is the most descriptors that a message carries: one for each
	// region of a memory table.
	MaxFDs = 8
)

// Message is one message in either direction.
type Message struct {
	Request Request
	Flags   uint32
	Payload []byte // the owner of the connection reuses it for the next message
	FDs     []int  // of a reply: descriptors to send with it
}

// NeedReply tells whether the sender wants to hear how it went.
func (m *Message) NeedReply() bool { return m.Flags&FlagNeedReply != 0 }

// AppendTo appends the message's bytes to b.
func (m *Message) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Request))
	b = binary.LittleEndian.AppendUint32(b, m.Flags)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Payload)))
	return append(b, m.Payload...)
}

// ParseHeader reads the header of a message, and gives how long the payload is that follows.
func ParseHeader(h *[HeaderSize]byte) (m Message, size int, err error) {
	size, err = parseHeader(h, &m)
	return m, size, err
}

// parseHeader reads a header, and gives how long the payload is that follows.
func parseHeader(h *[HeaderSize]byte, m *Message) (int, error) {
	m.Request = Request(binary.LittleEndian.Uint32(h[0:]))
	m.Flags = binary.LittleEndian.Uint32(h[4:])
	size := binary.LittleEndian.Uint32(h[8:])
	if m.Flags&versionMask != Version {
		return 0, protocolErrorf("%v: version %d, want %d", m.Request, m.Flags&versionMask, Version)
	}
	if size > MaxPayload {
		return 0, protocolErrorf("%v: payload of %d bytes, at most %d are taken", m.Request, size, MaxPayload)
	}
	return int(size), nil
}
