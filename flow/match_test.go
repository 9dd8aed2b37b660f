package flow

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// randomMatch is a match of fields that may be in the same packet and that ok says yes to.
func randomMatch(ok func(f *Field) bool) Match {
	protocols := []string{"", "", "ip", "ipv6", "arp", "rarp", "mpls", "mplsm", "tcp", "tcp6", "udp", "udp6", "sctp", "sctp6", "icmp", "icmp6", "icmp6,icmp_type=135,icmp_code=0", "icmp6,icmp_type=136,icmp_code=0", "dl_type=0x88b5", "ip,nw_proto=47"}
	text := protocols[rand.IntN(len(protocols))]
	if rand.IntN(4) == 0 && text != "" && strings.ContainsAny(text[:1], "itsu") {
		text += ",ct_state=+est,ct_nw_proto=6"
	}
	var m Match
	if err := m.Parse(text, nil); err != nil {
		panic(err)
	}
	fields := Fields()
	for range rand.IntN(8) {
		f := fields[rand.IntN(len(fields))]
		if f.Name == "eth_type" || f.Name == "nw_proto" || f.Missing(&m) != "" || !ok(f) {
			continue
		}
		v, mask := Value{rand.Uint64(), rand.Uint64()}, f.full
		if f.maskable && rand.IntN(2) == 0 {
			switch rand.IntN(3) {
			case 0:
				mask = mask.And(Value{rand.Uint64(), rand.Uint64()})
			case 1:
				mask = mask.AndNot(Ones(uint(rand.IntN(f.Bits + 1))))
			case 2:
				mask = mask.And(Ones(uint(rand.IntN(f.Bits + 1))))
			}
		}
		switch f.form {
		case fragForm:
			r := frags[rand.IntN(3)] // a later fragment has no L4 fields
			v, mask = Value{0, r.v}, Value{0, r.mask}
		case portForm:
			v.Lo = uint64(rand.IntN(0xff00))
			if rand.IntN(4) == 0 {
				v.Lo = 0xfff8 + v.Lo%7
			}
		case ctStateForm:
			v, mask = v.And(Ones(8)), mask.And(Ones(8))
		}
		if mask.IsZero() {
			continue
		}
		var add Match
		if f.quirk == port32 {
			f = known(map[string]string{"in_port_oxm": "in_port", "actset_output": "actset_output"}[f.Name])
		}
		if f.Name == "nw_tos" {
			v.Lo &^= 3
		}
		add.Put(f, v.And(mask), mask)
		if !clash(&m, &add) {
			for i := range m.Key {
				m.Key[i] |= add.Key[i]
				m.Mask[i] |= add.Mask[i]
			}
		}
	}
	return m
}

// clash tells whether some bit is asked for as 0 and as 1.
func clash(m, n *Match) bool {
	for i := range m.Key {
		if m.Mask[i]&n.Mask[i] != 0 {
			return true
		}
	}
	return false
}

// What is printed is read back as what it was.
func TestMatchRoundTrip(t *testing.T) {
	for range 20000 {
		m := randomMatch(func(*Field) bool { return true })
		var back Match
		text := m.String()
		if err := back.Parse(text, nil); err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if back != m {
			t.Fatalf("%s\nread back as\n%s\n%x\n%x", text, back.String(), m, back)
		}
		for i := range m.Key {
			if m.Key[i]&^m.Mask[i] != 0 {
				t.Fatalf("%s: word %d has bits that the mask has not", text, i)
			}
		}
	}
}

// portMap are a bridge's.
type portMap map[string]uint32

func (p portMap) PortNumber(name string) (uint32, bool) { n, ok := p[name]; return n, ok }

func (p portMap) PortName(n uint32) string {
	for name, m := range p {
		if m == n {
			return name
		}
	}
	return ""
}

func TestMatchPorts(t *testing.T) {
	n := portMap{"vm0": 1, "5g": 2, "LOCAL": 3, "a b": 4, "br0": 0xfffe}
	for text, want := range map[string]string{
		"in_port=vm0": "in_port=vm0", `in_port="5g"`: `in_port="5g"`, "in_port=2": `in_port="5g"`, "in_port=3": `in_port="LOCAL"`,
		"in_port=LOCAL": "in_port=LOCAL", "in_port=br0": "in_port=LOCAL", "in_port=4": `in_port="a b"`, "in_port=9": "in_port=9",
	} {
		var m Match
		if err := m.Parse(text, n); err != nil {
			t.Error(err)
		} else if got := string(m.Append([]byte("x"), n)); got != "x"+want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestMatchRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"in_port=x":                          "in_port=x: there is no such port",
		"in_port=65536":                      "in_port=65536: there is no such port",
		"in_port=5/5":                        "in_port=5/5: there is no such port",
		"foo=5":                              "foo=5: there is no such field",
		"foo":                                "foo: there is no such field",
		"tcp=5":                              "tcp=5: it takes no value",
		"nw_src":                             "nw_src: no value",
		"nw_src=":                            "nw_src=: no value",
		"nw_src=10.0.0.1":                    "nw_src=10.0.0.1: needs ip or arp",
		"ipv6,nw_src=10.0.0.1":               "nw_src=10.0.0.1: needs ip or arp",
		"nw_src=10.0.0.1,ipv6":               "nw_src=10.0.0.1: needs ip or arp",
		"arp,ip_src=10.0.0.1":                "ip_src=10.0.0.1: needs ip",
		"ip,ipv6_src=::1":                    "ipv6_src=::1: needs ipv6",
		"tp_src=5":                           "tp_src=5: needs tcp, udp, sctp or icmp, or with a 6",
		"ip,tp_src=5":                        "tp_src=5: needs tcp, udp, sctp or icmp, or with a 6",
		"udp,tcp_src=5":                      "tcp_src=5: needs tcp or tcp6",
		"ip,icmpv6_type=5":                   "icmpv6_type=5: needs icmp6",
		"NXM_OF_TCP_DST(80)":                 "NXM_OF_TCP_DST=80: needs tcp or tcp6",
		"udp,tcp_flags=+syn":                 "tcp_flags=+syn: needs tcp or tcp6",
		"tcp,icmp_type=5":                    "icmp_type=5: needs icmp or icmp6",
		"icmp6,nd_target=::1":                "nd_target=::1: needs icmp6,icmp_type=135 or 136",
		"ip,mpls_label=5":                    "mpls_label=5: needs mpls or mplsm",
		"ip,ct_state=+trk,ct_tp_src=5":       "ct_tp_src=5: needs ip or ipv6, a ct_state of a valid connection, and ct_nw_proto=6, 17 or 132",
		"tcp,udp":                            "udp: contradicts what stands before it: tcp",
		"arp,dl_type=0x800":                  "dl_type=0x800: contradicts what stands before it: arp",
		"dl_vlan=0xffff,dl_vlan_pcp=3":       "dl_vlan_pcp=3: contradicts what stands before it: vlan_tci=0x0000",
		"ip,nw_src=10.0.0.1,nw_src=10.0.0.2": "nw_src=10.0.0.2: contradicts what stands before it: ip,nw_src=10.0.0.1",
		"tun_src=1.1.1.1,tun_ipv6_dst=::5":   "tun_ipv6_dst=::5: contradicts what stands before it: tun_src=1.1.1.1",
		"ip,nw_src=10.0.0.256":               "nw_src=10.0.0.256: not an IPv4 address",
		"ip,nw_src=10.0.0.1/33":              "nw_src=10.0.0.1/33: prefix out of range, at most 32",
		"ip,nw_src=10.0.0.1/x":               "nw_src=10.0.0.1/x: mask: not an IPv4 address",
		"ipv6,ipv6_src=10.0.0.1":             "ipv6_src=10.0.0.1: not an IPv6 address",
		"dl_src=02:00:00:00:00":              "dl_src=02:00:00:00:00: not an Ethernet address",
		"dl_src=020000000001":                "dl_src=020000000001: not an Ethernet address",
		"tcp,tp_src=65536":                   "tp_src=65536: out of range, at most 65535",
		"dl_vlan=4096":                       "dl_vlan=4096: out of range, at most 4095",
		"dl_vlan_pcp=8":                      "dl_vlan_pcp=8: out of range, at most 7",
		"arp,arp_op=256":                     "arp_op=256: out of range, at most 255",
		"ip,ip_dscp=64":                      "ip_dscp=64: out of range, at most 63",
		"ip,nw_ecn=4":                        "nw_ecn=4: out of range, at most 3",
		"mpls,mpls_label=16/0xff":            "mpls_label=16/0xff: a mask cannot stand here",
		"metadata=0x10000000000000000":       "metadata=0x10000000000000000: out of range, at most 18446744073709551615",
		"xxreg0=0x100000000000000000000000000000000": "xxreg0=0x100000000000000000000000000000000: out of range, at most 128 bits",
		"reg0=5/0x100000000":                         "reg0=5/0x100000000: mask: out of range, at most 4294967295",
		"reg0=09":                                    "reg0=09: not a number",
		"reg0=-1":                                    "reg0=-1: out of range, at most 4294967295",
		"tcp,tcp_flags=+syn+foo":                     `tcp_flags=+syn+foo: there is no flag "foo"`,
		"tcp,tcp_flags=syn|":                         `tcp_flags=syn|: there is no flag ""`,
		"tcp,tcp_flags=syn+ack":                      "tcp_flags=syn+ack: flags are written +a-b or a|b",
		"tcp,tcp_flags=0x1000":                       "tcp_flags=0x1000: out of range, at most 0xfff",
		"tcp,tcp_flags=+syn-syn":                     "tcp_flags=+syn-syn: flag syn twice",
		"ct_state=0x100/0x100":                       "ct_state=0x100/0x100: out of range, at most 0xff",
		"ip,ip_frag=foo":                             "ip_frag=foo: not no, yes, first, later or not_later",
		"packet_type=(1,0x800)":                      "packet_type=(1,0x800): only Ethernet packets, (0,0), are known",
	} {
		var m Match
		if err := m.Parse(text, nil); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// A match of a packet's fields matches that packet, and no other one in which they differ.
func TestMatchPackets(t *testing.T) {
	for text, c := range map[string]struct{ yes, no string }{
		"dl_vlan=5":                             {"dl_vlan=5,dl_vlan_pcp=3", "dl_vlan=4"},
		"dl_vlan=0xffff":                        {"tcp", "dl_vlan=0"},
		"vlan_tci=0x1000/0x1000":                {"eth_type(0x88a8),vlan(vid=5,pcp=0),encap()", "tcp"},
		"tcp,tcp_flags=+syn-ack":                {"tcp,tcp_flags=syn|urg", "tcp,tcp_flags=syn|ack"},
		"ip,nw_src=10.0.0.0/8":                  {"udp,nw_src=10.255.0.1", "udp,nw_src=11.0.0.1"},
		"ip,nw_frag=not_later":                  {"udp,nw_src=1.2.3.4,nw_frag=first", "udp,nw_frag=later"},
		"ipv6,ipv6_src=fe80::/10":               {"udp6,ipv6_src=febf::1", "udp6,ipv6_src=fd00::1"},
		"arp,arp_op=1":                          {"arp,arp_op=1", "arp,arp_op=2"},
		"icmp6,icmp_type=135,nd_target=fd00::3": {"icmp6,icmp_type=135,icmp_code=0,nd_target=fd00::3", "icmp6,icmp_type=135,icmp_code=0,nd_target=fd00::4"},
		"mpls,mpls_label=100":                   {"mpls,mpls_lse0=0x00064040", "mpls,mpls_lse0=0x00065040"},
		"":                                      {"tcp", ""},
	} {
		var m Match
		if err := m.Parse(text, nil); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{c.yes, c.no} {
			if p == "" {
				continue
			}
			k, err := Parse(p)
			if err != nil {
				t.Fatal(err)
			}
			if m.Matches(&k) != (p == c.yes) {
				t.Errorf("%s and the packet %s: %v", text, p, m.Matches(&k))
			}
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, text := range corpus(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m, back Match
		if err := m.Parse(text, nil); err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
			return
		}
		out := m.String()
		if err := back.Parse(out, nil); err != nil || back != m {
			t.Fatalf("%q prints as %q, which is read as %q, %v", text, out, back.String(), err)
		}
	})
}

func BenchmarkMatchParse(b *testing.B) {
	var m Match
	for b.Loop() {
		if err := m.Parse("tcp,in_port=1,nw_src=10.0.0.0/8,nw_dst=10.1.2.3,tp_dst=80", nil); err != nil {
			b.Fatal(err)
		}
	}
}
