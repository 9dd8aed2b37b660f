package pcapng

import (
	"encoding/binary"
	"io"
)

// Block types, section 4 of the draft.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockStats     = 5
	blockPacket    = 6
	byteOrder      = 0x1a2b3c4d
	linkEthernet   = 1
)

// Option codes, sections 3.5 and 4.
const (
	optEnd     = 0
	optComment = 1

	sectionApplication = 4

	ifName        = 2
	ifDescription = 3
	ifTSResol     = 9
	ifFilter      = 11

	packetFlags = 2

	statsStart  = 2
	statsEnd    = 3
	statsRecv   = 4
	statsDrop   = 5
	statsFilter = 6
)

// Direction of a packet, as in epb_flags.
type Direction uint32

// The directions.
const (
	Unknown  Direction = 0
	Inbound  Direction = 1
	Outbound Direction = 2
)

// Interface is what is told about the capture.
type Interface struct {
	Name        string
	Description string
	Filter      string // in words; "" if there is none
	Snaplen     uint32 // bytes; 0: all
	Application string // that captures
}

// Packet is one packet.
type Packet struct {
	Time    int64 // nanoseconds since 1970
	Dir     Direction
	Len     uint32 // of the frame
	Data    []byte // its beginning
	Comment string
}

// Stats is told at the end.
type Stats struct {
	Start, End int64  // nanoseconds since 1970
	Accepted   uint64 // packets written
	Missed     uint64 // packets that the capture had no room for
}

// flushAt is how much is gathered before it is written, in bytes.
const flushAt = 256 << 10

// Writer writes a capture. What it is given is gathered, and written by Flush, or when there is much.
type Writer struct {
	w io.Writer
	b []byte
}

// NewWriter begins a capture with its section and interface.
func NewWriter(w io.Writer, i Interface) *Writer {
	x := &Writer{w: w, b: make([]byte, 0, flushAt+1<<16)}
	at := x.begin(blockSection)
	x.b = binary.LittleEndian.AppendUint32(x.b, byteOrder)
	x.b = binary.LittleEndian.AppendUint32(x.b, 1)          // version 1.0
	x.b = binary.LittleEndian.AppendUint64(x.b, ^uint64(0)) // length of the section: not known
	x.option(sectionApplication, i.Application)
	x.end(at)
	at = x.begin(blockInterface)
	x.b = binary.LittleEndian.AppendUint32(x.b, linkEthernet)
	x.b = binary.LittleEndian.AppendUint32(x.b, i.Snaplen)
	x.option(ifName, i.Name)
	x.option(ifDescription, i.Description)
	x.option(ifTSResol, "\x09") // nanoseconds
	if i.Filter != "" {
		x.option(ifFilter, "\x00"+i.Filter)
	}
	x.end(at)
	return x
}

// Write adds a packet. The error is the underlying writer's.
func (x *Writer) Write(p *Packet) error {
	at := x.begin(blockPacket)
	x.b = binary.LittleEndian.AppendUint32(x.b, 0) // the interface
	x.time(p.Time)
	x.b = binary.LittleEndian.AppendUint32(x.b, uint32(len(p.Data)))
	x.b = binary.LittleEndian.AppendUint32(x.b, p.Len)
	x.b = append(x.b, p.Data...)
	x.pad()
	x.option(optComment, p.Comment)
	if p.Dir != Unknown {
		x.b = binary.LittleEndian.AppendUint32(x.b, 4<<16|packetFlags)
		x.b = binary.LittleEndian.AppendUint32(x.b, uint32(p.Dir))
	}
	x.end(at)
	if len(x.b) >= flushAt {
		return x.Flush()
	}
	return nil
}

// Close adds the statistics and writes all that is left. The underlying writer stays open.
func (x *Writer) Close(s Stats) error {
	at := x.begin(blockStats)
	x.b = binary.LittleEndian.AppendUint32(x.b, 0)
	x.time(s.End)
	for _, o := range []struct {
		code uint16
		at   int64
	}{{statsStart, s.Start}, {statsEnd, s.End}} {
		x.b = binary.LittleEndian.AppendUint32(x.b, 8<<16|uint32(o.code))
		x.time(o.at)
	}
	for _, o := range []struct {
		code uint16
		n    uint64
	}{{statsRecv, s.Accepted + s.Missed}, {statsDrop, s.Missed}, {statsFilter, s.Accepted}} {
		x.b = binary.LittleEndian.AppendUint32(x.b, 8<<16|uint32(o.code))
		x.b = binary.LittleEndian.AppendUint64(x.b, o.n)
	}
	x.end(at)
	return x.Flush()
}

// Flush writes what is gathered.
func (x *Writer) Flush() error {
	if len(x.b) == 0 {
		return nil
	}
	_, err := x.w.Write(x.b)
	x.b = x.b[:0]
	return err
}

// begin begins a block and returns where, for end.
func (x *Writer) begin(kind uint32) int {
	at := len(x.b)
	x.b = binary.LittleEndian.AppendUint32(x.b, kind)
	x.b = binary.LittleEndian.AppendUint32(x.b, 0) // length, see end
	return at
}

func (x *Writer) end(at int) {
	x.b = binary.LittleEndian.AppendUint32(x.b, optEnd)
	n := uint32(len(x.b) - at + 4)
	x.b = binary.LittleEndian.AppendUint32(x.b, n)
	binary.LittleEndian.PutUint32(x.b[at+4:], n)
}

// time is high word first.
func (x *Writer) time(ns int64) {
	x.b = binary.LittleEndian.AppendUint32(x.b, uint32(uint64(ns)>>32))
	x.b = binary.LittleEndian.AppendUint32(x.b, uint32(ns))
}

// option adds a text, if it is not empty, or the part of it that fits.
func (x *Writer) option(code uint16, text string) {
	if text == "" {
		return
	}
	text = text[:min(len(text), 1<<15)]
	x.b = binary.LittleEndian.AppendUint32(x.b, uint32(len(text))<<16|uint32(code))
	x.b = append(x.b, text...)
	x.pad()
}

// pad fills up to a multiple of 4: all blocks begin at one.
func (x *Writer) pad() {
	for len(x.b)%4 != 0 {
		x.b = append(x.b, 0)
	}
}
