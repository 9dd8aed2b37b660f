package flow

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/internal/hdr"
)

// examples are flows of every kind, in both forms.
var examples = []string{
	"in_port=1,tcp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.9.0.1,nw_dst=10.9.0.2,nw_tos=16,nw_ecn=1,nw_ttl=64,tp_src=4000,tp_dst=53,tcp_flags=psh|ack",
	"in_port(2),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800),ipv4(src=10.9.0.1,dst=10.9.0.2,proto=17,tos=0,ttl=3,frag=no),udp(src=4000,dst=53)",
	"in_port(1),eth(src=50:54:00:00:00:05,dst=50:54:00:00:00:07),eth_type(0x8100),vlan(vid=99,pcp=7),encap(eth_type(0x0800),ipv4(src=192.168.0.1,dst=192.168.0.2,proto=1,tos=0,ttl=64,frag=no),icmp(type=8,code=0))",
	"eth_type(0x88a8),vlan(vid=1,pcp=1),encap(eth_type(0x8100),vlan(vid=2,pcp=2,dei=1),encap(eth_type(0x86dd),ipv6(src=fd00::1,dst=fd00::2,label=0x12345,proto=6,tclass=0x70,hlimit=128,frag=no),tcp(src=1,dst=2),tcp_flags(syn)))",
	"in_port=7,arp,dl_vlan=10,dl_vlan_pcp=3,dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff,arp_spa=10.9.0.1,arp_tpa=10.9.0.2,arp_op=1,arp_sha=02:00:00:00:00:01,arp_tha=00:00:00:00:00:00",
	"icmp6,ipv6_src=fe80::1,ipv6_dst=ff02::1:ff00:3,nw_ttl=255,icmp_type=135,icmp_code=0,nd_target=fd00::3,nd_sll=02:00:00:00:00:01",
	"icmp6,ipv6_src=fe80::1,ipv6_dst=ff02::1,icmp_type=136,icmp_code=0,nd_target=fd00::3,nd_tll=02:00:00:00:00:01,nd_reserved=0x60000000",
	"icmp6,ipv6_src=fe80::1,ipv6_dst=ff02::1,icmp_type=128,icmp_code=0",
	"sctp6,ipv6_src=fe80::1,ipv6_dst=ff02::1,tp_src=5,tp_dst=6",
	"igmp,nw_src=10.0.0.1,nw_dst=224.0.0.1,nw_ttl=1,icmp_type=17,icmp_code=0,igmp_group=239.1.2.3",
	"udp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_frag=later",
	"udp6,ipv6_src=fd00::1,ipv6_dst=fd00::2,nw_frag=first,tp_src=1,tp_dst=2",
	"mpls,mpls_lse0=0x00064040,mpls_lse1=0x00065140",
	"eth_type(0x8847),mpls(label=100,tc=3,ttl=64,bos=0),mpls(label=101,tc=0,ttl=1,bos=1)",
	"dl_type=0x88cc,dl_dst=01:80:c2:00:00:0e",
	"dl_src=02:00:00:00:00:01",
}

// A composed frame has the key its text says, whatever the form.
func TestExamples(t *testing.T) {
	for _, text := range examples {
		want, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Compose(text)
		if err != nil {
			t.Fatal(err)
		}
		k, _ := keyOf(t, b)
		k.SetInPort(want.InPort())
		if k != want {
			t.Errorf("%s\nwant %s\ngot  %s\n%x", text, Format(&want), Format(&k), b)
		}
	}
}

// Any key that a frame can have survives frame, Format and FormatDatapath.
func TestRoundTrips(t *testing.T) {
	types := []uint16{hdr.TypeIPv4, hdr.TypeIPv6, hdr.TypeARP, hdr.TypeMPLS, TypeNone, 0x88b5}
	protos := []uint8{6, 17, 132, 1, 58, 2, 47, 255}
	for range 5000 {
		var r Key
		for i := range BaseWords {
			r[i] = rand.Uint64()
		}
		r[WordPort] &^= 0xffffffff
		r.SetEthType(types[rand.IntN(len(types))])
		r.SetIPProto(protos[rand.IntN(len(protos))])
		r.SetFrag([]uint8{0, 0, 0, FragAny, FragAny | FragLater}[rand.IntN(5)])
		if rand.IntN(3) == 0 {
			r.SetTPSrc(135 + uint16(rand.IntN(2)))
			r.SetTPDst(0)
		}
		switch rand.IntN(3) {
		case 0:
			r[WordVLAN] = 0
		case 1:
			r[WordVLAN] = 0x8100<<48 | uint64(rand.Uint32N(1<<16))<<32
		case 2:
			r[WordVLAN] = 0x88a8<<48 | uint64(rand.Uint32N(1<<16))<<32 | 0x8100<<16 | uint64(rand.Uint32N(1<<16))
		}
		k, _ := keyOf(t, r.Frame(nil))
		if again, _ := keyOf(t, k.Frame([]byte("more"))); again != k {
			t.Fatalf("%s\nframe gives %s", Format(&k), Format(&again))
		}
		for _, text := range []string{Format(&k), FormatDatapath(&k)} {
			back, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if back != k {
				t.Fatalf("%s\nread back as %s", text, Format(&back))
			}
		}
	}
}

// Checksums are right: B51's and B76's frames, made from text.
func TestComposeBytes(t *testing.T) {
	for text, want := range map[string]string{
		"udp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.9.0.1,nw_dst=10.9.0.2,nw_ttl=64,tp_src=4000,tp_dst=53":              "020000000002 020000000001 0800 4500001c00000000401166bd 0a090001 0a090002 0fa000350008dbf4",
		"udp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.9.0.1,nw_dst=10.9.0.2,nw_ttl=64,tp_src=4000,tp_dst=53,payload=dbf0": "020000000002 020000000001 0800 4500001e00000000401166bb 0a090001 0a090002 0fa00035000affff dbf0",
		"eth(src=02:00:00:00:00:01,dst=ff:ff:ff:ff:ff:ff),arp(sip=10.9.0.1,tip=10.9.0.2,op=1,sha=02:00:00:00:00:01)":                         "ffffffffffff 020000000001 0806 0001080006040001 020000000001 0a090001 000000000000 0a090002",
	} {
		b, err := Compose(text)
		if err != nil {
			t.Fatal(err)
		}
		if w := unhex(t, want); !bytes.Equal(b, w) {
			t.Errorf("%s\ngot  %x\nwant %x", text, b, w)
		}
	}
	b, err := ComposeLen(examples[0], 100)
	if err != nil || len(b) != 100 || !strings.HasSuffix(hex.EncodeToString(b), "2b2c2d") {
		t.Errorf("%v, %x", err, b)
	}
	if len(Pad(b[:14])) != 60 || len(Pad(make([]byte, 61))) != 61 {
		t.Error("Pad pads wrong")
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"in_port=x":                          "flow: in_port=x: not a number",
		"in_port(4294967296)":                "flow: in_port(4294967296): out of range, at most 4294967295",
		"tcp,tp_dst=65536":                   "flow: tp_dst=65536: out of range, at most 65535",
		"ipv4(src=10.0.0.256)":               "flow: ipv4(src=10.0.0.256): not an IPv4 address",
		"ipv4(src=10.0.0.0/255.0.0.0)":       "flow: ipv4(src=10.0.0.0/255.0.0.0): a mask cannot stand here",
		"ipv6_src=10.0.0.1":                  "flow: ipv6_src=10.0.0.1: not an IPv6 address",
		"eth(src=1)":                         "flow: eth(src=1): not an Ethernet address",
		"eth(src)":                           "flow: eth(src): no value",
		"eth(from=02:00:00:00:00:01)":        "flow: eth(from=02:00:00:00:00:01): no such field",
		"eth(src=02:00:00:00:00:01":          "flow: eth(: no closing parenthesis",
		"tpc":                                "flow: tpc: no such field or protocol",
		"tcp_flags=syn|foo":                  "flow: tcp_flags=syn|foo: there is no flag \"foo\"",
		"nw_frag=maybe":                      "flow: nw_frag=maybe: not no, yes, first, later or not_later",
		"vlan(vid=4096)":                     "flow: vlan(vid=4096): out of range, at most 4095",
		"ct_state(0x121)":                    "flow: ct_state(0x121): out of range, at most 0xff",
		"nw_frag=not_later":                  "flow: nw_frag=not_later: a mask cannot stand here",
		"packet_type(ns=1,id=0)":             "flow: packet_type(ns=1): a frame can only have 0",
		"payload=abc":                        "flow: payload=abc: not bytes in hex",
		"encap(encap(encap()))":              "flow: encap(): nested more than twice",
		"in_port(1)tcp":                      `flow: in_port: "tcp" follows where a comma belongs`,
		"mpls(),mpls(),mpls(),mpls(label=1)": "flow: mpls(): more than 3 labels",
		"actions=drop":                       "flow: actions=drop: no such field",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"ct_state(0x21)":     "flow: ct_state=new|trk: a new frame cannot have that",
		"tcp,reg1=5":         "flow: reg1=0x5: a new frame cannot have that",
		"tun_id=7,in_port=1": "flow: tun_id=0x7: a new frame cannot have that",
	} {
		if _, err := Compose(text); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	if _, err := ComposeLen("tcp", 70000); err == nil {
		t.Error("70000 bytes composed")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range examples {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := Parse(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "flow: ") {
				t.Error(err)
			}
			return
		}
		if b, err := Compose(text); err == nil {
			keyOf(t, b)
		}
		Format(&k)
		FormatDatapath(&k)
	})
}

// What tables and connection tracking add to a key is written and read back, too.
func TestPipelineFields(t *testing.T) {
	for range 3000 {
		k, err := Parse(examples[rand.IntN(len(examples))])
		if err != nil {
			t.Fatal(err)
		}
		for range rand.IntN(6) {
			f := Fields()[rand.IntN(len(Fields()))]
			if w := f.slots[0].word; w < BaseWords || f.need >= needCT && f.need <= needCT6 && !k.kind().ip4 && !k.kind().ip6 {
				continue
			}
			v := Value{rand.Uint64(), rand.Uint64()}.And(f.full)
			switch {
			case f.form == ctStateForm:
				v = v.And(Ones(8))
			case f.quirk == port32:
				v = v.And(Ones(16))
			case f.need == needCT4 && !k.kind().ip4, f.need == needCT6 && !k.kind().ip6:
				continue
			case f.form == ipv4Form && k[WordTun]&TunIPv6 != 0, f.also == isTun6 && k[WordTunSrc] != 0 && k[WordTun]&TunIPv6 == 0:
				continue // no tunnel is of both kinds
			}
			f.Put(&k, v)
		}
		if back, err := Parse(Format(&k)); err != nil || back != k {
			t.Fatalf("%v: %s\nread back as %s", err, Format(&k), Format(&back))
		}
	}
}
