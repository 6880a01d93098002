package jpeg

// conversion is a conversion of colours: the space of the stream, and that of the result.
type conversion struct{ from, to Space }

// The constants of jdcolor.c, times 2^16.
const (
	fix1402 = 91881  // red of Cr
	fix1772 = 116130 // blue of Cb
	fix0714 = 46802  // green of Cr
	fix0344 = 22554  // green of Cb
	fixR    = 19595  // luminance of red, green and blue
	fixG    = 38470
	fixB    = 7471
	half    = 1 << 15
)

// convert writes a row of pixels. Rows has one of each of n components.
func convert[T sample](out []T, rows [][]T, n int, c conversion, precision int) {
	switch {
	case c == conversion{YCbCr, RGB}:
		convertYCbCr(out, rows, 3, 0, precision)
	case c == conversion{YCCK, CMYK}:
		convertYCbCr(out, rows, 4, int32(1)<<precision-1, precision)
		for x, v := range rows[3] {
			out[4*x+3] = v
		}
	case c == conversion{RGB, Gray}:
		for x, r := range rows[0] {
			out[x] = T((int32(r)*fixR + int32(rows[1][x])*fixG + int32(rows[2][x])*fixB + half) >> 16)
		}
	case c == conversion{Gray, RGB}:
		for x, v := range rows[0] {
			out[3*x], out[3*x+1], out[3*x+2] = v, v, v
		}
	case n == 1, c.to == Gray:
		copy(out, rows[0])
	case n == 3:
		b, c := rows[1][:len(rows[0])], rows[2][:len(rows[0])]
		for x, v := range rows[0] {
			o := out[3*x : 3*x+3]
			o[0], o[1], o[2] = v, b[x], c[x]
		}
	default:
		for i, row := range rows[:n] {
			for x, v := range row {
				out[n*x+i] = v
			}
		}
	}
}

// convertYCbCr writes red, green and blue to the first three of size samples of each pixel. Inverse is 0, or the
// highest value for the complements.
func convertYCbCr[T sample](out []T, rows [][]T, size int, inverse int32, precision int) {
	if bytes, ok := any(out).([]uint8); ok && size == 3 {
		convertBytes(bytes, any(rows).([][]uint8))
		return
	}
	most, center := int32(1)<<precision-1, int32(1)<<(precision-1)
	ys, cbs, crs := rows[0], rows[1], rows[2]
	cbs, crs = cbs[:len(ys)], crs[:len(ys)]
	for x := range ys {
		y, cb, cr := int32(ys[x]), int32(cbs[x])-center, int32(crs[x])-center
		r := y + (cr*fix1402+half)>>16
		g := y + (half-cb*fix0344-cr*fix0714)>>16
		b := y + (cb*fix1772+half)>>16
		if inverse != 0 {
			r, g, b = inverse-r, inverse-g, inverse-b
		}
		if uint32(r|g|b) > uint32(most) {
			r, g, b = min(max(r, 0), most), min(max(g, 0), most), min(max(b, 0), most)
		}
		o := out[size*x : size*x+3]
		o[0], o[1], o[2] = T(r), T(g), T(b)
	}
}

// The lanes of a sum of offsets and luminance: green times 2^16, red, and blue. Each is 256 more than the sample, so that the
// samples that need no limit have 1 above their eight bits.
const (
	laneRed  = 32
	laneBlue = 48
	lanes    = 1<<16 | 1<<laneRed | 1<<laneBlue
	laneBits = 0xff00 * lanes
	inRange  = 0x100 * lanes
)

// crOffsets and cbOffsets have the parts of a pixel that Cr and Cb make, in lanes.
var crOffsets, cbOffsets = offsets()

func offsets() (crs, cbs [256]uint64) {
	for i := range crs {
		v := int64(i) - 128
		crs[i] = uint64((v*fix1402+half)>>16+256)<<laneRed + uint64(256<<16+half-v*fix0714)
		cbs[i] = uint64((v*fix1772+half)>>16+256)<<laneBlue - uint64(v*fix0344)
	}
	return crs, cbs
}

// convertBytes is convertYCbCr for 8 bits.
func convertBytes(out []uint8, rows [][]uint8) {
	ys, cbs, crs := rows[0], rows[1], rows[2]
	cbs, crs, out = cbs[:len(ys)], crs[:len(ys)], out[:3*len(ys)]
	for x, y := range ys {
		v := uint64(y)*lanes + crOffsets[crs[x]] + cbOffsets[cbs[x]]
		o := out[3*x : 3*x+3 : 3*x+3]
		if v&laneBits == inRange {
			o[0], o[1], o[2] = uint8(v>>laneRed), uint8(v>>16), uint8(v>>laneBlue)
			continue
		}
		o[0], o[1], o[2] = limit(v>>laneRed), limit(v>>16), limit(v>>laneBlue)
	}
}

// limit returns the sample of a lane.
func limit(v uint64) uint8 { return uint8(min(max(int32(v&0xffff)-256, 0), 255)) }
