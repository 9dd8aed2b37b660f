package gen

import (
	"encoding/binary"
)

// makeTemplate writes the first bytes of all frames of t: what Fill does not write is as it stays.
func (s *Stream) makeTemplate(t *Traffic) {
	b := s.template[:]
	copy(b, t.DstMAC)
	copy(b[6:], t.SrcMAC)
	at := 12
	for _, tag := range t.Tags {
		binary.BigEndian.PutUint16(b[at:], tag.TPID)
		at += vlanTag
	}
	ip, l4 := b[s.l3:], b[s.l4:]
	src, dst := t.Src.AsSlice(), t.Dst.AsSlice()
	if t.V6 {
		binary.BigEndian.PutUint16(b[at:], etherIPv6)
		ip[0], ip[6], ip[7] = 0x60, byte(t.proto()), 64
		copy(ip[8:], src)
		copy(ip[24:], dst)
	} else {
		binary.BigEndian.PutUint16(b[at:], etherIPv4)
		ip[0], ip[6], ip[8], ip[9] = 0x45, 0x40, 64, byte(t.proto()) // do not fragment
		// The table of flows has the protocol in the sum of the addresses.
		s.ipSum = sum(ip[:ipv4Header]) - t.proto()
		copy(ip[12:], src)
		copy(ip[16:], dst)
	}
	if t.TCP {
		l4[12], l4[13] = tcpHeader/4<<4, 0x10 // ACK
		binary.BigEndian.PutUint16(l4[14:], 65535)
		s.l4Sum = sum(l4[:tcpHeader])
	}
	copy(b[s.front():], s.pattern.bytes)
}

// learnFrame is a frame that lets a switch know where flow n's sender is.
func (t *Traffic) learnFrame(n int) []byte {
	b := make([]byte, learnSize)
	copy(b, t.DstMAC)
	copy(b[6:], t.SrcMAC)
	f := t.flow(n)
	binary.BigEndian.PutUint32(b[2:], f.dmac)
	binary.BigEndian.PutUint32(b[8:], f.smac)
	at := 12
	for i, tag := range t.Tags {
		binary.BigEndian.PutUint16(b[at:], tag.TPID)
		binary.BigEndian.PutUint16(b[at+2:], f.tci[i])
		at += vlanTag
	}
	binary.BigEndian.PutUint16(b[at:], etherLearn)
	return b
}

// learnSize is that of the shortest Ethernet frame without CRC.
const learnSize = 60

// places is how many flows' learnFrames tell of all addresses in all VLANs.
func (t *Traffic) places() int {
	n := t.MACs
	for _, tag := range t.Tags {
		n = lcm(n, max(tag.VIDs, 1))
	}
	return min(n, t.Flows)
}

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
