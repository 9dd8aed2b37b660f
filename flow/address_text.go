package flow

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// ip4 is an IPv4 address to print.
func ip4(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
}

// ip6 is an IPv6 address to print.
func ip6(hi, lo uint64) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return netip.AddrFrom16(b)
}

// appendIP6 appends an IPv6 address as inet_ntop(3) writes it: one that is IPv4's in the last 32 bits
// ends as IPv4 addresses do.
func appendIP6(b []byte, v Value) []byte {
	if v.Hi == 0 && v.Lo <= 0xffffffff && v.Lo > 0xffff {
		return ip4(uint32(v.Lo)).AppendTo(append(b, ':', ':'))
	}
	return ip6(v.Hi, v.Lo).AppendTo(b)
}

func parseIP4(s string) (Value, bool) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is4() {
		return Value{}, false
	}
	b := a.As4()
	return Value{Lo: uint64(binary.BigEndian.Uint32(b[:]))}, true
}

func parseIP6(s string) (Value, bool) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return Value{}, false
	}
	b := a.As16()
	return Value{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}, true
}

// parseMAC reads six pairs of hexadecimal digits; a pair may be one digit.
func parseMAC(s string) (Value, bool) {
	var v uint64
	for i := range 6 {
		part, rest, more := strings.Cut(s, ":")
		if more != (i < 5) || part == "" || len(part) > 2 {
			return Value{}, false
		}
		for j := range len(part) {
			d := digitOf(part[j])
			if d > 15 {
				return Value{}, false
			}
			if j == 0 {
				v <<= 4 * 2
				v |= d
			} else {
				v = v&^0xff | v&0xff<<4 | d
			}
		}
		s = rest
	}
	return Value{Lo: v}, true
}

func appendMAC(b []byte, v uint64) []byte {
	for i := 40; i >= 0; i -= 8 {
		b = append(b, "0123456789abcdef"[v>>i>>4&15], "0123456789abcdef"[v>>i&15])
		if i > 0 {
			b = append(b, ':')
		}
	}
	return b
}
