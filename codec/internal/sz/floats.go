package sz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// float is the type of an element.
type float interface{ float32 | float64 }

// floats decodes one stream of floats.
type floats[T float] struct {
	*Chunk
	header
	*workspace
	body []byte
	out  []T
}

// decodeFloats decodes f's body to dst, little-endian.
func decodeFloats[T float](f *floats[T], dst []byte) error {
	f.out = make([]T, f.count)
	if err := f.decode(); err != nil {
		return err
	}
	if f.flags&flagClamp != 0 {
		f.clamp()
	}
	putFloats(dst, f.out)
	return nil
}

// decode decodes the body to f.out.
func (f *floats[T]) decode() error {
	if f.flags&flagBlocks == 0 {
		return f.predicted()
	}
	if len(f.dims) == 1 {
		return fmt.Errorf("sz: a chunk of one axis with blocks: %w", errors.ErrUnsupported)
	}
	return f.blocks()
}

// clamp limits the values to the range that the stream stores.
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

// bigFloat returns the big-endian float at the beginning of b.
func bigFloat[T float](b []byte) T {
	if isWide[T]() {
		return T(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	return T(math.Float32frombits(binary.BigEndian.Uint32(b)))
}

// littleFloat returns the little-endian float at the beginning of b.
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

// bigFloatAt reads a big-endian float from a cursor.
func bigFloatAt[T float](c *cursor) T {
	var room [8]byte
	size := 4
	if isWide[T]() {
		size = 8
	}
	copy(room[:], c.bytes(size, "number"))
	return bigFloat[T](room[:])
}

// exacts reads values that are stored because no prediction was close enough. A value is stored to as
// many bits as the bound requires. Its leading bytes are omitted if they equal those of the previous
// stored value:
//
//	leads     2 bits per value, from a byte's top bits down: number of bytes of the previous value
//	middles   the other whole bytes
//	residuals the bits after the last whole byte
type exacts[T float] struct {
	leads, middles, residuals []byte
	count, at                 int // number of values, and of those already read
	bytes, bits               int // whole bytes and further bits per value
	middle, residual          int // positions of the next byte and bit
	before                    [8]byte
	isShort                   bool // more values were needed than are stored
}

// readExacts reads the three parts from a cursor; the last part extends to the end. valueBits is the
// number of stored bits per value.
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
		c.err = corrupt.Errorf("sz: %d bits per stored value, at most %d are allowed", valueBits, most)
	}
	return e, c.err
}

// next returns the next value. If there is none, it returns 0 and sets isShort.
func (e *exacts[T]) next() T {
	if e.at >= e.count {
		e.isShort = true
		return 0
	}
	lead := int(e.leads[e.at>>2] >> (6 - e.at&3*2) & 3)
	e.at++
	for i := lead; i < len(e.before); i++ {
		e.before[i] = 0
	}
	if n := e.bytes - lead; n > 0 {
		if n > len(e.middles)-e.middle {
			e.isShort = true
			return 0
		}
		e.middle += copy(e.before[lead:e.bytes], e.middles[e.middle:])
	}
	if e.bits > 0 {
		if e.residual+e.bits > 8*len(e.residuals) {
			e.isShort = true
			return 0
		}
		top := bitstream.At(e.residuals, e.residual) >> (64 - e.bits)
		e.before[e.bytes] = byte(top << (8 - e.bits))
		e.residual += e.bits
	}
	return bigFloat[T](e.before[:])
}

// check returns an error if too few values are stored.
func (e *exacts[T]) check() error {
	if e.isShort {
		return corrupt.Errorf("sz: %d values are stored (%d middle bytes, %d bytes of residuals), the types need more",
			e.count, len(e.middles), len(e.residuals))
	}
	return nil
}
