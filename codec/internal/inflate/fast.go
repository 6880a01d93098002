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
	bits, n, ip := refill(d.bits, d.n, src, ip)
	e := t.litlen[bits&(1<<litlenBits-1)]
	s := needCare
	for ip < ipEnd && op < opEnd {
		if e&literal != 0 {
			if t.paired {
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
						bits, n, ip = refill(bits, n, src, ip)
						continue
					}
				}
			} else {
				w := (*[4]byte)(dst[op:])
				bits >>= e & 63
				n -= uint(e)
				w[0] = byte(e >> valueShift)
				e = t.litlen[bits&(1<<litlenBits-1)]
				if e&literal == 0 {
					op++
				} else {
					bits >>= e & 63
					n -= uint(e)
					w[1] = byte(e >> valueShift)
					e = t.litlen[bits&(1<<litlenBits-1)]
					if e&literal == 0 {
						op += 2
					} else {
						bits >>= e & 63
						n -= uint(e)
						w[2] = byte(e >> valueShift)
						op += 3
						e = t.litlen[bits&(1<<litlenBits-1)]
						bits, n, ip = refill(bits, n, src, ip)
						continue
					}
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
				bits, n, ip = refill(bits, n, src, ip)
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
		bits, n, ip = refill(bits, n, src, ip)
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
		bits, n, ip = refill(bits, n, src, ip)

		if dist >= 16 && length <= 32 {
			r := dst[op-dist : op-dist+32 : op-dist+32]
			w := dst[op : op+32 : op+32]
			a, b := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:])
			binary.LittleEndian.PutUint64(w, a)
			binary.LittleEndian.PutUint64(w[8:], b)
			a, b = binary.LittleEndian.Uint64(r[16:]), binary.LittleEndian.Uint64(r[24:])
			binary.LittleEndian.PutUint64(w[16:], a)
			binary.LittleEndian.PutUint64(w[24:], b)
		} else {
			copyMatch(dst, op, dist, length)
		}
		op += length
	}
	d.ip, d.op, d.bits, d.n = ip, op, bits, n&63
	return s
}

// refill loads whole bytes until 56 to 63 bits wait. All but the lowest six bits of n are ignored,
// so that consuming may subtract whole entries.
func refill(bits uint64, n uint, src []byte, ip int) (uint64, uint, int) {
	bits |= binary.LittleEndian.Uint64(src[ip:]) << (n & 63)
	return bits, n | 56, ip + int(7-n>>3&7)
}

// copyMatch copies length bytes to dst[op:] from dist before, and up to 48 more behind them.
func copyMatch(dst []byte, op, dist, length int) {
	end := op + length
	if dist == 1 {
		v := uint64(dst[op-1]) * 0x0101010101010101
		for ; op < end; op += 32 {
			w := dst[op : op+32 : op+32]
			binary.LittleEndian.PutUint64(w, v)
			binary.LittleEndian.PutUint64(w[8:], v)
			binary.LittleEndian.PutUint64(w[16:], v)
			binary.LittleEndian.PutUint64(w[24:], v)
		}
		return
	}
	for ; dist < 16; dist *= 2 {
		copy16(dst, op, dist)
		op += dist
	}
	for ; op < end; op += 16 {
		copy16(dst, op, dist)
	}
}

func copy16(dst []byte, op, dist int) {
	r := dst[op-dist : op-dist+16 : op-dist+16]
	w := dst[op : op+16 : op+16]
	a, b := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:])
	binary.LittleEndian.PutUint64(w, a)
	binary.LittleEndian.PutUint64(w[8:], b)
}
