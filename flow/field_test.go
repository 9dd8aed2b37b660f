package flow

import (
	"math/rand/v2"
	"testing"
)

// A field gives back what was put into it, and what was put changes nothing else but what says that
// the tag or tunnel is there.
func TestFieldLayout(t *testing.T) {
	for _, f := range Fields() {
		var m Key
		f.Set(&m, f.All())
		for range 200 {
			var k Key
			for i := range k {
				k[i] = rand.Uint64()
			}
			k[WordVLAN] = k[WordVLAN]&^(0xffff<<48) | 0x88a8<<48
			old := k
			v := Value{rand.Uint64(), rand.Uint64()}.And(f.All())
			switch f.quirk {
			case port32:
				v.Lo &= 0xfffe
			case tagged:
				if f.also.mask == 0 {
					v.Lo |= 0x1000
				}
			}
			if f.Name == "arp_op" {
				v.Lo &= 0xff
			}
			if f.Name == "nw_tos" {
				v.Lo &^= 3
			}
			f.Put(&k, v)
			got := f.Get(&k)
			if f.quirk == port32 && v.Lo >= portReserved {
				v.Lo |= portReserved32
			}
			if got != v {
				t.Fatalf("%s: put %x, got %x", f.Name, v, got)
			}
			for i := range k {
				if (k[i]^old[i])&^m[i] != 0 {
					t.Fatalf("%s: word %d: %#x became %#x, but the mask is %#x", f.Name, i, old[i], k[i], m[i])
				}
			}
		}
	}
}

// Fields that share bits do so on purpose: they are two names of one thing, or never in the same packet.
func TestFieldOverlap(t *testing.T) {
	groups := []map[string]bool{}
	for _, g := range [][]string{
		{"in_port", "in_port_oxm"},
		{"tun_src", "tun_dst", "tun_ipv6_src"},
		{"ct_nw_src", "ct_nw_dst", "ct_ipv6_src"},
		{"vlan_tci", "dl_vlan", "vlan_vid"},
		{"vlan_tci", "dl_vlan_pcp", "vlan_pcp"},
		{"nw_src", "ipv6_src", "arp_spa"},
		{"nw_dst", "ipv6_src", "arp_tpa"},
		{"nw_proto", "arp_op"},
		{"nw_tos", "ip_dscp"},
		{"arp_sha", "nd_sll"},
		{"arp_tha", "nd_tll"},
		{"tcp_src", "udp_src", "sctp_src", "icmp_type", "icmpv6_type"},
		{"tcp_dst", "udp_dst", "sctp_dst", "icmp_code", "icmpv6_code"},
	} {
		set := map[string]bool{}
		for _, name := range g {
			if FieldByName(name) == nil {
				t.Fatalf("no field %s", name)
			}
			set[name] = true
		}
		groups = append(groups, set)
	}
	register := func(f *Field) bool { return f.slots[0].word >= WordReg && f.slots[0].word < WordMeta }
	for _, f := range Fields() {
		for _, g := range Fields() {
			overlap := false
			for _, a := range f.slots[:f.n] {
				for _, b := range g.slots[:g.n] {
					overlap = overlap || a.word == b.word && a.mask<<a.shift&(b.mask<<b.shift) != 0
				}
			}
			if !overlap || f == g || register(f) && register(g) {
				continue
			}
			meant := false
			for _, set := range groups {
				meant = meant || set[f.Name] && set[g.Name]
			}
			if !meant {
				t.Errorf("%s and %s overlap", f.Name, g.Name)
			}
		}
	}
}

func TestFieldNames(t *testing.T) {
	for alias, name := range map[string]string{
		"NXM_OF_ETH_DST": "eth_dst", "dl_dst": "eth_dst", "OXM_OF_METADATA": "metadata", "NXM_NX_REG15": "reg15", "tp_src": "tcp_src",
		"NXM_NX_XXREG3": "xxreg3", "OXM_OF_PKT_REG7": "xreg7", "tunnel_id": "tun_id", "NXM_OF_ETH_DST_W": "eth_dst", "ip_proto": "nw_proto",
	} {
		if f := FieldByName(alias); f == nil || f.Name != name {
			t.Errorf("%s is %v, not %s", alias, f, name)
		}
	}
	if FieldByName("") != nil || FieldByName("eth_src ") != nil {
		t.Error("a field without a name")
	}
}

// Registers are one memory in three widths.
func TestRegisters(t *testing.T) {
	var k Key
	FieldByName("xxreg0").Put(&k, Value{0x1111111122222222, 0x3333333344444444})
	for name, want := range map[string]uint64{"reg0": 0x11111111, "reg1": 0x22222222, "reg3": 0x44444444, "xreg1": 0x3333333344444444} {
		if v := FieldByName(name).Get(&k); v.Lo != want {
			t.Errorf("%s is %#x", name, v.Lo)
		}
	}
	if v := FieldByName("xxreg0").GetBits(&k, 48, 32); v != (Value{0, 0x22223333}) {
		t.Errorf("bits 48..79: %x", v)
	}
	FieldByName("reg1").PutBits(&k, 4, 8, Value{0, 0xab})
	if v := FieldByName("reg1").Get(&k); v.Lo != 0x22222ab2 {
		t.Errorf("reg1 %#x", v.Lo)
	}
}

func TestPutTag(t *testing.T) {
	for _, c := range []struct {
		field    string
		value    uint64
		was, now uint64
	}{
		{"dl_vlan", 5, 0, 0x81000005 << 32},
		{"dl_vlan_pcp", 3, 0, 0x81006000 << 32},
		{"vlan_vid", 0x1005, 0x88a8f001<<32 | 7, 0x88a8f005<<32 | 7},
		{"vlan_vid", 0, 0x88a8f001<<32 | 0x81000007, 0x81000007 << 32},
		{"vlan_tci", 0, 0x8100f001 << 32, 0},
		{"vlan_tci", 0xf123, 0, 0x8100e123 << 32},
		{"vlan_pcp", 0, 0x88a8f001 << 32, 0x88a81001 << 32},
	} {
		var k Key
		k[WordVLAN] = c.was
		FieldByName(c.field).Put(&k, Value{0, c.value})
		if k[WordVLAN] != c.now {
			t.Errorf("%s=%#x: %#x became %#x, want %#x", c.field, c.value, c.was, k[WordVLAN], c.now)
		}
	}
}

func TestFieldAllocs(t *testing.T) {
	k, m := new(Key), new(Key)
	var sink uint64
	if n := testing.AllocsPerRun(100, func() {
		for _, f := range Fields() {
			f.Put(k, f.Get(k))
			f.Set(m, f.All())
			f.PutBits(k, 0, 1, f.GetBits(k, 0, 1))
			f.Needs(m)
			if f.Present(k) {
				sink++
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// PutBits is Put for the part of f that has n bits, the last one being bit ofs of f.
func (f *Field) PutBits(k *Key, ofs, n uint, v Value) {
	m := Ones(n)
	f.PutMasked(k, v.And(m).Lsh(ofs), m.Lsh(ofs))
}
