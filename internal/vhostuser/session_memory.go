package vhostuser

import "slices"

// The messages that concern the guest's memory. Before any of it is taken away, all
// rings are parked: buffers of any ring may lie in it. Afterwards each ring goes on if its memory is
// still there, else it waits to be given a new address.

// checkRegion finds whether a region makes sense by itself and beside others.
func checkRegion(m *Message, r *Region, others []Region) error {
	switch {
	case r.FD.Kind != KindMemory:
		return refusef("%v: region %#x: not a file on tmpfs (memfd) or hugetlbfs but of kind %v", m.Request, r.Guest, r.FD.Kind)
	case r.Size == 0 || r.Guest+r.Size-1 < r.Guest || r.User+r.Size-1 < r.User:
		return refusef("%v: region %#x of %#x bytes: empty or wraps", m.Request, r.Guest, r.Size)
	case r.Offset > r.FD.Size || r.Size > r.FD.Size-r.Offset:
		return refusef("%v: region %#x: %#x bytes from %#x of a file of %#x", m.Request, r.Guest, r.Size, r.Offset, r.FD.Size)
	}
	for i := range others {
		o := &others[i]
		if overlaps(r.Guest, r.Size, o.Guest, o.Size) || overlaps(r.User, r.Size, o.User, o.Size) {
			return refusef("%v: regions %#x and %#x overlap", m.Request, o.Guest, r.Guest)
		}
	}
	return nil
}

func overlaps(a, n, b, m uint64) bool { return a <= b+m-1 && b <= a+n-1 }

// holds tells whether the byte at address a of the front end is in a region.
func (s *Session) holds(a uint64) bool {
	for i := range s.Regions {
		if r := &s.Regions[i]; a-r.User < r.Size {
			return true
		}
	}
	return false
}

// reaches tells whether a ring may be at address a, as far as one can know: an IOMMU may say
// later where that is.
func (s *Session) reaches(a uint64) bool {
	return s.Features&FeatureAccessPlatform != 0 || s.holds(a)
}

// setMemTable replaces all memory. If that fails, there is none: the front end
// has given up the old one.
func (s *Session) setMemTable(m *Message) error {
	if ack, err := s.postcopyAck(m); ack {
		return err
	}
	regions, err := parseMemTable(m.Payload)
	if err == nil && len(s.fds) != len(regions) {
		err = protocolErrorf("%d file descriptors for %d regions", len(s.fds), len(regions))
	}
	if err != nil {
		return protocolErrorf("%v: %w", m.Request, err)
	}
	for i := range regions {
		regions[i].FD = s.fds[i]
	}
	if !s.lazy() && s.sameMemory(regions) {
		return nil
	}
	s.park()
	s.dropMemory()
	for i := range regions {
		if err := checkRegion(m, &regions[i], regions[:i]); err != nil {
			return err
		}
	}
	if err := s.dev.Map(regions); err != nil {
		return refusef("%v: %w", m.Request, err)
	}
	s.Regions, s.Adds = regions, make([]int, len(regions))
	s.fds = nil
	s.recheckRings()
	if s.lazy() {
		return s.postcopyMapped(m, regions)
	}
	s.sync()
	return nil
}

// sameMemory tells whether the regions are those that are mapped, of the same
// files.
func (s *Session) sameMemory(regions []Region) bool {
	if len(regions) != len(s.Regions) {
		return false
	}
	for i := range regions {
		if !same(regions[i], s.Regions[i]) {
			return false
		}
	}
	return true
}

// same tells whether two regions are the same piece of the same file at the same addresses.
func same(a, b Region) bool {
	a.FD.Num, b.FD.Num = 0, 0
	return a == b
}

// dropMemory unmaps everything; rings are parked.
func (s *Session) dropMemory() {
	if len(s.Regions) == 0 {
		return
	}
	s.dev.Unmap(s.Regions)
	for _, r := range s.Regions {
		s.dev.Close(r.FD.Num)
	}
	s.Regions, s.Adds = nil, nil
	s.recheckRings()
}

// recheckRings makes rings whose memory is gone wait for a new address.
func (s *Session) recheckRings() {
	for i := range s.Vrings {
		v := &s.Vrings[i]
		v.stale, v.broken = true, nil
		if !s.reaches(v.Desc) || !s.reaches(v.Avail) || !s.reaches(v.Used) {
			v.AddrSet = false
		}
	}
}

func (s *Session) getMaxMemSlots(*Message) error { return s.replyU64(MaxMemSlots) }

// addMemReg adds a region. Rings that run begin to use it. QEMU (7.2) adds each
// region once for every queue pair, so it may be there already; it is removed as often.
func (s *Session) addMemReg(m *Message) error {
	if ack, err := s.postcopyAck(m); ack {
		return err
	}
	if len(m.Payload) != memRegSize || len(s.fds) != 1 {
		return protocolErrorf("%v: payload of %d bytes and %d file descriptors, want %d and 1", m.Request, len(m.Payload), len(s.fds), memRegSize)
	}
	r := parseMemReg(m.Payload)
	r.FD = s.fds[0]
	for i := range s.Regions {
		if !s.lazy() && same(r, s.Regions[i]) {
			s.Adds[i]++
			return nil
		}
	}
	if len(s.Regions) >= MaxMemSlots {
		return refusef("%v: there are %d memory regions already, the limit", m.Request, MaxMemSlots)
	}
	if err := checkRegion(m, &r, s.Regions); err != nil {
		return err
	}
	if err := s.dev.Map([]Region{r}); err != nil {
		return refusef("%v: %w", m.Request, err)
	}
	s.takeFD()
	s.Regions, s.Adds = append(s.Regions, r), append(s.Adds, 1)
	for i := range s.Vrings {
		s.Vrings[i].stale, s.Vrings[i].broken = true, nil
	}
	if s.lazy() {
		return s.postcopyMapped(m, []Region{r})
	}
	s.sync()
	return nil
}

// remMemReg takes a region away. The descriptor that may come with it is of no
// use.
func (s *Session) remMemReg(m *Message) error {
	if len(s.fds) > 1 {
		return protocolErrorf("%v: %d file descriptors, want at most 1", m.Request, len(s.fds))
	}
	want := parseMemReg(m.Payload)
	for i, r := range s.Regions {
		if r.Guest == want.Guest && r.User == want.User && r.Size == want.Size {
			if s.Adds[i]--; s.Adds[i] > 0 {
				return nil
			}
			s.park()
			s.dev.Unmap([]Region{r})
			s.dev.Close(r.FD.Num)
			s.Regions = slices.Delete(s.Regions, i, i+1)
			s.Adds = slices.Delete(s.Adds, i, i+1)
			s.recheckRings()
			s.sync()
			return nil
		}
	}
	return refusef("%v: no region at %#x of %#x bytes, at %#x in the front end", m.Request, want.Guest, want.Size, want.User)
}
