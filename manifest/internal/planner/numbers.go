package planner

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
)

// numbers gives access to the elements of a numeric variable.
type numbers struct {
	data          []byte
	t             codec.Type
	n             int
	scale, offset float64
}

func readNumbers(v *manifest.Variable, data []byte) (numbers, error) {
	x := numbers{data: data, t: v.Type, scale: 1}
	switch v.Type.Kind {
	case codec.Bool, codec.Int, codec.Uint, codec.Float, codec.DateTime, codec.TimeDelta:
	default:
		return x, fmt.Errorf("%s: type %s is not numeric", v.Path, v.Type)
	}
	x.n = len(data) / max(v.Type.Size, 1)
	if !scaled(v) {
		return x, nil
	}
	packing, err := cf.PackingOf(v)
	if err != nil {
		return x, err
	}
	x.t = packing.Type
	if packing.Scale != nil {
		x.scale = packing.Scale.Value
	}
	if packing.Offset != nil {
		x.offset = packing.Offset.Value
	}
	return x, nil
}

func (x numbers) element(i int) []byte { return x.data[i*x.t.Size:] }

// whole returns the key of an element that is a whole number.
func (x numbers) whole(i int) key {
	n := x.word(i)
	if x.t.Kind == codec.Uint && n < 0 {
		return key{math.MaxInt64, uint64(n) - math.MaxInt64}
	}
	return key{hi: n}
}

// number returns a whole number as a float64.
func (k key) number() float64 {
	if k.lo > 0 {
		return float64(math.MaxInt64 + k.lo)
	}
	return float64(k.hi)
}

// asReal returns the key of a whole number among floats, without rounding: the next lower float64,
// and the difference to it.
func (k key) asReal() key {
	f := k.number()
	if k.lo > 0 {
		n := math.MaxInt64 + k.lo
		if f >= 1<<64 || uint64(f) > n {
			f = math.Nextafter(f, 0)
		}
		return key{sortable(f), n - uint64(f)}
	}
	if f >= 1<<63 || int64(f) > k.hi {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return key{sortable(f), uint64(k.hi - int64(f))}
}

// sayWhole formats a whole number.
func (k key) sayWhole() string {
	if k.lo > 0 {
		return strconv.FormatUint(math.MaxInt64+k.lo, 10)
	}
	return strconv.FormatInt(k.hi, 10)
}

// word returns an element that is a whole number, sign-extended to 64 bits.
func (x numbers) word(i int) int64 {
	b := x.element(i)
	switch x.t.Size {
	case 1:
		if x.t.Kind == codec.Int {
			return int64(int8(b[0]))
		}
		return int64(b[0])
	case 2:
		u := binary.LittleEndian.Uint16(b)
		if x.t.Kind == codec.Int {
			return int64(int16(u))
		}
		return int64(u)
	case 4:
		u := binary.LittleEndian.Uint32(b)
		if x.t.Kind == codec.Int {
			return int64(int32(u))
		}
		return int64(u)
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// real returns an element as an unpacked float64.
func (x numbers) real(i int) float64 {
	var f float64
	switch {
	case x.t.Kind != codec.Float:
		f = x.whole(i).number()
	case x.t.Size == 2:
		f = cf.Float(x.t, x.element(i)[:2])
	case x.t.Size == 4:
		f = float64(math.Float32frombits(binary.LittleEndian.Uint32(x.element(i))))
	default:
		f = math.Float64frombits(binary.LittleEndian.Uint64(x.element(i)))
	}
	return cf.Unpacked(f, x.scale, x.offset)
}

// realKey returns the key of an element among floats.
func (x numbers) realKey(i int) key {
	if x.t.Kind != codec.Float && x.scale == 1 && x.offset == 0 {
		return x.whole(i).asReal()
	}
	return key{hi: sortable(x.real(i))}
}

func (x numbers) say(i int) string {
	bits := 64
	if x.t.Kind == codec.Float && x.t.Size == 4 {
		bits = 32
	}
	if x.t.Kind != codec.Float && x.scale == 1 && x.offset == 0 {
		return x.whole(i).sayWhole()
	}
	return strconv.FormatFloat(x.real(i), 'g', -1, bits)
}

func sayTime(k key, u cf.Units) string {
	if k == noTime {
		return "no time"
	}
	return cf.Instant{Seconds: k.hi, Nanoseconds: int32(k.lo)}.Format(u.Calendar)
}
