//go:build !(libdeflate && cgo)

#include "go_asm.h"
#include "textflag.h"

// The loop of portableFast in fast.go, which explains its margins. The layout of an entry (huffman.go) fits these
// instructions: the lowest byte is the count for SHRX, the lowest two bytes are the operand of BEXTR for the next
// index, and the two bytes above them its operand for the extra bits. The flags are the sign and bits 62 to 60.
//
// Registers:
//	AX  entry           BX  bits           CX  n, its lowest six bits
//	SI  next of src     DI  next of dst    R9  start of dst
//	R10 last SI         R11 last DI        R8  tables
//	R15 operand of BEXTR for the number of bytes in n
//	DX, R12, R14, BP scratch

#define REFILL \
	MOVQ   (SI), DX     \
	SHLXQ  CX, DX, DX   \
	ORQ    DX, BX       \
	BEXTRQ R15, CX, DX  \
	ADDQ   $7, SI       \
	SUBQ   DX, SI       \
	ORQ    $56, CX

// LITERAL writes the literal of AX and loads the next entry.
#define LITERAL \
	BEXTRQ AX, BX, R12     \
	SHRXQ  AX, BX, BX      \
	SUBQ   AX, CX          \
	RORXQ  $32, AX, DX     \
	MOVB   DX, (DI)        \
	MOVQ   (R8)(R12*8), AX \
	INCQ   DI

// func fastBMI2(c *cursor, t *tables, dst, src []byte, opEnd, ipEnd int) status
TEXT ·fastBMI2(SB), NOSPLIT, $8-81
	MOVQ c+0(FP), DX
	MOVQ t+8(FP), R8
	MOVQ dst_base+16(FP), R9
	MOVQ src_base+40(FP), R12
	MOVQ opEnd+64(FP), R11
	MOVQ ipEnd+72(FP), R10
	ADDQ R9, R11
	ADDQ R12, R10
	MOVQ cursor_op(DX), DI
	ADDQ R9, DI
	MOVQ cursor_ip(DX), SI
	ADDQ R12, SI
	MOVQ cursor_bits(DX), BX
	MOVQ cursor_n(DX), CX
	MOVL $0x0303, R15
	REFILL
	MOVQ BX, AX
	ANDL $const_litlenMask, AX
	MOVQ (R8)(AX*8), AX

loop:
	CMPQ SI, R10
	JHI  care
	CMPQ DI, R11
	JHI  care
	TESTQ AX, AX
	JNS  symbol
	LITERAL
	TESTQ AX, AX
	JNS  symbol
	LITERAL
	TESTQ AX, AX
	JNS  symbol

last:
	LITERAL
	REFILL
	JMP  loop

symbol:
	BTQ $62, AX
	JCS exception

length:
	// At most 2·11+15+5 of 56 bits are consumed, so the index of the distance needs no refill.
	BEXTRQ AX, BX, R12
	RORXQ  $16, AX, R14
	BEXTRQ R14, BX, R14
	SHRXQ  AX, BX, BX
	SUBQ   AX, CX
	MOVQ   tables_dist(R8)(R12*8), R12
	SHRQ   $32, AX
	ADDQ   R14, AX
	REFILL
	BTQ    $62, R12
	JCS    distance

copy:
	// AX is the length, R12 the distance's entry.
	BEXTRQ R12, BX, DX
	RORXQ  $16, R12, R14
	BEXTRQ R14, BX, R14
	RORXQ  $32, R12, BP
	MOVL   BP, BP
	ADDQ   BP, R14
	MOVQ   DI, BP
	SUBQ   R9, BP
	CMPQ   R14, BP
	JHI    far
	SHRXQ  R12, BX, BX
	SUBQ   R12, CX
	MOVQ   (R8)(DX*8), R12
	REFILL
	ADDQ   DI, AX
	MOVQ   DI, DX
	SUBQ   R14, DX
	CMPQ   R14, $16
	JLO    near
	MOVOU  (DX), X0
	MOVOU  X0, (DI)
	MOVOU  16(DX), X0
	MOVOU  X0, 16(DI)
	ADDQ   $32, DI
	CMPQ   DI, AX
	JHS    copied

more:
	MOVOU 32(DX), X0
	MOVOU X0, (DI)
	MOVOU 48(DX), X0
	MOVOU X0, 16(DI)
	ADDQ  $32, DX
	ADDQ  $32, DI
	CMPQ  DI, AX
	JLO   more

copied:
	MOVQ AX, DI
	MOVQ R12, AX
	JMP  loop

near:
	// Fills X0 with as many periods as fit, then stores whole periods at a time.
	MOVOU   (DX), X0
	LEAQ    ·strides(SB), DX
	MOVBQZX (DX)(R14*1), BP
	SHLQ    $4, R14
	LEAQ    ·periods(SB), DX
	MOVOU   (DX)(R14*1), X1
	PSHUFB  X1, X0

periods:
	MOVOU X0, (DI)
	ADDQ  BP, DI
	MOVOU X0, (DI)
	ADDQ  BP, DI
	CMPQ  DI, AX
	JLO   periods
	JMP   copied

exception:
	BTQ    $61, AX
	JCC    ending
	BEXTRQ AX, BX, R12
	SHRXQ  AX, BX, BX
	SUBQ   AX, CX
	SHRQ   $32, AX
	MOVWQZX AX, AX
	ADDQ   R12, AX
	MOVQ   (R8)(AX*8), AX
	TESTQ  AX, AX
	JMI    last
	BTQ    $62, AX
	JCC    length

ending:
	BTQ   $60, AX
	JCC   bad
	SHRXQ AX, BX, BX
	SUBQ  AX, CX
	MOVL  $const_blockDone, AX
	JMP   done

distance:
	BTQ    $61, R12
	JCC    badDist
	BEXTRQ R12, BX, DX
	SHRXQ  R12, BX, BX
	SUBQ   R12, CX
	SHRQ   $32, R12
	MOVWQZX R12, R12
	ADDQ   DX, R12
	MOVQ   tables_dist(R8)(R12*8), R12
	BTQ    $62, R12
	JCC    copy

badDist:
	MOVL $const_badDistance, AX
	JMP  done

bad:
	MOVL $const_badSymbol, AX
	JMP  done

far:
	MOVL $const_tooFar, AX
	JMP  done

care:
	MOVL $const_needCare, AX

done:
	MOVQ c+0(FP), DX
	SUBQ R9, DI
	MOVQ DI, cursor_op(DX)
	SUBQ src_base+40(FP), SI
	MOVQ SI, cursor_ip(DX)
	MOVQ BX, cursor_bits(DX)
	ANDL $63, CX
	MOVQ CX, cursor_n(DX)
	MOVB AX, ret+80(FP)
	RET
