package packet

// Truncate cuts the frame to its first n bytes, MinFrame at least. A frame that is no longer
// stays as it is. The offload state is not looked at: whoever cuts a frame
// finishes its checksum first.
func (p *Packet) Truncate(n uint32) {
	n = max(n, MinFrame)
	if n >= p.Len {
		return
	}
	p.Len = n
	if n <= uint32(p.HeadLen) {
		p.HeadLen, p.NSegs = uint16(n), 0
		return
	}
	n -= uint32(p.HeadLen)
	for i := range p.segs[:p.NSegs] {
		s := &p.segs[i]
		if n <= s.Len {
			s.Len = n
			p.NSegs = uint8(i + 1)
			return
		}
		n -= s.Len
	}
}
