//go:build race || !(amd64 || arm64)

package mem

// word32 is the 32-bit word at addr, for sync/atomic.
func word32(addr uintptr) *uint32 { return (*uint32)(pointer(addr)) }
