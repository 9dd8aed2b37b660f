package vhostuser

// The messages of live migration's first half: the front end copies the guest's memory while
// the guest runs, and what is written to it meanwhile must be marked in a log, a bit a page.
// (Section "Migration" of the specification.)

// LogArea is where the log is: Size bytes from Offset in a file, bit 0 of byte 0 for the
// first page of the guest's memory.
type LogArea struct {
	Size, Offset uint64
	FD           FD
}

var noLog = LogArea{FD: NoFD}

const logAreaSize = 16

// Append appends the payload of SET_LOG_BASE, without its descriptor.
func (l LogArea) Append(b []byte) []byte {
	return le.AppendUint64(le.AppendUint64(b, l.Size), l.Offset)
}

func parseLogArea(p []byte) LogArea { return LogArea{Size: le.Uint64(p), Offset: le.Uint64(p[8:])} }

// setLogBase: it comes before LOG_ALL is acknowledged, again, from each queue pair, with the
// same log, and with a larger one when memory is plugged in. The answer is
// due even where nothing else is answered.
func (s *Session) setLogBase(m *Message) error {
	if len(s.fds) != 1 {
		return refusef("%v: %d file descriptors, want 1", m.Request, len(s.fds))
	}
	l := parseLogArea(m.Payload)
	l.FD = s.fds[0]
	switch {
	case l.FD.Kind != KindMemory:
		return refusef("%v: not a file on tmpfs (memfd) or hugetlbfs but of kind %v", m.Request, l.FD.Kind)
	case l.Size < 8 || l.Offset%8 != 0:
		return refusef("%v: log of %#x bytes from %#x: want at least 8, from a multiple of 8", m.Request, l.Size, l.Offset)
	case l.Offset > l.FD.Size || l.Size > l.FD.Size-l.Offset:
		return refusef("%v: log of %#x bytes from %#x of a file of %#x", m.Request, l.Size, l.Offset, l.FD.Size)
	}
	s.reply = AppendU64(nil, 0)
	if same := l; s.Log.FD.Num >= 0 {
		same.FD.Num = s.Log.FD.Num
		if same == s.Log {
			return nil
		}
	}
	if s.logging() {
		s.park()
	}
	// A front end that reconnects in the middle of a migration starts the rings first. What
	// they wrote nobody remembers.
	if err := s.dev.SetLog(l, s.unlogged); err != nil {
		s.sync()
		return refusef("%v: %w", m.Request, err)
	}
	s.takeFD()
	s.replaceFD(&s.Log.FD, l.FD)
	s.Log, s.unlogged = l, false
	s.sync()
	return nil
}

// logging tells whether a ring may be marking.
func (s *Session) logging() bool {
	for i := range s.Vrings {
		if s.Vrings[i].LogUsed {
			return true
		}
	}
	return s.Features&FeatureLogAll != 0
}

// dropLog gives the log up; rings are parked.
func (s *Session) dropLog() {
	if s.Log.FD.Num < 0 {
		return
	}
	_ = s.dev.SetLog(noLog, false) // there is nothing that could fail
	s.dev.Close(s.Log.FD.Num)
	s.Log = noLog
}

// setLogFD: who wants to hear of each mark would hear nothing else. The descriptor is kept,
// as the specification allows, and not written to.
func (s *Session) setLogFD(*Message) error {
	s.replaceFD(&s.LogFD, s.takeFD())
	return nil
}
