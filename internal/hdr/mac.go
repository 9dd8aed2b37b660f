package hdr

// MAC is an Ethernet address as a number: the first byte on the wire is bits 47
// to 40.
type MAC uint64

// Broadcast is ff:ff:ff:ff:ff:ff.
const Broadcast MAC = 1<<48 - 1

// MACOf is the address in b.
func MACOf(b *[6]byte) MAC {
	return MAC(b[0])<<40 | MAC(b[1])<<32 | MAC(b[2])<<24 | MAC(b[3])<<16 | MAC(b[4])<<8 | MAC(b[5])
}

// Multicast tells whether m is a group address, broadcast included (IEEE
// 802, the I/G bit).
func (m MAC) Multicast() bool { return m>>40&1 != 0 }

// Reserved tells whether m is 01:80:c2:00:00:00 to 0f, which a bridge does not
// forward (IEEE 802.1D, table 7-10).
func (m MAC) Reserved() bool { return m&^0xf == 0x0180c2000000 }

// Bytes is m as on the wire.
func (m MAC) Bytes() [6]byte {
	return [6]byte{byte(m >> 40), byte(m >> 32), byte(m >> 24), byte(m >> 16), byte(m >> 8), byte(m)}
}

// String is m in the usual form, as 52:54:00:12:34:56.
func (m MAC) String() string {
	const digits = "0123456789abcdef"
	var s [17]byte
	for i, b := range m.Bytes() {
		s[3*i], s[3*i+1] = digits[b>>4], digits[b&15]
		if i < 5 {
			s[3*i+2] = ':'
		}
	}
	return string(s[:])
}
