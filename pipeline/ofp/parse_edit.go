package ofp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
)

// edit reads the actions that change the packet or its metadata; nil if name is none of them.
func (p *parser) edit(name, value string) (Action, error) {
	switch name {
	case "set_field":
		return p.setField(value)
	case "load":
		return load(value)
	case "move":
		return move(value)
	case "push", "pop":
		sub, err := ParseSubfield(value)
		if name == "pop" {
			return StackPop{sub}, err
		}
		return StackPush{sub}, err
	case "mod_vlan_vid", "set_vlan_vid":
		v, err := parseMax(value, "VLAN id", hdr.VIDMask)
		return SetVLANVID{VID: uint16(v), Only: name[0] == 's'}, err
	case "mod_vlan_pcp", "set_vlan_pcp":
		v, err := parseMax(value, "VLAN priority", 7)
		return SetVLANPCP{PCP: uint8(v), Only: name[0] == 's'}, err
	case "strip_vlan", "pop_vlan":
		return PopVLAN{Strip: name[0] == 's'}, nil
	case "push_vlan":
		t, err := parse16(value, "EtherType")
		if err == nil && !hdr.IsVLAN(t) {
			err = fmt.Errorf("EtherType %s is not a VLAN tag's: 0x8100 or 0x88a8", value)
		}
		return PushVLAN{t}, err
	case "push_mpls":
		t, err := parse16(value, "EtherType")
		if err == nil && t != hdr.TypeMPLS && t != hdr.TypeMPLSMC {
			err = fmt.Errorf("EtherType %s is not that of MPLS: 0x8847 or 0x8848", value)
		}
		return PushMPLS{t}, err
	case "pop_mpls":
		t, err := parse16(value, "EtherType")
		return PopMPLS{t}, err
	case "set_mpls_ttl":
		v, err := parse8(value, "TTL")
		return SetMPLSTTL{v}, err
	case "dec_mpls_ttl":
		return DecMPLSTTL{}, nil
	case "dec_ttl":
		return decTTL(value)
	case "set_tunnel", "set_tunnel64":
		id, err := parse64(value, "tunnel id")
		return SetTunnel{ID: id, Long: name == "set_tunnel64" || id > 0xffffffff}, err
	case "set_queue":
		id, err := parse32(value, "queue")
		return SetQueue{id}, err
	case "pop_queue":
		return PopQueue{}, nil
	}
	return p.mod(name, value)
}

// mods are the actions that set one field, by the name of an action.
var mods = [...]struct {
	name, field string
	limit       uint64 // of the number; 0: it is an address
	low         uint64 // bits that must be 0
}{
	{"mod_dl_src", "eth_src", 0, 0},
	{"mod_dl_dst", "eth_dst", 0, 0},
	{"mod_nw_src", "nw_src", 0, 0},
	{"mod_nw_dst", "nw_dst", 0, 0},
	{"mod_nw_tos", "nw_tos", 0xff, 3},
	{"mod_nw_ecn", "nw_ecn", 3, 0},
	{"mod_nw_ttl", "nw_ttl", 0xff, 0},
	{"set_nw_ttl", "nw_ttl", 0xff, 0},
	{"mod_tp_src", "tcp_src", 0xffff, 0},
	{"mod_tp_dst", "tcp_dst", 0xffff, 0},
	{"set_mpls_label", "mpls_label", 0xfffff, 0},
	{"set_mpls_tc", "mpls_tc", 7, 0},
}

// mod reads mod_dl_src and its like.
func (p *parser) mod(name, value string) (Action, error) {
	for i := range mods {
		m := &mods[i]
		if m.name != name {
			continue
		}
		field := m.field
		if field[:3] == "tcp" {
			switch p.l4 {
			case hdr.ProtoUDP:
				field = "udp" + field[3:]
			case hdr.ProtoSCTP:
				field = "sctp" + field[3:]
			}
		}
		f := flow.FieldByName(field)
		a := SetField{Field: f, Mask: f.All(), Form: FormMod}
		if m.limit == 0 {
			v, mask, err := f.Parse(value, p.names)
			if err == nil && mask != a.Mask {
				err = fmt.Errorf("%s: an address is set without a mask", value)
			}
			a.Value = v
			return a, err
		}
		v, err := parseMax(value, f.Name, m.limit)
		if err == nil && v&m.low != 0 {
			err = fmt.Errorf("%s: %s: the last two bits, which are ECN, must be 0", f.Name, value)
		}
		a.Value.Lo = v
		return a, err
	}
	return nil, nil
}

// arrow divides "a->b".
func arrow(text string) (from, to string, err error) {
	from, to, ok := strings.Cut(text, "->")
	switch {
	case !ok:
		return "", "", fmt.Errorf("%q: \"->\" is missing", text)
	case to == "":
		return "", "", fmt.Errorf("%q: there is no field behind \"->\"", text)
	}
	return from, to, nil
}

// setField reads "VALUE[/MASK]->FIELD".
func (p *parser) setField(text string) (Action, error) {
	value, name, err := arrow(text)
	if err != nil {
		return nil, err
	}
	f := flow.FieldByName(name)
	if f == nil {
		return nil, fmt.Errorf("there is no field %q", name)
	}
	if !f.Writable() {
		return nil, fmt.Errorf("field %s is read-only", name)
	}
	v, mask, err := f.Parse(value, p.names)
	if err != nil {
		return nil, err
	}
	if n, ok := parseUint(value); ok && f.Name == "nw_tos" && n&3 != 0 {
		return nil, fmt.Errorf("nw_tos: %s: the last two bits, which are ECN, must be 0", value)
	}
	return SetField{Field: f, Value: v.And(mask), Mask: mask}, nil
}

// load reads "NUMBER->SUBFIELD".
func load(text string) (Action, error) {
	value, to, err := arrow(text)
	if err != nil {
		return nil, err
	}
	dst, err := ParseSubfield(to)
	if err != nil {
		return nil, err
	}
	v, ok := parseWide(value)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", value)
	}
	if !fits(v, dst.Bits) {
		return nil, fmt.Errorf("%s does not fit into %d bits", value, dst.Bits)
	}
	return SetField{Field: dst.Field, Value: v.Lsh(uint(dst.Ofs)), Mask: dst.mask(), Form: FormLoad}, nil
}

// move reads "SUBFIELD->SUBFIELD".
func move(text string) (Action, error) {
	src, dst, err := subfields(text)
	return Move{src, dst}, err
}

func subfields(text string) (src, dst Subfield, err error) {
	src, rest, err := takeSubfield(text)
	if err != nil {
		return src, dst, err
	}
	if !strings.HasPrefix(rest, "->") {
		return src, dst, fmt.Errorf("%q: \"->\" is missing behind the source", text)
	}
	if dst, err = ParseSubfield(rest[2:]); err != nil {
		return src, dst, err
	}
	if src.Bits != dst.Bits {
		return src, dst, fmt.Errorf("%s: the source has %d bits and the destination %d", text, src.Bits, dst.Bits)
	}
	return src, dst, nil
}

// decTTL reads nothing or a list of controllers' ids.
func decTTL(text string) (Action, error) {
	var d DecTTL
	if text == "" {
		return d, nil
	}
	for {
		word, rest := nextWord(text, ", ")
		if word == "" {
			break
		}
		text = rest
		id, err := parse16(word, "controller id")
		if err != nil {
			return nil, err
		}
		d.IDs = append(d.IDs, id)
	}
	if d.IDs == nil {
		return nil, errors.New("the list of controller ids is empty")
	}
	return d, nil
}
