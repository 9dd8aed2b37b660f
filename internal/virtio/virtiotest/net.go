package virtiotest

import (
	"encoding/binary"
	"fmt"
)

// Hdr is the header in front of each frame (virtio 1.2, section 5.1.6).
type Hdr struct {
	Flags, GSOType                         uint8
	HdrLen, GSOSize, CsumStart, CsumOffset uint16
	NumBuffers                             uint16
}

// Bytes is h as n bytes, 10 or 12, on the wire.
func (h Hdr) Bytes(n int) []byte {
	b := make([]byte, 12)
	b[0], b[1] = h.Flags, h.GSOType
	for i, v := range []uint16{h.HdrLen, h.GSOSize, h.CsumStart, h.CsumOffset, h.NumBuffers} {
		binary.LittleEndian.PutUint16(b[2+2*i:], v)
	}
	return b[:n]
}

// ParseHdr reads a header of len(b) bytes, 10 or 12.
func ParseHdr(b []byte) Hdr {
	w := make([]byte, 12)
	copy(w, b)
	u := func(i int) uint16 { return binary.LittleEndian.Uint16(w[2+2*i:]) }
	return Hdr{w[0], w[1], u(0), u(1), u(2), u(3), u(4)}
}

// Shape is how a frame and its header are laid out in descriptors.
type Shape struct {
	// Cuts are byte offsets into header and frame at which a new descriptor
	// begins; nil is one descriptor for all.
	Cuts []int
	// Indirect puts the descriptors into a table; with Direct, all but that many.
	Indirect bool
	Direct   int
}

// Frame is a frame as received, and its header.
type Frame struct {
	Hdr  Hdr
	Data []byte
}

// Net is a virtio network card's driver with one queue pair. Buffers come from a
// piece of guest memory, cut into slots: one a chain.
type Net struct {
	TX, RX *Ring // either may be nil
	HdrLen int   // 10 or 12
	// RxCuts are offsets at which receive buffers are cut into descriptors;
	// RxIndirect puts those into tables.
	RxCuts     []int
	RxIndirect bool
	// Mergeable says that a frame may fill several receive buffers.
	Mergeable bool

	tx, rx slots
}

// slots is memory for the chains of one ring: slot i is n bytes of buffer, then
// a table of up to maxTable descriptors.
type slots struct {
	at   uint64
	n    int
	free []uint64
	busy map[uint16]uint64 // head -> slot
}

const maxTable = 64

func newSlots(at uint64, n, count int) slots {
	s := slots{at: at, n: n, busy: map[uint16]uint64{}}
	for i := count - 1; i >= 0; i-- {
		s.free = append(s.free, at+uint64(i*SlotBytes(n)))
	}
	return s
}

// SlotBytes is the memory that a chain of n buffer bytes takes.
func SlotBytes(n int) int { return (n+15)&^15 + maxTable*descSize }

// SetTx gives the transmit ring count slots for frames of up to n bytes with
// their header, in guest memory from at on.
func (d *Net) SetTx(r *Ring, at uint64, n, count int) { d.TX, d.tx = r, newSlots(at, n, count) }

// SetRx gives the receive ring count buffers of n bytes. Fill posts them.
func (d *Net) SetRx(r *Ring, at uint64, n, count int) { d.RX, d.rx = r, newSlots(at, n, count) }

// cut makes elements of the n bytes at addr.
func cut(addr uint64, n int, cuts []int, write bool) []Elem {
	var out []Elem
	from := 0
	for _, c := range append(append([]int(nil), cuts...), n) {
		if c > n {
			c = n
		}
		if c > from {
			out = append(out, Elem{addr + uint64(from), uint32(c - from), write})
			from = c
		}
	}
	return out
}

// Send adds a frame to the transmit ring and publishes it; false when there is
// no room. Kicking is the caller's.
func (d *Net) Send(h Hdr, frame []byte, s Shape) bool {
	if !d.Queue(h, frame, s) {
		return false
	}
	d.TX.Publish()
	return true
}

// Queue is Send without publishing.
func (d *Net) Queue(h Hdr, frame []byte, s Shape) bool {
	d.Reclaim()
	if len(d.tx.free) == 0 {
		return false
	}
	all := append(h.Bytes(d.HdrLen), frame...)
	if len(all) > d.tx.n {
		panic(fmt.Sprintf("virtiotest: frame of %d bytes in a slot of %d", len(all), d.tx.n))
	}
	at := d.tx.free[len(d.tx.free)-1]
	d.TX.Mem.Write(at, all)
	head, ok := addShaped(d.TX, at, d.tx.n, cut(at, len(all), s.Cuts, false), s)
	if !ok {
		return false
	}
	d.tx.free = d.tx.free[:len(d.tx.free)-1]
	d.tx.busy[head] = at
	return true
}

func addShaped(r *Ring, slot uint64, n int, chain []Elem, s Shape) (uint16, bool) {
	if !s.Indirect {
		return r.Add(chain...)
	}
	k := min(s.Direct, len(chain)-1)
	if r.Packed() {
		k = 0 // a table is the whole of a chain (virtio 1.2, section 2.8.19)
	}
	return r.AddIndirect(slot+uint64((n+15)&^15), chain[k:], chain[:k]...)
}

// Reclaim takes back the transmit chains that the device used, and returns how
// many.
func (d *Net) Reclaim() int {
	n := 0
	for {
		head, _, ok := d.TX.Take()
		if !ok {
			return n
		}
		if at, ok := d.tx.busy[head]; ok {
			d.tx.free = append(d.tx.free, at)
			delete(d.tx.busy, head)
		}
		n++
	}
}

// InFlight is how many frames the device has not returned yet.
func (d *Net) InFlight() int { d.Reclaim(); return len(d.tx.busy) }

// Fill posts all free receive buffers and returns how many.
func (d *Net) Fill() int {
	n := 0
	for ; len(d.rx.free) > 0; n++ {
		at := d.rx.free[len(d.rx.free)-1]
		head, ok := addShaped(d.RX, at, d.rx.n, cut(at, d.rx.n, d.RxCuts, true), Shape{Indirect: d.RxIndirect})
		if !ok {
			break
		}
		d.rx.free = d.rx.free[:len(d.rx.free)-1]
		d.rx.busy[head] = at
	}
	if n > 0 {
		d.RX.Publish()
	}
	return n
}

// Recv takes one received frame; nil when there is none. Its buffers are posted
// again by the next Fill. An error says how the device broke the rules.
func (d *Net) Recv() (*Frame, error) {
	first, err := d.takeRx()
	if first == nil || err != nil {
		return nil, err
	}
	if len(first) < d.HdrLen {
		return nil, fmt.Errorf("used length %d is shorter than the header", len(first))
	}
	f := &Frame{Hdr: ParseHdr(first[:d.HdrLen]), Data: first[d.HdrLen:]}
	if d.HdrLen < 12 {
		return f, nil
	}
	if n := f.Hdr.NumBuffers; n == 0 || n > 1 && !d.Mergeable {
		return nil, fmt.Errorf("num_buffers is %d (mergeable: %v)", n, d.Mergeable)
	}
	for i := 1; i < int(f.Hdr.NumBuffers); i++ {
		b, err := d.takeRx()
		if err != nil {
			return nil, err
		}
		if b == nil {
			return nil, fmt.Errorf("num_buffers is %d, but only %d published", f.Hdr.NumBuffers, i)
		}
		f.Data = append(f.Data, b...)
	}
	return f, nil
}

func (d *Net) takeRx() ([]byte, error) {
	head, n, ok := d.RX.Take()
	if !ok {
		return nil, nil
	}
	at, ok := d.rx.busy[head]
	if !ok {
		return nil, fmt.Errorf("used head %d was not posted", head)
	}
	delete(d.rx.busy, head)
	d.rx.free = append(d.rx.free, at)
	if int(n) > d.rx.n {
		return nil, fmt.Errorf("used length %d in a buffer of %d", n, d.rx.n)
	}
	if n == 0 {
		return nil, fmt.Errorf("used length 0")
	}
	return d.RX.Mem.Read(at, int(n)), nil
}

// Move lets the card go on in other memory with the same content, whose
// addresses are by delta (modulo 2^64) further up. Descriptors that the device has not used yet
// still hold old addresses.
func (d *Net) Move(m Memory, delta uint64) {
	for _, r := range []*Ring{d.TX, d.RX} {
		r.Mem = m
		r.Desc += delta
		r.Avail += delta
		r.Used += delta
	}
	d.tx.move(delta)
	d.rx.move(delta)
}

func (s *slots) move(delta uint64) {
	for i := range s.free {
		s.free[i] += delta
	}
	for h := range s.busy {
		s.busy[h] += delta
	}
}

// ResetRings starts both rings anew at the indices given, with all buffers free.
func (d *Net) ResetRings(tx, rx uint16) {
	if d.TX != nil {
		d.TX.Reset(tx)
		d.tx.reset()
	}
	if d.RX != nil {
		d.RX.Reset(rx)
		d.rx.reset()
	}
}

func (s *slots) reset() {
	for h, at := range s.busy {
		s.free = append(s.free, at)
		delete(s.busy, h)
	}
}
