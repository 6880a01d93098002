#include "textflag.h"

// The weights of the bytes of a block in the second sum.
DATA weights<>+0(SB)/8, $0x393a3b3c3d3e3f40
DATA weights<>+8(SB)/8, $0x3132333435363738
DATA weights<>+16(SB)/8, $0x292a2b2c2d2e2f30
DATA weights<>+24(SB)/8, $0x2122232425262728
DATA weights<>+32(SB)/8, $0x191a1b1c1d1e1f20
DATA weights<>+40(SB)/8, $0x1112131415161718
DATA weights<>+48(SB)/8, $0x090a0b0c0d0e0f10
DATA weights<>+56(SB)/8, $0x0102030405060708
GLOBL weights<>(SB), RODATA|NOPTR, $64

// func sumsAVX2(a, b uint32, p []byte) (uint32, uint32)
//
// Over N blocks the first sum grows by all bytes, the second by 64 times the first sum before
// each block and by the weighted bytes of the block:
//	Y0  sums of bytes      Y1  sums of Y0 before each block    Y2  weighted sums
//	Y3  weights 64‥33      Y4  weights 32‥1                    Y5  zero    Y6  ones
// A weighted pair is at most 255·(64+63), which fits 16 signed bits; pairs are added in 32.
TEXT ·sumsAVX2(SB), NOSPLIT, $0-40
	MOVL a+0(FP), R8
	MOVL b+4(FP), R9
	MOVQ p_base+8(FP), SI
	MOVQ p_len+16(FP), CX

	// The first sum starts with a, which the second sum therefore adds once for every byte.
	MOVL  R8, AX
	IMULL CX, AX
	ADDL  AX, R9

	VPXOR    Y0, Y0, Y0
	VPXOR    Y1, Y1, Y1
	VPXOR    Y2, Y2, Y2
	VPXOR    Y5, Y5, Y5
	VMOVDQU  weights<>+0(SB), Y3
	VMOVDQU  weights<>+32(SB), Y4
	VPCMPEQW Y6, Y6, Y6
	VPSRLW   $15, Y6, Y6

loop:
	VMOVDQU    (SI), Y7
	VMOVDQU    32(SI), Y8
	VPADDD     Y0, Y1, Y1
	VPSADBW    Y5, Y7, Y9
	VPSADBW    Y5, Y8, Y10
	VPMADDUBSW Y3, Y7, Y7
	VPMADDUBSW Y4, Y8, Y8
	VPADDD     Y9, Y10, Y9
	VPADDD     Y9, Y0, Y0
	VPMADDWD   Y6, Y7, Y7
	VPMADDWD   Y6, Y8, Y8
	VPADDD     Y7, Y8, Y7
	VPADDD     Y7, Y2, Y2
	ADDQ       $64, SI
	SUBQ       $64, CX
	JNE        loop

	VPSLLD $6, Y1, Y1
	VPADDD Y1, Y2, Y2

	VEXTRACTI128 $1, Y0, X7
	VPADDD       X7, X0, X0
	VPSHUFD      $0x4e, X0, X7
	VPADDD       X7, X0, X0
	VMOVD        X0, AX
	ADDL         AX, R8

	VEXTRACTI128 $1, Y2, X7
	VPADDD       X7, X2, X2
	VPSHUFD      $0x4e, X2, X7
	VPADDD       X7, X2, X2
	VPSHUFD      $0xb1, X2, X7
	VPADDD       X7, X2, X2
	VMOVD        X2, AX
	ADDL         AX, R9

	VZEROUPPER
	MOVL R8, ret+32(FP)
	MOVL R9, ret1+36(FP)
	RET
