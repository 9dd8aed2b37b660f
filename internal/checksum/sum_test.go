package checksum_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/checksum"
)

// reference is RFC 1071 word by word.
func reference(b []byte, initial uint16) uint16 {
	s := uint32(initial)
	for i := 0; i < len(b); i += 2 {
		w := uint32(b[i]) << 8
		if i+1 < len(b) {
			w |= uint32(b[i+1])
		}
		s += w
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

// same tells whether two sums are the same number: 0 and 0xffff both are zero.
func same(a, b uint16) bool { return a%0xffff == b%0xffff }

func patterns(n int) map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	random, ones, alternating := make([]byte, n), make([]byte, n), make([]byte, n)
	for i := range random {
		random[i], ones[i] = byte(r.Uint32()), 0xff
		if i&1 == 0 {
			alternating[i] = 0xff
		}
	}
	return map[string][]byte{"random": random, "ones": ones, "alternating": alternating, "zero": make([]byte, n)}
}

func TestAllLengthsAndAlignments(t *testing.T) {
	const most = 2100
	for name, buf := range patterns(most + 64) {
		for _, impl := range checksum.Implementations {
			for n := 0; n <= most; n++ {
				for _, off := range []int{0, 1 + n%63, 2, 31} {
					b := buf[off : off+n]
					for _, init := range []uint16{0, 0xffff, 0x1234} {
						acc := uint64(init>>8 | init<<8)
						got, want := checksum.Fold(impl.Sum(b, acc)), reference(b, init)
						if got != want {
							t.Fatalf("%s, %s: %d bytes at %d from %#x: %#x, want %#x", impl.Name, name, n, off, init, got, want)
						}
					}
				}
			}
		}
	}
}

// An accumulator that is near its top must carry right.
func TestCarries(t *testing.T) {
	b := patterns(200)["ones"]
	for _, impl := range checksum.Implementations {
		for n := range len(b) {
			for _, acc := range []uint64{^uint64(0), ^uint64(0) - 1, 1 << 63, 0xffffffff} {
				want := checksum.Fold(acc)
				got := checksum.Fold(impl.Sum(b[:n&^1], acc))
				if !same(got, want) {
					t.Fatalf("%s: %d ones on %#x: %#x, want %#x", impl.Name, n&^1, acc, got, want)
				}
			}
		}
	}
}

// However the bytes are cut, the sum is that of the whole.
func TestSplits(t *testing.T) {
	buf := patterns(3000)["random"]
	for range 3000 {
		b := buf[:rand.IntN(len(buf))]
		want := reference(b, 0x4321)
		var a checksum.Acc
		a.Start(0x4321)
		for rest := b; len(rest) > 0; {
			n := 1 + rand.IntN(min(len(rest), 1+rand.IntN(300)))
			a.Add(rest[:n])
			rest = rest[n:]
		}
		if got := a.Sum(); got != want {
			t.Fatalf("%d bytes: %#x, want %#x", len(b), got, want)
		}
	}
}

func TestPseudo(t *testing.T) {
	for range 2000 {
		var h [40]byte
		for i := range h {
			h[i] = byte(rand.Uint32()) | byte(-(rand.Uint32() & 1)) // many 0xff
		}
		n, proto := uint16(rand.Uint32()), uint8(rand.Uint32())
		b := append(append([]byte{}, h[:8]...), 0, proto, byte(n>>8), byte(n))
		if got, want := checksum.PseudoV4((*[4]byte)(h[0:]), (*[4]byte)(h[4:]), proto, n), reference(b, 0); got != want {
			t.Fatalf("v4 % x: %#x, want %#x", b, got, want)
		}
		n6 := rand.Uint32()
		b = append([]byte{}, h[:32]...)
		b = binary.BigEndian.AppendUint32(b, n6)
		b = append(b, 0, 0, 0, proto)
		if got, want := checksum.PseudoV6((*[16]byte)(h[0:]), (*[16]byte)(h[16:]), proto, n6), reference(b, 0); got != want {
			t.Fatalf("v6 % x: %#x, want %#x", b, got, want)
		}
	}
}

// After an edit the updated sum is right, and a wrong one stays wrong.
func TestUpdate(t *testing.T) {
	for range 5000 {
		b := make([]byte, 20)
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		b[0], b[1] = 0, 0
		sum := reference(b, 0)
		wrong := sum + uint16(1+rand.IntN(0xfffd))
		old, new := binary.BigEndian.Uint16(b[4:]), uint16(rand.Uint32())
		if rand.IntN(3) == 0 {
			new = old
		}
		binary.BigEndian.PutUint16(b[4:], new)
		verify := func(s uint16) bool { return same(reference(b, ^s), 0xffff) }
		if s := checksum.UpdateSum16(sum, old, new); !verify(s) {
			t.Fatalf("sum %#x: %#x -> %#x gives %#x", sum, old, new, s)
		}
		if !same(wrong, sum) {
			if s := checksum.UpdateSum16(wrong, old, new); verify(s) {
				t.Fatalf("wrong %#x became right", wrong)
			}
		}
	}
}

// RFC 1624, section 4: the example where the older equation fails.
func TestUpdateRFCExample(t *testing.T) {
	if got := ^checksum.UpdateSum16(^uint16(0xdd2f), 0x5555, 0x3285); got != 0x0000 {
		t.Errorf("%#x, want 0", got)
	}
}

func TestNoAllocs(t *testing.T) {
	b := make([]byte, 1500)
	var sink uint16
	if n := testing.AllocsPerRun(100, func() {
		var a checksum.Acc
		a.Start(1)
		a.Add(b[:33])
		a.Add(b)
		sink += a.Sum() + checksum.Sum(b, 0)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSum(f *testing.F) {
	f.Add([]byte("\x45\x00\x00\x1c"), uint16(0), 1)
	f.Add(patterns(300)["ones"], uint16(0xffff), 100)
	f.Fuzz(func(t *testing.T, b []byte, init uint16, cut int) {
		want := reference(b, init)
		for _, impl := range checksum.Implementations {
			if got := checksum.Fold(impl.Sum(b, uint64(init>>8|init<<8))); got != want {
				t.Errorf("%s: %#x, want %#x", impl.Name, got, want)
			}
		}
		if cut >= 0 && cut <= len(b) {
			var a checksum.Acc
			a.Start(init)
			a.Add(b[:cut])
			a.Add(b[cut:])
			if got := a.Sum(); got != want {
				t.Errorf("cut at %d: %#x, want %#x", cut, got, want)
			}
		}
	})
}

func BenchmarkSum(b *testing.B) {
	for _, impl := range checksum.Implementations {
		for _, size := range []int{20, 64, 128, 256, 512, 1448, 1500, 9000, 65000} {
			b.Run(fmt.Sprintf("impl=%s/size=%d", impl.Name, size), func(b *testing.B) {
				buf := make([]byte, size)
				b.SetBytes(int64(size))
				for b.Loop() {
					impl.Sum(buf, 1)
				}
			})
		}
	}
}
