package megaflow

import (
	"unsafe"

	"github.com/gvswitch/gvswitch/flow"
)

// pointer turns an address outside the Go heap into a pointer; see internal/mem.
//
//go:nocheckptr
func pointer(a uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), a) }

// The owner's plain accesses.

func load64(a uintptr) uint64     { return *(*uint64)(pointer(a)) }
func load32(a uintptr) uint32     { return *(*uint32)(pointer(a)) }
func load8(a uintptr) uint8       { return *(*uint8)(pointer(a)) }
func store64(a uintptr, v uint64) { *(*uint64)(pointer(a)) = v }
func store32(a uintptr, v uint32) { *(*uint32)(pointer(a)) = v }
func store16(a uintptr, v uint16) { *(*uint16)(pointer(a)) = v }

// word is the key's word at byte offset off, off < 8*flow.PacketWords.
func word(k *flow.Key, off uintptr) uint64 {
	return *(*uint64)(unsafe.Add(unsafe.Pointer(k), off))
}

// statsAt is the statistics at a.
func statsAt(a uintptr) *Stats { return (*Stats)(pointer(a)) }

// bytesAt is the memory [a, a+n).
func bytesAt(a uintptr, n int) []byte { return unsafe.Slice((*byte)(pointer(a)), n) }
