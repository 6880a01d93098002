// Package adler32 computes Adler-32, the checksum of zlib streams (RFC 1950, section 8.2). It is
// several times as fast as hash/adler32, which would take about as long as decoding.
package adler32

import "encoding/binary"

// mod is the largest prime below 2^16.
const mod = 65521

// maxRun is the largest number of bytes n for which the second sum cannot overflow 32 bits before it
// is reduced: 255·n·(n+1)/2 + (n+1)·(mod-1) < 2^32.
const maxRun = 5552

// Checksum returns the Adler-32 of p.
func Checksum(p []byte) uint32 {
	a, b := uint32(1), uint32(0)
	for len(p) > 0 {
		run := p[:min(len(p), maxRun)]
		p = p[len(run):]
		a, b = sums(a, b, run)
		a, b = a%mod, b%mod
	}
	return b<<16 | a
}

// The portable code sums bytes in lanes of 16 bits. A lane cannot overflow within laneRows rows,
// because 255·22·23/2 < 2^16.
const (
	laneRows = 22
	laneMask = 0x00ff00ff00ff00ff
)

// portableSums adds a run of at most maxRun bytes to the two sums a and b. It processes rows of eight
// bytes, in four lanes for the even bytes and four for the odd bytes.
func portableSums(a, b uint32, p []byte) (uint32, uint32) {
	for len(p) >= 8 {
		rows := min(len(p)/8, laneRows)
		b += a * uint32(rows*8)
		x, y := laneSums(p[:rows*8])
		a += x
		b += y
		p = p[rows*8:]
	}
	for _, c := range p {
		a += uint32(c)
		b += a
	}
	return a, b
}

// laneSums returns both sums of whole rows, starting from zero.
func laneSums(p []byte) (a, b uint32) {
	var even, odd, evens, odds uint64 // per lane: the sum of its bytes, and the sum of all earlier such sums
	for ; len(p) >= 8; p = p[8:] {
		row := binary.LittleEndian.Uint64(p)
		evens += even
		odds += odd
		even += row & laneMask
		odd += row >> 8 & laneMask
	}
	for i := range uint32(4) {
		e, o := uint32(even>>(16*i)&0xffff), uint32(odd>>(16*i)&0xffff)
		a += e + o
		b += 8*(uint32(evens>>(16*i)&0xffff)+uint32(odds>>(16*i)&0xffff)) + (8-2*i)*e + (7-2*i)*o
	}
	return a, b
}
