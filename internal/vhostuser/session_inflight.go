package vhostuser

// The messages about a table of what the device has taken from each ring and not given
// back. It is the front end's to keep, so that it outlives a back end that crashes.
// (Section "Inflight I/O tracking" of the specification.)

// InflightArea is where the table is: Queues parts of the same size, one for each vring, of rings of
// up to QueueSize entries, all of it Size bytes from Offset in a file.
type InflightArea struct {
	Size, Offset      uint64
	Queues, QueueSize uint16
	FD                FD
}

var noInflight = InflightArea{FD: NoFD}

// inflightSize is the payload's length; front ends in C send their structure with its padding, and want it back.
const (
	inflightSize   = 20
	inflightPadded = 24
)

// Append appends the payload of both messages, with its padding.
func (a InflightArea) Append(b []byte) []byte {
	b = le.AppendUint64(le.AppendUint64(b, a.Size), a.Offset)
	b = le.AppendUint16(le.AppendUint16(b, a.Queues), a.QueueSize)
	return le.AppendUint32(b, 0)
}

func parseInflightArea(m *Message) (InflightArea, error) {
	p := m.Payload
	if len(p) != inflightSize && len(p) != inflightPadded {
		return noInflight, protocolErrorf("%v: payload of %d bytes, want %d or %d", m.Request, len(p), inflightSize, inflightPadded)
	}
	a := InflightArea{Size: le.Uint64(p), Offset: le.Uint64(p[8:]), Queues: le.Uint16(p[16:]), QueueSize: le.Uint16(p[18:]), FD: NoFD}
	if a.Queues == 0 || a.Queues > maxVrings || a.QueueSize == 0 || a.QueueSize > maxRingSize {
		return a, refusef("%v: %d queues of %d entries: want 1 to %d, of 1 to %d", m.Request, a.Queues, a.QueueSize, maxVrings, maxRingSize)
	}
	return a, nil
}

// Each part of the table begins on a cache line of its own.
const (
	inflightAlign = 64
	// SplitInflightHeader and PackedInflightHeader are the bytes before a part's entries, and
	// SplitInflightEntry and PackedInflightEntry those of each.
	SplitInflightHeader  = 16
	SplitInflightEntry   = 16
	PackedInflightHeader = 32
	PackedInflightEntry  = 32
)

// part is the size of each part of the table.
func (a *InflightArea) part(packed bool) uint64 {
	n := uint64(SplitInflightHeader) + SplitInflightEntry*uint64(a.QueueSize)
	if packed {
		n = PackedInflightHeader + PackedInflightEntry*uint64(a.QueueSize)
	}
	return (n + inflightAlign - 1) &^ (inflightAlign - 1)
}

// getInflightFD makes a table for a new guest. Which kind of rings it is for is known if features
// were acknowledged before; if not, it is large enough for both.
func (s *Session) getInflightFD(m *Message) error {
	a, err := parseInflightArea(m)
	if err != nil {
		return err
	}
	a.Size, a.Offset = uint64(a.Queues)*a.part(!s.FeaturesSet || s.Features&FeatureRingPacked != 0), 0
	fd, err := s.dev.NewInflight(a.Size)
	if err != nil {
		return refusef("%v: %w", m.Request, err)
	}
	s.reply, s.replyFDs = a.Append(nil)[:len(m.Payload)], []int{fd}
	return nil
}

// setInflightFD: whatever rings begin or go on from now on is kept there.
func (s *Session) setInflightFD(m *Message) error {
	a, err := parseInflightArea(m)
	if err != nil {
		return err
	}
	a.FD = s.fds[0]
	switch {
	case a.FD.Kind != KindMemory:
		return refusef("%v: not a file on tmpfs (memfd) or hugetlbfs but of kind %v", m.Request, a.FD.Kind)
	case a.Offset%8 != 0 || a.Offset > a.FD.Size || a.Size > a.FD.Size-a.Offset:
		return refusef("%v: %#x bytes from %#x of a file of %#x", m.Request, a.Size, a.Offset, a.FD.Size)
	case a.Size < uint64(a.Queues)*a.part(false):
		return refusef("%v: %#x bytes are too few for %d queues of %d entries", m.Request, a.Size, a.Queues, a.QueueSize)
	}
	if same := a; s.Inflight.FD.Num >= 0 {
		same.FD.Num = s.Inflight.FD.Num
		if same == s.Inflight {
			return nil
		}
	}
	s.park()
	if err := s.dev.SetInflight(a); err != nil {
		s.sync()
		return refusef("%v: %w", m.Request, err)
	}
	s.takeFD()
	s.replaceFD(&s.Inflight.FD, a.FD)
	s.Inflight = a
	for i := range s.Vrings {
		s.Vrings[i].broken = nil
	}
	s.sync()
	return nil
}

// dropInflight gives the table up; rings are parked.
func (s *Session) dropInflight() {
	if s.Inflight.FD.Num < 0 {
		return
	}
	_ = s.dev.SetInflight(noInflight) // there is nothing that could fail
	s.dev.Close(s.Inflight.FD.Num)
	s.Inflight = noInflight
}
