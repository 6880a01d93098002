package zarrstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"varve/grid"
	"varve/zarrjson"
)

// sizesOf returns the data sizes of the chunks along the first axis.
func sizesOf(a *Array) []int64 { return slices.Collect(grid.DataSizes(a.Grid().Dim(0))) }

// reopen opens the array again: whatever it keeps is in its document.
func reopen(t *testing.T, a *Array) *Array {
	t.Helper()
	again, err := Open(t.Context(), dirOf(a), nil)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestGrowth(t *testing.T) {
	year := grid.Compress(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
	for _, tt := range []struct {
		name  string
		edges []int64
		keep  []Growth
		to    []int64
		by    []Growth
		want  string // data sizes
	}{
		{"equal chunks stay equal", []int64{10, 10, 10}, nil, []int64{45, 75}, nil, "[10 10 10 10 10 10 10 5]"},
		{"small chunks of appends are not repeated", []int64{365, 365, 1, 1}, nil, []int64{1732}, nil, "[365 365 1 1 365 365 270]"},
		{"one chunk, kept", []int64{10, 10}, []Growth{{0, grid.OneChunk()}}, []int64{45, 52}, nil, "[10 10 25 7]"},
		{"a size, kept", []int64{10, 10}, []Growth{{0, grid.RepeatSize(4)}}, []int64{25, 30}, nil, "[10 10 4 4 2]"},
		{"months, kept", []int64{31, 28}, []Growth{{0, grid.Cycle(year...)}}, []int64{90, 130, 151}, nil, "[31 28 31 30 31]"},
		{"months after a year that is one chunk", []int64{365}, []Growth{{0, grid.Cycle(year...)}}, []int64{424}, nil, "[365 28 31]"},
		{"a list, kept", []int64{31, 28}, []Growth{EdgesOf(0, 31, 30)}, []int64{70, 120}, nil, "[31 28 31 30]"},
		{"a list, kept, then named edges", []int64{31, 28}, []Growth{EdgesOf(0, 31, 30)}, []int64{150}, []Growth{EdgesOf(0, 20, 10)}, "[31 28 31 30 20 10]"},
		{"a kept policy that is overruled", []int64{10, 10}, []Growth{{0, grid.OneChunk()}}, []int64{35}, []Growth{{0, grid.RepeatSize(5)}}, "[10 10 5 5 5]"},
	} {
		sum := int64(0)
		for _, n := range tt.edges {
			sum += n
		}
		a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), schema16(t, sum, tt.edges...), nil)
		if err == nil && tt.keep != nil {
			err = a.SetGrowth(t.Context(), tt.keep...)
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		for _, n := range tt.to {
			a = reopen(t, a)
			if err := a.Resize(t.Context(), []int64{n}, tt.by...); err != nil {
				t.Fatalf("%s: to %d: %v", tt.name, n, err)
			}
		}
		again := reopen(t, a)
		if got := fmt.Sprint(sizesOf(a)); got != tt.want || fmt.Sprint(sizesOf(again)) != tt.want || !grid.Equal(a.Grid().Dim(0), again.Grid().Dim(0)) {
			t.Errorf("%s: %s, reopened %v, want %s", tt.name, got, sizesOf(again), tt.want)
		}
	}
}

// An axis that keeps a pattern takes the memory of the pattern.
func TestPatternIsTiled(t *testing.T) {
	a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), schema16(t, 59, 31, 28), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.SetGrowth(t.Context(), Growth{0, grid.Cycle(grid.Compress(31, 28)...)}); err != nil {
		t.Fatal(err)
	}
	if err := a.Resize(t.Context(), []int64{59 * 1000}); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Array{a, reopen(t, a)} {
		if d, ok := a.Grid().Dim(0).(*grid.Tiled); !ok || d.Chunks() != 2000 {
			t.Errorf("%T of %d chunks", a.Grid().Dim(0), a.Grid().Chunks())
		}
	}
}

func TestGrowthOfOneArray(t *testing.T) {
	dir := t.TempDir()
	a, err := Create(t.Context(), filepath.Join(dir, "a"), schema16(t, 20, 10, 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	regular := schema16(t, 20, 10)
	regular.ChunkGrid = zarrjson.RegularGrid(10)
	v2, err := Create(t.Context(), filepath.Join(dir, "v2"), regular, &Options{Format: 2})
	if err != nil {
		t.Fatal(err)
	}
	v3, err := Create(t.Context(), filepath.Join(dir, "v3"), regular, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"no such axis":  a.SetGrowth(t.Context(), Growth{1, grid.OneChunk()}),
		"twice":         a.SetGrowth(t.Context(), Growth{0, grid.OneChunk()}, Growth{0, grid.Repeat()}),
		"size 0":        a.SetGrowth(t.Context(), Growth{0, grid.RepeatSize(0)}),
		"empty pattern": a.SetGrowth(t.Context(), Growth{0, grid.Cycle()}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := v2.SetGrowth(t.Context(), Growth{0, grid.OneChunk()}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("format 2: %v", err)
	}
	if growth, err := reopen(t, a).Growth(); err != nil || !growth[0].IsDefault() {
		t.Errorf("refused policies are kept: %v, %v", growth, err)
	}
	// A list of edges of the regular size needs the rectilinear name, which can have edges past the extent.
	if err := v3.SetGrowth(t.Context(), EdgesOf(0, 10)); err != nil {
		t.Fatal(err)
	}
	v3 = reopen(t, v3)
	if err := v3.Resize(t.Context(), []int64{30}); err != nil || v3.Schema().ChunkGrid.Name != zarrjson.Rectilinear {
		t.Errorf("to the end of the list: %v, %s", err, v3.Schema().ChunkGrid.Name)
	}
	if err := v3.Resize(t.Context(), []int64{31}); !errors.Is(err, grid.ErrNoMoreEdges) {
		t.Errorf("past the end of the list: %v", err)
	}
	want := []grid.Growth{grid.OneChunk()}
	if err := v3.SetGrowth(t.Context(), Growth{0, grid.OneChunk()}); err != nil {
		t.Fatal(err)
	}
	if got, err := reopen(t, v3).Growth(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("kept %v, %v", got, err)
	}
	damaged := *v3.Schema()
	damaged.Extra = []zarrjson.ExtraField{{Name: "varve_growth", JSON: []byte(`{"must_understand":false,"axes":[7]}`)}}
	doc, err := damaged.Encode(zarrjson.Indented)
	if err == nil {
		err = os.WriteFile(filepath.Join(dirOf(v3), v3Name), doc, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	var wrong *zarrjson.Error
	if _, err := Open(t.Context(), dirOf(v3), nil); !errors.As(err, &wrong) || wrong.Path != "varve_growth.axes[0]" {
		t.Errorf("a damaged policy: %v", err)
	}
}
