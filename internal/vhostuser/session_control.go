package vhostuser

// A front end either has the control queue to itself (QEMU, DPDK, cloud-hypervisor), and says by
// SET_VRING_ENABLE which pairs are in use; or gives it to the back end like any other ring
// (User Mode Linux), and the guest's own commands say so. A guest's acknowledgement of the
// feature is the same in both cases: the ring is what makes the difference.

// control is the number of the control vring, which is behind all that the device
// has (virtio 1.2, section 5.1.2); -1 if the guest did not take one.
func (s *Session) control() int {
	switch {
	case s.Features&FeatureCtrlVQ == 0:
		return -1
	case s.Features&FeatureMQ != 0:
		return 2 * s.offer.QueuePairs
	}
	return 2
}

// findControl notes whether this front end gives us the control queue. It then does so for as long as
// the connection lasts, whatever driver comes.
func (s *Session) findControl() {
	if c := s.control(); !s.ControlSeen && c >= 0 && c < len(s.Vrings) && s.Vrings[c].AddrSet {
		s.ControlSeen = true
	}
}

// inUse tells whether vring i belongs to a pair in use. The control queue does.
func (s *Session) inUse(i int) bool {
	return !s.ControlSeen || s.Features&FeatureMQ == 0 || i/2 < s.Pairs || i == s.control()
}

// givenUp tells whether a vring of the guest's transmit side that is not to run may have frames in it
// from when its pair was in use. Where pairs go by the control queue, one that is disabled belongs to a driver
// that is going away, and its memory may be used for other things already.
func (s *Session) givenUp(enabled bool) bool {
	return s.Features&FeatureMQ != 0 && (enabled || !s.ControlSeen)
}

// SetPairs tells how many pairs are in use, as the control queue says.
func (s *Session) SetPairs(n int) {
	s.Pairs = n
	s.sync()
}

// RefitReceive serves the rings anew that the guest receives on: what it takes has changed.
func (s *Session) RefitReceive() {
	for i := 0; i < len(s.Vrings); i += 2 {
		if i != s.control() {
			s.Vrings[i].stale = true
		}
	}
	s.sync()
}

// beginControl begins the control queue's life, at the index that its Base has. One that goes on
// without having run here was in use with another back end, and nobody says what the
// driver has set: all pairs are taken to be in use.
func (s *Session) beginControl() {
	switch v := &s.Vrings[s.control()]; {
	case v.Base == 0 || v.Base == resetBase(s.Features): // (User Mode Linux says 0 of packed rings, too)
		s.resetControl()
	case !s.ControlRan:
		s.Pairs = s.offer.QueuePairs
	}
}

// anotherDriver is told of features that are acknowledged once more. If nothing runs, a driver sets the
// device up that has seen another one go.
func (s *Session) anotherDriver() {
	for i := range s.Vrings {
		if s.Vrings[i].run != Stopped {
			return
		}
	}
	s.resetControl()
}

// resetControl begins with one pair in use (virtio 1.2, section 5.1.6.5.5).
func (s *Session) resetControl() {
	s.Pairs, s.ControlRan = 1, false
	if s.control() >= 0 {
		s.dev.ResetControl()
	}
}
