package flow

// Match is what a rule asks of a packet: where a bit of Mask is 1, the packet's key must
// be as Key. Key is zero where Mask is. The zero value matches everything.
type Match struct {
	Key, Mask Key
}

// Matches tells whether k is as m asks.
func (m *Match) Matches(k *Key) bool {
	for i := range k {
		if (k[i]^m.Key[i])&m.Mask[i] != 0 {
			return false
		}
	}
	return true
}

// Put has m ask that f be v in the bits of mask, whatever it asked of them before.
func (m *Match) Put(f *Field, v, mask Value) {
	f.put(&m.Key, v.And(mask), f.clip(mask))
	f.Set(&m.Mask, mask)
	m.Key[f.also.word] = m.Key[f.also.word]&^f.also.mask | f.also.value
}

// Get is what m asks of f: mask is zero if nothing.
func (m *Match) Get(f *Field) (v, mask Value) {
	return f.Get(&m.Key), f.mask(&m.Mask)
}

// mask is what bits of f are in m.
func (f *Field) mask(m *Key) Value {
	var v Value
	for i := range f.n {
		s := &f.slots[i]
		b := m[s.word] >> s.shift & s.mask
		if s.at >= 64 {
			v.Hi |= b << (s.at - 64)
		} else {
			v.Lo |= b << s.at
		}
	}
	return v.And(f.All())
}
