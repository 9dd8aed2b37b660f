package flow

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/internal/hdr"
)

// Parse reads a flow in the form of ovs-ofctl (in_port=1,tcp,nw_src=10.0.0.1) or
// of ovs-dpctl (in_port(1),eth_type(0x0800),ipv4(src=10.0.0.1)); both may be
// mixed. Every value is exact: there are no masks. What is not named is zero. An
// error names the field, its value and what is wrong.
func Parse(text string) (Key, error) {
	s, err := parse(text)
	return s.key, err
}

// spec is a flow's text, understood.
type spec struct {
	key     Key
	payload []byte // behind all headers
	seen    map[string]bool
	tags    int // encap() passed so far: the next vlan() is this one
	labels  int // mpls() seen
}

func parse(text string) (*spec, error) {
	s := &spec{seen: map[string]bool{}}
	if err := s.items(text); err != nil {
		return s, fmt.Errorf("flow: %w", err)
	}
	s.infer()
	return s, nil
}

// items reads a comma-separated list of name(arguments), name=value and names.
func (s *spec) items(text string) error {
	for rest := strings.TrimSpace(text); rest != ""; {
		n := strings.IndexAny(rest, "(=, \t\n")
		if n < 0 {
			n = len(rest)
		}
		name := rest[:n]
		rest = rest[n:]
		var err error
		switch {
		case rest != "" && rest[0] == '(':
			end := closing(rest)
			if end < 0 {
				return fmt.Errorf("%s(: no closing parenthesis", name)
			}
			err = s.group(name, rest[1:end])
			rest = rest[end+1:]
		case rest != "" && rest[0] == '=':
			end := strings.IndexAny(rest, ", \t\n")
			if end < 0 {
				end = len(rest)
			}
			err = s.field(name+rest[:end], nil, name, rest[1:end])
			rest = rest[end:]
		case name != "":
			err = s.word(name)
		}
		if err != nil {
			return err
		}
		trimmed := strings.TrimLeft(rest, ", \t\n")
		if trimmed == rest && rest != "" {
			return fmt.Errorf("%s: %.20q follows where a comma belongs", name, rest)
		}
		rest = trimmed
	}
	return nil
}

// closing is the index of the parenthesis that closes the one s begins with, or
// -1.
func closing(s string) int {
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// group reads name(args): a list of key=value, or one value, or a nested flow.
func (s *spec) group(name, args string) error {
	switch name {
	case "encap":
		s.tags++
		if s.tags > 2 {
			return fmt.Errorf("encap(): nested more than twice")
		}
		return s.items(args)
	case "mpls":
		s.labels++
		if s.labels > maxLabels {
			return fmt.Errorf("mpls(): more than %d labels", maxLabels)
		}
	}
	g := groups[name]
	if g == nil {
		if strings.Contains(args, "=") {
			return fmt.Errorf("%s(%s): no such field", name, args)
		}
		return s.field(name+"("+args+")", nil, name, args)
	}
	s.seen[name] = true
	if name == "vlan" {
		s.vlanPresent()
	}
	for arg := range strings.SplitSeq(args, ",") {
		arg = strings.TrimSpace(arg)
		if arg == "" {
			continue
		}
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%s(%s): no value", name, arg)
		}
		if err := s.field(name+"("+arg+")", g, key, value); err != nil {
			return err
		}
	}
	return nil
}

// word reads a name of ovs-ofctl that stands for EtherType and protocol.
func (s *spec) word(name string) error {
	w, ok := words[name]
	if !ok {
		return fmt.Errorf("%s: no such field or protocol", name)
	}
	s.key.SetEthType(w.ethType)
	s.seen["eth_type"] = true
	if w.proto != 0 {
		s.key.SetIPProto(w.proto)
		s.seen["nw_proto"] = true
	}
	return nil
}

// words are the names for protocols.
var words = map[string]struct {
	ethType uint16
	proto   uint8
}{
	"ip": {hdr.TypeIPv4, 0}, "tcp": {hdr.TypeIPv4, hdr.ProtoTCP}, "udp": {hdr.TypeIPv4, hdr.ProtoUDP},
	"sctp": {hdr.TypeIPv4, hdr.ProtoSCTP}, "icmp": {hdr.TypeIPv4, hdr.ProtoICMP}, "igmp": {hdr.TypeIPv4, hdr.ProtoIGMP},
	"ipv4": {hdr.TypeIPv4, 0}, "ip4": {hdr.TypeIPv4, 0}, "ip6": {hdr.TypeIPv6, 0},
	"ipv6": {hdr.TypeIPv6, 0}, "tcp6": {hdr.TypeIPv6, hdr.ProtoTCP}, "udp6": {hdr.TypeIPv6, hdr.ProtoUDP},
	"sctp6": {hdr.TypeIPv6, hdr.ProtoSCTP}, "icmp6": {hdr.TypeIPv6, hdr.ProtoICMPv6},
	"arp": {hdr.TypeARP, 0}, "rarp": {hdr.TypeRARP, 0},
	"mpls": {hdr.TypeMPLS, 0}, "mplsm": {hdr.TypeMPLSMC, 0},
}

// tpidDefault is the TPID of a tag of which only other parts are named.
const tpidDefault = hdr.TypeVLAN

// infer fills in EtherType and protocol where the text names only the headers, and
// a time to live where it names none.
func (s *spec) infer() {
	k := &s.key
	if !s.seen["eth_type"] {
		switch {
		case s.seen["ipv4"]:
			k.SetEthType(hdr.TypeIPv4)
		case s.seen["ipv6"]:
			k.SetEthType(hdr.TypeIPv6)
		case s.seen["arp"]:
			k.SetEthType(hdr.TypeARP)
		case s.seen["mpls"]:
			k.SetEthType(hdr.TypeMPLS)
		default:
			k.SetEthType(TypeNone)
		}
	}
	if !s.seen["nw_proto"] {
		for name, proto := range map[string]uint8{
			"tcp": hdr.ProtoTCP, "udp": hdr.ProtoUDP, "sctp": hdr.ProtoSCTP,
			"icmp": hdr.ProtoICMP, "igmp": hdr.ProtoIGMP, "icmpv6": hdr.ProtoICMPv6,
		} {
			if s.seen[name] {
				k.SetIPProto(proto)
			}
		}
	}
	if c := k.kind(); (c.ip4 || c.ip6) && !s.seen["nw_ttl"] {
		k.SetTTL(64)
	}
}

// vlanPresent makes sure that the tag which is being read exists.
func (s *spec) vlanPresent() {
	k := &s.key
	t := k.EthType()
	if !hdr.IsVLAN(t) {
		t = hdr.TypeVLAN
	}
	if s.tags == 0 {
		_, tci := k.VLAN()
		k.SetVLAN(t, tci)
	} else {
		_, tci := k.InnerVLAN()
		k.SetInnerVLAN(t, tci)
	}
	// The type that stood there was the tag's; encap() brings the next.
	k.SetEthType(0)
	delete(s.seen, "eth_type")
}

// payloadHex reads the bytes behind the headers.
func (s *spec) payloadHex(v string) error {
	b, err := hex.DecodeString(v)
	if err != nil {
		return fmt.Errorf("not bytes in hex")
	}
	s.payload = b
	return nil
}
