package afpacket

import (
	"sync/atomic"
	"unsafe"
)

// word is the status of a slot; the kernel is its other user.
//
//go:nocheckptr
func word(slot uintptr) *uint32 { return (*uint32)(unsafe.Add(unsafe.Pointer(nil), slot+slotStatus)) }

// status reads a slot's status; what the kernel wrote before it is seen after.
func status(slot uintptr) uint32 { return atomic.LoadUint32(word(slot)) }

// give returns a slot to the kernel; our reads of it come before.
func give(slot uintptr) { atomic.StoreUint32(word(slot), 0) }
