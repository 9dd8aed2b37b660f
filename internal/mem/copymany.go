package mem

// Copy is one copy to be made: n bytes, n > 0, from one address to another. The
// ranges do not overlap.
type Copy struct {
	Dst, Src uintptr
	N        int
}

// CopyMany makes the copies in order. It is for many small ones: one call for all of a burst
// spares the call for each, which costs as much as the copy.
func CopyMany(jobs []Copy) {
	if len(jobs) > 0 {
		copyMany(&jobs[0], len(jobs))
	}
}

// copyManyGeneric is the reference for the assembly, and stands in for it.
func copyManyGeneric(jobs []Copy) {
	for i := range jobs {
		j := &jobs[i]
		Move(j.Dst, j.Src, j.N)
	}
}
