package datapath

// A difference between two members of less than a tenth of the lesser one, or of less than some 100 kbit/s over the
// usual ten seconds, is no reason to move anything.
const (
	loadPart  = 10
	loadLeast = 100_000
)

// balance moves buckets from members with much load to those with little, and reports whether it moved any. d.mu
// is held.
func (o *Bond) balance() bool {
	for i := range o.rate {
		n := o.load[i].Load()
		o.rate[i] = o.rate[i]/2 + n - o.seen[i]
		o.seen[i] = n
	}
	moved := false
	for range buckets {
		i, to := o.improvement()
		if i < 0 {
			break
		}
		o.assign[i] = to
		o.moved[i] = true
		moved = true
	}
	return moved
}

// improvement finds a bucket that should move, and where to; -1: none.
func (o *Bond) improvement() (bucket int, to *bondMember) {
	load := map[*bondMember]uint64{}
	for _, m := range o.members {
		if m.enabled {
			load[m] = 0
		}
	}
	for i, m := range o.assign {
		if m != nil {
			load[m] += o.rate[i]
		}
	}
	var most, least *bondMember
	for _, m := range o.members {
		if !m.enabled {
			continue
		}
		if most == nil || load[m] > load[most] {
			most = m
		}
		if least == nil || load[m] < load[least] {
			least = m
		}
	}
	if most == least {
		return -1, nil
	}
	diff := load[most] - load[least]
	if diff < load[least]/loadPart || diff < loadLeast {
		return -1, nil
	}
	bucket = -1
	best := diff
	for i, m := range o.assign {
		if m != most || o.rate[i] == 0 || o.rate[i] >= diff {
			continue
		}
		after := diff - 2*o.rate[i]
		if int64(after) < 0 {
			after = -after
		}
		if after < best {
			best, bucket = after, i
		}
	}
	return bucket, least
}

// spread shares the buckets that nothing goes by out among the enabled members: a member that comes back gets
// some of what will come, and what goes on is not disturbed.
func (o *Bond) spread(l []*bondMember) {
	var idle []int
	for i, m := range o.assign {
		if m != nil && o.rate[i] == 0 && o.load[i].Load() == o.seen[i] {
			idle = append(idle, i)
		}
	}
	for k, i := range idle {
		if m := l[k%len(l)]; o.assign[i] != m {
			o.assign[i], o.moved[i] = m, true
		}
	}
}
