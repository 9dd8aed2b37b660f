package mem

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Each implementation copies every length at every alignment, and nothing else.
func TestCopyMany(t *testing.T) {
	src := make([]byte, 4096)
	for i := range src {
		src[i] = byte(rand.Uint32())
	}
	for name, f := range map[string]func([]Copy){"chosen": CopyMany, "generic": copyManyGeneric} {
		for n := 1; n < 2100; n++ {
			dst := bytes.Repeat([]byte{0xee}, 4096)
			a, b := rand.IntN(64), 1+rand.IntN(64)
			f([]Copy{
				{AddrOf(dst[b:]), AddrOf(src[a:]), n},
				{AddrOf(dst[3000:]), AddrOf(src[n:]), 1 + n%300},
			})
			if !bytes.Equal(dst[b:b+n], src[a:a+n]) || dst[b-1] != 0xee || dst[b+n] != 0xee {
				t.Fatalf("%s: copy of %d bytes from +%d to +%d is wrong", name, n, a, b)
			}
			if k := 1 + n%300; !bytes.Equal(dst[3000:3000+k], src[n:n+k]) || dst[3000+k] != 0xee {
				t.Fatalf("%s: the second copy, of %d bytes, is wrong", name, k)
			}
		}
	}
	CopyMany(nil)
}
