package present

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"varve/codec"
	"varve/manifest/internal/cf"
)

// tally counts stored elements. Scale and offset are applied once, to the result. Sums of integers are exact.
type tally struct {
	count, valid int64

	low, high, sum float64 // for floats

	// For integers. Unsigned 64-bit integers are reduced by 2⁶³, which keeps their order.
	least, most int64
	sumHigh     int64 // the sum in 128 bits
	sumLow      uint64
}

func newTally() tally {
	return tally{low: math.Inf(1), high: math.Inf(-1), least: math.MaxInt64, most: math.MinInt64}
}

// add adds another tally.
func (t *tally) add(u *tally) {
	t.count += u.count
	t.valid += u.valid
	t.low, t.high, t.sum = min(t.low, u.low), max(t.high, u.high), t.sum+u.sum
	t.least, t.most = min(t.least, u.least), max(t.most, u.most)
	var carry uint64
	t.sumLow, carry = bits.Add64(t.sumLow, u.sumLow, 0)
	t.sumHigh += u.sumHigh + int64(carry)
}

// repeat changes the tally of one element to that of n equal ones.
func (t *tally) repeat(n int64) {
	t.count *= n
	t.valid *= n
	t.sum *= float64(n)
	if t.least > t.most {
		return // no valid integer
	}
	high, low := bits.Mul64(uint64(max(t.least, -t.least)), uint64(n))
	if t.sumHigh, t.sumLow = int64(high), low; t.least < 0 {
		var borrow uint64
		t.sumLow, borrow = bits.Sub64(0, low, 0)
		t.sumHigh = -int64(high) - int64(borrow)
	}
}

// integerSum returns the sum of all integers. If moved, it adds 2⁶³ for each valid integer.
func (t *tally) integerSum(moved bool) *big.Int {
	sum := new(big.Int).Lsh(big.NewInt(t.sumHigh), 64)
	sum.Add(sum, new(big.Int).SetUint64(t.sumLow))
	if moved {
		sum.Add(sum, new(big.Int).Lsh(big.NewInt(t.valid), 63))
	}
	return sum
}

// counter tallies the elements of an array.
type counter struct {
	typ      codec.Type // with the signedness that the attributes give it
	floats   []float64  // missing values of floats
	integers []int64    // missing values of integers
}

func newCounter(t codec.Type, masks [][]byte) *counter {
	c := &counter{typ: t}
	for _, m := range masks {
		if t.Kind != codec.Float {
			c.integers = append(c.integers, widened(t, m))
		} else if f := cf.Float(t, m); f == f {
			c.floats = append(c.floats, f)
		}
	}
	return c
}

func widened(t codec.Type, element []byte) int64 {
	var one [1]int64
	widen(one[:], element, t)
	return one[0]
}

// tally counts elements. Common types have their own fast loops.
func (c *counter) tally(elems []byte) tally {
	t := newTally()
	t.count = int64(len(elems) / c.typ.Size)
	float := c.typ.Kind == codec.Float
	switch {
	case float && c.typ.Size == 4 && len(c.floats) < 2:
		t.float32s(elems, c.floats)
		return t
	case float && c.typ.Size == 8 && len(c.floats) < 2:
		t.float64s(elems, c.floats)
		return t
	}
	var integers [1024]int64
	var floats [1024]float64
	for len(elems) > 0 {
		n := min(len(integers), len(elems)/c.typ.Size)
		if float {
			loadFloats(floats[:n], elems, c.typ)
			t.anyFloats(floats[:n], c.floats)
		} else {
			widen(integers[:n], elems, c.typ)
			t.integers(integers[:n], c.integers)
		}
		elems = elems[n*c.typ.Size:]
	}
	return t
}

func loadFloats(dst []float64, elems []byte, t codec.Type) {
	for i := range dst {
		dst[i] = cf.Float(t, elems[i*t.Size:(i+1)*t.Size])
	}
}

// widen converts integers to int64. Unsigned 64-bit integers are reduced by 2⁶³, which keeps their order.
func widen(dst []int64, elems []byte, t codec.Type) {
	signed := t.Kind == codec.Int
	switch {
	case t.Size == 1 && signed:
		for i := range dst {
			dst[i] = int64(int8(elems[i]))
		}
	case t.Size == 1:
		for i := range dst {
			dst[i] = int64(elems[i])
		}
	case t.Size == 2 && signed:
		for i := range dst {
			dst[i] = int64(int16(binary.LittleEndian.Uint16(elems[2*i:])))
		}
	case t.Size == 2:
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint16(elems[2*i:]))
		}
	case t.Size == 4 && signed:
		for i := range dst {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(elems[4*i:])))
		}
	case t.Size == 4:
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint32(elems[4*i:]))
		}
	default:
		move := uint64(0)
		if !signed {
			move = 1 << 63
		}
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(elems[8*i:]) ^ move)
		}
	}
}

// isMoved reports whether widen reduces integers of a type by 2⁶³.
func isMoved(t codec.Type) bool { return t.Kind == codec.Uint && t.Size == 8 }

func (t *tally) integers(numbers, masks []int64) {
	var m0, m1 int64
	switch len(masks) {
	case 0:
		t.allIntegers(numbers)
		return
	case 1:
		m0, m1 = masks[0], masks[0]
	case 2:
		m0, m1 = masks[0], masks[1]
	default:
		kept := numbers[:0]
		for _, n := range numbers {
			if !slices.Contains(masks, n) {
				kept = append(kept, n)
			}
		}
		t.allIntegers(kept)
		return
	}
	kept := 0
	for _, n := range numbers { // without a branch, because missing data is often scattered
		numbers[kept] = n
		if n != m0 && n != m1 {
			kept++
		}
	}
	t.allIntegers(numbers[:kept])
}

func (t *tally) allIntegers(numbers []int64) {
	t.valid += int64(len(numbers))
	low, high, sumLow, sumHigh := t.least, t.most, t.sumLow, t.sumHigh
	for _, n := range numbers {
		low, high = min(low, n), max(high, n)
		var carry uint64
		sumLow, carry = bits.Add64(sumLow, uint64(n), 0)
		sumHigh += n>>63 + int64(carry)
	}
	t.least, t.most, t.sumLow, t.sumHigh = low, high, sumLow, sumHigh
}

func (t *tally) anyFloats(numbers, masks []float64) {
	for _, f := range numbers {
		if f == f && !slices.Contains(masks, f) {
			t.float(f)
		}
	}
}

func (t *tally) float(f float64) {
	t.valid++
	t.sum += f
	if f < t.low {
		t.low = f
	}
	if f > t.high {
		t.high = f
	}
}

// onlyMask returns the only missing value of floats, or NaN, which equals no element.
func onlyMask(masks []float64) float64 {
	if len(masks) == 0 {
		return math.NaN()
	}
	return masks[0]
}

func (t *tally) float64s(elems []byte, masks []float64) {
	none := onlyMask(masks)
	for ; len(elems) >= 8; elems = elems[8:] {
		if f := math.Float64frombits(binary.LittleEndian.Uint64(elems)); f == f && f != none {
			t.float(f)
		}
	}
}
