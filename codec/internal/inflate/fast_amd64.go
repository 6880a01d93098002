//go:build !(libdeflate && cgo)

package inflate

import "golang.org/x/sys/cpu"

var hasBMI2 = cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasSSSE3

// stretch is how many bytes a call in assembly decodes, for it cannot be preempted: some 100 µs.
const stretch = 1 << 17

// fast decodes symbols while both buffers have room.
func fast(c *cursor, t *tables, dst, src []byte) status {
	if !hasBMI2 {
		return portableFast(c, t, dst, src)
	}
	ipEnd := len(src) - fastIn
	for c.ip <= ipEnd && c.op <= len(dst)-fastOut {
		opEnd := min(len(dst)-fastOut, c.op+stretch)
		if s := fastBMI2(c, t, dst, src, opEnd, ipEnd); s != needCare {
			return s
		}
	}
	return needCare
}

// fastBMI2 is portableFast while c.op <= opEnd and c.ip <= ipEnd, which must hold when called.
//
//go:noescape
func fastBMI2(c *cursor, t *tables, dst, src []byte, opEnd, ipEnd int) status

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
