//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

// Registers, of eight lanes each if not said otherwise:
//	Y0, Y1 sums of lanes 0–3 and 4–7   Y2 low   Y3 high   Y4 valid   Y5 none
//	Y6 +Inf   Y7 -Inf   Y8 elements   Y9 all ones where they count   Y10, Y11 scratch

// func addAVX2(l *float32Lanes, elems *byte, n int, none float32)
TEXT ·addAVX2(SB), NOSPLIT, $0-28
	MOVQ         l+0(FP), DI
	MOVQ         elems+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS none+24(FP), Y5
	VMOVUPD      (float32Lanes_sum+0)(DI), Y0
	VMOVUPD      (float32Lanes_sum+32)(DI), Y1
	VMOVUPS      float32Lanes_low(DI), Y2
	VMOVUPS      float32Lanes_high(DI), Y3
	VMOVDQU      float32Lanes_valid(DI), Y4
	MOVL         $0x7f800000, AX
	VMOVD        AX, X6
	VPBROADCASTD X6, Y6
	MOVL         $0xff800000, AX
	VMOVD        AX, X7
	VPBROADCASTD X7, Y7

loop:
	VMOVUPS      (SI), Y8
	VCMPPS       $7, Y8, Y8, Y9     // is a number
	VCMPPS       $4, Y5, Y8, Y10    // is not none, or either is NaN
	VANDPS       Y10, Y9, Y9
	VPSUBD       Y9, Y4, Y4
	VBLENDVPS    Y9, Y8, Y6, Y10
	VMINPS       Y2, Y10, Y2        // of two equal ones that in Y2
	VBLENDVPS    Y9, Y8, Y7, Y11
	VMAXPS       Y3, Y11, Y3
	VANDPS       Y9, Y8, Y8
	VCVTPS2PD    X8, Y10
	VEXTRACTF128 $1, Y8, X8
	VCVTPS2PD    X8, Y11
	VADDPD       Y10, Y0, Y0
	VADDPD       Y11, Y1, Y1
	ADDQ         $32, SI
	DECQ         CX
	JNE          loop

	VMOVUPD Y0, (float32Lanes_sum+0)(DI)
	VMOVUPD Y1, (float32Lanes_sum+32)(DI)
	VMOVUPS Y2, float32Lanes_low(DI)
	VMOVUPS Y3, float32Lanes_high(DI)
	VMOVDQU Y4, float32Lanes_valid(DI)
	VZEROUPPER
	RET
