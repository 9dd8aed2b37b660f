package gen

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/packet"
)

// view is where in a received frame the headers and the payload are. A switch may have changed the tags.
type view struct {
	l3, l4 int
	at     int // where the payload is
	data   int // its length, as the headers say
	ether  uint16
	v6     bool
	tcp    bool
	found  bool // all headers are there
}

// locate finds the payload and reports whether it has room for a mark, which is in the head then.
func (v *view) locate(p *packet.Packet) bool {
	b := p.Head()
	at := 12
	for {
		if at+2 > len(b) {
			return false
		}
		v.ether = binary.BigEndian.Uint16(b[at:])
		if v.ether != etherVLAN && v.ether != etherQinQ {
			break
		}
		at += vlanTag
	}
	v.l3 = at + 2
	end := 0
	proto := byte(0)
	switch v.ether {
	case etherIPv4:
		if len(b) < v.l3+ipv4Header {
			return false
		}
		v.l4 = v.l3 + int(b[v.l3]&15)*4
		end, proto = v.l3+int(binary.BigEndian.Uint16(b[v.l3+2:])), b[v.l3+9]
	case etherIPv6:
		if len(b) < v.l3+ipv6Header {
			return false
		}
		v.v6, v.l4 = true, v.l3+ipv6Header
		end, proto = v.l4+int(binary.BigEndian.Uint16(b[v.l3+4:])), b[v.l3+6]
	default:
		return false
	}
	switch proto {
	case protoUDP:
		v.at = v.l4 + udpHeader
	case protoTCP:
		v.tcp = true
		if len(b) < v.l4+tcpHeader {
			return false
		}
		v.at = v.l4 + int(b[v.l4+12]>>4)*4
	default:
		return false
	}
	v.data = end - v.at
	v.found = len(b) >= v.at
	return v.found && v.data >= markLen(v.tcp) && p.Pull(v.at+markLen(v.tcp))
}

func (v *view) payload(p *packet.Packet) []byte { return p.Head()[v.at:] }

// seq is where the sequence number is.
func (v *view) seq(p *packet.Packet) []byte {
	if v.tcp {
		return p.Head()[v.l4+tcpSeq:]
	}
	return p.Head()[v.at+markSeq:]
}

func (v *view) ports(p *packet.Packet) (src, dst uint16) {
	b := p.Head()[v.l4:]
	return binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
}

// whole reports whether the frame is as long as its IP header says, or padded.
func (v *view) whole(p *packet.Packet) bool { return v.at+v.data <= int(p.Len) }

// sums reports whether the checksums are right, given that the payload is. A partial one must have the pseudo header's sum.
func (v *view) sums(p *packet.Packet, pat *pattern, front int, seq uint32) bool {
	b := p.Head()
	pseudo := uint64(protocol(v.tcp)) + uint64(v.data+v.at-v.l4)
	if v.v6 {
		if b[v.l3]>>4 != 6 {
			return false
		}
		pseudo += words(b[v.l3+8 : v.l3+ipv6Header])
	} else {
		if b[v.l3]>>4 != 4 || fold64(words(b[v.l3:v.l4])) != 0xffff {
			return false
		}
		pseudo += words(b[v.l3+12 : v.l3+ipv4Header])
	}
	field := v.l4 + udpSum
	if v.tcp {
		field = v.l4 + tcpSum
	}
	have := binary.BigEndian.Uint16(b[field:])
	if p.Flags&packet.CsumPartial != 0 {
		return int(p.CsumStart) == v.l4 && int(p.CsumOffset) == field-v.l4 && uint64(have) == fold64(pseudo)
	}
	if have == 0 && !v.tcp && !v.v6 {
		return true
	}
	mark := markLen(v.tcp)
	sum := pseudo + words(b[v.l4:v.at+mark]) + uint64(pat.total(v.data-mark, front, seq))
	return fold64(sum) == 0xffff
}

// words is the sum of the 16-bit words of b, whose length is even, not folded: for headers, which are short.
func words(b []byte) (s uint64) {
	for len(b) >= 8 {
		x := binary.BigEndian.Uint64(b)
		s += x>>32 + x&0xffffffff
		b = b[8:]
	}
	if len(b) >= 4 {
		s += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		s += uint64(binary.BigEndian.Uint16(b))
	}
	return s
}

// fold64 is fold for what words adds up.
func fold64(s uint64) uint64 {
	s = s>>32 + s&0xffffffff
	s = s>>16 + s&0xffff
	s = s>>16 + s&0xffff
	return s>>16 + s&0xffff
}

func protocol(tcp bool) uint32 {
	if tcp {
		return protoTCP
	}
	return protoUDP
}
