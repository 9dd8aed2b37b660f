package flow

import (
	"fmt"
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

// parsePort reads a port number of 16 bits, by number or name.
func parsePort(text string, n PortNames) (uint32, error) {
	if text == "" {
		return 0, errNoValue
	}
	if '0' <= text[0] && text[0] <= '9' {
		v, big, ok := parseValue(text)
		switch {
		case !ok:
			return 0, errNotNumber
		case !big && v.Hi == 0 && v.Lo <= 0xffff:
			return uint32(v.Lo), nil
		case !big && v.Hi == 0 && v.Lo >= portReserved32 && v.Lo <= 0xffffffff:
			return uint32(v.Lo & 0xffff), nil
		}
		return 0, fmt.Errorf("out of range, at most 65535, or 0xffffff00 to 0xffffffff")
	}
	for i, name := range reservedPorts {
		if strings.EqualFold(name, text) {
			return firstNamed + uint32(i), nil
		}
	}
	if strings.EqualFold(text, "none") {
		return 0xffff, nil
	}
	if text[0] == '"' {
		s, err := strconv.Unquote(text)
		if err != nil {
			return 0, fmt.Errorf("the quotes are not closed")
		}
		text = s
	}
	if n != nil {
		if p, ok := n.PortNumber(text); ok {
			return p, nil
		}
	}
	return 0, fmt.Errorf("there is no such port")
}

// appendPort appends a port: its reserved name, its name if n has one, or its number.
func appendPort(b []byte, port uint32, n PortNames) []byte {
	if port >= firstNamed && port <= 0xffff {
		return append(b, reservedPorts[port-firstNamed]...)
	}
	if n != nil {
		if name := n.PortName(port); name != "" {
			return appendName(b, name)
		}
	}
	return appendDec(b, uint64(port))
}

// appendName appends a name, in quotes if it could be read as something else.
func appendName(b []byte, name string) []byte {
	plain := digitOf(name[0]) > 9 && !strings.EqualFold(name, "none")
	for _, c := range []byte(name) {
		plain = plain && (c == '_' || c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z')
	}
	for _, r := range reservedPorts {
		plain = plain && !strings.EqualFold(r, name)
	}
	if plain {
		return append(b, name...)
	}
	return strconv.AppendQuote(b, name)
}
