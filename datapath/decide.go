package datapath

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/packet"
)

// decision is what is known about a frame while it is decided upon.
type decision struct {
	vid    uint16 // VLAN that it belongs to in the bridge
	tci    uint16 // of its tag
	tagged bool   // it has a tag (802.1Q or 802.1ad), perhaps for priority only

	customer
}

// EtherTypes of tags, as they are in the low half of the second word: last byte
// highest.
const (
	tag8021Q  = 0x0081
	tag8021ad = 0xa888
)

// words are the first 16 bytes of a frame as two little-endian numbers:
// destination and a third of the source; the rest, type and the two bytes
// after it (the TCI if there is a tag).
func words(p *packet.Packet) (w0, w1 uint64) {
	h := p.Words()
	return binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:])
}

// minTagged is how much of a frame the fast path wants to see: a tag and the
// type after it.
const minTagged = 18

func drop(r packet.DropReason) action { return opDrop<<28 | action(r)<<16 }

// decide is what the bridge does with a frame that came in at v: the NORMAL action
// of Open vSwitch. It learns the source's address. The decision depends only on
// the frame's words, and holds as long as a cache entry's stamp.
func (t *thread) decide(v *portView, p *packet.Packet) action {
	if p.HeadLen < minTagged && !p.Pull(min(minTagged, int(p.Len))) || p.Len < packet.MinFrame {
		return drop(packet.RxRunt)
	}
	w0, w1 := words(p)
	d := &t.dec
	d.tagged, d.tci = false, 0
	if typ := w1 >> 32 & 0xffff; typ == tag8021Q || typ == tag8021ad {
		if p.Len < minTagged {
			return drop(packet.RxBadTag)
		}
		d.tagged = true
		d.tci = binary.BigEndian.Uint16([]byte{byte(w1 >> 48), byte(w1 >> 56)})
	}
	if !v.admits(d) {
		return drop(packet.VLANNotAllowed)
	}
	dst, src := w0&macMask, w0>>48|w1<<16&macMask
	if isReserved(dst) && !v.br.bpdu {
		return drop(packet.ReservedMAC)
	}
	if v.bond != nil {
		if why := v.refuses(dst); why != packet.DropNone {
			return drop(why)
		}
	}
	if v.br.noLearn != nil && v.br.noLearn.has(d.vid) {
		return opFlood << 28
	}
	sec := uint32(t.ms / 1000)
	if src&1 == 0 && src != 0 {
		key := macKey(src, d.vid)
		if got := v.br.table.lookup(key); got != macVal(v.lid, sec) && got != macVal(v.lid, valSec(got))|isStatic {
			v.br.table.learn(key, v.lid, sec, t.ms)
		}
	}
	if dst&1 != 0 {
		return opFlood << 28
	}
	to := v.br.table.lookup(macKey(dst, d.vid))
	if to == 0 {
		return opFlood << 28
	}
	if valPort(to) == v.lid {
		return drop(packet.SamePort)
	}
	if int(valPort(to)) >= len(t.w.ports) {
		return opFlood << 28
	}
	out := t.w.ports[valPort(to)]
	if out == nil || out.br != v.br {
		return opFlood << 28 // being removed
	}
	if out.bond != nil {
		if out.lid == v.lid {
			return drop(packet.SamePort)
		}
		if out = out.bond.first(); out == nil {
			return drop(packet.BondDown)
		}
	}
	if v.protected && out.protected {
		return drop(packet.Protected)
	}
	if out.of.NoFwd {
		return drop(packet.PortNoForward)
	}
	return out.encap(d)
}

// isReserved tells whether a bridge keeps frames to dst (first byte lowest) to
// itself unless it was told to forward BPDUs: the list is that of
// other-config:forward-bpdu in ovs-vswitchd.conf.db(5).
func isReserved(dst uint64) bool {
	switch dst & 0xffffff {
	case 0xc28001: // 01:80:c2:00:00:0x
		return dst>>24 <= 0x0f0000 && dst>>24&0xffff == 0
	case 0x2be000: // 00:e0:2b:00:00:00 EDP, :04 and :06 EAPS
		b := dst >> 24
		return b == 0 || b == 0x040000 || b == 0x060000
	case 0x0c0001: // 01:00:0c:00:00:00 ISL, cd:cd:cd Uplink Fast, cc:cc:cX CDP, PVST+, CFM, ...
		b := dst >> 24
		return b == 0 || b == 0xcdcdcd || b&0xffff == 0xcccc && b>>20 == 0xc
	}
	return false
}
