package netdevtest

import (
	"encoding/binary"
)

// EtherTest is an EtherType for local experiments (IEEE 802); nothing else sends it.
const EtherTest = 0x88b5

// Frame makes a frame of n bytes to dst (the last byte of its address) with
// these VLAN tags (TPID and TCI each) and counted bytes as payload.
func Frame(n int, dst byte, tags ...uint32) []byte {
	b := []byte{2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, 0xaa}
	for _, t := range tags {
		b = binary.BigEndian.AppendUint32(b, t)
	}
	b = binary.BigEndian.AppendUint16(b, EtherTest)
	for i := len(b); i < n; i++ {
		b = append(b, byte(i))
	}
	return b[:n]
}

// TCP4 makes a TCP segment over IPv4 of n bytes in all, its TCP checksum partial
// (only the pseudo-header's sum), as senders with offloads do.
func TCP4(n int) []byte {
	b := Frame(14, 2)
	binary.BigEndian.PutUint16(b[12:], 0x0800)
	ip := []byte{0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2}
	binary.BigEndian.PutUint16(ip[2:], uint16(n-14))
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip)))
	b = append(b, ip...)
	tcp := []byte{0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0}
	pseudo := sum(ip[12:20]) + 6 + uint32(n-34)
	binary.BigEndian.PutUint16(tcp[16:], fold(pseudo))
	b = append(b, tcp...)
	for i := len(b); i < n; i++ {
		b = append(b, byte(i))
	}
	return b
}

func sum(b []byte) (s uint32) {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// TCPChecksumOK reports whether the IPv4/TCP frame's TCP checksum is right and
// finished.
func TCPChecksumOK(frame []byte) bool {
	ip := frame[14:]
	seg := frame[34 : 14+int(binary.BigEndian.Uint16(ip[2:]))]
	return fold(sum(ip[12:20])+6+uint32(len(seg))+sum(seg)) == 0xffff
}
