//go:build amd64 && !purego

package zstd

import "golang.org/x/sys/cpu"

// hasBMI2 chooses the loops. A variable so that a test can turn it off.
var hasBMI2 = cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasSSSE3

// fast executes sequences until one is unusual.
func (s *sequencer) fast() {
	if hasBMI2 && len(s.dst) >= fastOut {
		fastBMI2(s)
		return
	}
	s.portableFast()
}

// decode decodes a number of rounds, at least one.
func (s *streams) decode(rounds int) {
	if hasBMI2 {
		decodeBMI2(s, rounds)
		return
	}
	s.portableDecode(rounds)
}

// fastBMI2 is portableFast. It is not preempted: a block takes some 100 µs.
//
//go:noescape
func fastBMI2(s *sequencer)

// decodeBMI2 is portableDecode.
//
//go:noescape
func decodeBMI2(s *streams, rounds int)

// periods repeats the numbers below d in row d, to shuffle a period of d bytes into 16.
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

// strides are how many of the 16 bytes of a row are whole periods.
//
//lint:ignore U1000 fast_amd64.s reads it
var strides = func() (bytes [16]byte) {
	for d := 1; d < 16; d++ {
		bytes[d] = byte(16 - 16%d)
	}
	return bytes
}()
