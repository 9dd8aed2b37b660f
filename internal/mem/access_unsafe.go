package mem

import "unsafe"

// pointer turns an address back into a pointer. checkptr may not look: the tests
// keep rings on the Go heap, where it would want the original pointer.
//
//go:nocheckptr
func pointer(addr uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), addr) }

// Load16 reads a 16-bit word that nobody writes at this moment, or whose value
// is validated afterwards. No ordering.
func Load16(addr uintptr) uint16 { return *(*uint16)(pointer(addr)) }

// Load32 is Load16 for 32 bits.
func Load32(addr uintptr) uint32 { return *(*uint32)(pointer(addr)) }

// Load64 is Load16 for 64 bits.
func Load64(addr uintptr) uint64 { return *(*uint64)(pointer(addr)) }

// Store16 writes a 16-bit word without ordering.
func Store16(addr uintptr, v uint16) { *(*uint16)(pointer(addr)) = v }

// Store32 is Store16 for 32 bits.
func Store32(addr uintptr, v uint32) { *(*uint32)(pointer(addr)) = v }

// Store64 is Store16 for 64 bits.
func Store64(addr uintptr, v uint64) { *(*uint64)(pointer(addr)) = v }

// Bytes is the memory [addr, addr+n) as a slice. The slice must not outlive the
// mapping; other parties may change what is in it at any time.
func Bytes(addr uintptr, n int) []byte { return unsafe.Slice((*byte)(pointer(addr)), n) }

// AddrOf is the address of the first byte of b, which must not be empty. The
// caller keeps b alive for as long as the address is in use.
func AddrOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// CopyIn copies len(dst) bytes at addr into dst.
func CopyIn(dst []byte, addr uintptr) { copy(dst, unsafe.Slice((*byte)(pointer(addr)), len(dst))) }

// CopyOut copies src to addr.
func CopyOut(addr uintptr, src []byte) { copy(unsafe.Slice((*byte)(pointer(addr)), len(src)), src) }

// Move copies n bytes from src to dst. The ranges may overlap. (Callers pass a
// length that is not a constant: with one, Go 1.26's compiler wants to turn the
// copy into moves and stops with an internal error on pointers made from
// integers. The same holds for CopyIn and CopyOut.)
func Move(dst, src uintptr, n int) {
	copy(unsafe.Slice((*byte)(pointer(dst)), n), unsafe.Slice((*byte)(pointer(src)), n))
}
