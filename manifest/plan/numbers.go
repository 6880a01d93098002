package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
)

// numbers are the elements of a variable, read one by one.
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
		return x, fmt.Errorf("%s: values of type %s are no numbers", v.Path, v.Type)
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

// whole is an element that is a whole number; those past the range of an int64 are its end.
func (x numbers) whole(i int) int64 {
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
	u := binary.LittleEndian.Uint64(b)
	if x.t.Kind == codec.Uint && u > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(u)
}

// real is an element as a float64, unpacked.
func (x numbers) real(i int) float64 {
	var f float64
	switch {
	case x.t.Kind != codec.Float:
		f = float64(x.whole(i))
	case x.t.Size == 2:
		f = cf.Float(x.t, x.element(i)[:2])
	case x.t.Size == 4:
		f = float64(math.Float32frombits(binary.LittleEndian.Uint32(x.element(i))))
	default:
		f = math.Float64frombits(binary.LittleEndian.Uint64(x.element(i)))
	}
	return cf.Unpacked(f, x.scale, x.offset)
}

func (x numbers) say(i int) string {
	bits := 64
	if x.t.Kind == codec.Float && x.t.Size == 4 {
		bits = 32
	}
	if x.t.Kind != codec.Float && x.scale == 1 && x.offset == 0 {
		return strconv.FormatInt(x.whole(i), 10)
	}
	return strconv.FormatFloat(x.real(i), 'g', -1, bits)
}

func sayTime(k key, u cf.Units) string {
	if k == noTime {
		return "no time"
	}
	return cf.Instant{Seconds: k.hi, Nanoseconds: k.lo}.Format(u.Calendar)
}
