package packet

import "github.com/gvswitch/gvswitch/internal/mem"

const (
	// Headroom is the room in front of a received frame, for VLAN tags and
	// tunnel headers: Ethernet + VLAN + IPv6 + UDP + Geneve with 46 bytes of
	// options fit.
	Headroom = 128
	// HeadCopy is how much of a frame is copied at receive. It covers Ethernet,
	// two tags, IPv6 and TCP with all options.
	HeadCopy = 128
	// HeadCap is what the head can hold at most, see Pull.
	HeadCap = 256
	// MaxSegs is the most segments a tail may have. Linux sends a 64 KiB packet in
	// at most 19; a packet with more is copied into one by its queue.
	MaxSegs = 20
	// MinFrame is the shortest frame that has an Ethernet header, in bytes.
	MinFrame = 14
	// MaxFrame is the longest frame: a 64 KiB IP packet, Ethernet and two tags.
	MaxFrame = 65535 + 14 + 8
)

// Seg is a piece of a packet's tail, in somebody else's memory.
type Seg struct {
	Addr uintptr
	Len  uint32 // bytes, never 0
}

// GSOType is the kind of segmentation a packet still needs, numbered as in the
// virtio net header (virtio 1.2, section 5.1.6).
type GSOType uint8

// The kinds of segmentation.
const (
	GSONone  GSOType = 0
	GSOTCPv4 GSOType = 1
	GSOUDP   GSOType = 3 // UFO: into IP fragments; not accepted from anyone
	GSOTCPv6 GSOType = 4
	GSOUDPL4 GSOType = 5 // USO: into datagrams
)

// Flags of a packet's offload state.
const (
	// CsumPartial: the checksum at CsumStart+CsumOffset holds the pseudo-header sum
	// only and must be finished over [CsumStart, Len) before the frame is whole.
	CsumPartial uint8 = 1 << iota
	// CsumValid: the L4 checksum was verified by the sender's side or need not be.
	CsumValid
	// ECN: the segments of a GSO packet carry TCP ECN (virtio GSO_ECN).
	ECN
)

// Packet is one frame and what is known about it. The zero value is an empty
// frame; Reset makes it so again.
//
// CsumStart counts from the first byte of the frame. Every edit that moves the
// frame's start must keep it true: Push and Pop do.
//
// The layout is for the cache: what every packet needs (the fields and the first
// segments) is one line, a received frame starts on another, and a packet is an odd number
// of lines long, so that the packets of a burst spread over all cache sets.
type Packet struct {
	Len     uint32 // bytes of the frame: head and tail
	Off     uint16 // where the frame starts in buf
	HeadLen uint16 // bytes of the frame in buf
	NSegs   uint8  // segments of the tail
	Flags   uint8  // CsumPartial, CsumValid, ECN
	GSOType GSOType
	_       uint8
	GSOSize uint16 // payload bytes of each segment, when GSOType is not GSONone

	CsumStart  uint16 // with CsumPartial: first byte summed
	CsumOffset uint16 // with CsumPartial: the field, from CsumStart
	HdrLen     uint16 // length of all headers of a GSO packet as its sender says; a hint, never trusted

	InPort uint32 // datapath port it came from
	_      [8]byte

	segs [MaxSegs]Seg
	_    [32]byte
	buf  [Headroom + HeadCap]byte
	_    [64]byte
}

// Reset makes p an empty frame with full headroom. The bytes stay as they are.
func (p *Packet) Reset() {
	p.Len, p.Off, p.HeadLen, p.NSegs = 0, Headroom, 0, 0
	p.Flags, p.GSOType, p.GSOSize = 0, GSONone, 0
	p.CsumStart, p.CsumOffset, p.HdrLen = 0, 0, 0
}

// Head is the part of the frame that is the packet's own, to read and edit.
func (p *Packet) Head() []byte { return p.buf[p.Off:][: p.HeadLen : len(p.buf)-int(p.Off)] }

// Words is the buffer's 16 bytes from the frame's start on: addresses, type and
// what follows, some of it not the frame's if that is shorter.
func (p *Packet) Words() *[16]byte { return (*[16]byte)(p.buf[p.Off:]) }

// Room is the whole buffer from the frame's start, for a receiver to fill; it
// then calls SetHead.
func (p *Packet) Room() []byte { return p.buf[p.Off:] }

// SetHead says that the frame is the first n bytes of Room and has no tail yet.
func (p *Packet) SetHead(n int) {
	p.HeadLen, p.Len, p.NSegs = uint16(n), uint32(n), 0
}

// AddSeg lends n more bytes at addr to the frame's tail. It reports false, and
// adds nothing, when the packet has MaxSegs already.
func (p *Packet) AddSeg(addr uintptr, n uint32) bool {
	if int(p.NSegs) >= MaxSegs {
		return false
	}
	p.segs[p.NSegs] = Seg{addr, n}
	p.NSegs++
	p.Len += n
	return true
}

// Segs is the tail. The slice is good until the next change of the packet.
func (p *Packet) Segs() []Seg { return p.segs[:p.NSegs] }

// Pull makes the first n bytes of the frame part of the head, copying them from
// the tail, and reports whether the frame and the buffer are long enough.
// Whoever parses beyond HeadCopy calls it; nobody reads the tail in place.
func (p *Packet) Pull(n int) bool {
	if n <= int(p.HeadLen) {
		return true
	}
	if n > int(p.Len) || n > len(p.buf)-int(p.Off) {
		return false
	}
	dst := p.buf[int(p.Off)+int(p.HeadLen) : int(p.Off)+n]
	i := 0
	for len(dst) > 0 {
		s := &p.segs[i]
		k := min(len(dst), int(s.Len))
		mem.CopyIn(dst[:k], s.Addr)
		dst = dst[k:]
		s.Addr += uintptr(k)
		s.Len -= uint32(k)
		if s.Len == 0 {
			i++
		}
	}
	p.NSegs = uint8(copy(p.segs[:], p.segs[i:p.NSegs]))
	p.HeadLen = uint16(n)
	return true
}

// Push opens n bytes in front of the frame and reports whether there was room.
// Offsets into the frame move with it.
func (p *Packet) Push(n int) bool {
	if n > int(p.Off) {
		return false
	}
	p.Off -= uint16(n)
	p.HeadLen += uint16(n)
	p.Len += uint32(n)
	if p.Flags&CsumPartial != 0 {
		p.CsumStart += uint16(n)
	}
	if p.HdrLen != 0 {
		p.HdrLen += uint16(n)
	}
	return true
}

// Pop takes n bytes off the front of the frame, which must be in the head.
func (p *Packet) Pop(n int) bool {
	if n > int(p.HeadLen) || p.Flags&CsumPartial != 0 && n > int(p.CsumStart) {
		return false
	}
	p.Off += uint16(n)
	p.HeadLen -= uint16(n)
	p.Len -= uint32(n)
	if p.Flags&CsumPartial != 0 {
		p.CsumStart -= uint16(n)
	}
	p.HdrLen -= min(p.HdrLen, uint16(n))
	return true
}

// CloneFrom makes p a packet of its own with the same frame: the head is
// copied, the tail is shared and stays the lender's.
func (p *Packet) CloneFrom(q *Packet) {
	p.Len, p.Off, p.HeadLen, p.NSegs = q.Len, q.Off, q.HeadLen, q.NSegs
	p.Flags, p.GSOType, p.GSOSize = q.Flags, q.GSOType, q.GSOSize
	p.CsumStart, p.CsumOffset, p.HdrLen = q.CsumStart, q.CsumOffset, q.HdrLen
	p.InPort = q.InPort
	copy(p.segs[:q.NSegs], q.segs[:q.NSegs])
	copy(p.buf[p.Off:], q.buf[q.Off:][:q.HeadLen])
}

// SetBytes makes p the given frame: as much as fits becomes the head, the rest
// a tail in b itself, which the caller keeps alive and unchanged until the
// packet is no longer used.
func (p *Packet) SetBytes(b []byte) {
	p.Reset()
	n := copy(p.buf[Headroom:Headroom+HeadCopy], b)
	p.SetHead(n)
	if n < len(b) {
		p.AddSeg(mem.AddrOf(b[n:]), uint32(len(b)-n))
	}
}

// AppendTo appends the whole frame to b: the way to keep a packet beyond its
// burst.
func (p *Packet) AppendTo(b []byte) []byte {
	b = append(b, p.Head()...)
	for _, s := range p.Segs() {
		b = append(b, mem.Bytes(s.Addr, int(s.Len))...)
	}
	return b
}

// CopyOut writes bytes [off, off+n) of the frame to the memory at dst; they must
// lie within the frame.
func (p *Packet) CopyOut(dst uintptr, off, n int) {
	if h := int(p.HeadLen) - off; h > 0 {
		h = min(h, n)
		mem.CopyOut(dst, p.buf[int(p.Off)+off:][:h])
		dst += uintptr(h)
		n -= h
		off = 0
	} else {
		off -= int(p.HeadLen)
	}
	for i := 0; n > 0; i++ {
		s := &p.segs[i]
		if off >= int(s.Len) {
			off -= int(s.Len)
			continue
		}
		k := min(n, int(s.Len)-off)
		mem.Move(dst, s.Addr+uintptr(off), k)
		dst += uintptr(k)
		n -= k
		off = 0
	}
}
