//go:build !purego

package checksum

import "fmt"

func init() {
	if !hasAVX2 {
		fmt.Println("checksum: this CPU has no AVX2; its assembly is NOT tested in this run")
		return
	}
	Implementations = append(Implementations, Implementation{"avx2", func(b []byte, acc uint64) uint64 {
		if n := len(b) &^ (avx2Block - 1); n > 0 {
			acc = sumAVX2(b[:n], acc)
			b = b[n:]
		}
		return sumGeneric(b, acc)
	}})
}
