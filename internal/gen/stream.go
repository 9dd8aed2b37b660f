package gen

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
)

// Source gives a sender its frames. Its methods are called once a burst, by one worker.
type Source interface {
	// Prepare writes into b, which is the source's from then on, what Fill takes for granted.
	Prepare(b *packet.Burst)
	// Fill makes the first n packets of b the next frames, sent at a time in ticks of the Clock, and returns how many bytes they have.
	Fill(b *packet.Burst, n int, at uint32) (bytes uint64)
	// MeanSize is the average size of the frames in bytes.
	MeanSize() float64
}

// Stream is the frames that one queue sends. It implements Source.
type Stream struct {
	source  uint32
	seq     uint32
	partial bool // checksums
	none    bool
	tcp, v6 bool
	varies  bool // headers differ, by flow or by size
	macs    bool
	tags    int
	marked  bool // frames carry a mark

	l3, l4, payload int
	template        [packet.HeadCopy]byte
	ipSum           uint32 // of the IPv4 header without length and addresses
	l4Sum           uint32 // of the transport header without ports, sequence number and length

	flows     []flow
	next      int // of flows
	shapes    []shape
	turn      []uint16 // indices of shapes, in the order in which they are sent
	nextShape int
	pattern   *pattern
	mean      float64
}

// shape is what differs between frames of one size and of another.
type shape struct {
	size   uint32
	head   uint16 // bytes in the head
	ipLen  uint16 // IPv4: total length; IPv6: payload length
	l4Len  uint16 // transport header and payload
	data   uint16 // payload
	tail   uint32 // bytes behind the head
	header uint32 // sum of the lengths in pseudo header and transport header
	front  uint32 // sum of the payload in the head, but for the mark
}

// newStream makes the frames of t that queue of queues sends on the port with that number.
func newStream(t *Traffic, port, queue, queues int, p *pattern) *Stream {
	s := &Stream{
		source: sourceOf(port, 0, queue), tcp: t.TCP, v6: t.V6, tags: len(t.Tags), macs: t.MACs > 1,
		partial: t.Checksum == ChecksumPartial, none: t.Checksum == ChecksumNone,
		l3: t.l3(), l4: t.l4(), payload: t.payload(), marked: true,
		flows: t.flows(queue, queues), pattern: p, mean: meanSize(t.Sizes),
	}
	for _, size := range t.Sizes {
		s.marked = s.marked && size >= t.marked()
	}
	s.makeTemplate(t)
	index := map[int]uint16{}
	for _, size := range t.Sizes {
		i, ok := index[size]
		if !ok {
			i = uint16(len(s.shapes))
			index[size] = i
			s.shapes = append(s.shapes, s.shape(size))
		}
		s.turn = append(s.turn, i)
	}
	s.varies = len(s.flows) > 1 || len(s.shapes) > 1
	return s
}

// front is where the payload behind the mark begins; without a mark, the payload.
func (s *Stream) front() int {
	if !s.marked {
		return s.payload
	}
	return s.payload + markLen(s.tcp)
}

func (s *Stream) shape(size int) shape {
	head := min(size, packet.HeadCopy)
	h := shape{
		size: uint32(size), head: uint16(head), tail: uint32(size - head),
		ipLen: uint16(size - s.l3), l4Len: uint16(size - s.l4), data: uint16(size - s.payload),
	}
	if s.v6 {
		h.ipLen = h.l4Len
	}
	h.header = uint32(h.l4Len)
	if !s.tcp {
		h.header *= 2 // UDP's own
	}
	h.front = s.pattern.sum(0, head-s.front())
	return h
}

// begin starts numbers anew for the trial with that number.
func (s *Stream) begin(trial int) {
	s.source = s.source&^((trials-1)<<trialShift) | uint32(trial%trials)<<trialShift
	s.seq = 0
}

// MeanSize implements Source.
func (s *Stream) MeanSize() float64 { return s.mean }

// Prepare implements Source.
func (s *Stream) Prepare(b *packet.Burst) {
	for i := range packet.MaxBurst {
		p := &b.Pkts[i]
		p.Reset()
		room := (*frameHead)(p.Room())
		copy(room[:], s.template[:])
		s.headers(room, &s.flows[0], &s.shapes[0])
	}
}

// frameHead is where the head of a frame is written.
type frameHead [2 * packet.HeadCopy]byte

// Fill implements Source.
func (s *Stream) Fill(b *packet.Burst, n int, at uint32) (bytes uint64) {
	for i := range n {
		f := &s.flows[s.next]
		if s.next++; s.next == len(s.flows) {
			s.next = 0
		}
		h := &s.shapes[s.turn[s.nextShape]]
		if s.nextShape++; s.nextShape == len(s.turn) {
			s.nextShape = 0
		}
		s.seq++
		p := &b.Pkts[i]
		p.Reset()
		p.SetHead(int(h.head))
		room := (*frameHead)(p.Room())
		if s.varies {
			s.headers(room, f, h)
		}
		s.fill(room, f, h, at)
		if h.tail > 0 {
			p.AddSeg(mem.AddrOf(s.pattern.bytes[rotation(s.seq):]), h.tail)
		}
		if s.partial {
			p.Flags |= packet.CsumPartial
			p.CsumStart, p.CsumOffset = uint16(s.l4), udpSum
			if s.tcp {
				p.CsumOffset = tcpSum
			}
		}
		bytes += uint64(h.size)
	}
	return bytes
}

// headers writes what differs between flows and between sizes.
func (s *Stream) headers(b *frameHead, f *flow, h *shape) {
	if s.macs {
		binary.BigEndian.PutUint32(b[2:], f.dmac)
		binary.BigEndian.PutUint32(b[8:], f.smac)
	}
	if s.tags > 0 {
		binary.BigEndian.PutUint16(b[14:], f.tci[0])
		if s.tags > 1 {
			binary.BigEndian.PutUint16(b[18:], f.tci[1])
		}
	}
	ip, l4 := b[s.l3:], b[s.l4:]
	if s.v6 {
		binary.BigEndian.PutUint16(ip[4:], h.ipLen)
		binary.BigEndian.PutUint32(ip[20:], f.src)
		binary.BigEndian.PutUint32(ip[36:], f.dst)
	} else {
		binary.BigEndian.PutUint16(ip[2:], h.ipLen)
		binary.BigEndian.PutUint16(ip[10:], ^uint16(fold(s.ipSum+uint32(h.ipLen)+f.addrs)))
		binary.BigEndian.PutUint32(ip[12:], f.src)
		binary.BigEndian.PutUint32(ip[16:], f.dst)
	}
	binary.BigEndian.PutUint16(l4, f.srcPort)
	binary.BigEndian.PutUint16(l4[2:], f.dstPort)
	if !s.tcp {
		binary.BigEndian.PutUint16(l4[4:], h.l4Len)
	}
}

// fill writes the mark and the transport header's checksum.
func (s *Stream) fill(b *frameHead, f *flow, h *shape, at uint32) {
	l4 := b[s.l4:]
	sum := s.l4Sum + f.addrs + uint32(f.srcPort) + uint32(f.dstPort) + h.header + h.front
	if s.marked {
		sum += s.mark(b[s.payload:], l4, f, h, at)
	}
	if h.tail > 0 {
		tail := s.pattern.sum(rotation(s.seq), int(h.tail))
		sum += tail>>16 + tail&0xffff
	}
	check := ^uint16(fold(sum))
	switch {
	case s.partial:
		check = uint16(fold(f.addrs + uint32(h.l4Len)))
	case s.none:
		check = 0
	case check == 0 && !s.tcp: // 0 would mean none
		check = 0xffff
	}
	if s.tcp {
		binary.BigEndian.PutUint16(l4[tcpSum:], check)
	} else {
		binary.BigEndian.PutUint16(l4[udpSum:], check)
	}
}

// mark writes the mark and returns its sum.
func (s *Stream) mark(payload, l4 []byte, f *flow, h *shape, at uint32) uint32 {
	m := mark{s.source | f.number, at, s.seq}
	check := m.check(uint32(h.data))
	binary.BigEndian.PutUint16(payload[markCheck:], check)
	binary.BigEndian.PutUint32(payload[markSource:], m.source)
	binary.BigEndian.PutUint32(payload[markTime:], m.time)
	if s.tcp {
		binary.BigEndian.PutUint32(l4[tcpSeq:], m.seq)
	} else {
		binary.BigEndian.PutUint32(payload[markSeq:], m.seq)
	}
	return uint32(check) + m.source>>16 + m.source&0xffff + m.time>>16 + m.time&0xffff + m.seq>>16 + m.seq&0xffff
}
