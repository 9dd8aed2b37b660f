package rules

import (
	"slices"
	"sync/atomic"
)

// idmap finds things by number. Reading needs no lock, writing needs Tables.mu.
// The zero value is empty.
type idmap[T any] struct {
	cur  atomic.Pointer[[]atomic.Pointer[entry[T]]] // open addressing, a power of 2
	used int                                        // slots that are not nil
}

// entry never changes. One without v is of a number that was removed.
type entry[T any] struct {
	v  *T
	id uint32
}

// at finds the slot of a number, or the free one where it would be.
func (m *idmap[T]) at(slots []atomic.Pointer[entry[T]], id uint32) *atomic.Pointer[entry[T]] {
	mask := uint32(len(slots) - 1)
	for i := uint32(mixed(seed, uint64(id), 0)) & mask; ; i = (i + 1) & mask {
		if e := slots[i].Load(); e == nil || e.id == id {
			return &slots[i]
		}
	}
}

func (m *idmap[T]) get(id uint32) *T {
	slots := m.cur.Load()
	if slots == nil {
		return nil
	}
	if e := m.at(*slots, id).Load(); e != nil {
		return e.v
	}
	return nil
}

// set gives a number its thing, nil: none.
func (m *idmap[T]) set(id uint32, v *T) {
	slots := m.cur.Load()
	if slots == nil || m.used*2 >= len(*slots) {
		live := m.all()
		n := 8
		for n < 4*(len(live)+1) {
			n *= 2
		}
		s := make([]atomic.Pointer[entry[T]], n)
		for _, e := range live {
			m.at(s, e.id).Store(e)
		}
		m.used = len(live)
		m.cur.Store(&s)
		slots = &s
	}
	at := m.at(*slots, id)
	if at.Load() == nil {
		m.used++
	}
	at.Store(&entry[T]{v, id})
}

// all are the entries with a thing, by number.
func (m *idmap[T]) all() (all []*entry[T]) {
	slots := m.cur.Load()
	if slots == nil {
		return nil
	}
	for i := range *slots {
		if e := (*slots)[i].Load(); e != nil && e.v != nil {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry[T]) int { return int(int64(a.id) - int64(b.id)) })
	return all
}

// values are the things, by number.
func (m *idmap[T]) values() []*T {
	e := m.all()
	v := make([]*T, len(e))
	for i := range e {
		v[i] = e[i].v
	}
	return v
}
