package odp

import (
	"strconv"

	"github.com/gvswitch/gvswitch/flow"
)

// Names knows the names of datapath ports. A nil Names knows none.
type Names interface {
	// PortName is a port's name, "" if there is none or numbers are to be shown.
	PortName(id uint32) string
}

// AppendActions appends the text of a list as ovs-appctl dpctl/dump-flows prints it; "drop" if it sends the
// packet nowhere. k is a key that the list is for: what a word means, IPv4 or ARP, depends on it. Patch
// is not shown: what the peer does stands in its place.
func AppendActions(b []byte, list []Action, k *flow.Key, n Names) []byte {
	p := printer{k: k, names: n, list: list}
	start := len(b)
	if b = p.list0(b, 0, len(list)); len(b) == start {
		b = append(b, "drop"...)
	}
	return b
}

// AppendMegaflow appends a megaflow's match:
// recirc_id(0),in_port(1),eth_type(0x0800),ipv4(dst=10.0.0.0/255.0.0.0,frag=no).
func AppendMegaflow(b []byte, m *flow.Match, n Names) []byte {
	p := fields{k: &m.Key, m: &m.Mask}
	b = append(b, "recirc_id("...)
	if id := m.Key.RecircID(); id != 0 {
		b = append(b, "0x"...)
		b = strconv.AppendUint(b, uint64(id), 16)
	} else {
		b = append(b, '0')
	}
	b = append(b, "),in_port("...)
	b = appendPort(b, m.Key.InPort(), n)
	b = append(b, ')')
	p.b, p.started = b, true
	p.metadata()
	p.tunnel()
	p.eth()
	tags := p.tags()
	if bits := uint64(0xffff); p.m[flow.WordSrc]&bits != 0 {
		p.header("eth_type", func() { p.add("", hex4(p.k.EthType())) })
	}
	p.network()
	p.transport()
	for range tags {
		p.b = append(p.b, ')')
	}
	return p.b
}

func appendPort(b []byte, id uint32, n Names) []byte {
	if n != nil {
		if name := n.PortName(id); name != "" {
			return append(b, name...)
		}
	}
	return strconv.AppendUint(b, uint64(id), 10)
}

// printer prints a list.
type printer struct {
	k     *flow.Key
	names Names
	list  []Action
}

// list0 prints the actions from i on that are before end. Nothing that precedes b's present end is
// looked at.
func (p *printer) list0(b []byte, i, end int) []byte {
	start := len(b)
	for i < end {
		mark := len(b)
		if mark > start {
			b = append(b, ',')
		}
		body := len(b)
		b, i = p.one(b, i, end)
		if len(b) == body {
			b = b[:mark]
		}
	}
	return b
}

// one prints action i, and those after it that belong to it, and gives the index of the next.
func (p *printer) one(b []byte, i, end int) ([]byte, int) {
	a := &p.list[i]
	num := func(name string, v uint64) { b = append(strconv.AppendUint(append(b, name...), v, 10), ')') }
	switch a.Op {
	case Output:
		b = appendPort(b, a.Port, p.names)
	case Set:
		return p.sets(b, i, end)
	case PushVLAN:
		b = append(b, "push_vlan("...)
		if tpid := a.Value >> 16; tpid != 0x8100 {
			b = append(append(append(b, "tpid="...), hex4(uint16(tpid))...), ',')
		}
		b = strconv.AppendUint(append(b, "vid="...), a.Value&0xfff, 10)
		b = strconv.AppendUint(append(b, ",pcp="...), a.Value>>13&7, 10)
		if a.Value>>12&1 != 0 {
			b = append(b, ",dei=1"...)
		}
		b = append(b, ')')
	case PopVLAN:
		b = append(b, "pop_vlan"...)
	case PushMPLS:
		b = append(b, "push_mpls("...)
		b = appendLSE(b, uint32(a.Value), ^uint32(0))
		b = append(append(append(b, ",eth_type="...), shortHex(a.Value>>32)...), ')')
	case PopMPLS:
		b = append(append(append(b, "pop_mpls(eth_type="...), shortHex(a.Value)...), ')')
	case Meter:
		num("meter(", a.Value)
	case Trunc:
		num("trunc(", a.Value)
	case CheckLen:
		return p.check(b, i, end)
	case Goto:
		return b, int(a.Jump)
	}
	return b, i + 1
}

// check prints both ways that a packet may go: the longer ones' ends in a Goto behind the other.
func (p *printer) check(b []byte, i, end int) ([]byte, int) {
	a := &p.list[i]
	le := int(a.Jump)
	after := le
	if le > i+1 && le <= len(p.list) && p.list[le-1].Op == Goto {
		after = int(p.list[le-1].Jump)
	}
	b = strconv.AppendUint(append(b, "check_pkt_len(size="...), a.Value, 10)
	b = append(b, ",gt("...)
	b = p.way(b, i+1, min(le-1, end))
	b = append(b, "),le("...)
	b = p.way(b, le, min(after, end))
	return append(b, "))"...), max(after, i+1)
}

func (p *printer) way(b []byte, i, end int) []byte {
	start := len(b)
	if b = p.list0(b, i, end); len(b) == start {
		b = append(b, "drop"...)
	}
	return b
}

// sets prints the Sets from i on that are about the same header as one.
func (p *printer) sets(b []byte, i, end int) ([]byte, int) {
	var mask flow.Key
	k := *p.k
	class := classOf(p.k, p.list[i].Word)
	for ; i < end && p.list[i].Op == Set && classOf(p.k, p.list[i].Word) == class; i++ {
		a := &p.list[i]
		k[a.Word] = k[a.Word]&^a.Mask | a.Value
		mask[a.Word] |= a.Mask
	}
	f := fields{b: append(b, "set("...), k: &k, m: &mask}
	switch class {
	case classEth:
		f.eth()
	case classNet:
		f.network()
	case classLabel:
		f.labels()
	case classMeta:
		f.metadata()
	default:
		f.transport()
	}
	return append(f.b, ')'), i
}

// class is a header that a word of a key belongs to.
type class uint8

const (
	classEth class = iota
	classNet
	classTransport
	classND
	classLabel
	classMeta
)

func classOf(k *flow.Key, word uint16) class {
	switch word {
	case flow.WordDst, flow.WordSrc:
		return classEth
	case flow.WordTP:
		return classTransport
	case flow.WordSHA, flow.WordTHA:
		if t := k.EthType(); t == typeARP || t == typeRARP {
			return classNet
		}
		return classND
	case flow.WordTarget, flow.WordTargetLo, flow.WordMPLS2:
		return classND
	case flow.WordMPLS:
		return classLabel
	case flow.WordMark, flow.WordQueue:
		return classMeta
	}
	return classNet
}
