//go:build !race

#include "textflag.h"

// func Load16Acquire(addr uintptr) uint16
TEXT ·Load16Acquire(SB), NOSPLIT, $0-10
	MOVD addr+0(FP), R0
	LDARH (R0), R1
	MOVH R1, ret+8(FP)
	RET

// func Store16Release(addr uintptr, v uint16)
TEXT ·Store16Release(SB), NOSPLIT, $0-10
	MOVD addr+0(FP), R0
	MOVHU v+8(FP), R1
	STLRH R1, (R0)
	RET

// func Store32Release(addr uintptr, v uint32)
TEXT ·Store32Release(SB), NOSPLIT, $0-12
	MOVD addr+0(FP), R0
	MOVWU v+8(FP), R1
	STLRW R1, (R0)
	RET

// func Acquire()
TEXT ·Acquire(SB), NOSPLIT, $0-0
	DMB $0x9 // inner shareable, loads before all
	RET

// func Fence()
TEXT ·Fence(SB), NOSPLIT, $0-0
	DMB $0xb // inner shareable, loads and stores
	RET

// func prefetch(addrs *uintptr, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVD addrs+0(FP), R0
	MOVD n+8(FP), R1
loop:
	MOVD.P 8(R0), R2
	PRFM (R2), PLDL1KEEP
	SUBS $1, R1
	BNE loop
	RET

// func prefetchWrite(addrs *uintptr, n int)
TEXT ·prefetchWrite(SB), NOSPLIT, $0-16
	MOVD addrs+0(FP), R0
	MOVD n+8(FP), R1
loop:
	MOVD.P 8(R0), R2
	PRFM (R2), PSTL1KEEP
	SUBS $1, R1
	BNE loop
	RET

// func PrefetchRange(addr uintptr, n int)
TEXT ·PrefetchRange(SB), NOSPLIT, $0-16
	MOVD addr+0(FP), R0
	MOVD n+8(FP), R1
loop:
	PRFM (R0), PLDL1KEEP
	ADD $64, R0
	SUBS $64, R1
	BGT loop
	RET

// func PrefetchWriteRange(addr uintptr, n int)
TEXT ·PrefetchWriteRange(SB), NOSPLIT, $0-16
	MOVD addr+0(FP), R0
	MOVD n+8(FP), R1
loop:
	PRFM (R0), PSTL1KEEP
	ADD $64, R0
	SUBS $64, R1
	BGT loop
	RET
