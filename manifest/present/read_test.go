package present

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest/store"
)

func TestReadValues(t *testing.T) {
	st := built(t, threeMonths(t, "standard"))
	for _, sel := range []Sel{
		{},
		{Index: map[string]string{"time": "::-1", "lon": "[3,0]"}},
		{Label: map[string]string{"time": "2010-02"}, Index: map[string]string{"lat": "1"}},
		{Index: map[string]string{"time": "2:2"}},
	} {
		got, err := Read[float64](t.Context(), st, "sst", sel)
		if err != nil {
			t.Fatal(err)
		}
		s := selected(t, st, "sst", termsOf(sel.Index), termsOf(sel.Label))
		elems, err := s.read(t.Context(), codec.Elems{})
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, s.Count())
		decoderOf(t, s, true).Float64s(want, elems.Fixed)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !slices.EqualFunc(got.Data, want, same) || !slices.Equal(got.Shape, s.Shape()) || len(got.Dims) != len(got.Shape) {
			t.Errorf("%v: got %v, want %v of shape %v", sel, got, want, s.Shape())
		}
		narrow, err := Read[float32](t.Context(), st, "/sst", sel)
		if err != nil || len(narrow.Data) != len(want) || len(want) > 0 && !same(float64(narrow.Data[0]), float64(float32(want[0]))) {
			t.Errorf("%v: as float32: got %v, %v", sel, narrow, err)
		}
	}
	days, err := Read[string](t.Context(), st, "time", Sel{Index: map[string]string{"time": "[4,0]"}})
	if err != nil || fmt.Sprint(days.Data) != "[2010-02-01 12:00:00 2010-01-28 12:00:00]" {
		t.Errorf("times as strings: got %v, %v", days, err)
	}
	if _, err := Read[float64](t.Context(), st, "none", Sel{}); !errors.Is(err, store.ErrNoArray) {
		t.Errorf("an array that does not exist: error %v, want store.ErrNoArray", err)
	}
	var wrong *SelectionError
	for _, sel := range []Sel{
		{Index: map[string]string{"depth": "3"}},
		{Label: map[string]string{"lat": "north"}},
		{Index: map[string]string{"time": "0"}, Label: map[string]string{"time": "2010"}},
	} {
		if _, err := Read[float64](t.Context(), st, "sst", sel); !errors.As(err, &wrong) {
			t.Errorf("%v: error %v, want a *SelectionError", sel, err)
		}
	}
}

// TestReadTooMany: a selection that repeats so many indices that the result does not fit in memory is an
// error.
func TestReadTooMany(t *testing.T) {
	st := built(t, threeMonths(t, "standard"))
	for _, repeats := range []int{1 << 14, 1 << 22} { // the product of the second overflows
		list := "[0" + strings.Repeat(",0", repeats-1) + "]"
		_, err := Read[float64](t.Context(), st, "sst", Sel{Index: map[string]string{"time": list, "lat": list, "lon": list}})
		if err == nil {
			t.Errorf("%d repeats of an index: want an error", repeats)
		}
	}
}
