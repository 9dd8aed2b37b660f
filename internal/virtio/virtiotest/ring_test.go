package virtiotest

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// echo is the simplest device there is: it copies each transmitted frame into
// one receive buffer.
func echo(t *testing.T, d *Net, seenTx, seenRx *uint16) {
	t.Helper()
	gather := func(r *Ring, seen *uint16) (head uint16, spans []Elem, ok bool) {
		b := r.Mem.At(r.Avail, 4+2*r.Size)
		if binary.LittleEndian.Uint16(b[2:]) == *seen {
			return 0, nil, false
		}
		head = binary.LittleEndian.Uint16(b[4+2*(int(*seen)%r.Size):])
		*seen++
		table, i := r.Desc, head
		for {
			e := r.Mem.At(table+uint64(16*int(i)), 16)
			addr, n := binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint32(e[8:])
			flags := binary.LittleEndian.Uint16(e[12:])
			if flags&Indirect != 0 {
				table, i = addr, 0
				continue
			}
			spans = append(spans, Elem{addr, n, flags&Write != 0})
			if flags&Next == 0 {
				return head, spans, true
			}
			i = binary.LittleEndian.Uint16(e[14:])
		}
	}
	use := func(r *Ring, head uint16, n int) {
		b := r.Mem.At(r.Used, 4+8*r.Size)
		idx := binary.LittleEndian.Uint16(b[2:])
		binary.LittleEndian.PutUint32(b[4+8*(int(idx)%r.Size):], uint32(head))
		binary.LittleEndian.PutUint32(b[8+8*(int(idx)%r.Size):], uint32(n))
		binary.LittleEndian.PutUint16(b[2:], idx+1)
	}
	for {
		head, spans, ok := gather(d.TX, seenTx)
		if !ok {
			return
		}
		var frame []byte
		for _, s := range spans {
			frame = append(frame, d.TX.Mem.Read(s.Addr, int(s.Len))...)
		}
		use(d.TX, head, 0)
		head, spans, ok = gather(d.RX, seenRx)
		if !ok {
			t.Fatal("no receive buffer")
		}
		frame[10] = 1 // num_buffers
		n := len(frame)
		for _, s := range spans {
			k := min(int(s.Len), len(frame))
			d.RX.Mem.Write(s.Addr, frame[:k])
			frame = frame[k:]
		}
		use(d.RX, head, n)
	}
}

// Every frame comes back whatever the shape, over many turns of small rings and
// over a border between regions.
func TestEcho(t *testing.T) {
	m := Memory{{0x1000, make([]byte, 0x8800)}, {0x9800, make([]byte, 0x20000)}}
	d := &Net{HdrLen: 12}
	at := uint64(0x1000)
	tx := NewRing(m, at, 8, false)
	at += uint64(RingBytes(8))
	rx := NewRing(m, at, 8, true)
	at += uint64(RingBytes(8))
	d.SetTx(tx, at, 2000, 8)
	d.SetRx(rx, at+8*uint64(SlotBytes(2000)), 2000, 8)
	var seenTx, seenRx uint16
	for i, s := range []Shape{{}, {Cuts: []int{12}}, {Cuts: []int{1, 5, 700}}, {Cuts: []int{12, 40}, Indirect: true}, {Cuts: []int{12, 40}, Indirect: true, Direct: 1}} {
		d.RxCuts, d.RxIndirect = s.Cuts, s.Indirect
		for n := 60; n < 1900; n += 7 {
			d.Fill()
			frame := bytes.Repeat([]byte{byte(n)}, n)
			if !d.Send(Hdr{}, frame, s) {
				t.Fatalf("shape %d, frame of %d: no room", i, n)
			}
			echo(t, d, &seenTx, &seenRx)
			f, err := d.Recv()
			if err != nil || f == nil || !bytes.Equal(f.Data, frame) {
				t.Fatalf("shape %d, frame of %d: %+v, %v", i, n, f, err)
			}
		}
	}
	if d.InFlight() != 0 || tx.Free() != 8 {
		t.Errorf("%d in flight, %d descriptors free", d.InFlight(), tx.Free())
	}
}

func TestNotificationRules(t *testing.T) {
	m := One(0, make([]byte, 4096))
	for _, eventIdx := range []bool{false, true} {
		r := NewRing(m, 0, 4, eventIdx)
		r.Reset(65534)
		add := func() {
			for range 3 {
				r.Post(0)
			}
			r.Publish()
		}
		event := m.At(r.Used+4+8*4, 2)
		binary.LittleEndian.PutUint16(event, 65535) // the second of the three
		add()
		if !r.NeedKick() {
			t.Errorf("event idx %v: no kick", eventIdx)
		}
		binary.LittleEndian.PutUint16(event, 65535)
		m.At(r.Used, 2)[0] = byte(NoNotify)
		add()
		if r.NeedKick() {
			t.Errorf("event idx %v: kick though the device asked for none", eventIdx)
		}
		if r.NeedKick() {
			t.Errorf("event idx %v: kick without news", eventIdx)
		}
	}
}
