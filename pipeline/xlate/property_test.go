package xlate

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

var seedFlag = flag.Uint64("seed", 1, "of the random rules and packets")

// randomKey is the key of a packet that there can be, of few values so that rules match.
func randomKey(r *rand.Rand) flow.Key {
	var k flow.Key
	k.SetInPort(1 + r.Uint32N(4))
	setBits(&k[flow.WordDst], 16, 48, 2<<40|uint64(r.IntN(4)))
	setBits(&k[flow.WordSrc], 16, 48, 2<<40|uint64(r.IntN(4)))
	randomTags(r, &k)
	randomL3(r, &k)
	return k
}

func randomTags(r *rand.Rand, k *flow.Key) {
	k[flow.WordVLAN] = 0
	tag := func() uint16 { return uint16([]int{0, 5, 99, 6}[r.IntN(4)] | r.IntN(2)<<13) }
	tpid := func() uint16 { return []uint16{hdr.TypeVLAN, hdr.TypeQinQ}[r.IntN(2)] }
	n := r.IntN(3)
	if n > 0 {
		k.SetVLAN(tpid(), tag())
	}
	if n > 1 {
		k.SetInnerVLAN(tpid(), tag())
	}
}

func randomL3(r *rand.Rand, k *flow.Key) {
	for i := l3First; i <= flow.WordMPLS2; i++ {
		k[i] = 0
	}
	addr := func() uint64 { return 0x0a000000 | uint64(r.IntN(4)) }
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		k.SetEthType(hdr.TypeIPv4)
		k[flow.WordIPSrc] = addr()<<32 | addr()
		randomL4(r, k)
	case 4, 5:
		k.SetEthType(hdr.TypeIPv6)
		for w := flow.WordIPSrc; w <= flow.WordIPDstLo; w++ {
			k[w] = addr()
		}
		k[flow.WordIP] = uint64(r.IntN(3))
		randomL4(r, k)
	case 6:
		k.SetEthType(hdr.TypeARP)
		k[flow.WordIPSrc] = addr()<<32 | addr()
		k[flow.WordIP] = uint64(1+r.IntN(2)) << 56
		k[flow.WordSHA] = uint64(r.IntN(3)) << 16
		k[flow.WordTHA] = uint64(r.IntN(3)) << 16
	case 7:
		if r.IntN(2) == 0 {
			k.SetEthType(0x88cc)
			return
		}
		k.SetEthType(hdr.TypeMPLS)
		n := 1 + r.IntN(3)
		for i := range n {
			l := uint32(1+r.IntN(3))<<12 | uint32(1+r.IntN(3))
			if i == n-1 {
				l |= bitsBottom
			}
			k.SetMPLS(i, l)
		}
	}
}

func randomL4(r *rand.Rand, k *flow.Key) {
	k.SetIPProto([]uint8{0, hdr.ProtoTCP, hdr.ProtoTCP, hdr.ProtoUDP}[r.IntN(4)])
	k.SetTTL([]uint8{0, 1, 2, 64}[r.IntN(4)])
	setBits(&k[flow.WordIP], 48, 8, []uint64{0, 4, 0xb8, 3}[r.IntN(4)])
	frag := []uint8{0, 0, 0, flow.FragAny, flow.FragAny | flow.FragLater}[r.IntN(5)]
	setBits(&k[flow.WordIP], 32, 8, uint64(frag))
	k[flow.WordTP] = 0
	if frag&flow.FragLater == 0 && k.IPProto() != 0 {
		k[flow.WordTP] = uint64(r.IntN(3))<<48 | uint64(r.IntN(3))<<32
		if k.IPProto() == hdr.ProtoTCP {
			k[flow.WordTP] |= uint64(r.IntN(4)) << 17
		}
	}
}

// other is k with something else in it.
func other(r *rand.Rand, k flow.Key) flow.Key {
	o := randomKey(r)
	switch r.IntN(8) {
	case 0:
		k[flow.WordPort] = o[flow.WordPort]
	case 1:
		k[flow.WordDst] = o[flow.WordDst]
	case 2:
		setBits(&k[flow.WordSrc], 16, 48, uint64(o.EthSrc()))
	case 3:
		k[flow.WordVLAN] = o[flow.WordVLAN]
	case 4:
		t := k[flow.WordVLAN]
		d, s, p := k[flow.WordDst], k.EthSrc(), k[flow.WordPort]
		k = o
		k[flow.WordVLAN], k[flow.WordDst], k[flow.WordPort] = t, d, p
		setBits(&k[flow.WordSrc], 16, 48, uint64(s))
	case 5, 6:
		if isIP(k.EthType()) {
			randomL4(r, &k)
		}
	case 7:
		if isIP(k.EthType()) {
			k[flow.WordIPSrc] ^= uint64(r.IntN(4)) | uint64(r.IntN(4))<<32
		}
	}
	return k
}

var randomMatches = strings.Split("|in_port=1|in_port=2|dl_src=02:00:00:00:00:01|dl_dst=02:00:00:00:00:02|dl_vlan=5|vlan_tci=0x0000|vlan_tci=0x1000/0x1000|"+
	"ip|ip,nw_src=10.0.0.0/31|ip,nw_dst=10.0.0.2|tcp|tcp,tp_dst=1|tcp,tcp_flags=+syn-ack|udp,tp_src=2|ipv6|tcp6,tp_src=1|arp|arp,arp_op=1|mpls|mpls,mpls_label=2|ip,nw_ttl=1|"+
	"ip,nw_frag=later|reg0=1|reg0=0x2/0x2|metadata=3|ip,nw_tos=4|ipv6,ipv6_src=::a00:1|dl_type=0x88cc|tcp,nw_src=10.0.0.1,reg1=1|ip,nw_proto=0", "|")

// randomActions do no more than their match allows.
var anyActions = strings.Split("output:1|output:2|output:3|output:7|in_port|NORMAL|FLOOD|ALL|mod_vlan_vid:6|mod_vlan_pcp:3|strip_vlan|pop_vlan|push_vlan:0x8100|push_vlan:0x88a8|"+
	"mod_dl_src:02:00:00:00:00:03|set_field:02:00:00:00:00:01->eth_dst|set_field:1->reg0|load:2->NXM_NX_REG0[0..3]|move:NXM_OF_ETH_SRC[0..1]->NXM_NX_REG1[0..1]|"+
	"move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]|load:0->NXM_OF_VLAN_TCI[]|load:0x1005->NXM_OF_VLAN_TCI[]|load:3->NXM_OF_VLAN_TCI[0..11]|push:NXM_OF_ETH_SRC[]|pop:NXM_OF_ETH_DST[]|pop:NXM_NX_REG2[]|"+
	"clone(output:2,mod_dl_src:02:00:00:00:00:09,output:3)|clone(push_vlan:0x8100,output:3,exit)|clone(pop:NXM_OF_ETH_SRC[],push:NXM_OF_ETH_DST[],output:2)|set_queue:7|pop_queue|enqueue:2:4|output:NXM_NX_REG1[0..1]|"+
	"group:1|note:00.01|set_field:2->in_port|load:3->OXM_OF_METADATA[]|check_pkt_larger(1000)->NXM_NX_REG0[1]|move:NXM_OF_IN_PORT[]->NXM_NX_REG3[0..15]|"+
	"set_field:5->pkt_mark|mod_tp_src:7|mod_nw_tos:12|push_mpls:0x8847|dec_mpls_ttl", "|")

var ipActions = strings.Split("set_field:10.0.0.9->nw_dst|mod_nw_tos:8|dec_ttl|mod_nw_ttl:9|move:NXM_OF_IP_SRC[0..7]->NXM_OF_IP_DST[0..7]|load:3->NXM_OF_IP_DST[4..7]|"+
	"push_mpls:0x8847,pop_mpls:0x0800|push_mpls:0x8847,set_field:7->mpls_label,output:2,pop_mpls:0x0800|push:NXM_OF_IP_SRC[]|pop:NXM_OF_IP_DST[]", "|")

var tcpActions = strings.Split("set_field:80->tcp_dst|mod_tp_src:9|move:NXM_OF_TCP_SRC[]->NXM_OF_TCP_DST[]", "|")

// randomFlow is the text of a flow. Later tables only go further on, so that there are no loops.
func randomFlow(r *rand.Rand, tables int, extra ...string) string {
	table := r.IntN(tables)
	match := randomMatches[r.IntN(len(randomMatches))]
	choice := slices.Concat(anyActions, extra)
	switch {
	case strings.HasPrefix(match, "tcp,"), match == "tcp":
		choice = slices.Concat(choice, ipActions, tcpActions, tcpActions)
	case strings.HasPrefix(match, "ip,"), match == "ip", strings.HasPrefix(match, "udp"):
		choice = slices.Concat(choice, ipActions, ipActions)
	}
	var acts []string
	mpls := false
	for range 1 + r.IntN(5) {
		a := choice[r.IntN(len(choice))]
		if strings.HasPrefix(a, "push_mpls") && mpls {
			continue
		}
		if a == "push_mpls:0x8847" {
			// What follows in this flow is about an MPLS packet.
			mpls = true
			choice = strings.Split("output:2|output:3|dec_mpls_ttl|set_field:9->mpls_label|mod_vlan_vid:6|push_mpls:0x8848|NORMAL", "|")
		}
		if a == "dec_mpls_ttl" && !mpls {
			continue
		}
		acts = append(acts, a)
		if table < tables-1 && r.IntN(4) == 0 {
			next := table + 1 + r.IntN(tables-table-1)
			acts = append(acts, fmt.Sprintf([]string{"resubmit(,%d)", "resubmit(2,%d)"}[r.IntN(2)], next))
		}
	}
	if r.IntN(12) == 0 {
		acts = append(acts, "exit")
	}
	if r.IntN(6) == 0 {
		acts = append(acts, "write_actions(mod_vlan_vid:7,output:3,push_vlan:0x8100)")
	}
	if len(acts) == 0 {
		acts = []string{"output:2"}
	}
	if match != "" {
		match += ","
	}
	return fmt.Sprintf("table=%d,priority=%d,%sactions=%s", table, r.IntN(40), match, strings.Join(acts, ","))
}

// randomBridges are two bridges with a patch between them.
func randomBridges(t *testing.T, r *rand.Rand, extra ...string) *testBridge {
	a, b := newBridge("br0", 0, 4), newBridge("br1", 10, 3)
	a.addPort(Port{ID: 7, OF: 7, Name: "p", Up: true, Peer: b, PeerOF: 8})
	b.addPort(Port{ID: 18, OF: 8, Name: "q", Up: true, Peer: a, PeerOF: 7})
	a.ports[2].NoFlood = true
	for _, x := range []*testBridge{a, b} {
		x.macs[2<<56|1<<16] = 2
		x.group(t, "group_id=2,type=select,bucket=output:3,bucket=mod_vlan_vid:8,output:2,bucket=weight:3,actions=push_vlan:0x8100,output:1")
		x.group(t, "group_id=3,type=select,selection_method=hash,fields(nw_src,tcp_dst,eth_dst=00:00:00:00:00:01),bucket=output:3,bucket=output:2")
		x.group(t, "group_id=1,type=all,bucket=output:3,mod_vlan_vid:8,bucket=set_field:02:00:00:00:00:0a->eth_dst,output:2,bucket=push_vlan:0x8100,output:1")
	}
	seen := map[string]bool{}
	for range 4 + r.IntN(10) {
		f := randomFlow(r, 3, extra...)
		// Equal priorities could be told apart only by luck.
		prefix := f[:strings.Index(f, ",")] + f[strings.Index(f, "priority"):][:11]
		if !seen[prefix] {
			if _, err := ofp.ParseFlow(f, nil, ofp.Add); err != nil {
				continue // it can be known beforehand that it makes no sense
			}
			seen[prefix] = true
			a.add(t, f)
		}
	}
	// No way back through the patch: that would be a loop.
	b.add(t, "priority=1,actions=strip_vlan,output:1", "priority=2,tcp,actions=mod_dl_dst:02:00:00:00:00:07,output:2,mod_vlan_vid:9,output:3",
		"priority=3,dl_vlan=6,actions=check_pkt_larger(1000)->NXM_NX_REG0[0],push_vlan:0x8100,resubmit(,1)",
		"table=1,priority=1,reg0=1,actions=output:1", "table=1,priority=0,actions=output:2,clone(strip_vlan,output:3)")
	return a
}

func sortSent(s []sent) []sent {
	slices.SortFunc(s, func(a, b sent) int {
		if a.port != b.port {
			return int(a.port) - int(b.port)
		}
		return strings.Compare(string(a.packet), string(b.packet))
	})
	return s
}

// TestAgainstReference compares lists, done step by step, with a plain evaluation of the
// documentation: the same packets must leave by the same ports. And whatever the mask
// does not have must make no difference (B76, B77, B78).
func TestAgainstReference(t *testing.T) {
	x := New()
	packets, agreed, outputs := 0, 0, 0
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(*seedFlag, uint64(round)))
		b := randomBridges(t, r)
		for range 40 {
			k := randomKey(r)
			res := x.Run(&Input{Bridge: b, Key: k})
			if res.Why.String() == "bad_header" {
				continue // behind a popped label
			}
			list, mask := slices.Clone(res.Actions), res.Mask
			packets++
			for _, length := range []uint64{100, 1500} {
				w := newWire(t, list, &k)
				w.length = length
				w.run(0, len(list))
				ref := reference{b: b, length: length}
				ref.start(newPkt(&k))
				got, want := sortSent(w.out), sortSent(ref.out)
				outputs += len(want)
				if !slices.Equal(got, want) {
					report(t, x, b, k, list, got, want)
				}
			}
			for range 20 {
				o := other(r, k)
				if !agree(&k, &o, &mask) || o == k {
					continue
				}
				agreed++
				res := x.Run(&Input{Bridge: b, Key: o})
				if !slices.Equal(list, res.Actions) || mask != res.Mask {
					t.Fatalf("seed %d round %d: agree on the mask\n%v\n%v\nmask %v\nlists\n%v\n%v\nflows:\n%s", *seedFlag, round,
						flow.Format(&k), flow.Format(&o), maskText(&k, &mask), list, res.Actions, flowsText(b))
				}
			}
		}
	}
	t.Logf("%d packets, %d outputs, %d more agreed on a mask", packets, outputs, agreed)
	if packets == 0 || agreed < packets || outputs < packets {
		t.Error("too few to say anything")
	}
}

// TestMaskTruth is the other half of TestAgainstReference with the actions whose choice is ours to make: whatever the
// mask does not have must make no difference to what a hash chooses.
func TestMaskTruth(t *testing.T) {
	extra := strings.Split("group:2|group:3|group:2|group:3|multipath(symmetric_l3l4+udp,0,modulo_n,3,0,NXM_NX_REG0[0..3])|multipath(symmetric_l4,5,hrw,3,0,NXM_NX_REG1[0..3])|"+
		"multipath(nw_dst,5,iter_hash,3,0,NXM_NX_REG1[0..3])|bundle(symmetric_l3l4,0,hrw,ofport,members:2,3)|bundle(nw_src,0,hrw,ofport,members:2,3)|bundle_load(eth_src,0,hrw,ofport,NXM_NX_REG1[0..15],members:2,3)|"+
		"learn(table=9,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],load:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15])", "|")
	x, agreed := New(), 0
	for round := range 150 {
		r := rand.New(rand.NewPCG(*seedFlag, uint64(round)))
		b := randomBridges(t, r, extra...)
		for range 40 {
			k := randomKey(r)
			res := x.Run(&Input{Bridge: b, Key: k})
			list, mask := slices.Clone(res.Actions), res.Mask
			for range 20 {
				o := other(r, k)
				if !agree(&k, &o, &mask) || o == k {
					continue
				}
				agreed++
				res := x.Run(&Input{Bridge: b, Key: o})
				if !slices.Equal(list, res.Actions) || mask != res.Mask {
					t.Fatalf("seed %d round %d: agree on the mask\n%v\n%v\nmask %v\nlists\n%v\n%v\nflows:\n%s", *seedFlag, round,
						flow.Format(&k), flow.Format(&o), maskText(&k, &mask), list, res.Actions, flowsText(b))
				}
			}
		}
	}
	if agreed < 1000 {
		t.Error("too few to say anything:", agreed)
	}
}

func agree(a, b, mask *flow.Key) bool {
	for i := range a {
		if (a[i]^b[i])&mask[i] != 0 {
			return false
		}
	}
	return true
}

func maskText(k, mask *flow.Key) string {
	m := flow.Match{Key: *k, Mask: *mask}
	for i := range m.Key {
		m.Key[i] &= mask[i]
	}
	return m.String()
}

func flowsText(b *testBridge) string {
	var s []byte
	for i := range b.flows {
		s = append(b.flows[i].Append(s, nil), '\n')
	}
	return string(s)
}

func report(t *testing.T, x *Xlate, b *testBridge, k flow.Key, list []odp.Action, got, want []sent) {
	t.Helper()
	tr := &Trace{}
	x.Run(&Input{Bridge: b, Key: k, Trace: tr})
	var s strings.Builder
	for _, g := range got {
		fmt.Fprintln(&s, "got ", g)
	}
	for _, w := range want {
		fmt.Fprintln(&s, "want", w)
	}
	t.Fatalf("%s\n%v\n%s\n%s", tr, list, flowsText(b), s.String())
}

// setBits puts v into bits of a word of a key.
func setBits(w *uint64, shift, bits uint, v uint64) {
	m := uint64(1)<<bits - 1
	*w = *w&^(m<<shift) | v&m<<shift
}
