package xlate

import (
	"fmt"
	"slices"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// reference does what the documentation says, as plainly as can be: it goes through all flows one by one, copies
// the packet wherever it may be changed, and sends it on the spot. It knows nothing of
// masks, lists, or of what was committed when.
type reference struct {
	b      *testBridge
	length uint64
	out    []sent
}

// pkt is a packet as the reference sees it.
type pkt struct {
	k      flow.Key
	tags   []uint32 // outermost first
	labels []uint32
	l3     *flow.Key // what is below labels that were pushed
	stack  []flow.Value
	set    []ofp.Action
	table  uint8
}

func (p *pkt) copy() *pkt {
	q := *p
	q.tags, q.labels = slices.Clone(p.tags), slices.Clone(p.labels)
	q.stack, q.set = slices.Clone(p.stack), slices.Clone(p.set)
	return &q
}

// newPkt is a packet with key k.
func newPkt(k *flow.Key) *pkt {
	p := &pkt{k: *k, tags: tagsOf(k), labels: labelsOf(k)}
	p.k.SetInPort(k.InPort())
	p.k[flow.WordPipe] = portUnset
	return p
}

func (p *pkt) sync() {
	p.k[flow.WordVLAN] = 0
	for i, t := range p.tags {
		if i < 2 {
			p.k[flow.WordVLAN] |= uint64(t) << (32 - 32*i)
		}
	}
	for i := range 3 {
		l := uint32(0)
		if i < len(p.labels) {
			l = p.labels[i]
		}
		p.k.SetMPLS(i, l)
	}
}

func (r *reference) find(table uint8, k *flow.Key) *ofp.Flow {
	var best *ofp.Flow
	for i := range r.b.flows {
		f := &r.b.flows[i]
		if f.Table == table && f.Match.Matches(k) && (best == nil || f.Priority > best.Priority) {
			best = f
		}
	}
	return best
}

// start has a packet processed by the bridge.
func (r *reference) start(p *pkt) {
	exit := r.lookup(p, 0, p.k.InPort())
	if len(p.set) > 0 && !exit {
		r.actions(p, order1(p.set))
	}
}

func (r *reference) lookup(p *pkt, table uint8, in uint32) (exit bool) {
	k := p.k
	k.SetInPort(in)
	if k.Frag() != 0 { // ovs-ofctl(8), set-frags normal
		setBits(&k[flow.WordTP], 32, 32, 0)
	}
	f := r.find(table, &k)
	if f == nil {
		return false
	}
	was := p.table
	p.table = table
	exit = r.actions(p, f.Actions)
	p.table = was
	return exit
}

func (r *reference) send(p *pkt, of uint32) {
	port, ok := r.b.Port(of)
	if !ok || !port.Up || port.NoFwd {
		return
	}
	if port.Peer != nil {
		q := p.copy()
		q.k.SetInPort(port.PeerOF)
		for w := flow.WordReg; w <= flow.WordMeta; w++ {
			q.k[w] = 0
		}
		q.stack, q.set, q.table = nil, nil, 0
		was := r.b
		r.b = port.Peer.(*testBridge)
		r.start(q)
		r.b = was
		return
	}
	l3 := &p.k
	if p.l3 != nil {
		l3 = p.l3
	}
	r.out = append(r.out, sent{port.ID, textOf(&p.k, p.tags, p.labels, l3Text(l3))})
}

// actions does a list, and tells whether it ended in exit.
func (r *reference) actions(p *pkt, list []ofp.Action) (exit bool) {
	for _, action := range list {
		switch a := action.(type) {
		case ofp.Output:
			r.output(p, a.Port)
		case ofp.OutputReg:
			r.output(p, uint32(a.Src.Field.GetBits(&p.k, uint(a.Src.Ofs), uint(a.Src.Bits)).Lo))
		case ofp.SetField:
			f := a.Field
			if a.Form == ofp.FormMod && f.Name == "tcp_src" && p.k.IPProto() == hdr.ProtoUDP {
				f = flow.FieldByName("udp_src")
			}
			r.put(p, f, a.Value, a.Mask)
		case ofp.Move:
			if a.Src.Field.Present(&p.k) && a.Dst.Field.Present(&p.k) {
				v := a.Src.Field.GetBits(&p.k, uint(a.Src.Ofs), uint(a.Src.Bits))
				r.sub(p, a.Dst, v)
			}
		case ofp.StackPush:
			p.stack = append(p.stack, a.Sub.Field.GetBits(&p.k, uint(a.Sub.Ofs), uint(a.Sub.Bits)))
		case ofp.StackPop:
			if n := len(p.stack); n > 0 {
				r.sub(p, a.Sub, p.stack[n-1])
				p.stack = p.stack[:n-1]
			}
		case ofp.PushVLAN:
			p.tags = slices.Insert(p.tags, 0, uint32(a.TPID)<<16)
			p.sync()
		case ofp.PopVLAN:
			if len(p.tags) > 0 {
				p.tags = p.tags[1:]
				p.sync()
			}
		case ofp.SetVLANVID:
			r.tci(p, uint32(a.VID), 0xfff)
		case ofp.SetVLANPCP:
			r.tci(p, uint32(a.PCP)<<13, 0xe000)
		case ofp.PushMPLS:
			r.pushMPLS(p, a.EthType)
		case ofp.PopMPLS:
			if len(p.labels) > 0 {
				p.labels = p.labels[1:]
				if len(p.labels) == 0 && p.l3 != nil {
					for w := l3First; w <= l3Last; w++ {
						p.k[w] = p.l3[w]
					}
					p.l3 = nil
				}
				p.k.SetEthType(a.EthType)
				p.sync()
			}
		case ofp.DecTTL:
			if t := p.k.EthType(); t == hdr.TypeIPv4 || t == hdr.TypeIPv6 {
				if p.k.TTL() <= 1 {
					return false
				}
				p.k.SetTTL(p.k.TTL() - 1)
			}
		case ofp.DecMPLSTTL:
			if len(p.labels) == 0 || p.labels[0]&0xff <= 1 {
				return false
			}
			p.labels[0]--
			p.sync()
		case ofp.SetQueue:
			p.k[flow.WordQueue] = uint64(a.ID) << 32
		case ofp.PopQueue:
			p.k[flow.WordQueue] = 0
		case ofp.Enqueue:
			was := p.k[flow.WordQueue]
			p.k[flow.WordQueue] = uint64(a.Queue) << 32
			r.output(p, a.Port)
			p.k[flow.WordQueue] = was
		case ofp.Resubmit:
			in, table := a.Port, a.Table
			if in == ofp.PortInPort {
				in = p.k.InPort()
			}
			if table == ofp.TableAll {
				table = p.table
			}
			if r.lookup(p, table, in) {
				return true
			}
		case ofp.GotoTable:
			return r.lookup(p, a.Table, p.k.InPort())
		case ofp.Clone:
			r.actions(p.copy(), a.Actions)
		case ofp.Exit:
			return true
		case ofp.WriteMetadata:
			p.k[flow.WordMeta] = p.k[flow.WordMeta]&^a.Mask | a.Value
		case ofp.WriteActions:
			p.set = append(p.set, a.Actions...)
		case ofp.ClearActions:
			p.set = nil
		case ofp.Group:
			g := r.b.tables.Group(a.ID)
			for _, b := range g.Buckets {
				q := p.copy()
				r.actions(q, order1(b.Def.Actions))
			}
		case ofp.CheckPktLarger:
			v := flow.Value{}
			if r.length > uint64(a.Len) {
				v.Lo = 1
			}
			r.sub(p, a.Dst, v)
		case ofp.Note, ofp.Controller:
		default:
			panic(fmt.Sprintf("the reference does not know %T", action))
		}
	}
	return false
}

func (r *reference) output(p *pkt, port uint32) {
	in := p.k.InPort()
	switch port {
	case ofp.PortInPort:
		r.send(p, in)
	case ofp.PortFlood, ofp.PortAll:
		for _, q := range r.b.ports {
			if q.OF != in && (port == ofp.PortAll || !q.NoFlood) {
				r.send(p, q.OF)
			}
		}
	case ofp.PortNormal:
		q := p.copy()
		if len(q.tags) > 0 && q.tags[0]&0xfff == 99 {
			q.tags = q.tags[1:]
			q.sync()
		}
		to, ok := r.b.macs[q.k[flow.WordDst]]
		for _, o := range r.b.nums {
			if o != in && (!ok || to == o) {
				r.send(q, o)
			}
		}
	default:
		if port != in {
			r.send(p, port)
		}
	}
}

func (r *reference) sub(p *pkt, s ofp.Subfield, v flow.Value) {
	m := flow.Ones(uint(s.Bits)).Lsh(uint(s.Ofs))
	r.put(p, s.Field, v.Lsh(uint(s.Ofs)).And(m), m)
}

func (r *reference) put(p *pkt, f *flow.Field, v, mask flow.Value) {
	if !f.Present(&p.k) {
		return
	}
	had := p.k[flow.WordVLAN]>>63 != 0
	f.PutMasked(&p.k, v, mask)
	has := p.k[flow.WordVLAN]>>63 != 0
	top := uint32(p.k[flow.WordVLAN] >> 32)
	switch {
	case vlanWord[f.ID()] && !had && has:
		p.tags = []uint32{top}
	case vlanWord[f.ID()] && had && v.Lo&0x1000 == 0 && mask.Lo&0x1000 != 0:
		p.tags = p.tags[1:]
	case vlanWord[f.ID()] && had:
		p.tags[0] = top
	}
	if mplsWord[f.ID()] {
		p.labels[0] = p.k.MPLS(0)
	}
	p.sync()
}

func (r *reference) tci(p *pkt, v, mask uint32) {
	if len(p.tags) == 0 {
		p.tags = []uint32{0x81000000}
	}
	p.tags[0] = p.tags[0]&^mask | v
	p.sync()
}

func (r *reference) pushMPLS(p *pkt, t uint16) {
	if len(p.labels) > 0 {
		p.labels = slices.Insert(p.labels, 0, p.labels[0]&^0x100)
	} else {
		label, tc, ttl := uint32(0), uint32(0), uint32(64)
		if p.k.EthType() == hdr.TypeIPv6 {
			label = 2
		}
		if et := p.k.EthType(); et == hdr.TypeIPv4 || et == hdr.TypeIPv6 {
			tc = uint32(p.k.TOS()>>2) & 7
			if p.k.TTL() != 0 {
				ttl = uint32(p.k.TTL())
			}
		}
		p.labels = []uint32{label<<12 | tc<<9 | 0x100 | ttl}
		l3 := p.k
		p.l3 = &l3
		for w := l3First; w <= l3Last; w++ {
			p.k[w] = 0
		}
		p.k[flow.WordMPLS2] = 0
	}
	p.k.SetEthType(t)
	p.sync()
}

// order1 is a list of actions in the order of ovs-actions(7), "Action Sets": the last of each kind, all edits, and
// one of group, output and resubmit.
func order1(list []ofp.Action) (out []ofp.Action) {
	last := func(is func(ofp.Action) bool) bool {
		for _, a := range slices.Backward(list) {
			if is(a) {
				out = append(out, a)
				return true
			}
		}
		return false
	}
	last(func(a ofp.Action) bool { _, ok := a.(ofp.PopVLAN); return ok })
	last(func(a ofp.Action) bool { _, ok := a.(ofp.PopMPLS); return ok })
	last(func(a ofp.Action) bool { _, ok := a.(ofp.PushMPLS); return ok })
	last(func(a ofp.Action) bool { _, ok := a.(ofp.PushVLAN); return ok })
	last(func(a ofp.Action) bool { _, ok := a.(ofp.DecTTL); return ok })
	for _, a := range list {
		switch a.(type) {
		case ofp.SetField, ofp.Move, ofp.SetVLANVID, ofp.SetVLANPCP:
			out = append(out, a)
		}
	}
	last(func(a ofp.Action) bool { _, ok := a.(ofp.SetQueue); return ok })
	if last(func(a ofp.Action) bool { _, ok := a.(ofp.Group); return ok }) ||
		last(func(a ofp.Action) bool { _, ok := a.(ofp.Output); return ok }) ||
		last(func(a ofp.Action) bool { _, ok := a.(ofp.Resubmit); return ok }) {
		return out
	}
	return nil
}
