package datapath

const headsPage = 1024

// heads are where the chains of programs with one hash begin. Each new program divides one chain, so that
// however many there are chains stay short, and no packet waits for all to be moved (linear hashing).
type heads struct {
	pages []*[headsPage]int32
	n     uint32 // chains
	level uint32 // the largest power of 2 up to n: those before n-level are divided
}

func (h *heads) init() {
	h.pages = append(h.pages[:0], new([headsPage]int32))
	h.n, h.level = headsPage, headsPage
}

// of is the head of the chain of a hash.
func (h *heads) of(hash uint64) *int32 {
	i := uint32(hash) & (2*h.level - 1)
	if i >= h.n {
		i -= h.level
	}
	return h.at(i)
}

func (h *heads) at(i uint32) *int32 { return &h.pages[i/headsPage][i%headsPage] }

// divide gives some of one chain's programs a chain of their own.
func (h *heads) divide(all []*program) {
	if h.n == uint32(len(h.pages))*headsPage {
		h.pages = append(h.pages, new([headsPage]int32))
	}
	from, to := h.at(h.n-h.level), h.at(h.n)
	for *from != 0 {
		p := all[*from]
		if uint32(p.hash)&(2*h.level-1) != h.n {
			from = &p.next
			continue
		}
		*to, *from = *from, p.next
		to = &p.next
		*to = 0
	}
	if h.n++; h.n == 2*h.level {
		h.level = h.n
	}
}
