package present

import (
	"errors"
	"slices"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest/store"
)

// globeOf is an array v of longitudes in some units, with the values 0, 1, …
func globeOf(t *testing.T, longitudes any, n int, units string) *store.Store {
	t.Helper()
	values, times := make([]int32, n), []float64{0, 31, 59}
	for i := range values {
		values[i] = int32(i)
	}
	return built(t, []classic.File{{Dims: []classic.Dim{{Name: "lon", Length: n}, {Name: "time", Length: 3}}, Vars: []classic.Var{
		{Name: "lon", Dims: []string{"lon"}, Data: longitudes, Attributes: []classic.Attribute{{Name: "units", Value: units}}},
		{Name: "time", Dims: []string{"time"}, Data: times, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2010-01-01"}}},
		{Name: "v", Dims: []string{"lon"}, Data: values},
		{Name: "w", Dims: []string{"time"}, Data: []int32{0, 1, 2}},
	}}})
}

// valuesAt returns the values of v at a selection. They are the indices of the longitudes.
func valuesAt(t *testing.T, st *store.Store, name, term string) (list []int64, err error) {
	t.Helper()
	v, err := Read[float64](t.Context(), st, name, Sel{Label: map[string]string{map[string]string{"v": "lon", "w": "time"}[name]: term}})
	if err != nil {
		return nil, err
	}
	for _, x := range v.Data {
		list = append(list, int64(x))
	}
	return list, nil
}

// TestSeam selects longitudes beyond the ends of the coordinate.
func TestSeam(t *testing.T) {
	const east = "degrees_east"
	for _, test := range []struct {
		name       string
		longitudes any
		n          int
		units      string
		term       string
		want       []int64
	}{
		{"across 0", []float64{0, 90, 180, 270}, 4, east, "-100:100", []int64{3, 0, 1}},
		{"across 360", []float64{0, 90, 180, 270}, 4, east, "180:400", []int64{2, 3, 0}},
		{"across 180", []float64{-180, -90, 0, 90}, 4, east, "80:200", []int64{3, 0}},
		{"inside", []float64{0, 90, 180, 270}, 4, east, "270:90", []int64{1, 2, 3}},
		{"all", []float64{0, 90, 180, 270}, 4, east, "0:360", []int64{0, 1, 2, 3}},
		{"all, from the west", []float64{0, 90, 180, 270}, 4, east, "-180:180", []int64{3, 0, 1, 2}},
		{"more than all", []float64{0, 90, 180, 270}, 4, east, "-1000:1000", []int64{0, 1, 2, 3}},
		{"falling", []float64{270, 180, 90, 0}, 4, east, "-100:100", []int64{2, 3, 0}},
		{"rounded", []float32{0.1, 120.1, 240.1, 359.9}, 4, east, "-0.1:0.1", []int64{3, 0}},
		{"one", []float64{0, 90, 180, 270}, 4, east, "-90", []int64{3}},
		{"without an end", []float64{0, 90, 180, 270}, 4, east, "-100:", []int64{0, 1, 2, 3}},
		{"no longitudes", []float64{0, 90, 180, 270}, 4, "m", "-100:100", []int64{0, 1}},
		{"nearest", []float64{0, 90, 180, 270}, 4, east, "~100", []int64{1}},
		{"nearest across 0", []float64{0, 90, 180, 270}, 4, east, "~350", []int64{0}},
		{"nearest of a line", []float64{0, 90, 180, 270}, 4, "m", "~350", []int64{3}},
		{"nearest of two", []float64{0, 90, 180, 270}, 4, "m", "~45", []int64{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := valuesAt(t, globeOf(t, test.longitudes, test.n, test.units), "v", test.term)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v (%v), want %v", test.term, got, err, test.want)
			}
		})
	}
	st := globeOf(t, []float64{0, 90, 180, 270}, 4, east)
	if got, err := valuesAt(t, st, "w", "~2010-02-10"); err != nil || !slices.Equal(got, []int64{1}) {
		t.Errorf("the nearest time is %v (%v)", got, err)
	}
	var e *SelectionError
	for _, term := range []string{"~", "~west", "-91", "~1:2"} {
		if got, err := valuesAt(t, st, "v", term); !errors.As(err, &e) {
			t.Errorf("%s: got %v (%v)", term, got, err)
		}
	}
}
