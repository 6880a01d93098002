package jpeg2000

import "math"

// transform undoes the wavelet transform of a tile, level by level (annex F): lines, then columns.
// Both interleave low-pass and high-pass values, then lift: each value is increased or decreased by
// a prediction from its two neighbours. Beyond the ends, values are mirrored.
func (d *decoder) transform(samples []int32, t *tile) {
	if need := max(t.width(), columns*t.height()); cap(d.line) < need {
		d.line = make([]int32, need)
	}
	stride := t.width()
	for r := 1; r < len(t.resolutions); r++ {
		lower, res := t.resolutions[r-1].rect, t.resolutions[r].rect
		if res.empty() {
			continue
		}
		if t.coding.reversible {
			d.lines(samples, stride, lower, res, lift53)
			d.columns(samples, stride, lower, res, lift53)
		} else {
			d.lines(samples, stride, lower, res, lift97)
			d.columns(samples, stride, lower, res, lift97)
		}
	}
}

// columns are transformed together, to read and write whole cache lines.
const columns = 16

// lines transforms the lines of a resolution.
func (d *decoder) lines(samples []int32, stride int, lower, res rect, lift func(x []int32, n, lanes, odd int)) {
	n, low, odd := res.width(), lower.width(), res.x0&1
	line := d.line[:n]
	for y := range res.height() {
		own := samples[y*stride : y*stride+n]
		interleave(line[odd:], own[:low])
		interleave(line[1-odd:], own[low:])
		lift(line, n, 1, odd)
		copy(own, line)
	}
}

// interleave puts values at every second place.
func interleave(dst, values []int32) {
	for i, v := range values {
		dst[2*i] = v
	}
}

// columns transforms the columns of a resolution.
func (d *decoder) columns(samples []int32, stride int, lower, res rect, lift func(x []int32, n, lanes, odd int)) {
	n, low, odd := res.height(), lower.height(), res.y0&1
	for x := 0; x < res.width(); x += columns {
		lanes := min(columns, res.width()-x)
		block := d.line[:n*lanes]
		for y := range n {
			at := 2*y + odd
			if y >= low {
				at = 2*(y-low) + 1 - odd
			}
			copy(block[at*lanes:(at+1)*lanes], samples[y*stride+x:])
		}
		lift(block, n, lanes, odd)
		for y := range n {
			copy(samples[y*stride+x:][:lanes], block[y*lanes:])
		}
	}
}

// lift53 lifts n values of lanes side by side by the reversible filter (F.3.8.2). odd says that the
// first is a high-pass value.
func lift53(x []int32, n, lanes, odd int) {
	if n == 1 {
		if odd == 1 {
			for i := range x[:lanes] {
				x[i] /= 2
			}
		}
		return
	}
	for i := odd; i < n; i += 2 {
		own, left, right := around(x, i, n, lanes)
		for k, v := range own {
			own[k] = v - (left[k]+right[k]+2)>>2
		}
	}
	for i := 1 - odd; i < n; i += 2 {
		own, left, right := around(x, i, n, lanes)
		for k, v := range own {
			own[k] = v + (left[k]+right[k])>>1
		}
	}
}

// around returns the values at i and those on either side.
func around(x []int32, i, n, lanes int) (own, left, right []int32) {
	l, r := i-1, i+1
	if l < 0 {
		l = 1
	}
	if r == n {
		r = n - 2
	}
	return x[i*lanes : (i+1)*lanes], x[l*lanes : (l+1)*lanes][:lanes:lanes], x[r*lanes : (r+1)*lanes][:lanes:lanes]
}

// The irreversible filter (table F.4), with OpenJPEG's factor of high-pass values: 2/K × 0.9999….
// Other decoders use 1/K and twice the quantization step.
const (
	alpha     = float32(-1.586134342)
	beta      = float32(-0.052980118)
	gamma     = float32(0.882911075)
	delta     = float32(0.443506852)
	scaleLow  = float32(1.230174105)
	scaleHigh = float32(1.625732422)
)

// lift97 lifts by the irreversible filter. The values are the bits of float32. Each step is rounded
// as OpenJPEG does, and none is fused.
func lift97(x []int32, n, lanes, odd int) {
	if n == 1 {
		return
	}
	for i := range n {
		by := scaleLow
		if i&1 != odd {
			by = scaleHigh
		}
		for k, v := range x[i*lanes : (i+1)*lanes] {
			x[i*lanes+k] = bitsOf(floatOf(v) * by)
		}
	}
	lift97Step(x, n, lanes, odd, -delta)
	lift97Step(x, n, lanes, 1-odd, -gamma)
	lift97Step(x, n, lanes, odd, -beta)
	lift97Step(x, n, lanes, 1-odd, -alpha)
}

func lift97Step(x []int32, n, lanes, first int, by float32) {
	for i := first; i < n; i += 2 {
		own, left, right := around(x, i, n, lanes)
		for k, v := range own {
			own[k] = bitsOf(floatOf(v) + float32((floatOf(left[k])+floatOf(right[k]))*by))
		}
	}
}

func floatOf(v int32) float32 { return math.Float32frombits(uint32(v)) }
func bitsOf(f float32) int32  { return int32(math.Float32bits(f)) }
