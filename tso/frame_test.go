package tso

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The frames and the checker here share no code with the package under test.

// onesum adds the 16-bit words of b to s.
func onesum(s uint32, b []byte) uint32 {
	for i := 0; i < len(b); i += 2 {
		w := uint32(b[i]) << 8
		if i+1 < len(b) {
			w |= uint32(b[i+1])
		}
		s += w
		s = s&0xffff + s>>16
	}
	return s
}

// spec says what a test frame is made of.
type spec struct {
	tags    int // VLAN tags
	v6      bool
	udp     bool
	ipopts  int // bytes of IPv4 options
	ext     int // IPv6 extension headers: hop-by-hop, then destination options
	tcpopts int
	flags   byte
	seq     uint32
	id      uint16
	payload []byte
}

// build makes the frame with a right IP header checksum and with the pseudo
// header's sum in the L4 checksum, and gives where the L4 header begins.
func (c *spec) build() (frame []byte, l4 int) {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	for i := range c.tags {
		tpid := uint16(0x8100)
		if i == 0 && c.tags > 1 {
			tpid = 0x88a8
		}
		b = binary.BigEndian.AppendUint16(b, tpid)
		b = binary.BigEndian.AppendUint16(b, uint16(0x6000|100+i))
	}
	proto, hlen := byte(6), 20+c.tcpopts
	if c.udp {
		proto, hlen = 17, 8
	}
	n := hlen + len(c.payload)
	var pseudo uint32
	if !c.v6 {
		b = append(b, 0x08, 0)
		l3 := len(b)
		b = append(b, byte(0x40|(20+c.ipopts)/4), 3)
		b = binary.BigEndian.AppendUint16(b, uint16(20+c.ipopts+n))
		b = binary.BigEndian.AppendUint16(b, c.id)
		b = append(b, 0x40, 0, 64, proto, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2)
		for range c.ipopts {
			b = append(b, 1) // NOP
		}
		sum := ^onesum(0, b[l3:])
		b[l3+10], b[l3+11] = byte(sum>>8), byte(sum)
		pseudo = onesum(0, b[l3+12:l3+20])
	} else {
		b = append(b, 0x86, 0xdd, 0x60, 0x31, 0x23, 0x45)
		b = binary.BigEndian.AppendUint16(b, uint16(c.ext*8+n))
		chain := []byte{0, 60, proto}[2-c.ext:]
		b = append(b, chain[0], 63)
		addrs := []byte{0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16}
		b = append(b, addrs...)
		for _, next := range chain[1:] {
			b = append(b, next, 0, 1, 4, 0, 0, 0, 0) // PadN
		}
		pseudo = onesum(0, addrs)
	}
	pseudo = onesum(pseudo, []byte{0, proto, byte(n >> 8), byte(n)})
	l4 = len(b)
	b = append(b, 0x0f, 0xa0, 0, 0x35)
	if c.udp {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
		b = append(b, byte(pseudo>>8), byte(pseudo))
	} else {
		b = binary.BigEndian.AppendUint32(b, c.seq)
		b = append(b, 0, 0, 0, 9, byte(hlen/4)<<4, c.flags, 2, 0, byte(pseudo>>8), byte(pseudo), 0, 0)
		for range c.tcpopts {
			b = append(b, 1)
		}
	}
	return append(b, c.payload...), l4
}

// tcp4 is a plain TCP frame with n bytes of payload and the given options.
func tcp4(n int, opts []byte) []byte {
	c := spec{payload: pattern(n), tcpopts: len(opts), flags: 0x18, seq: 1000, id: 7}
	b, _ := c.build()
	return b
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// parsed is what the checker reads out of a whole frame.
type parsed struct {
	l2      []byte // addresses, tags, EtherType
	l3      []byte // IP header with options or extension headers
	l4      []byte // TCP or UDP header
	payload []byte
}

// parse reads a frame strictly: every length must be right to the byte.
func parse(b []byte) (f parsed, proto byte, err error) {
	i := 12
	for binary.BigEndian.Uint16(b[i:]) == 0x8100 || binary.BigEndian.Uint16(b[i:]) == 0x88a8 {
		i += 4
	}
	t := binary.BigEndian.Uint16(b[i:])
	i += 2
	f.l2 = b[:i]
	ip := b[i:]
	var n int
	switch t {
	case 0x0800:
		n = int(ip[0]&15) * 4
		if total := int(binary.BigEndian.Uint16(ip[2:])); total != len(ip) {
			return f, 0, fmt.Errorf("IP total length %d, frame has %d", total, len(ip))
		}
		if s := onesum(0, ip[:n]); s != 0xffff {
			return f, 0, fmt.Errorf("IP header sums to %#x", s)
		}
		proto = ip[9]
	case 0x86dd:
		if plen := int(binary.BigEndian.Uint16(ip[4:])); plen != len(ip)-40 {
			return f, 0, fmt.Errorf("IPv6 payload length %d, frame has %d", plen, len(ip)-40)
		}
		n, proto = 40, ip[6]
		for proto == 0 || proto == 60 || proto == 43 || proto == 51 {
			k := (int(ip[n+1]) + 1) * 8
			if proto == 51 {
				k = (int(ip[n+1]) + 2) * 4
			}
			proto, n = ip[n], n+k
		}
	default:
		return f, 0, fmt.Errorf("EtherType %#x", t)
	}
	f.l3 = ip[:n]
	l4 := ip[n:]
	h := 8
	if proto == 6 {
		h = int(l4[12]>>4) * 4
	} else if ulen := int(binary.BigEndian.Uint16(l4[4:])); ulen != len(l4) {
		return f, 0, fmt.Errorf("UDP length %d, frame has %d", ulen, len(l4))
	}
	f.l4, f.payload = l4[:h], l4[h:]
	return f, proto, nil
}

// verify parses a frame and checks its L4 checksum.
func verify(b []byte) error {
	f, proto, err := parse(b)
	if err != nil {
		return err
	}
	addrs := f.l3[12:20]
	if f.l3[0]>>4 == 6 {
		addrs = f.l3[8:40]
	}
	n := len(f.l4) + len(f.payload)
	s := onesum(0, addrs)
	s = onesum(s, []byte{0, proto, byte(n >> 8), byte(n)})
	s = onesum(s, f.l4)
	s = onesum(s, f.payload)
	if s != 0xffff {
		return fmt.Errorf("L4 sums to %#x", s)
	}
	if proto == 17 && f.l4[6] == 0 && f.l4[7] == 0 {
		return errors.New("UDP checksum is 0")
	}
	return nil
}
