package coord

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
)

// Numbers gives access to the elements of a numeric variable.
type Numbers struct {
	Data          []byte
	Type          codec.Type
	Len           int
	scale, offset float64
}

// ReadNumbers returns the numbers that elements in memory form are. It applies scale_factor and add_offset.
func ReadNumbers(v *manifest.Variable, data []byte) (Numbers, error) {
	x := Numbers{Data: data, Type: v.Type, scale: 1}
	switch v.Type.Kind {
	case codec.Bool, codec.Int, codec.Uint, codec.Float, codec.DateTime, codec.TimeDelta:
	default:
		return x, fmt.Errorf("%s: type %s is not numeric", v.Path, v.Type)
	}
	x.Len = len(data) / max(v.Type.Size, 1)
	if !scaled(v) {
		return x, nil
	}
	packing, err := cf.PackingOf(v)
	if err != nil {
		return x, err
	}
	x.Type = packing.Type
	if packing.Scale != nil {
		x.scale = packing.Scale.Value
	}
	if packing.Offset != nil {
		x.offset = packing.Offset.Value
	}
	return x, nil
}

// Element returns the bytes from element i on.
func (x Numbers) Element(i int) []byte { return x.Data[i*x.Type.Size:] }

// Whole returns the key of an element that is a whole number.
func (x Numbers) Whole(i int) Key {
	n := x.word(i)
	if x.Type.Kind == codec.Uint && n < 0 {
		return Key{math.MaxInt64, uint64(n) - math.MaxInt64}
	}
	return Key{Hi: n}
}

// Number returns a whole number as a float64.
func (k Key) Number() float64 {
	if k.lo > 0 {
		return float64(math.MaxInt64 + k.lo)
	}
	return float64(k.Hi)
}

// asReal returns the key of a whole number among floats, without rounding: the next lower float64,
// and the difference to it.
func (k Key) asReal() Key {
	f := k.Number()
	if k.lo > 0 {
		n := math.MaxInt64 + k.lo
		if f >= 1<<64 || uint64(f) > n {
			f = math.Nextafter(f, 0)
		}
		return Key{sortable(f), n - uint64(f)}
	}
	if f >= 1<<63 || int64(f) > k.Hi {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return Key{sortable(f), uint64(k.Hi - int64(f))}
}

// sayWhole formats a whole number.
func (k Key) sayWhole() string {
	if k.lo > 0 {
		return strconv.FormatUint(math.MaxInt64+k.lo, 10)
	}
	return strconv.FormatInt(k.Hi, 10)
}

// word returns an element that is a whole number, sign-extended to 64 bits.
func (x Numbers) word(i int) int64 {
	b := x.Element(i)
	switch x.Type.Size {
	case 1:
		if x.Type.Kind == codec.Int {
			return int64(int8(b[0]))
		}
		return int64(b[0])
	case 2:
		u := binary.LittleEndian.Uint16(b)
		if x.Type.Kind == codec.Int {
			return int64(int16(u))
		}
		return int64(u)
	case 4:
		u := binary.LittleEndian.Uint32(b)
		if x.Type.Kind == codec.Int {
			return int64(int32(u))
		}
		return int64(u)
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// Real returns an element as an unpacked float64.
func (x Numbers) Real(i int) float64 {
	var f float64
	switch {
	case x.Type.Kind != codec.Float:
		f = x.Whole(i).Number()
	case x.Type.Size == 2:
		f = cf.Float(x.Type, x.Element(i)[:2])
	case x.Type.Size == 4:
		f = float64(math.Float32frombits(binary.LittleEndian.Uint32(x.Element(i))))
	default:
		f = math.Float64frombits(binary.LittleEndian.Uint64(x.Element(i)))
	}
	return cf.Unpacked(f, x.scale, x.offset)
}

// realKey returns the key of an element among floats.
func (x Numbers) realKey(i int) Key {
	if x.Type.Kind != codec.Float && x.scale == 1 && x.offset == 0 {
		return x.Whole(i).asReal()
	}
	return Key{Hi: sortable(x.Real(i))}
}

// Say formats a number for a message.
func (x Numbers) Say(i int) string {
	bits := 64
	if x.Type.Kind == codec.Float && x.Type.Size == 4 {
		bits = 32
	}
	if x.Type.Kind != codec.Float && x.scale == 1 && x.offset == 0 {
		return x.Whole(i).sayWhole()
	}
	return strconv.FormatFloat(x.Real(i), 'g', -1, bits)
}

func sayTime(k Key, u cf.Units) string {
	if k == noTime {
		return "no time"
	}
	return cf.Instant{Seconds: k.Hi, Nanoseconds: int32(k.lo)}.Format(u.Calendar)
}
