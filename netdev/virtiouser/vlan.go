package virtiouser

import "github.com/gvswitch/gvswitch/packet"

const tagLen = 4

// stripTag takes an 802.1Q tag off the front of a frame.
func stripTag(p *packet.Packet) {
	h := p.Head()
	if len(h) < packet.MinFrame+tagLen || h[12] != 0x81 || h[13] != 0 {
		return
	}
	if p.Flags&packet.CsumPartial != 0 && p.CsumStart < packet.MinFrame+tagLen {
		return
	}
	copy(h[tagLen:], h[:12])
	p.Pop(tagLen)
}

// pushTag puts one on; false if there is no room.
func pushTag(p *packet.Packet, tci uint16) bool {
	if !p.Push(tagLen) {
		return false
	}
	h := p.Head()
	copy(h[:12], h[tagLen:])
	h[12], h[13], h[14], h[15] = 0x81, 0, byte(tci>>8), byte(tci)
	return true
}

// popTag undoes pushTag.
func popTag(p *packet.Packet) {
	h := p.Head()
	copy(h[tagLen:], h[:12])
	p.Pop(tagLen)
}
