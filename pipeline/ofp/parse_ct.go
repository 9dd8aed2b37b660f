package ofp

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
)

// ct reads connection tracking's arguments and puts them into the order in which they are printed.
func (p *parser) ct(text string) (Action, error) {
	var commit, force bool
	var table, zone, nat, exec, alg string
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			break
		}
		text = rest
		var err error
		switch key {
		case "commit":
			commit = true
		case "force":
			force = true
		case "table":
			table, err = p.ctTable(value)
		case "zone":
			zone, err = ctZone(value)
		case "alg":
			if value != "ftp" && value != "tftp" {
				err = fmt.Errorf("alg: %q is neither ftp nor tftp", value)
			}
			alg = "alg=" + value
		case "nat":
			nat, err = ctNAT(value)
		case "exec":
			exec, err = p.ctExec(value)
		default:
			err = fmt.Errorf("there is no argument %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if force && !commit {
		return nil, errors.New("force needs commit")
	}
	if !commit && (exec != "" || strings.HasPrefix(nat, "nat(")) {
		return nil, errors.New("exec, and nat with src or dst, need commit")
	}
	var b strings.Builder
	for _, part := range [...]string{word(commit, "commit"), word(force, "force"), table, zone, nat, exec, alg} {
		if part != "" && b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(part)
	}
	return CT{b.String()}, nil
}

func word(is bool, s string) string {
	if is {
		return s
	}
	return ""
}

func (p *parser) ctTable(value string) (string, error) {
	t, err := parseTable(value, "table", p.names)
	if err == nil && t == TableAll {
		err = fmt.Errorf("table: 255 is out of range: tables are 0 to %d", MaxTables-1)
	}
	return "table=" + strconv.Itoa(int(t)), err
}

// ctZone reads a number or a subfield of 16 bits; "" for zone 0, which is not printed.
func ctZone(value string) (string, error) {
	if v, ok := parseUint(value); ok {
		if v > 0xffff {
			return "", fmt.Errorf("zone: %s is not in 0 to 65535", value)
		}
		if v == 0 {
			return "", nil
		}
		return "zone=" + strconv.FormatUint(v, 10), nil
	}
	s, err := ParseSubfield(value)
	if err == nil && s.Bits != 16 {
		err = fmt.Errorf("%s has %d bits, and must have 16", value, s.Bits)
	}
	if err != nil {
		return "", fmt.Errorf("zone: %w", err)
	}
	return string(AppendSubfield([]byte("zone="), s)), nil
}

// ctExec reads the actions of exec, which may only set ct_mark and ct_label.
func (p *parser) ctExec(value string) (string, error) {
	in, err := p.nested(value, "ct")
	if err != nil || len(in) == 0 {
		return "", err
	}
	return string(AppendActions([]byte("exec("), in, nil)) + ")", nil
}

// ctNAT reads nat's arguments: "src=RANGE" or "dst=RANGE", and flags.
func ctNAT(text string) (string, error) {
	var dir, ranged string
	var persistent, hash, random bool
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			break
		}
		text = rest
		switch key {
		case "src", "dst":
			if dir != "" && dir != key {
				return "", errors.New("nat: src and dst exclude each other")
			}
			var err error
			if dir = key; value != "" {
				if ranged, err = natRange(value); err != nil {
					return "", fmt.Errorf("nat: %w", err)
				}
			}
		case "persistent":
			persistent = true
		case "hash":
			hash = true
		case "random":
			random = true
		default:
			return "", fmt.Errorf("nat: there is no argument %q", key)
		}
	}
	flags := persistent || hash || random
	switch {
	case hash && random:
		return "", errors.New("nat: hash and random exclude each other")
	case dir == "" && flags:
		return "", errors.New("nat: persistent, hash and random need src or dst")
	case dir == "":
		return "nat", nil
	case ranged == "":
		if flags {
			return "", errors.New("nat: persistent, hash and random need a range of addresses")
		}
		return "nat(" + dir + ")", nil
	}
	out := "nat(" + dir + "=" + ranged
	if persistent {
		out += ",persistent"
	}
	if hash {
		out += ",hash"
	}
	if random {
		out += ",random"
	}
	return out + ")", nil
}

// natRange reads "ADDR[-ADDR][:PORT[-PORT]]"; an IPv6 address before a port stands in brackets.
func natRange(text string) (string, error) {
	bad := fmt.Errorf("%q is not a range of addresses", text)
	addrs, ports := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && (strings.Count(text, ":") == 1 || strings.HasSuffix(text[:i], "]")) {
		addrs, ports = text[:i], text[i+1:]
		if ports == "" {
			return "", bad
		}
	}
	first, last, two := strings.Cut(addrs, "-")
	a, err := netip.ParseAddr(strings.Trim(first, "[]"))
	if err != nil || a.Zone() != "" {
		return "", bad
	}
	b := a
	if two {
		if b, err = netip.ParseAddr(strings.Trim(last, "[]")); err != nil || b.Is4() != a.Is4() || b.Less(a) || b.Zone() != "" {
			return "", bad
		}
	}
	show := func(x netip.Addr) string {
		if x.Is6() && ports != "" {
			return "[" + x.String() + "]"
		}
		return x.String()
	}
	out := show(a)
	if b != a {
		out += "-" + show(b)
	}
	if ports == "" {
		return out, nil
	}
	low, high, two := strings.Cut(ports, "-")
	l, ok := flow.ParseDecimal(low)
	h := l
	if two {
		var ok2 bool
		h, ok2 = flow.ParseDecimal(high)
		ok = ok && ok2
	}
	if !ok || l == 0 || h < l || h > 0xffff {
		return "", fmt.Errorf("%q is not a range of ports", ports)
	}
	out += ":" + strconv.FormatUint(l, 10)
	if h != l {
		out += "-" + strconv.FormatUint(h, 10)
	}
	return out, nil
}

// sample reads sample's arguments and puts them into the form in which they are printed.
func (p *parser) sample(text string) (Action, error) {
	var prob, set, domain, point uint32
	port, dir := PortNone, ""
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			break
		}
		text = rest
		var err error
		switch key {
		case "probability":
			var v uint16
			v, err = parse16(value, key)
			prob = uint32(v)
		case "collector_set_id":
			set, err = parse32(value, key)
		case "obs_domain_id":
			domain, err = parse32(value, key)
		case "obs_point_id":
			point, err = parse32(value, key)
		case "sampling_port":
			if port, ok = flow.ParsePort(value, p.names); !ok {
				err = fmt.Errorf("sampling_port: there is no port %q", value)
			}
		case "ingress", "egress":
			dir = "," + key
		default:
			err = fmt.Errorf("there is no argument %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if prob == 0 {
		return nil, errors.New("probability must be given, and not be 0")
	}
	b := fmt.Appendf(nil, "probability=%d,collector_set_id=%d,obs_domain_id=%d,obs_point_id=%d", prob, set, domain, point)
	if port != PortNone {
		b = flow.AppendPort(append(b, ",sampling_port="...), port, nil)
	}
	return Sample{string(b) + dir}, nil
}
