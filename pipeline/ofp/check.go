package ofp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
)

// Check tells what is wrong with the flow, if anything: actions whose fields the match does not promise,
// fields that are read-only, goto_table backwards. ParseFlow has done it.
func (f *Flow) Check() error {
	c := checker{m: f.Match, table: f.Table}
	switch {
	case f.Flags&ResetCounts != 0:
		c.strict = "reset_counts"
	case f.Flags&NoPktCounts != 0:
		c.strict = "no_packet_counts"
	case f.Flags&NoByteCounts != 0:
		c.strict = "no_byte_counts"
	}
	if err := c.list(f.Actions); err != nil {
		return err
	}
	if c.lax != "" && c.strict != "" {
		return fmt.Errorf("action %s: the match must say %s when there is %s", c.lax, c.lacks, c.strict)
	}
	return nil
}

// CheckActions checks actions of a group's bucket, for which no match can promise anything: a
// field of a packet may be set there without a prerequisite, and is left alone where it is not.
func CheckActions(list []Action) error {
	c := checker{free: true, table: TableAll}
	return c.list(list)
}

// checker goes through actions with the match as the actions so far have changed it.
type checker struct {
	m     flow.Match
	table uint8
	free  bool // there is no match
	// OpenFlow 1.0 lets an action that does not apply to a packet do nothing; 1.1 and later refuse it, and
	// have some actions that 1.0 has not. Open vSwitch refuses only what neither version can say.
	lax, lacks, strict string
}

func (c *checker) list(list []Action) error {
	for _, a := range list {
		if err := c.action(a); err != nil {
			return fmt.Errorf("action %s: %w", AppendActions(nil, []Action{a}, nil), err)
		}
	}
	return nil
}

// nested checks a list whose changes do not reach beyond it.
func (c *checker) nested(list []Action) error {
	saved := c.m
	err := c.list(list)
	c.m = saved
	return err
}

// want notes that the action, called name, does nothing to packets that are not what is wanted.
func (c *checker) want(ok bool, name, wanted string) {
	if !ok && c.lax == "" {
		c.lax, c.lacks = name, wanted
	}
}

func (c *checker) action(a Action) error {
	switch a := a.(type) {
	case SetField:
		return c.setField(a)
	case Move:
		if err := c.src(a.Src); err != nil {
			return err
		}
		return c.dst(a.Dst)
	case OutputReg:
		return c.src(a.Src)
	case StackPush:
		return c.src(a.Sub)
	case StackPop:
		return c.dst(a.Sub)
	case Multipath:
		return c.dst(a.Dst)
	case Bundle:
		if a.Dst.Field != nil {
			return c.dst(a.Dst)
		}
	case CheckPktLarger:
		return c.dst(a.Dst)
	case Learn:
		return c.learn(&a)
	case GotoTable:
		switch {
		case a.Table == TableAll:
			return fmt.Errorf("table 255 is out of range: tables are 0 to %d", MaxTables-1)
		case c.table != TableAll && a.Table <= c.table:
			return fmt.Errorf("the flow is in table %d, and it can go to later tables only", c.table)
		}
	case Resubmit:
		if a.CT {
			return c.ctValid()
		}
	case CT:
		return c.ct(a.Text)
	case Clone:
		return c.nested(a.Actions)
	case WriteActions:
		lax, lacks, strict := c.lax, c.lacks, c.strict
		err := c.nested(a.Actions)
		c.lax, c.lacks, c.strict = lax, lacks, strict
		return err
	case Meter:
		c.strict = "meter"
	default:
		return c.tag(a)
	}
	return nil
}

// tag checks the actions on VLAN tags, MPLS and TTLs, which change what later ones can rely on.
func (c *checker) tag(a Action) error {
	w := &c.m.Key[flow.WordVLAN]
	tagged := *w&flow.TagPresent != 0
	switch a := a.(type) {
	case SetVLANVID:
		c.want(tagged || !a.Only, "set_vlan_vid", "that there is a VLAN tag")
		c.addTag()
	case SetVLANPCP:
		c.want(tagged || !a.Only, "set_vlan_pcp", "that there is a VLAN tag")
		c.addTag()
	case PopVLAN:
		c.want(tagged, "pop_vlan", "that there is a VLAN tag")
		*w <<= 32
		c.m.Mask[flow.WordVLAN] <<= 32
	case PushVLAN:
		c.strict = "push_vlan"
		if *w&(1<<31) != 0 {
			return errors.New("there are two tags already")
		}
		*w >>= 32
		c.m.Mask[flow.WordVLAN] >>= 32
		c.addTag()
	case PushMPLS:
		c.setType(a.EthType)
		c.m.Key[flow.WordIP] &^= 0xff << 56
	case PopMPLS:
		c.want(c.mpls(), "pop_mpls", "mpls or mplsm")
		c.setType(a.EthType)
	case SetMPLSTTL:
		c.want(c.mpls(), "set_mpls_ttl", "mpls or mplsm")
	case DecMPLSTTL:
		c.want(c.mpls(), "dec_mpls_ttl", "mpls or mplsm")
	case DecTTL:
		c.want(c.ip(), "dec_ttl", "ip or ipv6")
	case FinTimeout:
		c.want(c.m.Key.IPProto() == hdr.ProtoTCP, "fin_timeout", "tcp")
	}
	return nil
}

func (c *checker) addTag() {
	c.m.Key[flow.WordVLAN] |= flow.TagPresent
	c.m.Mask[flow.WordVLAN] |= flow.TagPresent
}

func (c *checker) setType(t uint16) {
	c.m.Key[flow.WordSrc] = c.m.Key[flow.WordSrc]&^0xffff | uint64(t)
	c.m.Mask[flow.WordSrc] |= 0xffff
}

func (c *checker) mpls() bool {
	t := c.m.Key.EthType()
	return t == hdr.TypeMPLS || t == hdr.TypeMPLSMC
}

func (c *checker) ip() bool {
	t := c.m.Key.EthType()
	return t == hdr.TypeIPv4 || t == hdr.TypeIPv6
}

// setField checks set_field, load and mod_....
func (c *checker) setField(a SetField) error {
	f := a.Field
	if !f.Writable() {
		return fmt.Errorf("field %s is read-only", f.Name)
	}
	if a.Form == FormMod {
		c.want(c.missing(f) == "", "mod_"+f.Name, c.missing(f))
		return nil
	}
	if lacks := c.missing(f); lacks != "" {
		return fmt.Errorf("field %s: the match must say %s", f.Name, lacks)
	}
	tagged := c.m.Key[flow.WordVLAN]&flow.TagPresent != 0
	switch f.Name {
	case "vlan_vid":
		if !tagged && !c.free {
			return errors.New("field vlan_vid: the match must say that there is a VLAN tag, or push_vlan stand before")
		}
	case "vlan_tci":
		if a.Value.Lo&0x1000 != 0 {
			c.addTag()
		} else {
			c.m.Key[flow.WordVLAN] &^= flow.TagPresent
		}
	}
	return nil
}

// missing is what f needs and the match does not say; "" if there is nothing.
func (c *checker) missing(f *flow.Field) string {
	if c.free {
		return ""
	}
	return f.Missing(&c.m)
}

func (c *checker) src(s Subfield) error {
	if lacks := c.missing(s.Field); lacks != "" {
		return fmt.Errorf("field %s: the match must say %s", s.Field.Name, lacks)
	}
	return nil
}

func (c *checker) dst(s Subfield) error {
	if !s.Field.Writable() {
		return fmt.Errorf("field %s is read-only", s.Field.Name)
	}
	return c.src(s)
}

// learn checks what is copied against the match, and the flow to be learned in itself.
func (c *checker) learn(l *Learn) error {
	to := checker{table: TableAll}
	for i := range l.Specs {
		s := &l.Specs[i]
		if s.Src.Field != nil {
			if err := c.src(s.Src); err != nil {
				return err
			}
		}
		var err error
		switch s.Kind {
		case LearnMatch:
			if err = to.src(s.Dst); err == nil && s.Src.Field == nil {
				to.m.Put(s.Dst.Field, s.Value.Lsh(uint(s.Dst.Ofs)), s.Dst.mask())
			}
		case LearnLoad:
			err = to.dst(s.Dst)
		}
		if err != nil {
			return fmt.Errorf("in the learned flow: %w", err)
		}
	}
	return nil
}

// ctValid checks that the match asks for a valid connection.
func (c *checker) ctValid() error {
	m := c.m
	m.Key[flow.WordSrc] = m.Key[flow.WordSrc]&^0xffff | hdr.TypeIPv4
	m.Mask[flow.WordSrc] |= 0xffff
	if !c.free && ctProto.Missing(&m) != "" {
		return errors.New("ct: the match must say ct_state=+trk and that of a valid connection")
	}
	return nil
}

var ctProto = flow.FieldByName("ct_nw_proto")

// ct checks the arguments of ct against the match.
func (c *checker) ct(text string) error {
	if c.free {
		return nil
	}
	if !c.ip() {
		return errors.New("the match must say ip or ipv6")
	}
	p := c.m.Key.IPProto()
	switch {
	case strings.HasSuffix(text, "alg=ftp") && p != hdr.ProtoTCP:
		return errors.New("alg=ftp: the match must say tcp")
	case strings.HasSuffix(text, "alg=tftp") && p != hdr.ProtoUDP:
		return errors.New("alg=tftp: the match must say udp")
	}
	_, nat, ok := strings.Cut(text, "nat(")
	if !ok {
		return nil
	}
	nat, _, _ = strings.Cut(nat, ")")
	_, addr, ok := strings.Cut(nat, "=")
	v6 := strings.Count(addr, ":") > 1
	if ok && v6 != (c.m.Key.EthType() == hdr.TypeIPv6) {
		return fmt.Errorf("nat: the match must say %s", pick(v6, "ipv6", "ip"))
	}
	return nil
}
