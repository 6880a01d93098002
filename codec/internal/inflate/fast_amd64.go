//go:build !(libdeflate && cgo)

package inflate

import "golang.org/x/sys/cpu"

var hasBMI2 = cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasSSSE3

// stretch is the maximum number of bytes that a call of assembly decodes, about 100 µs. The scheduler
// cannot preempt assembly.
const stretch = 1 << 17

// fast decodes symbols while src and dst have fastIn and fastOut bytes left.
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

// fastBMI2 is portableFast in assembly. It runs while c.op <= opEnd and c.ip <= ipEnd, which must hold
// at the call.
//
//go:noescape
func fastBMI2(c *cursor, t *tables, dst, src []byte, opEnd, ipEnd int) status

// periods holds in row d the numbers 0 to d-1, repeated: the shuffle mask that repeats a period of d
// bytes over 16 bytes.
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
