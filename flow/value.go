package flow

import "math/bits"

// Value is the value of a field of up to 128 bits, the last bit of Lo being the field's
// last.
type Value struct {
	Hi, Lo uint64
}

// Ones is a value whose last n bits are 1, n at most 128.
func Ones(n uint) Value {
	if n > 64 {
		return Value{1<<(n-64) - 1, ^uint64(0)}
	}
	return Value{0, 1<<n - 1}
}

// And is v & w.
func (v Value) And(w Value) Value { return Value{v.Hi & w.Hi, v.Lo & w.Lo} }

// Or is v | w.
func (v Value) Or(w Value) Value { return Value{v.Hi | w.Hi, v.Lo | w.Lo} }

// AndNot is v &^ w.
func (v Value) AndNot(w Value) Value { return Value{v.Hi &^ w.Hi, v.Lo &^ w.Lo} }

// Lsh is v << n.
func (v Value) Lsh(n uint) Value {
	if n >= 64 {
		return Value{v.Lo << (n - 64), 0}
	}
	return Value{v.Hi<<n | v.Lo>>(64-n), v.Lo << n}
}

// Rsh is v >> n.
func (v Value) Rsh(n uint) Value {
	if n >= 64 {
		return Value{0, v.Hi >> (n - 64)}
	}
	return Value{v.Hi >> n, v.Lo>>n | v.Hi<<(64-n)}
}

// IsZero tells whether no bit of v is 1.
func (v Value) IsZero() bool { return v.Hi|v.Lo == 0 }

// Len is how many bits v needs: 0 for 0.
func (v Value) Len() int {
	if v.Hi != 0 {
		return 64 + bits.Len64(v.Hi)
	}
	return bits.Len64(v.Lo)
}

// prefix tells whether v, of n bits, is ones followed by zeros, and how many ones.
func (v Value) prefix(n uint) (int, bool) {
	zeros := uint(128)
	switch {
	case v.Lo != 0:
		zeros = uint(bits.TrailingZeros64(v.Lo))
	case v.Hi != 0:
		zeros = 64 + uint(bits.TrailingZeros64(v.Hi))
	}
	zeros = min(zeros, n)
	return int(n - zeros), v == Ones(n).AndNot(Ones(zeros))
}
