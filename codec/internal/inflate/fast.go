package inflate

import "encoding/binary"

// fastIn and fastOut are how much of the buffers an iteration of the fast loop may touch.
const (
	fastIn  = 24
	fastOut = 6 + 258 + 64
)

// fast decodes symbols without looking for the ends of the buffers more than once for up to three
// entries of literals and a match.
func (d *decoder) fast(t *tables) status {
	src, dst := d.src, d.dst
	ip, op := d.ip, d.op
	ipEnd, opEnd := len(src)-fastIn, len(dst)-fastOut
	if ip >= ipEnd || op >= opEnd {
		return needCare
	}
	bits, n := d.bits, d.n
	bits |= binary.LittleEndian.Uint64(src[ip:]) << (n & 63)
	ip += int(7 - n>>3&7)
	n |= 56
	e := t.litlen[bits&(1<<litlenBits-1)]
	s := needCare
	for ip < ipEnd && op < opEnd {
		if e&literal != 0 {
			bits >>= e & 63
			n -= uint(e)
			binary.LittleEndian.PutUint16(dst[op:], uint16(e>>valueShift))
			op += int(e >> countShift & countMask)
			e = t.litlen[bits&(1<<litlenBits-1)]
			if e&literal != 0 {
				bits >>= e & 63
				n -= uint(e)
				binary.LittleEndian.PutUint16(dst[op:], uint16(e>>valueShift))
				op += int(e >> countShift & countMask)
				e = t.litlen[bits&(1<<litlenBits-1)]
				if e&literal != 0 {
					bits >>= e & 63
					n -= uint(e)
					binary.LittleEndian.PutUint16(dst[op:], uint16(e>>valueShift))
					op += int(e >> countShift & countMask)
					e = t.litlen[bits&(1<<litlenBits-1)]
					bits |= binary.LittleEndian.Uint64(src[ip:]) << (n & 63)
					ip += int(7 - n>>3&7)
					n |= 56
					continue
				}
			}
		}
		if e&exceptional != 0 {
			if e&subtable == subtable {
				bits >>= litlenBits
				n -= litlenBits
				e = t.litlen[e>>valueShift+uint32(bits)&(1<<(e>>lenShift&15)-1)]
			}
			if e&literal != 0 {
				bits >>= e & 63
				n -= uint(e)
				dst[op] = byte(e >> valueShift)
				op++
				bits |= binary.LittleEndian.Uint64(src[ip:]) << (n & 63)
				ip += int(7 - n>>3&7)
				n |= 56
				e = t.litlen[bits&(1<<litlenBits-1)]
				continue
			}
			if e&blockEnd == blockEnd {
				bits >>= e & 63
				n -= uint(e)
				s = blockDone
				break
			}
			if e&exceptional != 0 {
				s = badSymbol
				break
			}
		}
		saved := bits
		bits >>= e & 63
		n -= uint(e)
		length := int(e>>valueShift) + int(saved&(1<<(e&63)-1)>>(e>>lenShift&63))

		e = t.dist[bits&(1<<distBits-1)]
		bits |= binary.LittleEndian.Uint64(src[ip:]) << (n & 63)
		ip += int(7 - n>>3&7)
		n |= 56
		if e&exceptional != 0 {
			if e&subtable == subtable {
				bits >>= distBits
				n -= distBits
				e = t.dist[e>>valueShift+uint32(bits)&(1<<(e>>lenShift&15)-1)]
			}
			if e&exceptional != 0 {
				s = badDistance
				break
			}
		}
		saved = bits
		bits >>= e & 63
		n -= uint(e)
		dist := int(e>>valueShift) + int(saved&(1<<(e&63)-1)>>(e>>lenShift&63))
		if dist > op {
			s = tooFar
			break
		}
		e = t.litlen[bits&(1<<litlenBits-1)]
		bits |= binary.LittleEndian.Uint64(src[ip:]) << (n & 63)
		ip += int(7 - n>>3&7)
		n |= 56

		end := op + length
		if dist == 1 {
			v := uint64(dst[op-1]) * 0x0101010101010101
			for ; op < end; op += 16 {
				w := dst[op : op+16]
				binary.LittleEndian.PutUint64(w, v)
				binary.LittleEndian.PutUint64(w[8:], v)
			}
			op = end
			continue
		}
		for ; dist < 16; dist *= 2 {
			r := dst[op-dist:][:16]
			a, b := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:])
			w := dst[op:][:16]
			binary.LittleEndian.PutUint64(w, a)
			binary.LittleEndian.PutUint64(w[8:], b)
			op += dist
		}
		for ; op < end; op += 16 {
			r := dst[op-dist:][:16]
			a, b := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:])
			w := dst[op:][:16]
			binary.LittleEndian.PutUint64(w, a)
			binary.LittleEndian.PutUint64(w[8:], b)
		}
		op = end
	}
	d.ip, d.op, d.bits, d.n = ip, op, bits, n&63
	return s
}
