package jpeg

// sample is a sample of 8 bits, or of 12 bits.
type sample interface{ uint8 | uint16 }

// plane holds the samples of a component.
type plane[T sample] struct {
	samples []T
	stride  int
}

// The constants of jidctint.c, times 2^13.
const (
	fixBits = 13
	fix0298 = 2446  // 0.298631336
	fix0390 = 3196  // 0.390180644
	fix0541 = 4433  // 0.541196100
	fix0765 = 6270  // 0.765366865
	fix0899 = 7373  // 0.899976223
	fix1175 = 9633  // 1.175875602
	fix1501 = 12299 // 1.501321110
	fix1847 = 15137 // 1.847759065
	fix1961 = 16069 // 1.961570560
	fix2053 = 16819 // 2.053119869
	fix2562 = 20995 // 2.562915447
	fix3072 = 25172 // 3.072711026
)

// transform dequantizes a block, and writes its inverse cosine transform to 8 rows of out. Last is the number of the last
// coefficient that may not be 0.
func transform[T sample](out []T, stride int, block *[64]int16, quant *[64]int32, last uint8, precision int) {
	center, most := int32(1)<<(precision-1), int32(1)<<precision-1
	pass1 := uint32(2) // bits of fraction after the columns
	if precision > 8 {
		pass1 = 1
	}
	if last == 0 {
		v := T(min(max((int32(block[0])*quant[0]<<pass1+1<<(pass1+2))>>(pass1+3)+center, 0), most))
		for range 8 {
			row := out[:8:8]
			for x := range row {
				row[x] = v
			}
			out = out[min(stride, len(out)):]
		}
		return
	}
	var work [64]int32
	columns := 8
	if last < 10 {
		columns = 4 // the first ten coefficients are in four columns
	}
	down := (fixBits - pass1) & 31
	for x := range columns {
		b, q, w := block[x:x+57], quant[x:x+57], work[x:x+57]
		x0 := int32(b[0]) * q[0]
		if b[8]|b[16]|b[24]|b[32]|b[40]|b[48]|b[56] == 0 {
			v := x0 << pass1
			w[0], w[8], w[16], w[24], w[32], w[40], w[48], w[56] = v, v, v, v, v, v, v, v
			continue
		}
		e0, e1, e2, e3 := even(x0, int32(b[16])*q[16], int32(b[32])*q[32], int32(b[48])*q[48], 1<<(down-1))
		o0, o1, o2, o3 := odd(int32(b[8])*q[8], int32(b[24])*q[24], int32(b[40])*q[40], int32(b[56])*q[56])
		w[0], w[56] = (e0+o3)>>down, (e0-o3)>>down
		w[8], w[48] = (e1+o2)>>down, (e1-o2)>>down
		w[16], w[40] = (e2+o1)>>down, (e2-o1)>>down
		w[24], w[32] = (e3+o0)>>down, (e3-o0)>>down
	}
	down = (fixBits + pass1 + 3) & 31
	bias := center<<down + 1<<(down-1)
	for y := 0; y < 64; y += 8 {
		w := (*[8]int32)(work[y : y+8])
		e0, e1, e2, e3 := even(w[0], w[2], w[4], w[6], bias)
		o0, o1, o2, o3 := odd(w[1], w[3], w[5], w[7])
		v0, v7 := (e0+o3)>>down, (e0-o3)>>down
		v1, v6 := (e1+o2)>>down, (e1-o2)>>down
		v2, v5 := (e2+o1)>>down, (e2-o1)>>down
		v3, v4 := (e3+o0)>>down, (e3-o0)>>down
		row := (*[8]T)(out[:8])
		if uint32(v0|v1|v2|v3|v4|v5|v6|v7) <= uint32(most) {
			row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = T(v0), T(v1), T(v2), T(v3), T(v4), T(v5), T(v6), T(v7)
		} else {
			for x, v := range [8]int32{v0, v1, v2, v3, v4, v5, v6, v7} {
				row[x] = T(min(max(v, 0), most))
			}
		}
		out = out[min(stride, len(out)):]
	}
}

// even returns the part of the transform that the coefficients 0, 2, 4 and 6 make, plus bias.
func even(x0, x2, x4, x6, bias int32) (e0, e1, e2, e3 int32) {
	z := (x2 + x6) * fix0541
	t2, t3 := z-x6*fix1847, z+x2*fix0765
	t0, t1 := (x0+x4)<<fixBits+bias, (x0-x4)<<fixBits+bias
	return t0 + t3, t1 + t2, t1 - t2, t0 - t3
}

// odd returns the part of the transform that the coefficients 1, 3, 5 and 7 make.
func odd(x1, x3, x5, x7 int32) (o0, o1, o2, o3 int32) {
	all := (x1 + x3 + x5 + x7) * fix1175
	z1, z2 := (x7+x1)*-fix0899, (x5+x3)*-fix2562
	z3, z4 := all-(x7+x3)*fix1961, all-(x5+x1)*fix0390
	return x7*fix0298 + z1 + z3, x5*fix2053 + z2 + z4, x3*fix3072 + z2 + z3, x1*fix1501 + z1 + z4
}
