package megaflow

import "github.com/gvswitch/gvswitch/flow"

// Insert adds a megaflow. key is the packet's whole key; mask says which of its bits were
// looked at, in the first PacketWords words: what is behind is ignored. It must not overlap one that says
// something else. On ErrExists the megaflow that is there is returned and stays as it
// was. The other errors are ErrLimit and ErrMemory.
func (t *Table) Insert(key, mask *flow.Key, value uint32) (Ref, error) {
	id := t.find(mask)
	over := id == subNone && len(t.order) >= t.masks
	if over {
		id = t.exact(key, mask)
	}
	var h uint64
	if id != subNone {
		s := &t.subs[id]
		h = t.hashKey(s, key)
		if r := t.resolve(s, h, key); r != 0 {
			return r, ErrExists
		}
	}
	if t.count >= t.limit {
		return 0, ErrLimit
	}
	if id == subNone {
		if id = t.unused(); !t.open(id, mask) {
			return 0, ErrMemory
		}
		h = t.hashKey(&t.subs[id], key)
	}
	r := t.store(id, h, key, value)
	if r == 0 {
		if t.subs[id].count == 0 {
			t.shut(id)
		}
		return 0, ErrMemory
	}
	if over {
		t.stat.overflows.Add(1)
	}
	return r, nil
}

// find is the subtable of mask, subNone if there is none.
func (t *Table) find(mask *flow.Key) uint16 {
	for _, id := range t.order {
		if t.subs[id].same(mask) {
			return id
		}
	}
	return subNone
}

var exactBase, exactPacket flow.Key

func init() {
	for i := range flow.PacketWords {
		exactPacket[i] = ^uint64(0)
		if i < flow.BaseWords {
			exactBase[i] = ^uint64(0)
		}
	}
}

// exact is the subtable for what has one mask too many, opened if need be, subNone if there is no
// memory. Its mask covers mask.
func (t *Table) exact(key, mask *flow.Key) uint16 {
	id, all := uint16(subExactBase), &exactBase
	for _, m := range mask[flow.BaseWords:flow.PacketWords] {
		if m != 0 {
			id, all = subExactPacket, &exactPacket
		}
	}
	if found := t.find(all); found != subNone {
		return found
	}
	if !t.open(id, all) {
		return subNone
	}
	return id
}

// unused is the number of a subtable that can be opened.
func (t *Table) unused() uint16 {
	id := uint16(subFirst)
	for t.subs[id].state.Load()&1 != 0 {
		id++
	}
	return id
}

// store makes a megaflow of subtable id, 0 if there is no memory.
func (t *Table) store(id uint16, h uint64, key *flow.Key, value uint32) Ref {
	s := &t.subs[id]
	r := t.take(s.class)
	if r == 0 {
		return 0
	}
	e := t.addr(r)
	for i := uintptr(8); i < uintptr(s.class)*lineBytes; i += 8 {
		var w uint64
		if j := int(i/8 - 1); j < s.n {
			w = key[s.words[j]] & s.mask[s.words[j]]
		}
		store64(e+i, w)
	}
	store64(e, uint64(id)<<32|uint64(value))
	if !t.link(s, h, r) {
		t.clear(r)
		t.give(s.class, r)
		return 0
	}
	t.count++
	t.lines += s.class
	t.grown()
	return r
}

// Remove takes a megaflow out. Its Ref may be that of another one from now on.
func (t *Table) Remove(r Ref) {
	e := t.addr(r)
	id := subOf(load64(e))
	if id == subNone {
		panic("megaflow: Remove of a megaflow that is not there")
	}
	s := &t.subs[id]
	t.unlink(s, t.hashEntry(s, e), r)
	t.clear(r)
	t.give(s.class, r)
	t.count--
	t.lines -= s.class
	if s.count == 0 {
		t.shut(id)
	}
	t.grown()
}

// grown brings up to date what depends on how much there is.
func (t *Table) grown() {
	move(&t.stat.entries, uint64(t.count))
	move(&t.stat.memory, uint64(t.given)*lineBytes+t.extra+uint64(t.cache.slots*8+t.descBytes()))
	t.cold = t.lines*lineBytes+t.count*2*lineBytes/fill > coldBytes
}
