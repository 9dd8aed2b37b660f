package vhostuser

// Postcopy: a guest that migrates begins to run here while pages of its memory are
// still on the other machine. The front end asks for a userfaultfd (POSTCOPY_ADVISE), says
// when it begins (POSTCOPY_LISTEN), and is told, in reply to each message about memory from then on, where that is
// mapped with the userfaultfd; an empty message of the same kind then says that it is ready to bring
// pages. POSTCOPY_END says that all are here.

// postcopyState is how far that is.
type postcopyState uint8

const (
	noPostcopy postcopyState = iota
	advised
	listening
	unacked // memory was mapped, and nothing of it may be touched yet
)

// lazy tells whether memory may be incomplete.
func (s *Session) lazy() bool { return s.postcopy >= listening }

// postcopyAdvise, as the other two, comes once for each queue pair. The first userfaultfd is the one
// that counts.
func (s *Session) postcopyAdvise(m *Message) error {
	if s.lazy() {
		return refusef("%v: a postcopy migration is under way", m.Request)
	}
	fd, err := s.dev.PostcopyAdvise()
	if err != nil {
		return refusef("%v: %w", m.Request, err)
	}
	s.postcopy, s.replyFDs = advised, []int{fd}
	return nil
}

func (s *Session) postcopyListen(m *Message) error {
	if s.lazy() {
		return nil
	}
	if s.postcopy != advised || len(s.Regions) > 0 {
		return refusef("%v: %d memory regions, and no POSTCOPY_ADVISE before it or more than one such message", m.Request, len(s.Regions))
	}
	s.dev.PostcopyListen()
	s.postcopy = listening
	return nil
}

// postcopyEnd lets rings use memory as usual: it is all there.
func (s *Session) postcopyEnd(*Message) error {
	s.endPostcopy()
	return s.replyU64(0)
}

func (s *Session) endPostcopy() {
	if s.postcopy == noPostcopy {
		return
	}
	s.park()
	s.postcopy = noPostcopy
	s.dev.PostcopyEnd()
	s.Restart()
}

// postcopyMapped replies with where regions are in the process that pages are brought to.
func (s *Session) postcopyMapped(m *Message, regions []Region) error {
	at, err := s.dev.PostcopyMap(regions)
	if err != nil {
		return refusef("%v: %w", m.Request, err)
	}
	told := make([]Region, len(regions))
	for i, r := range regions {
		r.User = at[i]
		told[i] = r
	}
	if m.Request == AddMemReg {
		s.reply = AppendMemReg(nil, told[0])
	} else {
		s.reply = AppendMemTable(nil, told)
	}
	s.replies, s.postcopy = true, unacked
	return nil
}

// postcopyAck tells whether a message about memory is only the front end's word that it is ready, and obeys that.
func (s *Session) postcopyAck(m *Message) (bool, error) {
	if s.postcopy != unacked || len(m.Payload) != 8 || len(s.fds) > 0 {
		return false, nil
	}
	if err := s.dev.PostcopyReady(); err != nil {
		return true, refusef("%v: %w", m.Request, err)
	}
	s.postcopy = listening
	s.sync()
	return true, nil
}
