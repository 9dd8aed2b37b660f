package xlate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// testBridge is a bridge with a static MAC table, all ports of which are trunks.
type testBridge struct {
	name   string
	tables *rules.Tables
	ports  []Port
	nums   []uint32
	macs   map[uint64]uint32 // eth_dst, as in its word, to port
	flows  []ofp.Flow
}

func newBridge(name string, base uint32, n int) *testBridge {
	b := &testBridge{name: name, tables: rules.New(), macs: map[uint64]uint32{}}
	for i := range uint32(n) {
		b.addPort(Port{ID: base + i + 1, OF: i + 1, Name: fmt.Sprint(name, "-", i+1), Up: true})
	}
	return b
}

func (b *testBridge) addPort(p Port) {
	b.ports = append(b.ports, p)
	b.nums = append(b.nums, p.OF)
}

func (b *testBridge) Name() string          { return b.name }
func (b *testBridge) Tables() *rules.Tables { return b.tables }
func (b *testBridge) Ports() []uint32       { return b.nums }
func (b *testBridge) Mirrors() bool         { return false }
func (b *testBridge) Mirror(*Mirror) bool   { return false }

func (b *testBridge) Port(of uint32) (Port, bool) {
	for i := range b.ports {
		if b.ports[i].OF == of {
			return b.ports[i], true
		}
	}
	return Port{}, false
}

// Normal looks at the destination, and at the VLAN: tag 99 stands for an access port behind
// which frames have no tag.
func (b *testBridge) Normal(q *Normal) {
	q.Mask[flow.WordDst] |= bitsAddr
	q.Mask[flow.WordVLAN] |= flow.TagPresent | 0xfff<<32
	vlan := q.Key[flow.WordVLAN]
	if vlan>>32&0xfff == 99 {
		vlan <<= 32
	}
	if to, ok := b.macs[q.Key[flow.WordDst]]; ok {
		if to == q.InOF {
			q.Why = packet.SamePort
			return
		}
		q.Outs = append(q.Outs, NormalOut{OF: to, VLAN: vlan})
		return
	}
	for _, of := range b.nums {
		if of != q.InOF {
			q.Outs = append(q.Outs, NormalOut{OF: of, VLAN: vlan})
		}
	}
}

// add adds flows.
func (b *testBridge) add(t testing.TB, flows ...string) {
	t.Helper()
	var mods []ofp.FlowMod
	for _, f := range flows {
		m, err := ofp.ParseFlow(f, nil, ofp.Add)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		mods = append(mods, m)
		b.flows = append(b.flows, m.Flow)
	}
	if _, err := b.tables.Apply(mods, rules.Options{}); err != nil {
		t.Fatal(err)
	}
}

func (b *testBridge) group(t testing.TB, text string) {
	t.Helper()
	g, err := ofp.ParseGroup(text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if _, err := b.tables.ApplyGroup(rules.GroupAdd, &g, rules.BucketLast, 0); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// key is the key of a packet in the text that flow.Parse reads.
func key(t testing.TB, text string) flow.Key {
	t.Helper()
	k, err := flow.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return k
}

// sent is a packet that leaves by a port.
type sent struct {
	port   uint32
	packet packetText
}

// packetText is what a packet looks like, as text: comparable.
type packetText string

func textOf(k *flow.Key, tags, labels []uint32, under string) packetText {
	l2 := *k
	for i := range l2 {
		switch {
		case i == flow.WordDst, i == flow.WordSrc:
		case i == flow.WordMark:
			l2[i] &= 0xffffffff
		case i == flow.WordQueue:
		default:
			l2[i] = 0
		}
	}
	return packetText(fmt.Sprintf("%x %x %x mark=%x queue=%x tags=%x labels=%x %s", l2[flow.WordDst], l2[flow.WordSrc]>>16,
		k.EthType(), l2[flow.WordMark], l2[flow.WordQueue], tags, labels, under))
}

// l3Text is what is behind the link layer.
func l3Text(k *flow.Key) string {
	return fmt.Sprintf("%x %x", k[l3First:l3Last+1], k.NDReserved())
}

// wire does a list as the datapath would, on a packet with key k: the meaning of the
// operations, in the plainest form.
type wire struct {
	t      testing.TB
	list   []odp.Action
	length uint64
	refuse bool // meters refuse
	out    []sent
	k      flow.Key
	tags   []uint32 // outermost first
	labels []uint32
	under  flow.Key
	trunc  uint64
}

func newWire(t testing.TB, list []odp.Action, k *flow.Key) *wire {
	w := &wire{t: t, list: list, k: *k}
	w.tags = tagsOf(k)
	w.labels = labelsOf(k)
	return w
}

func tagsOf(k *flow.Key) (tags []uint32) {
	for _, shift := range []int{32, 0} {
		if v := uint32(k[flow.WordVLAN] >> shift); v != 0 {
			tags = append(tags, v)
		}
	}
	return tags
}

func labelsOf(k *flow.Key) (labels []uint32) {
	if !isMPLS(k.EthType()) {
		return nil
	}
	for i := range 3 {
		if k.MPLS(i) == 0 && i > 0 {
			break
		}
		labels = append(labels, k.MPLS(i))
		if k.MPLS(i)&0x100 != 0 {
			break
		}
	}
	return labels
}

func (w *wire) run(i, end int) {
	for i < end {
		a := &w.list[i]
		i++
		switch a.Op {
		case odp.Output:
			l3 := &w.k
			if len(w.labels) > 0 {
				l3 = &w.under
			}
			w.out = append(w.out, sent{a.Port, textOf(&w.k, w.tags, w.labels, l3Text(l3))})
			w.trunc = 0
		case odp.Set:
			if a.Word == flow.WordMPLS {
				l := &w.labels[0]
				*l = *l&^uint32(a.Mask>>32) | uint32(a.Value>>32)
				break
			}
			if len(w.labels) > 0 && a.Word >= l3First && a.Word <= l3Last {
				w.t.Fatalf("set of word %d below labels", a.Word)
			}
			w.k[a.Word] = w.k[a.Word]&^a.Mask | a.Value
		case odp.PushVLAN:
			w.tags = slices.Insert(slices.Clone(w.tags), 0, uint32(a.Value))
		case odp.PopVLAN:
			w.tags = slices.Clone(w.tags[1:])
		case odp.PushMPLS:
			if len(w.labels) == 0 {
				w.under = w.k
			}
			w.labels = slices.Insert(slices.Clone(w.labels), 0, uint32(a.Value))
			w.k.SetEthType(uint16(a.Value >> 32))
		case odp.PopMPLS:
			w.labels = slices.Clone(w.labels[1:])
			if len(w.labels) == 0 {
				for j := l3First; j <= l3Last; j++ {
					w.k[j] = w.under[j]
				}
			}
			w.k.SetEthType(uint16(a.Value))
		case odp.Meter:
			if w.refuse {
				if a.Jump == 0 {
					return
				}
				i = int(a.Jump)
			}
		case odp.Trunc:
			w.trunc = a.Value
		case odp.CheckLen:
			if w.length <= a.Value {
				i = int(a.Jump)
			}
		case odp.Goto:
			if int(a.Jump) < i {
				w.t.Fatal("jump back")
			}
			i = int(a.Jump)
		case odp.Patch:
			w.run(i, int(a.Jump))
			i = int(a.Jump)
		case odp.Drop, odp.Stop:
			return
		}
	}
}
