//go:build !purego

#include "textflag.h"

// The bytes are added as 32-bit little-endian words into the 64-bit lanes of four
// registers. 2^32 = 1 (mod 2^16-1), so this is the same sum as that of 16-bit
// words. All words of 16 GiB together are less than 2^64, so nothing overflows
// before the last add, whose carry is added again.

#define ADD32(off, lo, hi) \
	VMOVDQU    off(SI), Y4   \
	VPUNPCKLDQ Y15, Y4, Y5   \
	VPUNPCKHDQ Y15, Y4, Y4   \
	VPADDQ     Y5, lo, lo    \
	VPADDQ     Y4, hi, hi

// func sumAVX2(b []byte, acc uint64) uint64
// Requires: AVX2, len(b) a multiple of 128 and not 0.
TEXT ·sumAVX2(SB), NOSPLIT, $0-40
	MOVQ  b_base+0(FP), SI
	MOVQ  b_len+8(FP), CX
	MOVQ  acc+24(FP), AX
	VPXOR Y15, Y15, Y15
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

loop:
	ADD32(0, Y0, Y1)
	ADD32(32, Y2, Y3)
	ADD32(64, Y0, Y1)
	ADD32(96, Y2, Y3)
	ADDQ $128, SI
	SUBQ $128, CX
	JNZ  loop

	VPADDQ       Y1, Y0, Y0
	VPADDQ       Y3, Y2, Y2
	VPADDQ       Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDQ       X1, X0, X0
	VPSRLDQ      $8, X0, X1
	VPADDQ       X1, X0, X0
	VMOVQ        X0, CX
	VZEROUPPER
	ADDQ         CX, AX
	ADCQ         $0, AX
	MOVQ         AX, ret+32(FP)
	RET
