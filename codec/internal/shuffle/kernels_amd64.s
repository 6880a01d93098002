//go:build amd64 && !purego

#include "textflag.h"

// All kernels use the same method. Interleaving the two halves of 2^k bytes (PUNPCKLBW,
// PUNPCKHBW) moves the byte at address a to address a rotated left by one bit. With 16
// elements of 2^e bytes:
//
//	elements: address = (element, 4 bits)(byte, e bits)
//	planes:   address = (byte, e bits)(element, 4 bits)
//
// so 4 rounds shuffle, and e rounds unshuffle. AVX2 does so in both 128-bit lanes at once;
// the second lane holds the elements 16 to 31.

#define AVX(a, b, lo, hi) \
	VPUNPCKLBW b, a, lo; \
	VPUNPCKHBW b, a, hi

#define AVX2R(a0, a1, b0, b1) \
	AVX(a0, a1, b0, b1)

#define AVX4R(a0, a1, a2, a3, b0, b1, b2, b3) \
	AVX(a0, a2, b0, b1); \
	AVX(a1, a3, b2, b3)

#define AVX8R(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7) \
	AVX(a0, a4, b0, b1); \
	AVX(a1, a5, b2, b3); \
	AVX(a2, a6, b4, b5); \
	AVX(a3, a7, b6, b7)

#define SSE(a, b, lo, hi) \
	MOVO      a, lo; \
	MOVO      a, hi; \
	PUNPCKLBW b, lo; \
	PUNPCKHBW b, hi

#define SSE2R(a0, a1, b0, b1) \
	SSE(a0, a1, b0, b1)

#define SSE4R(a0, a1, a2, a3, b0, b1, b2, b3) \
	SSE(a0, a2, b0, b1); \
	SSE(a1, a3, b2, b3)

#define SSE8R(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7) \
	SSE(a0, a4, b0, b1); \
	SSE(a1, a5, b2, b3); \
	SSE(a2, a6, b4, b5); \
	SSE(a3, a7, b6, b7)

// DX is the stride, R8 three strides; R9 will point to plane 4.
#define ARGS \
	MOVQ dst+0(FP), DI; \
	MOVQ src+8(FP), SI; \
	MOVQ stride+16(FP), DX; \
	MOVQ n+24(FP), CX; \
	LEAQ (DX)(DX*2), R8

// Loads 16 bytes at offset `at` into the low lane of y, and 16 bytes at offset far into the high lane. x is the low half of y.
#define LOAD2(at, far, x, y) \
	VMOVDQU     at(SI), x; \
	VINSERTI128 $1, far(SI), y, y

#define STORE2(x, y, at, far) \
	VMOVDQU      x, at(DI); \
	VEXTRACTI128 $1, y, far(DI)

// func unshuffle2AVX2(dst, src *byte, stride, n int)
TEXT ·unshuffle2AVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	VMOVDQU (SI), Y0
	VMOVDQU (SI)(DX*1), Y1
	AVX2R(Y0, Y1, Y2, Y3)
	STORE2(X2, Y2, 0, 32)
	STORE2(X3, Y3, 16, 48)
	ADDQ $32, SI
	ADDQ $64, DI
	SUBQ $32, CX
	JNE  loop
	VZEROUPPER
	RET

// func unshuffle4AVX2(dst, src *byte, stride, n int)
TEXT ·unshuffle4AVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	VMOVDQU (SI), Y0
	VMOVDQU (SI)(DX*1), Y1
	VMOVDQU (SI)(DX*2), Y2
	VMOVDQU (SI)(R8*1), Y3
	AVX4R(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	AVX4R(Y4, Y5, Y6, Y7, Y0, Y1, Y2, Y3)
	STORE2(X0, Y0, 0, 64)
	STORE2(X1, Y1, 16, 80)
	STORE2(X2, Y2, 32, 96)
	STORE2(X3, Y3, 48, 112)
	ADDQ $32, SI
	ADDQ $128, DI
	SUBQ $32, CX
	JNE  loop
	VZEROUPPER
	RET

// func unshuffle8AVX2(dst, src *byte, stride, n int)
TEXT ·unshuffle8AVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	LEAQ    (SI)(DX*4), R9
	VMOVDQU (SI), Y0
	VMOVDQU (SI)(DX*1), Y1
	VMOVDQU (SI)(DX*2), Y2
	VMOVDQU (SI)(R8*1), Y3
	VMOVDQU (R9), Y4
	VMOVDQU (R9)(DX*1), Y5
	VMOVDQU (R9)(DX*2), Y6
	VMOVDQU (R9)(R8*1), Y7
	AVX8R(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	AVX8R(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	AVX8R(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	STORE2(X8, Y8, 0, 128)
	STORE2(X9, Y9, 16, 144)
	STORE2(X10, Y10, 32, 160)
	STORE2(X11, Y11, 48, 176)
	STORE2(X12, Y12, 64, 192)
	STORE2(X13, Y13, 80, 208)
	STORE2(X14, Y14, 96, 224)
	STORE2(X15, Y15, 112, 240)
	ADDQ $32, SI
	ADDQ $256, DI
	SUBQ $32, CX
	JNE  loop
	VZEROUPPER
	RET

// func shuffle2AVX2(dst, src *byte, stride, n int)
TEXT ·shuffle2AVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	LOAD2(0, 32, X0, Y0)
	LOAD2(16, 48, X1, Y1)
	AVX2R(Y0, Y1, Y2, Y3)
	AVX2R(Y2, Y3, Y0, Y1)
	AVX2R(Y0, Y1, Y2, Y3)
	AVX2R(Y2, Y3, Y0, Y1)
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (DI)(DX*1)
	ADDQ    $64, SI
	ADDQ    $32, DI
	SUBQ    $32, CX
	JNE     loop
	VZEROUPPER
	RET

// func shuffle4AVX2(dst, src *byte, stride, n int)
TEXT ·shuffle4AVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	LOAD2(0, 64, X0, Y0)
	LOAD2(16, 80, X1, Y1)
	LOAD2(32, 96, X2, Y2)
	LOAD2(48, 112, X3, Y3)
	AVX4R(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	AVX4R(Y4, Y5, Y6, Y7, Y0, Y1, Y2, Y3)
	AVX4R(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	AVX4R(Y4, Y5, Y6, Y7, Y0, Y1, Y2, Y3)
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (DI)(DX*1)
	VMOVDQU Y2, (DI)(DX*2)
	VMOVDQU Y3, (DI)(R8*1)
	ADDQ    $128, SI
	ADDQ    $32, DI
	SUBQ    $32, CX
	JNE     loop
	VZEROUPPER
	RET

// func shuffle8AVX2(dst, src *byte, stride, n int)
TEXT ·shuffle8AVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	LEAQ (DI)(DX*4), R9
	LOAD2(0, 128, X0, Y0)
	LOAD2(16, 144, X1, Y1)
	LOAD2(32, 160, X2, Y2)
	LOAD2(48, 176, X3, Y3)
	LOAD2(64, 192, X4, Y4)
	LOAD2(80, 208, X5, Y5)
	LOAD2(96, 224, X6, Y6)
	LOAD2(112, 240, X7, Y7)
	AVX8R(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	AVX8R(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	AVX8R(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	AVX8R(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (DI)(DX*1)
	VMOVDQU Y2, (DI)(DX*2)
	VMOVDQU Y3, (DI)(R8*1)
	VMOVDQU Y4, (R9)
	VMOVDQU Y5, (R9)(DX*1)
	VMOVDQU Y6, (R9)(DX*2)
	VMOVDQU Y7, (R9)(R8*1)
	ADDQ    $256, SI
	ADDQ    $32, DI
	SUBQ    $32, CX
	JNE     loop
	VZEROUPPER
	RET

// func unshuffle2SSE2(dst, src *byte, stride, n int)
TEXT ·unshuffle2SSE2(SB), NOSPLIT, $0-32
	ARGS

loop:
	MOVOU (SI), X0
	MOVOU (SI)(DX*1), X1
	SSE2R(X0, X1, X2, X3)
	MOVOU X2, (DI)
	MOVOU X3, 16(DI)
	ADDQ  $16, SI
	ADDQ  $32, DI
	SUBQ  $16, CX
	JNE   loop
	RET

// func unshuffle4SSE2(dst, src *byte, stride, n int)
TEXT ·unshuffle4SSE2(SB), NOSPLIT, $0-32
	ARGS

loop:
	MOVOU (SI), X0
	MOVOU (SI)(DX*1), X1
	MOVOU (SI)(DX*2), X2
	MOVOU (SI)(R8*1), X3
	SSE4R(X0, X1, X2, X3, X4, X5, X6, X7)
	SSE4R(X4, X5, X6, X7, X0, X1, X2, X3)
	MOVOU X0, (DI)
	MOVOU X1, 16(DI)
	MOVOU X2, 32(DI)
	MOVOU X3, 48(DI)
	ADDQ  $16, SI
	ADDQ  $64, DI
	SUBQ  $16, CX
	JNE   loop
	RET

// func unshuffle8SSE2(dst, src *byte, stride, n int)
TEXT ·unshuffle8SSE2(SB), NOSPLIT, $0-32
	ARGS

loop:
	LEAQ  (SI)(DX*4), R9
	MOVOU (SI), X0
	MOVOU (SI)(DX*1), X1
	MOVOU (SI)(DX*2), X2
	MOVOU (SI)(R8*1), X3
	MOVOU (R9), X4
	MOVOU (R9)(DX*1), X5
	MOVOU (R9)(DX*2), X6
	MOVOU (R9)(R8*1), X7
	SSE8R(X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15)
	SSE8R(X8, X9, X10, X11, X12, X13, X14, X15, X0, X1, X2, X3, X4, X5, X6, X7)
	SSE8R(X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15)
	MOVOU X8, (DI)
	MOVOU X9, 16(DI)
	MOVOU X10, 32(DI)
	MOVOU X11, 48(DI)
	MOVOU X12, 64(DI)
	MOVOU X13, 80(DI)
	MOVOU X14, 96(DI)
	MOVOU X15, 112(DI)
	ADDQ  $16, SI
	ADDQ  $128, DI
	SUBQ  $16, CX
	JNE   loop
	RET

// func shuffle2SSE2(dst, src *byte, stride, n int)
TEXT ·shuffle2SSE2(SB), NOSPLIT, $0-32
	ARGS

loop:
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	SSE2R(X0, X1, X2, X3)
	SSE2R(X2, X3, X0, X1)
	SSE2R(X0, X1, X2, X3)
	SSE2R(X2, X3, X0, X1)
	MOVOU X0, (DI)
	MOVOU X1, (DI)(DX*1)
	ADDQ  $32, SI
	ADDQ  $16, DI
	SUBQ  $16, CX
	JNE   loop
	RET

// func shuffle4SSE2(dst, src *byte, stride, n int)
TEXT ·shuffle4SSE2(SB), NOSPLIT, $0-32
	ARGS

loop:
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	SSE4R(X0, X1, X2, X3, X4, X5, X6, X7)
	SSE4R(X4, X5, X6, X7, X0, X1, X2, X3)
	SSE4R(X0, X1, X2, X3, X4, X5, X6, X7)
	SSE4R(X4, X5, X6, X7, X0, X1, X2, X3)
	MOVOU X0, (DI)
	MOVOU X1, (DI)(DX*1)
	MOVOU X2, (DI)(DX*2)
	MOVOU X3, (DI)(R8*1)
	ADDQ  $64, SI
	ADDQ  $16, DI
	SUBQ  $16, CX
	JNE   loop
	RET

// func shuffle8SSE2(dst, src *byte, stride, n int)
TEXT ·shuffle8SSE2(SB), NOSPLIT, $0-32
	ARGS

loop:
	LEAQ  (DI)(DX*4), R9
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	MOVOU 64(SI), X4
	MOVOU 80(SI), X5
	MOVOU 96(SI), X6
	MOVOU 112(SI), X7
	SSE8R(X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15)
	SSE8R(X8, X9, X10, X11, X12, X13, X14, X15, X0, X1, X2, X3, X4, X5, X6, X7)
	SSE8R(X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15)
	SSE8R(X8, X9, X10, X11, X12, X13, X14, X15, X0, X1, X2, X3, X4, X5, X6, X7)
	MOVOU X0, (DI)
	MOVOU X1, (DI)(DX*1)
	MOVOU X2, (DI)(DX*2)
	MOVOU X3, (DI)(R8*1)
	MOVOU X4, (R9)
	MOVOU X5, (R9)(DX*1)
	MOVOU X6, (R9)(DX*2)
	MOVOU X7, (R9)(R8*1)
	ADDQ  $128, SI
	ADDQ  $16, DI
	SUBQ  $16, CX
	JNE   loop
	RET

// The masks of the three steps that transpose 8 by 8 bits in a 64-bit word.
DATA swap7<>+0(SB)/8, $0x00AA00AA00AA00AA
DATA swap7<>+8(SB)/8, $0x00AA00AA00AA00AA
DATA swap14<>+0(SB)/8, $0x0000CCCC0000CCCC
DATA swap14<>+8(SB)/8, $0x0000CCCC0000CCCC
DATA swap28<>+0(SB)/8, $0x00000000F0F0F0F0
DATA swap28<>+8(SB)/8, $0x00000000F0F0F0F0
GLOBL swap7<>(SB), RODATA|NOPTR, $16
GLOBL swap14<>(SB), RODATA|NOPTR, $16
GLOBL swap28<>(SB), RODATA|NOPTR, $16

// x ^= t ^ t<<by with t = (x ^ x>>by) & mask; t and u are scratch.
#define SWAPAVX(x, t, u, by, mask) \
	VPSRLQ $by, x, t; \
	VPXOR  x, t, t; \
	VPAND  mask, t, t; \
	VPSLLQ $by, t, u; \
	VPXOR  t, x, x; \
	VPXOR  u, x, x

#define SWAPSSE(x, t, by, mask) \
	MOVO  x, t; \
	PSRLQ $by, t; \
	PXOR  x, t; \
	PAND  mask, t; \
	PXOR  t, x; \
	PSLLQ $by, t; \
	PXOR  t, x

// func transposeBitsAVX2(b *byte, n int)
TEXT ·transposeBitsAVX2(SB), NOSPLIT, $0-16
	MOVQ           b+0(FP), DI
	MOVQ           n+8(FP), CX
	VBROADCASTI128 swap7<>(SB), Y5
	VBROADCASTI128 swap14<>(SB), Y6
	VBROADCASTI128 swap28<>(SB), Y7

loop:
	VMOVDQU (DI), Y0
	SWAPAVX(Y0, Y1, Y2, 7, Y5)
	SWAPAVX(Y0, Y1, Y2, 14, Y6)
	SWAPAVX(Y0, Y1, Y2, 28, Y7)
	VMOVDQU Y0, (DI)
	ADDQ    $32, DI
	SUBQ    $32, CX
	JNE     loop
	VZEROUPPER
	RET

// func transposeBitsSSE2(b *byte, n int)
TEXT ·transposeBitsSSE2(SB), NOSPLIT, $0-16
	MOVQ  b+0(FP), DI
	MOVQ  n+8(FP), CX
	MOVOU swap7<>(SB), X5
	MOVOU swap14<>(SB), X6
	MOVOU swap28<>(SB), X7

loop:
	MOVOU (DI), X0
	SWAPSSE(X0, X1, 7, X5)
	SWAPSSE(X0, X1, 14, X6)
	SWAPSSE(X0, X1, 28, X7)
	MOVOU X0, (DI)
	ADDQ  $16, DI
	SUBQ  $16, CX
	JNE   loop
	RET
