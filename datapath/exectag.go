package datapath

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/tso"
)

// pushVLAN pushes a tag, TPID and TCI. It reports false if there is no room.
func (e *editor) pushVLAN(p *packet.Packet, tag uint32) bool {
	if !open4(p, 12) {
		return false
	}
	binary.BigEndian.PutUint32(p.Head()[12:], tag)
	e.known = false
	return true
}

// popVLAN takes the outer tag off, if there is one.
func (e *editor) popVLAN(p *packet.Packet) bool {
	if !p.Pull(minTagged) || !hdr.IsVLAN(hdr.TypeAt(p.Head(), 12)) {
		return false
	}
	e.known = false
	return close4(p, 12)
}

// pushMPLS pushes a label stack entry behind the tags, in front of what was there.
func (e *editor) pushMPLS(p *packet.Packet, typ uint16, entry uint32) bool {
	e.find(p)
	l3 := int(e.off.L3)
	if l3 == 0 || !open4(p, l3) {
		return false
	}
	h := p.Head()
	binary.BigEndian.PutUint16(h[l3-2:], typ)
	binary.BigEndian.PutUint32(h[l3:], entry)
	e.known = false
	return true
}

// popMPLS takes the outer label stack entry off and leaves the EtherType typ.
func (e *editor) popMPLS(p *packet.Packet, typ uint16) bool {
	e.find(p)
	l3 := int(e.off.L3)
	if t := e.key.EthType(); t != hdr.TypeMPLS && t != hdr.TypeMPLSMC || !p.Pull(l3+hdr.MPLSLen) {
		return false
	}
	if !close4(p, l3) {
		return false
	}
	binary.BigEndian.PutUint16(p.Head()[l3-2:], typ)
	e.known = false
	return true
}

// open4 makes room for four bytes at at.
func open4(p *packet.Packet, at int) bool {
	if !p.Pull(at) || !p.Push(4) {
		return false
	}
	h := p.Head()
	copy(h[:at], h[4:at+4])
	return true
}

// close4 takes the four bytes at at out.
func close4(p *packet.Packet, at int) bool {
	if p.Flags&packet.CsumPartial != 0 && int(p.CsumStart) < at+4 {
		return false
	}
	h := p.Head()
	copy(h[4:at+4], h[:at])
	return p.Pop(4)
}

// truncate cuts p to n bytes. What was still to be done to all of the packet, its checksum, is done
// before; that it was to be cut into segments is forgotten. It reports false if that cannot be.
func truncate(p *packet.Packet, n uint32) bool {
	if n >= p.Len {
		return true
	}
	p.GSOType, p.GSOSize = packet.GSONone, 0
	if !tso.Complete(p) {
		return false
	}
	p.Truncate(n)
	return true
}
