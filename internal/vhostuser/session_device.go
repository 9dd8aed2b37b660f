package vhostuser

// The messages that concern the device as a whole.

func (s *Session) nothing(*Message) error { return nil }

func (s *Session) replyU64(v uint64) error {
	s.reply = AppendU64(nil, v)
	return nil
}

func (s *Session) getFeatures(*Message) error { return s.replyU64(s.offer.Features) }

// setFeatures takes what the guest acknowledges. Front ends repeat it, once for each
// queue pair, and while rings run.
func (s *Session) setFeatures(m *Message) error {
	f := le.Uint64(m.Payload)
	if extra := f &^ s.offer.Features; extra == FeatureLogAll {
		// Migration switches this bit while rings run. Without it migration cannot
		// succeed, but the guest shall not lose its network over it.
		return ignoref("%v %#x: dirty logging was not offered", m.Request, f)
	} else if extra != 0 {
		return refusef("%v %#x: bits %#x were not offered (%#x)", m.Request, f, extra, s.offer.Features)
	}
	if s.FeaturesSet && f == s.Features {
		s.anotherDriver()
		return nil
	}
	for i := range s.Vrings {
		if v := &s.Vrings[i]; v.run == Running && (f^s.Features)&^FeatureLogAll != 0 {
			return refusef("%v %#x: vring %d runs with %#x", m.Request, f, i, s.Features)
		}
	}
	another := (f^s.Features)&^FeatureLogAll != 0
	s.Features, s.FeaturesSet = f, true
	s.unlogged = s.unlogged && f&FeatureLogAll != 0
	if another { // a driver that sets the device up, not migration
		s.resetControl()
	}
	for i := range s.Vrings {
		s.Vrings[i].stale = true
	}
	s.sync()
	return nil
}

func (s *Session) getProtocolFeatures(*Message) error { return s.replyU64(s.offer.Protocol) }

func (s *Session) setProtocolFeatures(m *Message) error {
	f := le.Uint64(m.Payload)
	if extra := f &^ s.offer.Protocol; extra != 0 {
		return refusef("%v %#x: bits %#x were not offered (%#x)", m.Request, f, extra, s.offer.Protocol)
	}
	s.Protocol = f
	return nil
}

// getQueueNum answers in queue pairs as QEMU reads it. Some other front ends
// compare it with their number of vrings.
func (s *Session) getQueueNum(*Message) error {
	if s.offer.QueuePairs > 1 {
		return s.replyU64(uint64(s.offer.QueuePairs))
	}
	// A front end that wants more than there are still gets one, as long as it
	// is not refused here: MQ is not among the features.
	return s.replyU64(MaxQueuePairs)
}

func (s *Session) getStatus(*Message) error { return s.replyU64(uint64(s.Status)) }

// setStatus stores the driver's progress. 0, a reset, does not stop rings: front ends
// ask for their indices after it.
func (s *Session) setStatus(m *Message) error {
	v := le.Uint64(m.Payload)
	if v > 0xff {
		return refusef("%v %#x: has 8 bits", m.Request, v)
	}
	s.Status = uint8(v)
	if v == 0 && s.ControlSeen {
		s.resetControl()
	}
	return nil
}

// resetDevice stops all rings and forgets what was set for them and by the guest. Descriptors, memory and
// negotiated features are not the device's own state; they stay until they are set again.
func (s *Session) resetDevice(*Message) error {
	for i := range s.Vrings {
		v := &s.Vrings[i]
		v.Started, v.Enabled = false, false
	}
	s.sync()
	for i := range s.Vrings {
		v := &s.Vrings[i]
		v.Num, v.AddrSet, v.LogUsed, v.LogAddr = 0, false, false, 0
		v.Base, v.broken = resetBase(s.Features), nil
		s.dev.ForgetInflight(i)
	}
	s.Status = 0
	s.resetControl()
	return nil
}

// resetBase is where a ring begins: at index 0 and, if it is packed, in the first
// round, whose wrap counters are 1 (virtio 1.2, section 2.8.1).
func resetBase(features uint64) uint32 {
	if features&FeatureRingPacked != 0 {
		return 1<<31 | 1<<15
	}
	return 0
}

func (s *Session) netSetMTU(m *Message) error {
	v := le.Uint64(m.Payload)
	if v < MinMTU || v > MaxMTU {
		return refusef("%v %d: want %d to %d", m.Request, v, MinMTU, MaxMTU)
	}
	s.dev.SetMTU(uint16(v))
	return nil
}

func (s *Session) sendRARP(m *Message) error {
	s.dev.SendRARP([6]byte(m.Payload))
	return nil
}

func (s *Session) setBackendReqFD(m *Message) error {
	if s.fds[0].Kind != KindStream {
		return refusef("%v: %v, want %v", m.Request, s.fds[0].Kind, KindStream)
	}
	s.BackendReqSet = true
	s.dev.Channel(s.takeFD().Num)
	return nil
}

// getConfig answers with as many bytes as asked for, or with none if they
// are not there.
func (s *Session) getConfig(m *Message) error {
	c, ok := parseConfigSpace(m.Payload)
	if !ok {
		s.dev.Note(ignoref("%v: offset %d and %d bytes with a payload of %d: at most %d bytes", m.Request, c.Offset, len(c.Data), len(m.Payload), maxConfig))
		return nil
	}
	data := make([]byte, len(c.Data))
	if config := s.dev.Config(); int(c.Offset) < len(config) {
		copy(data, config[c.Offset:])
	}
	s.reply = ConfigSpace{Offset: c.Offset, Flags: c.Flags, Data: data}.Append(nil)
	return nil
}

// setConfig: nothing in a network device's configuration space is the driver's to
// write (virtio 1.2, section 5.1.4.1).
func (s *Session) setConfig(m *Message) error {
	if _, ok := parseConfigSpace(m.Payload); !ok {
		return protocolErrorf("%v: sizes of header and payload do not agree", m.Request)
	}
	return ignoref("%v: the configuration space is read-only", m.Request)
}
