package inflate

import "encoding/binary"

// fastIn and fastOut are the numbers of bytes of src and dst that an iteration of the fast loop may
// access: two refills, the second up to 7 bytes later; two literals, a match, and up to 48 bytes that
// its copy may write past the match.
const (
	fastIn  = 16
	fastOut = 2 + 258 + 48
)

// portableFast decodes symbols while src and dst have fastIn and fastOut bytes left. An iteration
// decodes three literals, or up to two literals and a match. At its start at least 56 bits are loaded,
// and e is the entry that they index: looking it up early hides the latency of the table.
func portableFast(c *cursor, t *tables, dst, src []byte) status {
	op, opEnd, ipEnd := c.op, len(dst)-fastOut, len(src)-fastIn
	if c.ip > ipEnd || op > opEnd {
		return needCare
	}
	bits, n, ip := refill(c.bits, c.n, src, c.ip)
	e, s := t.litlen[bits&litlenMask], needCare
	for ip <= ipEnd && op <= opEnd {
		// Three literals take at most 3·11 bits, so they need no refill between them.
		if e&literal != 0 {
			bits, n = bits>>(e&63), n-uint(e)
			dst[op] = byte(e >> valueShift)
			op++
			if e = t.litlen[bits&litlenMask]; e&literal != 0 {
				bits, n = bits>>(e&63), n-uint(e)
				dst[op] = byte(e >> valueShift)
				op++
				if e = t.litlen[bits&litlenMask]; e&literal != 0 {
					bits, n = bits>>(e&63), n-uint(e)
					dst[op] = byte(e >> valueShift)
					op++
					e = t.litlen[bits&litlenMask]
					bits, n, ip = refill(bits, n, src, ip)
					continue
				}
			}
		}
		if e&exceptional != 0 {
			if e&subtable == subtable {
				bits, n = bits>>litlenBits, n-litlenBits
				e = t.litlen[subindex(e, bits)]
			}
			if e&literal != 0 {
				bits, n = bits>>(e&63), n-uint(e)
				dst[op] = byte(e >> valueShift)
				op++
				e = t.litlen[bits&litlenMask]
				bits, n, ip = refill(bits, n, src, ip)
				continue
			}
			if e&exceptional != 0 {
				if s = badSymbol; e&blockEnd == blockEnd {
					bits, n, s = bits>>(e&63), n-uint(e), blockDone
				}
				break
			}
		}
		length := extend(e, bits)
		bits, n = bits>>(e&63), n-uint(e)
		e = t.dist[bits&distMask]
		bits, n, ip = refill(bits, n, src, ip)
		if e&exceptional != 0 {
			if e&subtable == subtable {
				bits, n = bits>>distBits, n-distBits
				e = t.dist[subindex(e, bits)]
			}
			if e&exceptional != 0 {
				s = badDistance
				break
			}
		}
		dist := extend(e, bits)
		if dist > op {
			s = tooFar
			break
		}
		bits, n = bits>>(e&63), n-uint(e)
		e = t.litlen[bits&litlenMask]
		bits, n, ip = refill(bits, n, src, ip)
		// Most matches: two copies of fixed size without a loop. They may write past the match,
		// where later symbols overwrite.
		if dist >= 16 && length <= 32 {
			copy16(dst, op, dist)
			copy16(dst, op+16, dist)
		} else {
			copyMatch(dst, op, dist, length)
		}
		op += length
	}
	*c = cursor{op, ip, bits, n & 63}
	return s
}

const (
	litlenMask = 1<<litlenBits - 1
	distMask   = 1<<distBits - 1
)

// refill loads whole bytes until 56 to 63 bits are loaded. Only the low six bits of n count, so that
// callers may subtract a whole entry from n instead of its low bits.
func refill(bits uint64, n uint, src []byte, ip int) (uint64, uint, int) {
	bits |= binary.LittleEndian.Uint64(src[ip:ip+8:ip+8]) << (n & 63)
	return bits, n | 56, ip + int(7-n>>3&7)
}

// copyMatch copies length bytes to dst[op:] from dist bytes before. It may write up to 46 more bytes.
func copyMatch(dst []byte, op, dist, length int) {
	end := op + length
	if dist == 1 { // runs of one byte are common in shuffled data
		v := uint64(dst[op-1]) * 0x0101010101010101
		for ; op < end; op += 16 {
			w := dst[op : op+16 : op+16]
			binary.LittleEndian.PutUint64(w, v)
			binary.LittleEndian.PutUint64(w[8:], v)
		}
		return
	}
	// After each copy, the bytes repeat with twice the period too, until 16 bytes can be copied at
	// once without overlap.
	for ; dist < 16; dist *= 2 {
		copy16(dst, op, dist)
		op += dist
	}
	for ; op < end; op += 16 {
		copy16(dst, op, dist)
	}
}

// copy16 copies 16 bytes to dst[op:] from dist bytes before. It reads all before it writes.
func copy16(dst []byte, op, dist int) {
	r := dst[op-dist : op-dist+16 : op-dist+16]
	w := dst[op : op+16 : op+16]
	a, b := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:])
	binary.LittleEndian.PutUint64(w, a)
	binary.LittleEndian.PutUint64(w[8:], b)
}
