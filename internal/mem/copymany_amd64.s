//go:build !race && !purego

#include "textflag.h"

// func copyMany(jobs *Copy, n int)
//
// n > 0. Up to 256 bytes go by 16-byte moves, the last of which may overlap the one
// before; more by string moves, which processors of the last ten years
// make line by line.
TEXT ·copyMany(SB), NOSPLIT, $0-16
	MOVQ jobs+0(FP), R8
	MOVQ n+8(FP), R9
	CLD

next:
	MOVQ 0(R8), DI
	MOVQ 8(R8), SI
	MOVQ 16(R8), CX
	ADDQ $24, R8
	DECQ R9

	CMPQ  CX, $16
	JB    small
	CMPQ  CX, $256
	JA    big
	MOVOU -16(SI)(CX*1), X4
	LEAQ  -16(DI)(CX*1), BX

by64:
	CMPQ  CX, $64
	JB    by16
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	MOVOU X0, (DI)
	MOVOU X1, 16(DI)
	MOVOU X2, 32(DI)
	MOVOU X3, 48(DI)
	ADDQ  $64, SI
	ADDQ  $64, DI
	SUBQ  $64, CX
	JMP   by64

by16:
	CMPQ  CX, $16
	JB    last
	MOVOU (SI), X0
	MOVOU X0, (DI)
	ADDQ  $16, SI
	ADDQ  $16, DI
	SUBQ  $16, CX
	JMP   by16

last:
	MOVOU X4, (BX)
	TESTQ R9, R9
	JNZ   next
	RET

big:
	MOVQ -8(SI)(CX*1), AX
	LEAQ -8(DI)(CX*1), BX
	SHRQ $3, CX
	REP; MOVSQ
	MOVQ AX, (BX)
	TESTQ R9, R9
	JNZ   next
	RET

small:
	CMPQ CX, $8
	JB   less
	MOVQ (SI), AX
	MOVQ -8(SI)(CX*1), BX
	MOVQ AX, (DI)
	MOVQ BX, -8(DI)(CX*1)
	JMP  done

less:
	TESTQ CX, CX
	JZ    done
	MOVB  (SI), AX
	MOVB  AX, (DI)
	INCQ  SI
	INCQ  DI
	DECQ  CX
	JMP   less

done:
	TESTQ R9, R9
	JNZ   next
	RET
