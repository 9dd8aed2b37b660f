package ofp

import (
	"fmt"
	"strconv"

	"github.com/gvswitch/gvswitch/flow"
)

// outPort reads a port that an action may send to.
func outPort(text, what string, n Names) (uint32, error) {
	port, ok := flow.ParsePort(text, n)
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
	if v, ok := flow.ParseDecimal(text); ok {
		if v > 255 {
			return 0, fmt.Errorf("%s: table %s is out of range: tables are 0 to %d", what, text, MaxTables-1)
		}
		return uint8(v), nil
	}
	if n != nil && text != "" {
		if name, err := flow.Unquote(text); err == nil {
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
			return flow.AppendName(b, name)
		}
	}
	return strconv.AppendUint(b, uint64(t), 10)
}
