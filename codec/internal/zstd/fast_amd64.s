//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

// The loops of fast.go and streams.go, which explain the limits of reads and writes.

// The layout of the entries of the three tables (fse.go) fits these instructions: the lowest
// byte is the number of extra bits for ROL and BZHI, the byte above it the number of bits for
// the next state. The sum of three entries has the sums of both in its lowest two bytes.
//
// Registers:
//	AX  entry of literal lengths   BX  of match lengths   DX  of offsets
//	SI  window, next bit highest   R9  bits left          R10 the stream
//	DI  next of dst                R8  next literal       BP  the sequencer
//	R11 literals, R12 length, R13 offset, R14 start of the match, R15 its end
//	CX  scratch
// On the stack: the last position of dst at which a sequence may end, the end of the literals, the
// start of the frame, the bits of the sequence.

// DRAW adds an entry's extra bits to its value.
#define DRAW(entry, to) \
	MOVQ   entry, CX       \
	ROLQ   CX, SI          \
	BZHIQ  entry, SI, CX   \
	RORXQ  $32, entry, to  \
	MOVL   to, to          \
	ADDQ   CX, to

// NEXT moves a table to its next state, and loads the entry of that state.
#define NEXT(entry, table) \
	SHRQ    $8, entry       \
	MOVQ    entry, CX       \
	ROLQ    CX, SI          \
	BZHIQ   entry, SI, CX   \
	SHRQ    $8, entry       \
	MOVWLZX entry, entry    \
	ADDQ    CX, entry       \
	MOVQ    entry, (sequencer_states+8*table)(BP) \
	MOVQ    (sequencer_tables+8*table)(BP), CX \
	MOVQ    fseTable_entries(CX)(entry*8), entry

// ENTER loads the entry of a table's state.
#define ENTER(entry, table) \
	MOVQ (sequencer_states+8*table)(BP), entry \
	MOVQ (sequencer_tables+8*table)(BP), CX    \
	MOVQ fseTable_entries(CX)(entry*8), entry

// func fastBMI2(s *sequencer)
TEXT ·fastBMI2(SB), NOSPLIT, $64-8
	MOVQ s+0(FP), BP
	MOVQ sequencer_dst+0(BP), CX
	MOVQ sequencer_dst+8(BP), DI
	LEAQ -const_fastOut(CX)(DI*1), DI
	MOVQ DI, 0(SP)
	MOVQ sequencer_start(BP), DI
	ADDQ CX, DI
	MOVQ DI, 16(SP)
	MOVQ sequencer_op(BP), DI
	ADDQ CX, DI
	MOVQ sequencer_literals+0(BP), CX
	MOVQ sequencer_most(BP), R8
	ADDQ CX, R8
	MOVQ R8, 8(SP)
	MOVQ sequencer_lp(BP), R8
	ADDQ CX, R8
	MOVQ sequencer_src+0(BP), R10
	MOVQ sequencer_left(BP), R9
	ENTER(AX, const_lengths)
	ENTER(BX, const_matches)
	ENTER(DX, const_offsets)

loop:
	// Nothing is stored before execute, so that a sequence that stops the loop can be decoded again.
	CMPQ    R9, $const_fastBits
	JLT     stop
	CMPQ    sequencer_count(BP), $1
	JLE     stop
	LEAQ    7(R9), CX
	SHRQ    $3, CX
	MOVQ    -8(R10)(CX*1), SI
	MOVQ    R9, CX
	NEGQ    CX
	ANDL    $7, CX
	SHLXQ   CX, SI, SI
	LEAQ    (AX)(BX*1), CX
	ADDQ    DX, CX
	MOVBLZX CX, R11
	CMPL    R11, $(const_windowBits-const_stateBits)
	JA      stop
	SHRL    $8, CX
	MOVBLZX CX, CX
	ADDQ    R11, CX
	MOVQ    CX, 24(SP)
	DRAW(DX, R13)
	DRAW(BX, R12)
	DRAW(AX, R11)
	MOVQ    8(SP), CX
	SUBQ    R8, CX
	CMPQ    R11, CX
	JA      stop
	LEAQ    (DI)(R11*1), R14
	LEAQ    (R14)(R12*1), R15
	CMPQ    R15, 0(SP)
	JA      stop
	MOVQ    R14, CX
	SUBQ    16(SP), CX
	CMPQ    R13, $3
	JBE     repeat
	SUBQ    $3, R13
	CMPQ    R13, CX
	JA      stop

shift:
	MOVQ (sequencer_recent+8)(BP), CX
	MOVQ CX, (sequencer_recent+16)(BP)

swap:
	MOVQ sequencer_recent(BP), CX
	MOVQ CX, (sequencer_recent+8)(BP)
	MOVQ R13, sequencer_recent(BP)

execute:
	DECQ sequencer_count(BP)
	SUBQ 24(SP), R9
	NEXT(AX, const_lengths)
	NEXT(BX, const_matches)
	NEXT(DX, const_offsets)
	MOVOU (R8), X0
	MOVOU X0, (DI)
	CMPQ  R11, $16
	JA    literals

match:
	ADDQ  R11, R8
	MOVQ  R14, CX
	SUBQ  R13, CX
	CMPQ  R13, $16
	JB    near
	MOVOU (CX), X0
	MOVOU X0, (R14)
	MOVQ  R15, DI
	CMPQ  R12, $16
	JBE   loop

more:
	MOVOU 16(CX), X0
	MOVOU X0, 16(R14)
	ADDQ  $16, CX
	ADDQ  $16, R14
	SUBQ  $16, R12
	CMPQ  R12, $16
	JA    more
	JMP   loop

literals:
	MOVL $16, CX

moreLiterals:
	MOVOU (R8)(CX*1), X0
	MOVOU X0, (DI)(CX*1)
	ADDQ  $16, CX
	CMPQ  CX, R11
	JB    moreLiterals
	JMP   match

near:
	// Fills X0 with as many periods as fit, then stores whole periods at a time.
	MOVOU   (CX), X0
	LEAQ    ·strides(SB), CX
	MOVBQZX (CX)(R13*1), R12
	SHLQ    $4, R13
	LEAQ    ·periods(SB), CX
	MOVOU   (CX)(R13*1), X1
	PSHUFB  X1, X0

periods:
	MOVOU X0, (R14)
	ADDQ  R12, R14
	CMPQ  R14, R15
	JB    periods
	MOVQ  R15, DI
	JMP   loop

repeat:
	// CX is the maximum offset of a match. Without literals, the repeat codes are shifted by one.
	CMPQ R11, $1
	ADCQ $-1, R13
	JEQ  first
	CMPQ R13, $2
	JB   second
	JEQ  third
	MOVQ sequencer_recent(BP), R13
	DECQ R13
	JEQ  stop
	CMPQ R13, CX
	JA   stop
	JMP  shift

first:
	MOVQ sequencer_recent(BP), R13
	CMPQ R13, CX
	JA   stop
	JMP  execute

second:
	MOVQ (sequencer_recent+8)(BP), R13
	CMPQ R13, CX
	JA   stop
	JMP  swap

third:
	MOVQ (sequencer_recent+16)(BP), R13
	CMPQ R13, CX
	JA   stop
	JMP  shift

stop:
	MOVQ sequencer_dst+0(BP), CX
	SUBQ CX, DI
	MOVQ DI, sequencer_op(BP)
	SUBQ sequencer_literals+0(BP), R8
	MOVQ R8, sequencer_lp(BP)
	MOVQ R9, sequencer_left(BP)
	RET

// Registers:
//	R8  table        DI  next literal of the first stream
//	R9  distance between the streams' literals    R10 three times that
//	AX, BX, CX, DX bits of the streams   R11, R12, R13, R15 their addresses
//	BP  rounds       SI, R14 scratch

// LITERAL decodes one literal.
#define LITERAL(bits, to) \
	MOVQ    bits, SI         \
	SHRQ    $(64-const_maxHuffLog), SI \
	MOVWLZX (R8)(SI*2), SI   \
	SHLXQ   SI, bits, bits   \
	SHRL    $8, SI           \
	MOVB    SI, to

// LOAD drops the consumed bytes: the lowest set bit is a marker that counts the bits.
#define LOAD(bits, ip) \
	TZCNTQ bits, SI   \
	MOVL   SI, R14    \
	SHRL   $3, R14    \
	SUBQ   R14, ip    \
	ANDL   $7, SI     \
	MOVQ   (ip), bits \
	ORQ    $1, bits   \
	SHLXQ  SI, bits, bits

// func decodeBMI2(s *streams, rounds int)
TEXT ·decodeBMI2(SB), NOSPLIT, $8-16
	MOVQ s+0(FP), SI
	MOVQ streams_table(SI), R8
	MOVQ streams_each(SI), R9
	LEAQ (R9)(R9*2), R10
	MOVQ streams_out(SI), DI
	ADDQ streams_done(SI), DI
	MOVQ streams_src(SI), R14
	MOVQ (streams_ip+0)(SI), R11
	MOVQ (streams_ip+8)(SI), R12
	MOVQ (streams_ip+16)(SI), R13
	MOVQ (streams_ip+24)(SI), R15
	ADDQ R14, R11
	ADDQ R14, R12
	ADDQ R14, R13
	ADDQ R14, R15
	MOVQ (streams_bits+0)(SI), AX
	MOVQ (streams_bits+8)(SI), BX
	MOVQ (streams_bits+16)(SI), CX
	MOVQ (streams_bits+24)(SI), DX
	MOVQ rounds+8(FP), BP

round:
	LITERAL(AX, (DI))
	LITERAL(BX, (DI)(R9*1))
	LITERAL(CX, (DI)(R9*2))
	LITERAL(DX, (DI)(R10*1))
	LITERAL(AX, 1(DI))
	LITERAL(BX, 1(DI)(R9*1))
	LITERAL(CX, 1(DI)(R9*2))
	LITERAL(DX, 1(DI)(R10*1))
	LITERAL(AX, 2(DI))
	LITERAL(BX, 2(DI)(R9*1))
	LITERAL(CX, 2(DI)(R9*2))
	LITERAL(DX, 2(DI)(R10*1))
	LITERAL(AX, 3(DI))
	LITERAL(BX, 3(DI)(R9*1))
	LITERAL(CX, 3(DI)(R9*2))
	LITERAL(DX, 3(DI)(R10*1))
	LITERAL(AX, 4(DI))
	LITERAL(BX, 4(DI)(R9*1))
	LITERAL(CX, 4(DI)(R9*2))
	LITERAL(DX, 4(DI)(R10*1))
	LOAD(AX, R11)
	LOAD(BX, R12)
	LOAD(CX, R13)
	LOAD(DX, R15)
	ADDQ $const_perRound, DI
	DECQ BP
	JNE  round

	MOVQ s+0(FP), SI
	MOVQ streams_src(SI), R14
	SUBQ R14, R11
	SUBQ R14, R12
	SUBQ R14, R13
	SUBQ R14, R15
	MOVQ R11, (streams_ip+0)(SI)
	MOVQ R12, (streams_ip+8)(SI)
	MOVQ R13, (streams_ip+16)(SI)
	MOVQ R15, (streams_ip+24)(SI)
	MOVQ AX, (streams_bits+0)(SI)
	MOVQ BX, (streams_bits+8)(SI)
	MOVQ CX, (streams_bits+16)(SI)
	MOVQ DX, (streams_bits+24)(SI)
	SUBQ streams_out(SI), DI
	MOVQ DI, streams_done(SI)
	RET
