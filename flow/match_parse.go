package flow

import (
	"errors"
	"fmt"
	"strings"
)

// wordClaims is a word that no key uses. While a match is being read, its mask has there which
// prerequisites the fields read so far ask for, a bit each, until Check.
const wordClaims = Words - 1

// Parse makes m the match that text says, as ovs-ofctl reads it: tcp,in_port=1,nw_src=10.0.0.0/8. An
// error names the field, its value and what is wrong.
func (m *Match) Parse(text string, n PortNames) error {
	*m = Match{}
	whole := text
	for {
		name, value, has, rest := nextItem(text)
		if name == "" && !has {
			break
		}
		if err := m.Add(name, value, has, n); err != nil {
			return err
		}
		text = rest
	}
	return m.Check(whole)
}

// nextItem cuts the first item off a list of name, name=value, name:value and name(value).
func nextItem(text string) (name, value string, has bool, rest string) {
	text = strings.TrimLeft(text, ", \t\r\n")
	i := strings.IndexAny(text, ":=(, \t\r\n")
	if i < 0 {
		return text, "", false, ""
	}
	name, rest = text[:i], text[i:]
	switch rest[0] {
	case '(':
		if end := closing(rest); end > 0 {
			return name, rest[1:end], true, rest[end+1:]
		}
		return name, rest, true, ""
	case ':', '=':
		rest = rest[1:]
		depth, end := 0, 0
		for ; end < len(rest); end++ {
			c := rest[end]
			if c == '(' {
				depth++
			}
			if c == ')' {
				depth--
			}
			if depth <= 0 && strings.IndexByte(", \t\r\n", c) >= 0 {
				break
			}
		}
		return name, rest[:end], true, rest[end:]
	}
	return name, "", false, rest
}

// Add adds one item of a match's text: a field with a value, or a word like tcp that has none. What
// contradicts what m already asks is an error. Check must follow, after all items.
func (m *Match) Add(name, value string, has bool, n PortNames) error {
	var add Match
	err := add.item(name, value, has, n)
	switch {
	case err != nil && has:
		return fmt.Errorf("%s=%s: %w", name, value, err)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	claims := m.Mask[wordClaims] | add.Mask[wordClaims]
	m.Mask[wordClaims], add.Mask[wordClaims] = 0, 0
	for i := range m.Key {
		if (m.Key[i]^add.Key[i])&m.Mask[i]&add.Mask[i] != 0 {
			if has {
				name += "=" + value
			}
			return fmt.Errorf("%s: contradicts what stands before it: %s", name, m)
		}
	}
	for i := range m.Key {
		m.Key[i] |= add.Key[i]
		m.Mask[i] |= add.Mask[i]
	}
	m.Mask[wordClaims] = claims
	return nil
}

// item makes m, which is empty, what one item asks.
func (m *Match) item(name, value string, has bool, n PortNames) error {
	if w, ok := words[name]; ok {
		if has {
			return errors.New("it takes no value")
		}
		m.Put(fieldEthType, Value{Lo: uint64(w.ethType)}, fieldEthType.full)
		if w.proto != 0 {
			m.Put(fieldProto, Value{Lo: uint64(w.proto)}, fieldProto.full)
		}
		return nil
	}
	f := FieldByName(name)
	switch {
	case name == "eth" && !has, name == "packet_type" && value == "(0,0)", name == "packet_type" && value == "0,0":
		return nil // every packet is
	case name == "packet_type":
		return errors.New("only Ethernet packets, (0,0), are known")
	case f == nil:
		return errors.New("there is no such field")
	case !has:
		return errNoValue
	}
	if f.Name == "dl_vlan" {
		if v, big, ok := ParseNumber(value); ok && !big && v == (Value{0, 0xffff}) {
			m.Put(fieldTCI, Value{}, fieldTCI.full)
			return nil
		}
	}
	v, mask, err := f.parse(value, n)
	if err != nil || mask.IsZero() {
		return err
	}
	m.Put(f, v, mask)
	m.Mask[wordClaims] = 1 << f.claim(name)
	return nil
}

// claim is the prerequisite of f in a match when it is called name: the old names stand for a
// field in several protocols.
func (f *Field) claim(name string) need {
	switch name {
	case "nw_src", "nw_dst":
		return needNW
	case "nw_proto", "ip_proto":
		return needProto
	case "tp_src", "tp_dst":
		return needTP
	case "icmp_type", "icmp_code":
		return needICMPs
	}
	return f.need
}

// Check tells whether each field in m has its prerequisites, after all of it has been added. An error names
// the field and what it lacks; text is what m was read from, which calls the field by the name that was typed.
func (m *Match) Check(text string) error {
	claims := m.Mask[wordClaims]
	m.Mask[wordClaims] = 0
	for n := needNothing + 1; n < needs; n++ {
		if claims>>n&1 == 0 || !n.missing(m) {
			continue
		}
		for _, f := range needy {
			if f.mask(&m.Mask).IsZero() {
				continue
			}
			if n == f.need || n == f.claim(f.Name) || n == f.claim(shortNames[f.Name]) {
				return m.lacks(f, n, text)
			}
		}
	}
	m.narrowICMP()
	return m.checkBits(text)
}

// narrowICMP makes what tp_src and tp_dst ask, 16 bits, what icmp_type and icmp_code do: the bits before
// those are never there.
func (m *Match) narrowICMP() {
	const before = 0xff00<<48 | 0xff00<<32
	c := m.Key.kind()
	if (c.icmp || c.icmpv6) && m.Key[WordTP]&before == 0 {
		m.Mask[WordTP] &^= before
	}
}

// checkBits tells whether every bit of m is one of a field that has its prerequisites.
func (m *Match) checkBits(text string) error {
	var have Key
	var missing [needs]bool
	for n := range needs {
		missing[n] = n.missing(m)
	}
	for _, f := range needy {
		if !missing[f.need] {
			f.Set(&have, f.All())
		}
	}
	for _, f := range needy {
		if f.need == needVLAN {
			continue // vlan_tci has the same bits and needs nothing
		}
		for _, s := range f.slots[:f.n] {
			if m.Mask[s.word]&(s.mask<<s.shift)&^have[s.word] != 0 {
				return m.lacks(f, f.need, text)
			}
		}
	}
	return nil
}

// lacks is the error for f, which lacks n.
func (m *Match) lacks(f *Field, n need, text string) error {
	for rest := text; ; {
		var name, value string
		var has bool
		if name, value, has, rest = nextItem(rest); name == "" && !has {
			break
		}
		plain, _, _ := strings.Cut(name, "[")
		if g := FieldByName(plain); g != nil && (g == f || g.claim(plain) == n) {
			return fmt.Errorf("%s=%s: needs %s", name, value, needNames[n])
		}
	}
	v, mask := m.Get(f)
	return fmt.Errorf("%s=%s: needs %s", f.shown(), f.append(nil, v, mask, nil, true), needNames[n])
}

// shown is the name by which ovs-ofctl shows f in matches.
func (f *Field) shown() string {
	if s, ok := shortNames[f.Name]; ok {
		return s
	}
	return f.Name
}

// shortNames are those of fields which matches show under another name than the first.
var shortNames = map[string]string{
	"eth_src": "dl_src", "eth_dst": "dl_dst", "eth_type": "dl_type", "in_port_oxm": "in_port", "ip_frag": "nw_frag",
	"tcp_src": "tp_src", "tcp_dst": "tp_dst", "udp_src": "tp_src", "udp_dst": "tp_dst", "sctp_src": "tp_src", "sctp_dst": "tp_dst",
	"icmpv6_type": "icmp_type", "icmpv6_code": "icmp_code",
}
