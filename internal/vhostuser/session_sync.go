package vhostuser

// What the device does follows from the state: after each change, sync compares what each ring
// should do with what it does.

// want is what the device should do with vring i.
func (s *Session) want(i int) RunState {
	v := &s.Vrings[i]
	// Without protocol features there is no SET_VRING_ENABLE, and rings are
	// enabled from the start.
	enabled := v.Enabled || s.Features&FeatureProtocol == 0
	switch {
	case s.postcopy == unacked || !v.Started || !v.AddrSet || v.Num == 0 || v.broken != nil || i >= s.served() && i != s.control():
		return Stopped
	case enabled && s.inUse(i):
		return Running
	case i%2 == 1 && s.givenUp(enabled):
		return Discarding
	}
	return Stopped
}

// served is how many vrings are served.
func (s *Session) served() int {
	if s.Features&FeatureMQ != 0 {
		return 2 * s.offer.QueuePairs
	}
	return 2
}

// sync lets the device do what it should. What a ring has against being served is
// then in its broken.
func (s *Session) sync() {
	s.findControl()
	s.ids = s.ids[:0]
	for i := range s.Vrings {
		if v := &s.Vrings[i]; v.run != Stopped && (v.stale || v.run != s.want(i)) {
			s.ids = append(s.ids, i)
		}
	}
	s.stop(s.ids)
	var starts []RingStart
	for i := range s.Vrings {
		v := &s.Vrings[i]
		v.stale = false
		if want := s.want(i); want != v.run {
			starts = append(starts, RingStart{Index: i, State: want, Control: i == s.control(), Vring: *v, Features: s.Features})
		}
	}
	if len(starts) == 0 {
		return
	}
	s.unlogged = s.unlogged || s.Log.FD.Num < 0 && s.Features&FeatureLogAll != 0
	for k, err := range s.dev.Start(starts) {
		v := &s.Vrings[starts[k].Index]
		if err != nil {
			v.broken = err
			s.dev.Note(err)
		} else {
			v.run = starts[k].State
			s.ControlRan = s.ControlRan || starts[k].Control
		}
	}
}

// stop ends serving rings and remembers where they stood.
func (s *Session) stop(ids []int) {
	if len(ids) == 0 {
		return
	}
	for k, base := range s.dev.Stop(ids) {
		v := &s.Vrings[ids[k]]
		v.Base, v.run = base, Stopped
	}
}

// stopVring ends serving vring i until the next sync.
func (s *Session) stopVring(i int) {
	if s.Vrings[i].run != Stopped {
		s.ids = append(s.ids[:0], i)
		s.stop(s.ids)
	}
}

// park ends serving all rings until the next sync.
func (s *Session) park() {
	s.ids = s.ids[:0]
	for i := range s.Vrings {
		if s.Vrings[i].run != Stopped {
			s.ids = append(s.ids, i)
		}
	}
	s.stop(s.ids)
}

// Restart serves all rings anew where they stand: the device's own settings
// changed.
func (s *Session) Restart() {
	for i := range s.Vrings {
		s.Vrings[i].stale, s.Vrings[i].broken = true, nil
	}
	s.sync()
}
