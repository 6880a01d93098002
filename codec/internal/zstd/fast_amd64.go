//go:build amd64 && !purego

package zstd

import "golang.org/x/sys/cpu"

// hasBMI2 selects the loops in assembly. It is a variable so that tests can turn it off.
var hasBMI2 = cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasSSSE3

// fast executes usual sequences, see portableFast.
func (s *sequencer) fast() {
	if hasBMI2 && len(s.dst) >= fastOut {
		fastBMI2(s)
		return
	}
	s.portableFast()
}

// decode decodes the given number of rounds, at least one.
func (s *streams) decode(rounds int) {
	if hasBMI2 {
		decodeBMI2(s, rounds)
		return
	}
	s.portableDecode(rounds)
}

// fastBMI2 is portableFast in assembly. The scheduler cannot preempt it; a block takes about 100 µs.
//
//go:noescape
func fastBMI2(s *sequencer)

// decodeBMI2 is portableDecode in assembly.
//
//go:noescape
func decodeBMI2(s *streams, rounds int)

// periods holds in row d the numbers 0 to d-1, repeated: the shuffle mask that repeats a period of d bytes over 16
// bytes.
//
//lint:ignore U1000 fast_amd64.s reads it
var periods = func() (rows [16][16]byte) {
	for d := 1; d < 16; d++ {
		for i := range rows[d] {
			rows[d][i] = byte(i % d)
		}
	}
	return rows
}()

// strides holds at d the number of bytes of whole periods in row d of periods.
//
//lint:ignore U1000 fast_amd64.s reads it
var strides = func() (bytes [16]byte) {
	for d := 1; d < 16; d++ {
		bytes[d] = byte(16 - 16%d)
	}
	return bytes
}()
