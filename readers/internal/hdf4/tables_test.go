package hdf4_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// TestTables reads the tables that generate.py writes; one has the name of a dataset.
func TestTables(t *testing.T) {
	data, err := open(t, filepath.Join(fixtures, "tables.hdf"))
	if err != nil || len(data.Problems) > 0 {
		t.Fatal(err, data.Problems)
	}
	for path, want := range map[string]string{
		"/stations/name":   "[3] [first second third]",
		"/stations/height": "[3] [1.5 -2.25 1e+06]",
		"/stations/counts": "[3 3] [1 2 3 4 5 6 -7 8 9]",
		"/counts_2/n":      "[2] [1 2]",
	} {
		v := data.Variable(path)
		if v == nil {
			t.Errorf("there is no %s", path)
			continue
		}
		value, err := v.ReadAll(t.Context(), 1<<20)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got := fmt.Sprint(value.Shape, numbers(value))
		if value.Texts != nil {
			got = fmt.Sprintf("%v %s", value.Shape, value.Texts)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// TestUnsupported checks which objects are listed as unsupported.
func TestUnsupported(t *testing.T) {
	data, err := open(t, filepath.Join(fixtures, "refused.hdf"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range data.Problems {
		if !errors.Is(p.Err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", p.Path, p.Err)
		}
		got = append(got, p.Path)
	}
	if want := []string{"/by field", "/image 13"}; !slices.Equal(got, want) {
		t.Errorf("problems of %q, want %q", got, want)
	}
}
