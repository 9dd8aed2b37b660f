package virtiouser

import "github.com/gvswitch/gvswitch/internal/mem"

// missLeft counts the frames that are in the receive rings and that nobody will take any more. No poll thread uses the
// rings; the back end may still write to them, so what it says is a bound and no truth.
func (s *session) missLeft() (err error) {
	defer s.recoverFault(&err)
	var n uint64
	defer func() { s.d.missed.Add(n) }()
	for _, q := range s.pairs {
		switch r := q.rx.(type) {
		case *simpleRx:
			n += uint64(r.ring.Collect(s.plan.size))
		case *fullRx:
			n += r.left(s.plan.size)
		}
	}
	return nil
}

// left is how many frames are in the ring, whose size is given; one that is not whole is one, too.
func (q *fullRx) left(size int) (frames uint64) {
	have := q.ring.Collect(size)
	for next := 0; next < have; frames++ {
		n := 1
		if q.merge {
			if n = int(mem.Load16(q.at(q.held.Bufs[next].ID) - 2)); n == 0 || n > q.most {
				return frames
			}
		}
		next += n
	}
	return frames
}
