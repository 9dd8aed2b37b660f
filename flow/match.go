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

// Value is the value of a field of up to 128 bits, the last bit of Lo being the field's
// last.
type Value struct {
	Hi, Lo uint64
}
