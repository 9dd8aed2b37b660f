package vhostuser

// Offer is what a device can do.
type Offer struct {
	Features   uint64 // with FeatureProtocol
	Protocol   uint64 // subset of ProtocolFeatures
	QueuePairs int    // served when the guest acknowledges FeatureMQ, else one
}

// State is everything that a session knows: plain values and descriptors.
type State struct {
	Features      uint64 // acknowledged by the guest
	FeaturesSet   bool   // it did so
	Protocol      uint64
	Status        uint8 // of the virtio device
	Vrings        []Vring
	Regions       []Region
	Adds          []int // how often each region was added
	Log           LogArea
	LogFD         FD
	Inflight      InflightArea
	BackendReqSet bool
	ControlSeen   bool // the control queue was given to us, at some time
	ControlRan    bool // and has run since it was last reset
	Pairs         int  // queue pairs in use, if that goes by the control queue
}

// Vring is what is known about a vring.
type Vring struct {
	Num               uint32 // entries, 0 = unknown
	Desc, Avail, Used uint64 // in the front end's process
	AddrSet           bool
	LogUsed           bool   // writes to the used ring are to be logged,
	LogAddr           uint64 // as if it were at this guest address
	Base              uint32 // where it stands while it is stopped, see virtio.Ring
	Kick, Call, Err   FD
	Started           bool // it was kicked off and not stopped since
	Enabled           bool // SET_VRING_ENABLE said so last

	run    RunState // what the device does now
	stale  bool     // the device serves it with old parameters
	broken error    // the device could not serve it
}

// Session is the back end's side of one connection.
type Session struct {
	State
	offer Offer
	dev   Device
	reply []byte // payload of the reply by definition
	fds   []FD   // of the message in work that nobody took yet

	replyFDs []int // to go with the reply
	replies  bool  // there is one, this time
	postcopy postcopyState

	unlogged bool // rings ran that should have been logged and had no log
	ids      []int
}

// NewSession starts a session on a fresh connection.
func NewSession(offer Offer, dev Device) *Session {
	return &Session{offer: offer, dev: dev, State: State{Log: noLog, LogFD: NoFD, Inflight: noInflight}}
}

// Handle obeys a message. The descriptors become the session's. With hasReply,
// reply is to be sent, and its descriptors are closed then. An error ends the connection (after the reply, if there is
// one): call Close.
func (s *Session) Handle(m *Message, fds []FD) (reply Message, hasReply bool, err error) {
	s.reply, s.replyFDs, s.replies, s.fds = nil, nil, false, fds
	h, known := handlers[m.Request]
	switch {
	case !known:
		err = ignoref("%v: not known", m.Request)
	case s.Protocol&h.needs != h.needs:
		err = ignoref("%v: feature %v not negotiated", m.Request, ProtocolNames(h.needs))
	default:
		if err = h.check(m, len(fds)); err == nil {
			err = h.do(s, m)
		}
	}
	for _, fd := range s.fds {
		s.dev.Close(fd.Num)
	}
	s.fds = nil
	return s.answer(m, known && (h.replies || s.replies), err)
}

// answer makes the reply to a message that was obeyed or failed with err: one
// if it is due by definition or asked for, never two.
func (s *Session) answer(m *Message, replies bool, err error) (reply Message, hasReply bool, _ error) {
	reply = Message{Request: m.Request, Flags: Version | FlagReply}
	acked := m.NeedReply() && s.Protocol&ProtoReplyAck != 0
	switch {
	case err == nil && replies:
		reply.Payload, reply.FDs = s.reply, s.replyFDs
		return reply, true, nil
	case err == nil && acked:
		reply.Payload = AppendU64(nil, 0)
		return reply, true, nil
	case err == nil:
		return Message{}, false, nil
	case severityOf(err) == fatal, severityOf(err) == refused && !acked:
		return Message{}, false, err
	}
	s.dev.Note(err)
	reply.Payload = AppendU64(nil, 1)
	return reply, acked, nil
}

// takeFD makes the message's only descriptor the handler's.
func (s *Session) takeFD() FD {
	fd := s.fds[0]
	s.fds = s.fds[1:]
	return fd
}

// Close ends the session: all rings are stopped, all memory is unmapped and all
// descriptors are closed.
func (s *Session) Close() {
	s.park()
	if s.postcopy != noPostcopy {
		s.postcopy = noPostcopy
		s.dev.PostcopyEnd()
	}
	s.dropMemory()
	for i := range s.Vrings {
		v := &s.Vrings[i]
		for _, fd := range []*FD{&v.Kick, &v.Call, &v.Err} {
			s.replaceFD(fd, NoFD)
		}
	}
	s.dropLog()
	s.dropInflight()
	s.replaceFD(&s.LogFD, NoFD)
	for _, fd := range s.fds { // of a message that a fault in the guest's memory ended
		s.dev.Close(fd.Num)
	}
	s.fds = nil
	if s.BackendReqSet {
		s.dev.Channel(-1)
	}
	s.State = State{Log: noLog, LogFD: NoFD, Inflight: noInflight}
}

// replaceFD stores fd in place of what is there, which is closed.
func (s *Session) replaceFD(slot *FD, fd FD) {
	if slot.Num >= 0 {
		s.dev.Close(slot.Num)
	}
	*slot = fd
}
