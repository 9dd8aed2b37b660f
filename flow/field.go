package flow

import "github.com/gvswitch/gvswitch/internal/hdr"

// Field is a named part of a Key: an entry of the table in field_table.go, which is all that
// text, masks, prerequisites and the layout of keys come from. Fields are compared by
// address and never change.
type Field struct {
	Name string // the first that ovs-ofctl shows it under: eth_dst, tcp_src, reg0
	Bits int    // its width, at most 128

	also     also
	slots    [3]slot
	n        uint8 // slots in use
	quirk    quirk
	form     form
	need     need
	digits   uint8 // hexadecimal digits of its value in a match; 0: as many as needed; or decimalInMatch
	full     Value // the bits that a key has of it
	maskable bool
	writable bool
	id       uint8
	names    string // its other names
}

// slot is where some bits of a field are in a key.
type slot struct {
	mask  uint64 // how many bits: ones at the end
	word  uint8
	shift uint8 // of the word
	at    uint8 // of the value
}

// also are bits of a key that belong to a field without being part of its value: those that
// say that the tag or the tunnel is there which the field is in.
type also struct {
	mask, value uint64
	word        uint8
}

// quirk says what is special about a field's values.
type quirk uint8

const (
	plain  quirk = iota
	tagged       // of a VLAN tag: the TPID must fit what is put
	port16       // a port number of 16 bits in 32
	port32       // the same in OpenFlow 1.1's form: reserved numbers have 32 bits
)

// portReserved is the first reserved port of 16 bits, portReserved32 that of 32.
const (
	portReserved   = 0xff00
	portReserved32 = 0xffffff00
)

// Get is the value of f in k. Whether k has such a field at all is Present's to say.
func (f *Field) Get(k *Key) Value {
	var v Value
	for i := range f.n {
		s := &f.slots[i]
		b := k[s.word] >> s.shift & s.mask
		if s.at >= 64 {
			v.Hi |= b << (s.at - 64)
		} else {
			v.Lo |= b << s.at
		}
	}
	if f.quirk == port32 && v.Lo >= portReserved && v.Lo <= 0xffff {
		v.Lo |= portReserved32
	}
	return v
}

// Put makes v the value of f in k, a packet's key. To give a VLAN tag's field a value is to have a
// tag: an untagged packet gets one of TPID 0x8100. vlan_tci and vlan_vid without the bit 0x1000 take the
// tag away, and the next one takes its place.
func (f *Field) Put(k *Key, v Value) { f.PutMasked(k, v, f.All()) }

// PutMasked is Put for those bits of v that mask has.
func (f *Field) PutMasked(k *Key, v, mask Value) {
	f.put(k, v, f.clip(mask))
	if f.also.mask != 0 {
		k[f.also.word] = k[f.also.word]&^f.also.mask | f.also.value
	}
	if f.quirk == tagged {
		k.fixTag()
	}
}

// put replaces the bits of mask, whatever that means.
func (f *Field) put(k *Key, v, mask Value) {
	if f.quirk == port32 && v.Lo >= portReserved32 {
		v.Lo &= 0xffff
	}
	for i := range f.n {
		s := &f.slots[i]
		b, m := v.Lo, mask.Lo
		if s.at >= 64 {
			b, m = v.Hi>>(s.at-64), mask.Hi>>(s.at-64)
		} else {
			b, m = b>>s.at, m>>s.at
		}
		m &= s.mask
		k[s.word] = k[s.word]&^(m<<s.shift) | b&m<<s.shift
	}
}

// fixTag makes the outer tag's TPID agree with the bit that says that it is there.
func (k *Key) fixTag() {
	w := k[WordVLAN]
	switch {
	case w&TagPresent == 0:
		k[WordVLAN] = w << 32
	case !hdr.IsVLAN(uint16(w >> 48)):
		k[WordVLAN] = w&^(0xffff<<48) | hdr.TypeVLAN<<48
	}
}

// Set ORs the bits of f that mask has into m, the mask of a match or of what was looked at. With
// a VLAN tag's or a tunnel's field goes what says that there is one.
func (f *Field) Set(m *Key, mask Value) {
	mask = f.clip(mask)
	for i := range f.n {
		s := &f.slots[i]
		b := mask.Lo
		if s.at >= 64 {
			b = mask.Hi >> (s.at - 64)
		} else {
			b >>= s.at
		}
		m[s.word] |= b & s.mask << s.shift
	}
	m[f.also.word] |= f.also.mask
}

// clip is mask as it applies to the key: a port number's mask of 16 bits is one of 32 there.
func (f *Field) clip(mask Value) Value {
	if f.quirk == port16 && mask.Lo&0xffff == 0xffff {
		mask.Lo |= 0xffffffff
	}
	return mask
}

// GetBits is the part of f that has n bits, the last one being bit ofs of f.
func (f *Field) GetBits(k *Key, ofs, n uint) Value {
	return f.Get(k).Rsh(ofs).And(Ones(n))
}

// SetBits is Set for a part of f.
func (f *Field) SetBits(m *Key, ofs, n uint) { f.Set(m, Ones(n).Lsh(ofs)) }

// All is the mask of all bits of f.
func (f *Field) All() Value { return Ones(uint(f.Bits)) }

// Writable tells whether actions may change f.
func (f *Field) Writable() bool { return f.writable }

// Maskable tells whether a match may have a mask for f.
func (f *Field) Maskable() bool { return f.maskable }

// ID is f's number, less than len(Fields()): an index for sets of fields.
func (f *Field) ID() int { return int(f.id) }

// String is f's name.
func (f *Field) String() string { return f.Name }
