package ofp

import (
	"fmt"
	"strconv"
)

// reserved are the ports with names of their own.
var reserved = [...]struct {
	name string // as it is printed
	low  string
	port uint32
}{
	{"IN_PORT", "in_port", PortInPort},
	{"TABLE", "table", PortTable},
	{"NORMAL", "normal", PortNormal},
	{"FLOOD", "flood", PortFlood},
	{"ALL", "all", PortAll},
	{"CONTROLLER", "controller", PortController},
	{"LOCAL", "local", PortLocal},
	{"ANY", "any", PortNone},
	{"NONE", "none", PortNone},
}

// ParsePort reads a port: a number (those of OpenFlow 1.1 and later for reserved ports, 0xffffff00
// and above, stand for the short ones), a reserved name in any case, or a name that n knows, which may be
// quoted. ok is false if it is none of these.
func ParsePort(text string, n Names) (port uint32, ok bool) {
	if text != "" && '0' <= text[0] && text[0] <= '9' {
		if v, ok := decimal(text); ok {
			switch {
			case v <= 0xffff:
				return uint32(v), true
			case v >= 0xffffff00 && v <= 0xffffffff:
				return uint32(v) & 0xffff, true
			}
			return 0, false
		}
	}
	low := lower(text)
	for i := range reserved {
		if reserved[i].low == low {
			return reserved[i].port, true
		}
	}
	if n == nil || text == "" {
		return 0, false
	}
	if name, err := unquote(text); err == nil {
		return n.PortNumber(name)
	}
	return 0, false
}

// decimal reads all of text as a decimal number.
func decimal(text string) (uint64, bool) {
	var v uint64
	for i := 0; i < len(text); i++ {
		c := text[i] - '0'
		if c > 9 || v > 1<<40 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	return v, text != ""
}

func unquote(text string) (string, error) {
	if text[0] != '"' {
		return text, nil
	}
	return strconv.Unquote(text)
}

// AppendPort writes a port: its reserved name, its name if n has one, or its number.
func AppendPort(b []byte, port uint32, n Names) []byte {
	if port >= PortMax {
		for i := range reserved {
			if reserved[i].port == port {
				return append(b, reserved[i].name...)
			}
		}
	}
	if n != nil {
		if name := n.PortName(port); name != "" {
			return appendName(b, name)
		}
	}
	return strconv.AppendUint(b, uint64(port), 10)
}

// appendName writes a name, quoted if it could be read as something else.
func appendName(b []byte, name string) []byte {
	plain := name != "" && !('0' <= name[0] && name[0] <= '9')
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c == '_' || c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	if plain && len(name) <= 8 {
		low := lower(name)
		for i := range reserved {
			plain = plain && reserved[i].low != low
		}
	}
	if plain {
		return append(b, name...)
	}
	return strconv.AppendQuote(b, name)
}

// outPort reads a port that an action may send to.
func outPort(text, what string, n Names) (uint32, error) {
	port, ok := ParsePort(text, n)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: there is no port %q", what, text)
	case port == PortNone || port >= PortMax && port < PortInPort:
		return 0, fmt.Errorf("%s: port %s cannot be sent to", what, text)
	}
	return port, nil
}

// parseTable reads a table: a number from 0 to 255, or a name.
func parseTable(text, what string, n Names) (uint8, error) {
	if v, ok := decimal(text); ok {
		if v > 255 {
			return 0, fmt.Errorf("%s: table %s is out of range: tables are 0 to %d", what, text, MaxTables-1)
		}
		return uint8(v), nil
	}
	if n != nil && text != "" {
		if name, err := unquote(text); err == nil {
			if t, ok := n.TableNumber(name); ok {
				return t, nil
			}
		}
	}
	return 0, fmt.Errorf("%s: there is no table %q", what, text)
}

// AppendTable writes a table: its name if n has one, or its number.
func AppendTable(b []byte, t uint8, n Names) []byte {
	if n != nil {
		if name := n.TableName(t); name != "" {
			return appendName(b, name)
		}
	}
	return strconv.AppendUint(b, uint64(t), 10)
}
