package mem

import "sync/atomic"

// Or32 sets bits of the 32-bit word at addr (4-aligned) in one step that the other side's
// own atomic operations cannot miss.
func Or32(addr uintptr, bits uint32) { atomic.OrUint32((*uint32)(pointer(addr)), bits) }
