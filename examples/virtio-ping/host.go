package main

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"
)

// host is as much of IPv4 as a ping needs: ARP (RFC 826) and ICMP echo (RFC 792).
type host struct {
	mac    [6]byte
	ip     [4]byte
	target [4]byte
	peer   [6]byte // target's address, once it is known
	known  bool
	number uint16
	asked  time.Time
	open   bool // the last frame of ask has no answer yet
}

const (
	etherARP  = 0x0806
	etherIPv4 = 0x0800

	arpLen  = 42
	icmpOff = 34 // behind Ethernet and an IPv4 header without options
	pingLen = icmpOff + 8 + 32

	identifier = 0x6776
)

var (
	be        = binary.BigEndian
	broadcast = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

// answer is the reply to a frame, nil if it is not for us or asks for none.
func (h *host) answer(f []byte) []byte {
	switch {
	case len(f) >= arpLen && be.Uint16(f[12:]) == etherARP && bytes.Equal(f[38:42], h.ip[:]) && be.Uint16(f[20:]) == 1:
		return h.arp(2, [6]byte(f[22:28]), [6]byte(f[22:28]), [4]byte(f[28:32]))
	case h.icmp(f, 8):
		r := append([]byte(nil), f...)
		copy(r, f[6:12])
		copy(r[6:], h.mac[:])
		copy(r[26:], f[30:34])
		copy(r[30:], f[26:30])
		r[icmpOff] = 0
		be.PutUint16(r[icmpOff+2:], 0)
		end := icmpOff - 20 + int(be.Uint16(r[16:]))
		be.PutUint16(r[icmpOff+2:], checksum(r[icmpOff:end]))
		return r
	}
	return nil
}

// icmp tells whether a frame is an ICMP message of a type to us.
func (h *host) icmp(f []byte, kind byte) bool {
	if len(f) < icmpOff+8 || be.Uint16(f[12:]) != etherIPv4 || f[14] != 0x45 || f[23] != 1 || !bytes.Equal(f[30:34], h.ip[:]) {
		return false
	}
	total := int(be.Uint16(f[16:]))
	return f[icmpOff] == kind && total >= 28 && 14+total <= len(f)
}

// ask is the next frame towards the target: who has its address, or an echo request.
func (h *host) ask(now time.Time) []byte {
	h.open = true
	if !h.known {
		return h.arp(1, broadcast, [6]byte{}, h.target)
	}
	f := make([]byte, pingLen)
	copy(f, h.peer[:])
	copy(f[6:], h.mac[:])
	be.PutUint16(f[12:], etherIPv4)
	f[14], f[22], f[23] = 0x45, 64, 1
	be.PutUint16(f[16:], pingLen-14)
	copy(f[26:], h.ip[:])
	copy(f[30:], h.target[:])
	be.PutUint16(f[24:], checksum(f[14:34]))
	h.number++
	h.asked = now
	f[icmpOff] = 8
	be.PutUint16(f[icmpOff+4:], identifier)
	be.PutUint16(f[icmpOff+6:], h.number)
	be.PutUint16(f[icmpOff+2:], checksum(f[icmpOff:]))
	return f
}

// answered looks whether a frame is what ask waits for: the address, or the answer to
// the last request, and then how long it took.
func (h *host) answered(f []byte, now time.Time) (rtt time.Duration, ok bool) {
	if len(f) >= arpLen && be.Uint16(f[12:]) == etherARP && be.Uint16(f[20:]) == 2 && bytes.Equal(f[28:32], h.target[:]) {
		h.peer, h.known, h.open = [6]byte(f[22:28]), true, false
		return 0, false
	}
	if !h.icmp(f, 0) || be.Uint16(f[icmpOff+4:]) != identifier || be.Uint16(f[icmpOff+6:]) != h.number {
		return 0, false
	}
	h.open = false
	return now.Sub(h.asked), true
}

// unanswered is what did not come in answer to the last frame of ask, "" if it did.
func (h *host) unanswered() string {
	switch {
	case !h.open:
		return ""
	case !h.known:
		return "no answer: nobody has the address"
	default:
		return "no answer to ping " + strconv.Itoa(int(h.number))
	}
}

// arp makes an ARP packet from us.
func (h *host) arp(op uint16, dst, mac [6]byte, ip [4]byte) []byte {
	f := make([]byte, arpLen)
	copy(f, dst[:])
	copy(f[6:], h.mac[:])
	copy(f[12:], "\x08\x06\x00\x01\x08\x00\x06\x04")
	be.PutUint16(f[20:], op)
	copy(f[22:], h.mac[:])
	copy(f[28:], h.ip[:])
	copy(f[32:], mac[:])
	copy(f[38:], ip[:])
	return f
}

// checksum is the Internet checksum (RFC 1071).
func checksum(b []byte) uint16 {
	s := uint32(0)
	for ; len(b) > 1; b = b[2:] {
		s += uint32(be.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}
