package grib_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"varve/readers"
	"varve/readers/internal/grib"
)

// TestDuplicates: of fields that no key distinguishes the first is read, and the others are a problem that does not end a scan.
func TestDuplicates(t *testing.T) {
	one := firstMessage(t, "levels.grib")
	data, err := grib.Format{}.Open(t.Context(), memory("twice", slices.Concat(one, one)))
	if err != nil {
		t.Fatal(err)
	}
	if len(data.Problems) != 1 || !errors.Is(data.Problems[0].Err, errors.ErrUnsupported) || errors.Is(data.Problems[0].Err, readers.ErrCorrupt) {
		t.Errorf("problems %v", data.Problems)
	}
	if values, err := data.Variable("/t").ReadAll(t.Context(), 1<<20); err != nil || len(values.Data) == 0 {
		t.Error(err)
	}
}

// TestInvalidDate: a field with a reference time that no calendar has is a problem that does not end a scan.
func TestInvalidDate(t *testing.T) {
	one := firstMessage(t, "levels.grib")
	wrong := bytes.Clone(one)
	wrong[16+14] = 0 // month
	data, err := grib.Format{}.Open(t.Context(), memory("month 0", slices.Concat(wrong, one)))
	if err != nil {
		t.Fatal(err)
	}
	if len(data.Problems) != 1 || !errors.Is(data.Problems[0].Err, errors.ErrUnsupported) || data.Variable("/t") == nil {
		t.Errorf("problems %v", data.Problems)
	}
}

// TestStatisticsOverAreas: maxima and means over an area around each point are two variables.
func TestStatisticsOverAreas(t *testing.T) {
	s := sections2(t, "levels.grib")
	var file []byte
	for _, statistic := range []byte{0, 2} {
		product := append(bytes.Clone(s[4]), statistic, 0, 1) // spatial processing, number of points
		product[3], product[8] = byte(len(product)), 15       // template 4.15
		file = append(file, message2(s[1], s[3], product, s[5], s[6], s[7])...)
	}
	data, err := grib.Format{}.Open(t.Context(), memory("areas", file))
	if err != nil || len(data.Problems) > 0 {
		t.Fatal(err, data.Problems)
	}
	for _, name := range []string{"/t_area_avg", "/t_area_max"} {
		if data.Variable(name) == nil {
			t.Errorf("no variable %s", name)
		}
	}
}

// TestRoundedLongitude: a reduced grid of edition 1 whose last longitude is rounded has as many points as values.
func TestRoundedLongitude(t *testing.T) {
	b := firstMessage(t, "reduced1.grib")
	open := func(name string) (shape []uint64, data *readers.Dataset) {
		data, err := grib.Format{}.Open(t.Context(), memory(name, b))
		if err != nil || len(data.Problems) > 0 {
			t.Fatal(name, err, data.Problems)
		}
		return data.Variable("/t").Shape, data
	}
	want, _ := open("whole")
	const lastAt = 20                                            // in section 2: thousandths of a degree
	at := 8 + int(b[8])<<16 + int(b[9])<<8 + int(b[10]) + lastAt // section 1 is before it
	last := int(b[at])<<16 | int(b[at+1])<<8 | int(b[at+2])
	last -= 5
	b[at], b[at+1], b[at+2] = byte(last>>16), byte(last>>8), byte(last)
	got, data := open("rounded")
	if !slices.Equal(got, want) {
		t.Errorf("shape %v, want %v", got, want)
	}
	for _, name := range []string{"/t", "/latitude"} {
		if _, err := data.Variable(name).ReadAll(t.Context(), 1<<20); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
