package flow

import (
	"math"
	"strconv"
	"strings"
)

// PortNames knows the names of a bridge's ports. A nil PortNames knows none.
type PortNames interface {
	// PortNumber is the number of the port with this name.
	PortNumber(name string) (uint32, bool)
	// PortName is the name of the port with this number, "" if it is to be shown as a number.
	PortName(n uint32) string
}

// reservedPorts are the ports with names of their own, from 0xfff7 on (OpenFlow 1.0, enum ofp_port, and OpenFlow
// 1.5's UNSET). 0xffff may also be called NONE.
var reservedPorts = [...]string{"UNSET", "IN_PORT", "TABLE", "NORMAL", "FLOOD", "ALL", "CONTROLLER", "LOCAL", "ANY"}

const firstNamed = 0xffff + 1 - uint32(len(reservedPorts))

// ParsePort reads a port: a number, which is decimal whatever it begins with (those of OpenFlow 1.1 and later
// for reserved ports, 0xffffff00 and above, stand for the short ones), a reserved name in any case, or a name that
// n knows, which may be quoted. ok is false if it is none of these.
func ParsePort(text string, n PortNames) (port uint32, ok bool) {
	if v, ok := ParseDecimal(strings.TrimPrefix(text, "+")); ok {
		if v >= portReserved32 && v <= math.MaxUint32 {
			v &= 0xffff
		}
		return uint32(v), v <= 0xffff
	}
	if p := reservedPort(text); p != 0 {
		return p, true
	}
	if n == nil || text == "" {
		return 0, false
	}
	if name, err := Unquote(text); err == nil {
		return n.PortNumber(name)
	}
	return 0, false
}

// reservedPort is the number of a port with a name of its own, 0 of any other.
func reservedPort(text string) uint32 {
	if len(text) > len("CONTROLLER") {
		return 0
	}
	for i, name := range reservedPorts {
		if strings.EqualFold(name, text) {
			return firstNamed + uint32(i)
		}
	}
	if strings.EqualFold(text, "none") {
		return 0xffff
	}
	return 0
}

// Unquote is what stands in the quotes of text, which it need not have.
func Unquote(text string) (string, error) {
	if text == "" || text[0] != '"' {
		return text, nil
	}
	return strconv.Unquote(text)
}

// AppendPort writes a port: its reserved name, its name if n has one, or its number.
func AppendPort(b []byte, port uint32, n PortNames) []byte {
	if port >= firstNamed && port <= 0xffff {
		return append(b, reservedPorts[port-firstNamed]...)
	}
	if n != nil {
		if name := n.PortName(port); name != "" {
			return AppendName(b, name)
		}
	}
	return appendDec(b, uint64(port))
}

// AppendName writes the name of a port or table, in quotes if it could be read as something else.
func AppendName(b []byte, name string) []byte {
	plain := name != "" && !('0' <= name[0] && name[0] <= '9') && reservedPort(name) == 0
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c == '_' || c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	if plain {
		return append(b, name...)
	}
	return strconv.AppendQuote(b, name)
}
