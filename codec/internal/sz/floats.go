package sz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

type float interface{ float32 | float64 }

// floats decodes one stream of floats.
type floats[T float] struct {
	*Chunk
	header
	*workspace
	body []byte
	out  []T
}

// decodeFloats decodes f's body to dst.
func decodeFloats[T float](f *floats[T], dst []byte) error {
	f.out = make([]T, f.count)
	if err := f.decode(); err != nil {
		return err
	}
	if f.flags&clamped != 0 {
		f.clamp()
	}
	putFloats(dst, f.out)
	return nil
}

func (f *floats[T]) decode() error {
	if f.flags&blocked == 0 {
		return f.predicted()
	}
	if len(f.dims) == 1 {
		return fmt.Errorf("sz: blocks of a single axis: %w", errors.ErrUnsupported)
	}
	return f.blocks()
}

// clamp brings what is out of the values' range into it.
func (f *floats[T]) clamp() {
	size := f.size
	low := bigFloat[T](f.valueRange)
	high := bigFloat[T](f.valueRange[size:])
	for i, v := range f.out {
		switch {
		case v < low:
			f.out[i] = low
		case v > high:
			f.out[i] = high
		}
	}
}

// isWide reports whether T is float64.
func isWide[T float]() bool {
	var zero T
	_, wide := any(zero).(float64)
	return wide
}

// bigFloat reads a big-endian number.
func bigFloat[T float](b []byte) T {
	if isWide[T]() {
		return T(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	return T(math.Float32frombits(binary.BigEndian.Uint32(b)))
}

// littleFloat reads a little-endian number.
func littleFloat[T float](b []byte) T {
	if isWide[T]() {
		return T(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return T(math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

func putFloats[T float](dst []byte, src []T) {
	switch src := any(src).(type) {
	case []float32:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case []float64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(v))
		}
	}
}

// bigFloatAt reads the next number of a cursor.
func bigFloatAt[T float](c *cursor) T {
	var room [8]byte
	size := 4
	if isWide[T]() {
		size = 8
	}
	copy(room[:], c.bytes(size, "number"))
	return bigFloat[T](room[:])
}

// exacts reads the values that no prediction came near to. Their first bits, as many as the
// bound asks for, are stored, less the leading bytes that are those of the value before:
//
//	leads     2 bits a value: how many bytes to take over, in order from a byte's top bits
//	middles   the other whole bytes
//	residuals the bits after the last whole byte
type exacts[T float] struct {
	leads, middles, residuals []byte
	count, at                 int // values
	bytes, bits               int // whole bytes and further bits of a value
	middle, residual          int // where the next ones are
	before                    [8]byte
	short                     bool
}

// readExacts takes the three parts, of which the last is what is left, and says how many
// bits a value has.
func readExacts[T float](c *cursor, count, middles, valueBits int) (exacts[T], error) {
	e := exacts[T]{count: count, bytes: valueBits / 8, bits: valueBits % 8}
	e.leads = c.bytes((count+3)/4, "leading bytes")
	e.middles = c.bytes(middles, "middle bytes")
	e.residuals = c.buf[c.at:]
	most := 32
	if isWide[T]() {
		most = 64
	}
	if valueBits > most && c.err == nil {
		c.err = corrupt.Errorf("sz: %d bits of a value that are stored, at most %d are there", valueBits, most)
	}
	return e, c.err
}

// next returns the next value, or sets short if there is none.
func (e *exacts[T]) next() T {
	if e.at >= e.count {
		e.short = true
		return 0
	}
	lead := int(e.leads[e.at>>2] >> (6 - e.at&3*2) & 3)
	e.at++
	for i := lead; i < len(e.before); i++ {
		e.before[i] = 0
	}
	if n := e.bytes - lead; n > 0 {
		if n > len(e.middles)-e.middle {
			e.short = true
			return 0
		}
		e.middle += copy(e.before[lead:e.bytes], e.middles[e.middle:])
	}
	if e.bits > 0 {
		if e.residual+e.bits > 8*len(e.residuals) {
			e.short = true
			return 0
		}
		top := window(e.residuals, e.residual) >> (64 - e.bits)
		e.before[e.bytes] = byte(top << (8 - e.bits))
		e.residual += e.bits
	}
	return bigFloat[T](e.before[:])
}

// check returns an error if there were too few values.
func (e *exacts[T]) check() error {
	if e.short {
		return corrupt.Errorf("sz: %d values are stored in %d and %d bytes, more are asked for",
			e.count, len(e.middles), len(e.residuals))
	}
	return nil
}
