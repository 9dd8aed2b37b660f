package datapath

// A difference between members of less than 1/32 of the lesser one, or of less than some 100 kbit/s over the
// usual ten seconds, is no reason to move anything; moving a bucket has to better it by a tenth.
const (
	loadShift = 5
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
	if diff < load[least]>>loadShift || diff < loadLeast {
		return -1, nil
	}
	bucket = -1
	best := diff - diff/10
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
