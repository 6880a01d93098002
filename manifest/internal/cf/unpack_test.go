package cf

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"varve/codec"
)

func TestUnpack(t *testing.T) {
	word := func(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
	short := codec.Type{Kind: codec.Int, Size: 2}
	packed := Packing{Type: short, Scale: &Number{Value: 0.5}, Offset: &Number{Value: 10}, Masks: [][]byte{{0xff, 0xff}}}
	for _, c := range []struct {
		name    string
		packing Packing
		typ     codec.Type
		element []byte
		want    string
	}{
		{"packed", packed, short, []byte{6, 0}, "13"},
		{"missing", packed, short, []byte{0xff, 0xff}, "NaN"},
		{"true", Packing{}, codec.Type{Kind: codec.Bool, Size: 1}, []byte{1}, "1"},
		{"a time", Packing{}, codec.Type{Kind: codec.DateTime, Size: 8}, word(5), "5"},
		{"NaT", Packing{}, codec.Type{Kind: codec.DateTime, Size: 8}, word(math.MinInt64), "NaN"},
		{"NaT of a duration", Packing{}, codec.Type{Kind: codec.TimeDelta, Size: 8}, word(math.MinInt64), "NaN"},
	} {
		if got := fmt.Sprint(c.packing.Unpack(c.typ, c.element)); got != c.want || !IsDrawable(c.typ) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if IsDrawable(codec.Type{Kind: codec.String}) {
		t.Error("IsDrawable is true for texts")
	}
}
