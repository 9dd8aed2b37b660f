package gen

import (
	"encoding/binary"
	"net"
)

// flow is what differs between the frames of one flow and of another, as it stands in the headers: numbers of network order. A table of them
// lies in the order in which they are sent.
type flow struct {
	number           uint32
	dmac, smac       uint32 // last 4 bytes
	tci              [2]uint16
	src, dst         uint32 // last 4 bytes
	srcPort, dstPort uint16
	addrs            uint32 // sum of both addresses and the protocol
}

// flows makes the table of those flows whose number is queue modulo queues.
func (t *Traffic) flows(queue, queues int) []flow {
	var list []flow
	for n := queue; n < t.Flows; n += queues {
		list = append(list, t.flow(n))
	}
	if !t.Sequential {
		shuffle(list)
	}
	return list
}

// flow makes the one with number n.
func (t *Traffic) flow(n int) flow {
	f := flow{number: uint32(n)}
	f.dmac, f.smac = macTail(t.DstMAC, n%t.MACs), macTail(t.SrcMAC, n%t.MACs)
	for i, tag := range t.Tags {
		f.tci[i] = uint16(tag.PCP)<<13 | tag.VID + uint16(n%max(tag.VIDs, 1))
	}
	src, dst := t.Src.AsSlice(), t.Dst.AsSlice()
	f.src, f.dst = count(src, n, t.Vary&VarySrc), count(dst, n, t.Vary&VaryDst)
	f.addrs = fold(sum(src) + sum(dst) + t.proto())
	f.srcPort, f.dstPort = t.SrcPort, t.DstPort
	if t.Vary&VarySrcPort != 0 {
		f.srcPort += uint16(n % ports(t.SrcPort))
	}
	if t.Vary&VaryDstPort != 0 {
		f.dstPort += uint16(n % ports(t.DstPort))
	}
	return f
}

func (t *Traffic) proto() uint32 {
	if t.TCP {
		return protoTCP
	}
	return protoUDP
}

// macTail is the last 4 bytes of the address that lies n behind a, of which the last 3 count.
func macTail(a net.HardwareAddr, n int) uint32 {
	v := binary.BigEndian.Uint32(a[2:])
	return v&0xff000000 | (v+uint32(n))&0xffffff
}

// count adds n to the last 3 bytes of the address a if that field varies, and returns its last 4 bytes.
func count(a []byte, n int, vary Vary) uint32 {
	last := a[len(a)-4:]
	v := binary.BigEndian.Uint32(last)
	if vary != 0 {
		v = v&0xff000000 | (v+uint32(n))&0xffffff
		binary.BigEndian.PutUint32(last, v)
	}
	return v
}

// sum adds the 16-bit words of b, whose length is even.
func sum(b []byte) (s uint32) {
	for i := 0; i < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return s
}

// fold brings a sum down to 16 bits by ones' complement arithmetic.
func fold(s uint32) uint32 {
	s = s>>16 + s&0xffff
	return s>>16 + s&0xffff
}
