package flow

// The parts of a tag and of a label stack entry, in the order in which they are written.
var (
	tagKeys   = []string{"vid", "pcp", "dei"}
	labelKeys = []string{"label", "tc", "ttl", "bos"}
)

// FormatDatapath is k as ovs-dpctl(8) writes a flow:
// in_port(1),eth(src=...,dst=...),eth_type(0x0800),ipv4(...),tcp(...). Parse reads it
// back.
func FormatDatapath(k *Key) string {
	t := keyText{k: k}
	t.paren("recirc_id", fieldRecirc)
	t.paren("in_port", keyInPort)
	t.group("eth")
	tags := 0
	for ; tags < 2; tags++ {
		tpid := keyTags[tags][0]
		if tpid.Get(k).IsZero() {
			break
		}
		t.match = true // with all digits
		t.paren("eth_type", tpid)
		t.match = false
		t.open("vlan")
		for _, key := range tagKeys {
			f := tagFields["vlan."+key][tags]
			if key != "dei" || !f.Get(k).IsZero() {
				t.value(key, f)
			}
		}
		t.close()
		t.open("encap")
	}
	if k.EthType() != TypeNone {
		t.match = true
		t.paren("eth_type", fieldEthType)
		t.match = false
	}
	t.headers()
	for range tags {
		t.close()
	}
	return string(t.b)
}

// open begins a header.
func (t *keyText) open(name string) {
	t.word(name)
	t.b = append(t.b, '(')
	t.comma = false
}

// close ends a header.
func (t *keyText) close() {
	t.b = append(t.b, ')')
	t.comma = true
}

// paren appends name(value) of f.
func (t *keyText) paren(name string, f *Field) {
	t.open(name)
	t.b = f.append(t.b, f.Get(t.k), f.full, nil, t.match)
	t.close()
}

// group appends a header with all its fields; nd's flags only if there are any.
func (t *keyText) group(name string) {
	t.open(name)
	for _, key := range groups[name].keys {
		if key.name != "reserved" || !key.field.Get(t.k).IsZero() {
			t.value(key.name, key.field)
		}
	}
	t.close()
}

// headers appends the headers behind the link layer.
func (t *keyText) headers() {
	c := t.k.kind()
	for _, g := range []struct {
		has  bool
		name string
	}{
		{c.ip4, "ipv4"},
		{c.ip6, "ipv6"},
		{c.arp, "arp"},
		{c.tcp, "tcp"},
		{c.udp, "udp"},
		{c.sctp, "sctp"},
		{c.icmp, "icmp"},
		{c.igmp, "igmp"},
		{c.icmpv6, "icmpv6"},
		{c.nd, "nd"},
	} {
		if g.has {
			t.group(g.name)
		}
	}
	if c.tcp {
		t.paren("tcp_flags", known("tcp_flags"))
	}
	if c.mpls {
		t.labels()
	}
}

// labels appends the label stack up to its last entry that is not 0.
func (t *keyText) labels() {
	last := maxLabels - 1
	for last > 0 && t.k.MPLS(last) == 0 {
		last--
	}
	for i := range last + 1 {
		t.open("mpls")
		for _, key := range labelKeys {
			t.value(key, labelFields["mpls."+key][i])
		}
		t.close()
	}
}
