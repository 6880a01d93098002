package grib_test

import (
	"errors"
	"math"
	"testing"

	"varve/codec"
	"varve/codec/grib"
)

// fuzzPoints is the most values that are decoded, like the limit of a caller.
const fuzzPoints = 1 << 14

// fuzzField describes and decodes a field of arbitrary bytes. It must not panic or write after the
// values, and each error must be codec.ErrCorrupt or errors.ErrUnsupported.
func fuzzField(t *testing.T, f *grib.Field) {
	ofKind := func(err error) {
		if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error %v is neither codec.ErrCorrupt nor errors.ErrUnsupported", err)
		}
	}
	info, err := f.Describe()
	if ofKind(err); err != nil || info.Values > fuzzPoints {
		return
	}
	const guard = 1.25
	room := make([]float64, info.Values+4)
	for i := range room {
		room[i] = guard
	}
	err = grib.Decode(room[:info.Values], f)
	ofKind(err)
	for _, v := range room[info.Values:] {
		if v != guard {
			t.Fatal("Decode wrote after the values")
		}
	}
	if err != nil || !info.Constant {
		return
	}
	for _, v := range room[:info.Values] {
		if math.Float64bits(v) != math.Float64bits(info.Value) {
			t.Fatalf("the field is constant with value %v, and a value is %v", info.Value, v)
		}
	}
}

func FuzzEdition1(f *testing.F) {
	for _, m := range messages(f, recorded) {
		for _, field := range split(m.Message) {
			if field.Edition == 1 {
				f.Add(field.Section4, field.Bitmap, uint16(field.Points), uint8(field.Columns), field.Bitmap != nil)
			}
		}
	}
	f.Fuzz(func(t *testing.T, section4, bitmap []byte, points uint16, columns uint8, has bool) {
		field := &grib.Field{Edition: 1, Section4: section4, Points: int(points), Columns: int(columns), DecimalScale: 1}
		if has {
			field.Bitmap = append([]byte{}, bitmap...)
		}
		field.Truncation = [3]int{int(columns), int(columns), int(columns)}
		fuzzField(t, field)
		if len(bitmap) > 0 {
			field.Rows = []int{}
			for _, n := range bitmap {
				field.Rows = append(field.Rows, int(n))
			}
			fuzzField(t, field)
		}
	})
}

func FuzzEdition2(f *testing.F) {
	for _, m := range messages(f, recorded) {
		for _, field := range split(m.Message) {
			if field.Edition == 2 {
				f.Add(field.Section5, field.Section7, field.Bitmap, uint16(field.Points), uint8(field.Columns), field.Bitmap != nil)
			}
		}
	}
	f.Fuzz(func(t *testing.T, section5, section7, bitmap []byte, points uint16, columns uint8, has bool) {
		field := &grib.Field{Edition: 2, Section5: section5, Section7: section7, Points: int(points), Columns: int(columns)}
		if has {
			field.Bitmap = append([]byte{}, bitmap...)
		}
		field.Truncation = [3]int{int(columns), int(columns), int(columns)}
		fuzzField(t, field)
	})
}

func FuzzBitmap(f *testing.F) {
	f.Add([]byte{0, 0, 0, 8, 6, 0, 0xf0, 0x0f}, []byte{1})
	f.Add([]byte{0, 0, 0, 6, 6, 254}, []byte(nil))
	f.Add([]byte{0, 0, 8, 0, 0, 0, 0xf0, 0x0f}, []byte{1})
	f.Fuzz(func(t *testing.T, section, previous []byte) {
		for _, err := range []error{second(grib.Bitmap1(section)), second(grib.Bitmap2(section, previous))} {
			if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("error %v is neither codec.ErrCorrupt nor errors.ErrUnsupported", err)
			}
		}
	})
}

func second(_ []byte, err error) error { return err }
