//go:build race || !(amd64 || arm64)

package mem

import "sync/atomic"

// Under the race detector the words are reached through the 32-bit atomics of
// the aligned word around them, so that the detector sees the ordering. This is
// the Go twin of the assembly, and the reference for its test.

func around(addr uintptr) (*uint32, uint) {
	return word32(addr &^ 3), uint(addr&2) * 8
}

// Load16Acquire: see atomic16_asm.go.
func Load16Acquire(addr uintptr) uint16 {
	w, shift := around(addr)
	return uint16(atomic.LoadUint32(w) >> shift)
}

// Store16Release: see atomic16_asm.go.
func Store16Release(addr uintptr, v uint16) {
	w, shift := around(addr)
	for {
		old := atomic.LoadUint32(w)
		if atomic.CompareAndSwapUint32(w, old, old&^(0xffff<<shift)|uint32(v)<<shift) {
			return
		}
	}
}

// Store32Release: see atomic16_asm.go.
func Store32Release(addr uintptr, v uint32) { atomic.StoreUint32(word32(addr), v) }

// Peek16: see atomic16_asm.go.
func Peek16(addr uintptr) uint16 { return Load16Acquire(addr) }

// Peek32: see atomic16_asm.go.
func Peek32(addr uintptr) uint32 { return atomic.LoadUint32(word32(addr)) }

// Acquire does nothing here: Peek16 does.
func Acquire() {}

var fence uint32

// Fence: see atomic16_asm.go.
func Fence() { atomic.AddUint32(&fence, 1) }

// Prefetch does nothing here.
func Prefetch(addrs []uintptr) { _ = addrs }

// PrefetchWrite does nothing here.
func PrefetchWrite(addrs []uintptr) { _ = addrs }

// PrefetchRange does nothing here.
func PrefetchRange(addr uintptr, n int) { _, _ = addr, n }

// PrefetchWriteRange does nothing here.
func PrefetchWriteRange(addr uintptr, n int) { _, _ = addr, n }
