package lacp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// EtherType is that of the slow protocols, Subtype the first byte of those that are LACP's.
const (
	EtherType = 0x8809
	Subtype   = 1
)

// Address is where LACPDUs are sent.
var Address = [6]byte{0x01, 0x80, 0xc2, 0x00, 0x00, 0x02}

// FrameLen is the length of a frame with an LACPDU, Ethernet header included, without FCS.
const FrameLen = 14 + pduLen

const pduLen = 110

// State is what a system says of itself and of its partner (IEEE 802.1AX-2020 6.4.2.3).
type State uint8

// The bits of a State.
const (
	Activity     State = 1 << iota // sends without being asked
	Timeout                        // wants to hear every second
	Aggregation                    // the link may be one of several
	Sync                           // the link belongs to the aggregate
	Collecting                     // takes what comes
	Distributing                   // sends
	Defaulted                      // knows nothing of its partner
	Expired                        // has not heard from its partner in time
)

var stateNames = [8]string{"activity", "timeout", "aggregation", "synchronized", "collecting", "distributing", "defaulted", "expired"}

// String is the names of the bits that are set, with blanks between them.
func (s State) String() string {
	text := ""
	for i, name := range stateNames {
		if s>>i&1 == 0 {
			continue
		}
		if text != "" {
			text += " "
		}
		text += name
	}
	return text
}

// Info is what one side says of a link.
type Info struct {
	SystemPriority uint16
	System         [6]byte
	Key            uint16
	PortPriority   uint16
	Port           uint16
	State          State
}

// PDU is a message: what its sender says of itself, and what it knows of the receiver.
type PDU struct {
	Actor, Partner Info
}

// Why a frame is no LACPDU.
var (
	ErrShort    = errors.New("LACPDU: shorter than 110 bytes")
	ErrSubtype  = errors.New("LACPDU: another slow protocol")
	ErrTLV      = errors.New("LACPDU: a TLV is not where the standard has it")
	errNotFrame = errors.New("LACPDU: not a frame of slow protocols")
)

// Parse reads what comes after the EtherType. A later version of the protocol is read as the first: what
// it has more comes later (IEEE 802.1AX-2020 6.4.2.3).
func Parse(b []byte) (PDU, error) {
	var p PDU
	switch {
	case len(b) == 0 || b[0] != Subtype:
		return p, ErrSubtype
	case len(b) < pduLen:
		return p, ErrShort
	case b[2] != 1 || b[3] != 20 || b[22] != 2 || b[23] != 20:
		return p, ErrTLV
	}
	p.Actor.parse(b[4:])
	p.Partner.parse(b[24:])
	return p, nil
}

// ParseFrame reads a whole frame, which may have no tag.
func ParseFrame(f []byte) (PDU, error) {
	if len(f) < 14 || binary.BigEndian.Uint16(f[12:]) != EtherType {
		return PDU{}, errNotFrame
	}
	return Parse(f[14:])
}

func (i *Info) parse(b []byte) {
	i.SystemPriority = binary.BigEndian.Uint16(b)
	copy(i.System[:], b[2:])
	i.Key = binary.BigEndian.Uint16(b[8:])
	i.PortPriority = binary.BigEndian.Uint16(b[10:])
	i.Port = binary.BigEndian.Uint16(b[12:])
	i.State = State(b[14])
}

func (i *Info) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, i.SystemPriority)
	b = append(b, i.System[:]...)
	b = binary.BigEndian.AppendUint16(b, i.Key)
	b = binary.BigEndian.AppendUint16(b, i.PortPriority)
	b = binary.BigEndian.AppendUint16(b, i.Port)
	return append(b, byte(i.State), 0, 0, 0)
}

// AppendFrame adds a whole frame from src.
func (p *PDU) AppendFrame(b []byte, src [6]byte) []byte {
	b = append(append(b, Address[:]...), src[:]...)
	b = binary.BigEndian.AppendUint16(b, EtherType)
	b = append(b, Subtype, 1, 1, 20)
	b = p.Actor.append(b)
	b = append(b, 2, 20)
	b = p.Partner.append(b)
	b = append(b, 3, 16, 0, 0) // collector information: no delay
	b = append(b, make([]byte, 12)...)
	b = append(b, 0, 0) // terminator
	return append(b, make([]byte, 50)...)
}

// String is for messages.
func (i *Info) String() string {
	return fmt.Sprintf("system %04x,%x key %d port %d,%d %v", i.SystemPriority, i.System, i.Key, i.PortPriority, i.Port, i.State)
}
