package present

import (
	"encoding/binary"
	"math"
)

// float32Lanes adds float32s in eight lanes, element i in lane i mod 8. The result is the same to the last bit,
// whether the processor adds one lane at a time or all at once.
type float32Lanes struct {
	sum       [8]float64
	low, high [8]float32
	valid     [8]uint32
}

// laneElements is the maximum number of elements per call. It prevents that the lanes' counts overflow, and
// keeps the loop short, because Go cannot preempt assembly.
const laneElements = 1 << 18

func newFloat32Lanes() (l float32Lanes) {
	for k := range l.low {
		l.low[k], l.high[k] = float32(math.Inf(1)), float32(math.Inf(-1))
	}
	return l
}

// portableAdd adds elements, whose number is a multiple of eight. It skips NaN and elements that equal none. If
// none is NaN, it skips only NaN.
func (l *float32Lanes) portableAdd(elems []byte, none float32) {
	for ; len(elems) >= 32; elems = elems[32:] {
		for k := range l.sum {
			f := math.Float32frombits(binary.LittleEndian.Uint32(elems[4*k : 4*k+4 : 4*k+4]))
			if f != f || f == none {
				continue
			}
			l.valid[k]++
			l.sum[k] += float64(f)
			l.low[k], l.high[k] = lower(l.low[k], f), upper(l.high[k], f)
		}
	}
}

// addTo adds the lanes to a tally.
func (l *float32Lanes) addTo(t *tally) {
	for k := range l.sum {
		t.valid += int64(l.valid[k])
		t.low, t.high = min(t.low, float64(l.low[k])), max(t.high, float64(l.high[k]))
	}
	s := &l.sum
	t.sum += ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

// float32s adds elements of four bytes.
func (t *tally) float32s(elems []byte, masks []float64) {
	none := float32(onlyMask(masks))
	for len(elems) >= 32 {
		n := min(len(elems)&^31, 4*laneElements)
		l := newFloat32Lanes()
		l.add(elems[:n], none)
		l.addTo(t)
		elems = elems[n:]
	}
	t.someFloat32s(elems, none)
}

// someFloat32s adds elements one by one.
func (t *tally) someFloat32s(elems []byte, none float32) {
	for ; len(elems) >= 4; elems = elems[4:] {
		if f := math.Float32frombits(binary.LittleEndian.Uint32(elems)); f == f && f != none {
			t.float(float64(f))
		}
	}
}

// lower and upper compare as vector instructions do: if the numbers are equal, they return the first. This
// matters for 0 and -0.
func lower(a, b float32) float32 {
	if b < a {
		return b
	}
	return a
}

func upper(a, b float32) float32 {
	if b > a {
		return b
	}
	return a
}
