package datapath

// When traffic is to come in by another member than before, the switches at the other end, which know of no
// bond, have to learn so: for each address of the bridge they are sent a RARP request (RFC 903) from it, as a hypervisor
// does that has moved a guest.

// teachMAC is an address that the network is to be told of.
type teachMAC struct {
	mac uint64 // first byte lowest
	vid uint16
}

// lesson notes what the network has to learn after changes that poll threads know now. d.mu is held.
func (o *Bond) lesson() {
	all, moved := o.teachAll, o.moved
	o.teachAll, o.moved = false, [buckets]bool{}
	if o.active == nil || o.group != nil && o.group.Negotiated() || o.cfg.Mode == BondTCP && !o.cfg.FallbackAB {
		return
	}
	how, _ := o.ways()
	o.teach = o.teach[:0]
	for _, e := range o.br.table.entries() {
		m := teachMAC{mac: e.key & macMask, vid: uint16(e.key >> vlanShift & 0xfff)}
		if p := o.d.port(valPort(e.val)); p == nil || p.bond == o {
			continue
		}
		if how == hashNone && all || how == hashL2 && moved[bucketL2(uint64(o.cfg.HashBasis), m.mac, m.vid)] {
			o.teach = append(o.teach, m)
		}
	}
}

// teachSome sends some of what is to be learned and reports whether there is more. d.mu is held.
func (o *Bond) teachSome() bool {
	how, _ := o.ways()
	for range 32 {
		if len(o.teach) == 0 {
			break
		}
		l := o.teach[0]
		m := o.active
		if how == hashL2 {
			m = o.assign[bucketL2(uint64(o.cfg.HashBasis), l.mac, l.vid)]
		}
		if m != nil && m.enabled {
			if f := m.p.rarp(l); f != nil && !m.p.emit(f) {
				return true // later
			}
		}
		o.teach = o.teach[1:]
	}
	return len(o.teach) > 0
}

// rarp is the frame that leaves by p for an address, nil if p does not carry its VLAN.
func (p *Port) rarp(l teachMAC) []byte {
	c := p.cfg.vlans()
	v := &portView{mode: c.mode, native: c.native}
	if !c.all {
		v.trunks = &c.trunks
	}
	if !v.carries(l.vid) {
		return nil
	}
	mac := wordMAC(l.mac)
	f := make([]byte, 0, 64)
	f = append(f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	f = append(f, mac...)
	if l.vid != 0 && c.mode != VLANAccess && (c.mode != VLANNativeUntagged || l.vid != c.native) {
		f = append(f, 0x81, 0, byte(l.vid>>8), byte(l.vid))
	}
	f = append(f, 0x80, 0x35, 0, 1, 8, 0, 6, 4, 0, 3) // request reverse
	f = append(append(f, mac...), 0, 0, 0, 0)
	f = append(append(f, mac...), 0, 0, 0, 0)
	for len(f) < 60 {
		f = append(f, 0)
	}
	return f
}
