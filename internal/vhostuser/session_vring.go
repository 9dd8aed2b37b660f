package vhostuser

import "math/bits"

// The messages that concern one vring.

// vring is vring i, made if need be.
func (s *Session) vring(m *Message, i uint32) (*Vring, error) {
	if i >= maxVrings {
		return nil, protocolErrorf("%v: vring %d, want less than %d", m.Request, i, maxVrings)
	}
	for uint32(len(s.Vrings)) <= i {
		s.Vrings = append(s.Vrings, Vring{Kick: NoFD, Call: NoFD, Err: NoFD})
	}
	return &s.Vrings[i], nil
}

func (s *Session) setVringNum(m *Message) error {
	p := parseVringState(m.Payload)
	v, err := s.vring(m, p.Index)
	if err != nil {
		return err
	}
	if p.Num == 0 {
		// DPDK's virtio-user says so of queues that it will not use. A ring without a
		// size does not start.
		v.Started, v.Num = false, 0
		s.sync()
		return ignoref("%v: vring %d: size 0, it will not run", m.Request, p.Index)
	}
	packed := s.Features&FeatureRingPacked != 0
	if p.Num > maxRingSize || !packed && bits.OnesCount32(p.Num) != 1 {
		return refusef("%v: vring %d: size %d, want a power of two (of a packed ring any number) up to %d", m.Request, p.Index, p.Num, maxRingSize)
	}
	if v.Num == p.Num {
		return nil
	}
	v.Started = false
	s.sync()
	v.Num = p.Num
	return nil
}

// setVringAddr: while the ring runs, it goes on at the new place where it stood.
func (s *Session) setVringAddr(m *Message) error {
	p := parseVringAddr(m.Payload)
	v, err := s.vring(m, p.Index)
	if err != nil {
		return err
	}
	if p.Desc%16 != 0 || p.Avail%2 != 0 || p.Used%4 != 0 {
		return refusef("%v: vring %d: %#x, %#x, %#x are not aligned to 16, 2 and 4 bytes", m.Request, p.Index, p.Desc, p.Avail, p.Used)
	}
	for _, a := range []uint64{p.Desc, p.Avail, p.Used} {
		if !s.reaches(a) {
			return refusef("%v: vring %d: %#x is in none of the %d memory regions", m.Request, p.Index, a, len(s.Regions))
		}
	}
	logged := p.Flags&vringLog != 0
	if !logged {
		p.Log = 0 // it means nothing
	}
	if v.AddrSet && v.broken == nil && v.Desc == p.Desc && v.Avail == p.Avail && v.Used == p.Used && v.LogUsed == logged && v.LogAddr == p.Log {
		return nil
	}
	v.Desc, v.Avail, v.Used, v.AddrSet = p.Desc, p.Avail, p.Used, true
	v.LogUsed, v.LogAddr = logged, p.Log
	v.stale, v.broken = true, nil
	s.sync()
	return v.broken
}

// setVringBase sets where a ring continues. It begins a new life of the ring, if it ran:
// a guest that reboots may not get to stop it.
func (s *Session) setVringBase(m *Message) error {
	p := parseVringState(m.Payload)
	v, err := s.vring(m, p.Index)
	if err != nil {
		return err
	}
	if s.Features&FeatureRingPacked == 0 {
		if p.Num > 0xffff {
			return refusef("%v: vring %d: index %#x, a split ring's has 16 bits", m.Request, p.Index, p.Num)
		}
	} else if n := max(p.Num&0x7fff, p.Num>>16&0x7fff); v.Num != 0 && n >= v.Num {
		return refusef("%v: vring %d: %#x: index %d in a ring of %d", m.Request, p.Index, p.Num, n, v.Num)
	}
	anew := v.run != Stopped
	v.Started = false
	s.sync()
	v.Base = p.Num
	if anew {
		s.dev.ForgetInflight(int(p.Index))
	}
	if int(p.Index) == s.control() {
		s.beginControl()
	}
	return nil
}

func (s *Session) getVringBase(m *Message) error {
	p := parseVringState(m.Payload)
	v, err := s.vring(m, p.Index)
	if err != nil {
		return err
	}
	v.Started = false
	s.sync()
	s.dev.ForgetInflight(int(p.Index))
	s.replaceFD(&v.Kick, NoFD)
	s.reply = VringState{p.Index, v.Base}.Append(nil)
	return nil
}

const vringNoFD = 1 << 8

// vringFD reads the payload of messages that carry a vring's descriptor, or say
// that it has none. The descriptor is the caller's.
func (s *Session) vringFD(m *Message) (i int, v *Vring, fd FD, err error) {
	p := le.Uint64(m.Payload)
	if p&^uint64(0xff|vringNoFD) != 0 {
		return 0, nil, NoFD, protocolErrorf("%v: %#x, want a vring below %d", m.Request, p, maxVrings)
	}
	want := 1
	if p&vringNoFD != 0 {
		want = 0
	}
	if len(s.fds) != want {
		return 0, nil, NoFD, protocolErrorf("%v: %d file descriptors, want %d", m.Request, len(s.fds), want)
	}
	v, err = s.vring(m, uint32(p&0xff))
	if err != nil || want == 0 {
		return int(p & 0xff), v, NoFD, err
	}
	if k := s.fds[0].Kind; !k.notifies() {
		return 0, nil, NoFD, refusef("%v: vring %d: %v cannot carry notifications", m.Request, p&0xff, k)
	}
	return int(p & 0xff), v, s.takeFD(), nil
}

// setVringKick starts a ring, or gives a running one another descriptor.
func (s *Session) setVringKick(m *Message) error {
	i, v, fd, err := s.vringFD(m)
	if err != nil {
		return err
	}
	if v.Num == 0 || !v.AddrSet || len(s.Regions) == 0 {
		if fd.Num >= 0 {
			s.dev.Close(fd.Num)
		}
		return refusef("%v: vring %d has no size, address or memory yet", m.Request, i)
	}
	s.stopVring(i)
	s.replaceFD(&v.Kick, fd)
	v.Started, v.broken = true, nil
	s.sync()
	return v.broken
}

// setVringCall may come at any time: QEMU sends one whenever the guest masks or
// unmasks the interrupt. So a running ring does not stop for it.
func (s *Session) setVringCall(m *Message) error {
	i, v, fd, err := s.vringFD(m)
	if err != nil {
		return err
	}
	if v.run != Stopped && v.Call.Num >= 0 && fd.Num >= 0 {
		s.dev.Redirect(v.Call.Num, fd.Num)
		fd.Num = v.Call.Num
		v.Call = fd
		return nil
	}
	s.stopVring(i)
	s.replaceFD(&v.Call, fd)
	s.sync()
	return nil
}

func (s *Session) setVringErr(m *Message) error {
	_, v, fd, err := s.vringFD(m)
	if err == nil {
		s.replaceFD(&v.Err, fd)
	}
	return err
}

// setVringEnable is the only message that says whether a ring is enabled. It
// may come before the ring is set up, more than once, and after it was stopped:
// then it starts nothing.
func (s *Session) setVringEnable(m *Message) error {
	p := parseVringState(m.Payload)
	v, err := s.vring(m, p.Index)
	if err != nil {
		return err
	}
	if p.Num > 1 {
		return refusef("%v: vring %d: %d, want 0 or 1", m.Request, p.Index, p.Num)
	}
	v.Enabled = p.Num == 1
	s.sync()
	if v.Started && v.Enabled {
		return v.broken
	}
	return nil
}
