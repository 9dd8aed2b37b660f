package megaflow

// step is the block at or behind line r that may hold a megaflow, 0 if there is none.
func (s *slab) step(r Ref) Ref {
	for {
		c := uint32(r >> chunkBits)
		if c >= s.n.Load() {
			return 0
		}
		if class := s.class[c]; class != classBucket && class != classFirst && uint32(r&(chunkLines-1)) < s.used[c].Load() {
			return r
		}
		r = Ref(c+1) << chunkBits
	}
}

// behind is where the block behind r begins.
func (s *slab) behind(r Ref) Ref { return r + Ref(classLines[s.class[r>>chunkBits]]) }

// places is how many blocks Scan looks at for each megaflow they may return.
const places = 4

// Scan fills out with megaflows at and behind from (0: from the start), and says where to go on;
// 0: that was the end. It looks at no more than 4*len(out) places, so n may be less than
// len(out) and the end still be far. What is inserted or removed meanwhile may be met or
// not; what stays is met once.
func (t *Table) Scan(from Ref, out []Ref) (n int, next Ref) {
	r := max(from, 1)
	for range places * len(out) {
		if r = t.step(r); r == 0 || n == len(out) {
			return n, r
		}
		if subOf(t.head(r)) != subNone {
			out[n] = r
			n++
		}
		r = t.behind(r)
	}
	return n, t.step(r)
}
