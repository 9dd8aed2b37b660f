//go:build !race

#include "textflag.h"

// Plain loads and stores are acquire and release on amd64 (TSO); being calls,
// these also keep the Go compiler from moving anything across them.

// func Load16Acquire(addr uintptr) uint16
TEXT ·Load16Acquire(SB), NOSPLIT, $0-10
	MOVQ addr+0(FP), AX
	MOVWLZX (AX), BX
	MOVW BX, ret+8(FP)
	RET

// func Store16Release(addr uintptr, v uint16)
TEXT ·Store16Release(SB), NOSPLIT, $0-10
	MOVQ addr+0(FP), AX
	MOVWLZX v+8(FP), BX
	MOVW BX, (AX)
	RET

// func Store32Release(addr uintptr, v uint32)
TEXT ·Store32Release(SB), NOSPLIT, $0-12
	MOVQ addr+0(FP), AX
	MOVL v+8(FP), BX
	MOVL BX, (AX)
	RET

// func Acquire()
TEXT ·Acquire(SB), NOSPLIT, $0-0
	RET

// func Fence()
// A locked operation on the own stack is cheaper than MFENCE.
TEXT ·Fence(SB), NOSPLIT, $8-0
	LOCK
	ADDQ $0, 0(SP)
	RET

// func prefetch(addrs *uintptr, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ addrs+0(FP), AX
	MOVQ n+8(FP), CX
loop:
	MOVQ (AX), BX
	PREFETCHT0 (BX)
	ADDQ $8, AX
	DECQ CX
	JNZ loop
	RET

// func prefetchWrite(addrs *uintptr, n int)
TEXT ·prefetchWrite(SB), NOSPLIT, $0-16
	MOVQ addrs+0(FP), AX
	MOVQ n+8(FP), CX
loop:
	MOVQ (AX), BX
	BYTE $0x0f; BYTE $0x0d; BYTE $0x0b // PREFETCHW (BX)
	ADDQ $8, AX
	DECQ CX
	JNZ loop
	RET

// func PrefetchRange(addr uintptr, n int)
TEXT ·PrefetchRange(SB), NOSPLIT, $0-16
	MOVQ addr+0(FP), AX
	MOVQ n+8(FP), CX
loop:
	PREFETCHT0 (AX)
	ADDQ $64, AX
	SUBQ $64, CX
	JGT loop
	RET

// func PrefetchWriteRange(addr uintptr, n int)
TEXT ·PrefetchWriteRange(SB), NOSPLIT, $0-16
	MOVQ addr+0(FP), AX
	MOVQ n+8(FP), CX
loop:
	BYTE $0x0f; BYTE $0x0d; BYTE $0x08 // PREFETCHW (AX)
	ADDQ $64, AX
	SUBQ $64, CX
	JGT loop
	RET
