package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report/reporttest"
)

// TestLargeStatics: large values that all files share are compared but not stored, also for
// appended files.
func TestLargeStatics(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	var all []string
	for i := range 5 {
		all = append(all, writeGridded(t, filepath.Join(dir, fmt.Sprintf("%d.zarr", i)), i, i == 3))
	}
	out := filepath.Join(dir, "out.varve")
	compared := int64(0)
	how := func(names ...string) *Options {
		return &Options{Sources: Sources{Names: names}, Comparing: func(done, total int64) { compared = max(compared, total) }}
	}
	made, err := Build(ctx, out, how(all[:2]...))
	if err != nil {
		t.Fatal(err)
	}
	if compared != 2 {
		t.Errorf("%d variables were compared", compared)
	}
	for _, table := range made.Snapshot.Tables {
		if table.Kind == manifest.ValueOf && table.Bytes > 4<<10 {
			t.Errorf("%d bytes of values", table.Bytes)
		}
	}
	compared = 0
	if made, err = Append(ctx, out, how(all[2])); err != nil {
		t.Fatal(err)
	}
	if compared != 1 || made.Snapshot.Sources != 3 {
		t.Errorf("%d sources; %d variables were compared again", made.Snapshot.Sources, compared)
	}
	var refused *plan.Error
	if _, err := Append(ctx, out, how(all[3])); !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Array != "/lat" || reporttest.Files(&refused.Findings[0]) != "3.zarr" {
		t.Errorf("a file with another grid: %v", err)
	}
	if _, err := Append(ctx, out, how(all[4])); err != nil {
		t.Error(err)
	}
	checkSummed(t, out, 4)
}

// checkSummed checks that only digests of the grid are stored for each file.
func checkSummed(t *testing.T, out string, files int) {
	t.Helper()
	list := filesIn(t, out)
	list = slices.DeleteFunc(list, func(f *manifest.File) bool { return f.Header.Find("/lat") < 0 }) // the chunk objects of Zarr stores are files without variables
	if len(list) != files {
		t.Fatalf("%d files", len(list))
	}
	for _, f := range list {
		if v := f.Values[f.Header.Find("/lat")]; v == nil || !v.Summed || v.ID != list[0].Values[list[0].Header.Find("/lat")].ID {
			t.Errorf("%s: %+v", f.URL, v)
		}
	}
}

// writeGridded writes a Zarr group with one step of a field on a large grid.
func writeGridded(t *testing.T, at string, i int, odd bool) string {
	t.Helper()
	grid := make([]byte, 64*1024*4)
	for k := range 64 * 1024 {
		binary.LittleEndian.PutUint32(grid[4*k:], uint32(k))
	}
	if odd {
		grid[len(grid)-4]++
	}
	return writeGroup(t, at, map[string]map[string]string{
		"lat":  wholeArray("64,1024", "<i4", `"y","x"`, "", grid),
		"time": wholeArray("1", "<i4", `"time"`, `,"units":"days since 2000-01-01"`, []byte{byte(i), 0, 0, 0}),
		"v":    wholeArray("1", "<i2", `"time"`, `,"coordinates":"lat"`, []byte{byte(i), 1}),
	})
}

// wholeArray returns the files of a Zarr array with one chunk.
func wholeArray(shape, dtype, dims, more string, chunk []byte) map[string]string {
	first := strings.Repeat("0.", strings.Count(shape, ",")) + "0"
	return map[string]string{
		".zarray": `{"zarr_format":2,"shape":[` + shape + `],"chunks":[` + shape + `],"dtype":"` + dtype + `","order":"C","compressor":null,"fill_value":null,"filters":null}`,
		".zattrs": `{"_ARRAY_DIMENSIONS":[` + dims + `]` + more + `}`,
		first:     string(chunk),
	}
}

// writeGroup writes a Zarr group with some arrays.
func writeGroup(t *testing.T, at string, arrays map[string]map[string]string) string {
	t.Helper()
	for name, files := range arrays {
		for file, text := range files {
			writeText(t, filepath.Join(at, name, file), text)
		}
	}
	writeText(t, filepath.Join(at, ".zgroup"), `{"zarr_format":2}`)
	return at
}

// TestTilesThatGrow: the widest tile of several days provides the values at each position, in a
// build and if an append adds a wider one, although only digests of the others are known.
func TestTilesThatGrow(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	file := func(day, tile, width int, odd bool) string {
		var mask []byte
		for y := range width {
			for x := range 2 {
				mask = binary.LittleEndian.AppendUint32(mask, uint32(100*y+2*tile+x))
			}
		}
		if odd {
			mask[0]++
		}
		x := []byte{byte(2 * tile), byte(2*tile + 1)}
		return writeGroup(t, filepath.Join(dir, fmt.Sprint(day, tile, odd)+".zarr"), map[string]map[string]string{
			"mask": wholeArray(fmt.Sprintf("%d,2", width), "<i4", `"y","x"`, "", mask),
			"time": wholeArray("1", "<i4", `"time"`, `,"units":"days since 2000-01-01"`, []byte{byte(day), 0, 0, 0}),
			"x":    wholeArray("2", "|u1", `"x"`, "", x),
			"v":    wholeArray("1,2", "|u1", `"time","x"`, "", x),
		})
	}
	out := filepath.Join(dir, "out.varve")
	how := func(coords plan.Coords, names ...string) *Options {
		return &Options{Sources: Sources{Names: names}, Plan: plan.Options{Pad: plan.PadFill, Coords: coords, Inline: new(int64(8))}}
	}
	check := func(widths ...int) {
		t.Helper()
		got, _ := decoded(t, out, "/mask", false)
		for y := range slices.Max(widths) {
			for x := range 4 {
				want := float64(100*y + x)
				if y >= widths[x/2] {
					want = math.NaN()
				}
				if got[4*y+x] != want && !(math.IsNaN(want) && math.IsNaN(got[4*y+x])) {
					t.Errorf("%v at %d %d, not %v", got[4*y+x], y, x, want)
				}
			}
		}
	}
	for _, coords := range []plan.Coords{plan.CoordsEqual, plan.CoordsFirst} {
		os.RemoveAll(out)
		if _, err := Build(ctx, out, how(coords, file(0, 0, 2, false), file(0, 1, 2, false), file(1, 0, 3, false), file(1, 1, 2, false))); err != nil {
			t.Fatal(err)
		}
		check(3, 2)
		if _, err := Append(ctx, out, how(coords, file(2, 0, 2, false), file(2, 1, 4, false))); err != nil {
			t.Fatal(err)
		}
		check(3, 4)
		var refused *plan.Error
		if _, err := Append(ctx, out, how(coords, file(3, 0, 5, true), file(3, 1, 2, false))); coords == plan.CoordsEqual && !errors.As(err, &refused) {
			t.Errorf("a wider tile with another first value: %v", err)
		}
	}
}

// TestNearStatics: coordinates that were read to apply the tolerance are not stored if they are too
// large, and appended files are compared with the same ones.
func TestNearStatics(t *testing.T) {
	for _, valueBytes := range []int64{0, 1 << 10} {
		t.Run(fmt.Sprint(valueBytes), func(t *testing.T) { testNearStatics(t, valueBytes) })
	}
}

func testNearStatics(t *testing.T, valueBytes int64) {
	ctx := context.Background()
	dir := t.TempDir()
	var all []string
	for i := range 3 {
		at := writeGridded(t, filepath.Join(dir, fmt.Sprintf("%d.zarr", i)), i, i > 0)
		document, err := os.ReadFile(filepath.Join(at, "lat", ".zarray"))
		if err != nil {
			t.Fatal(err)
		}
		writeText(t, filepath.Join(at, "lat", ".zarray"), strings.Replace(string(document), "<i4", "<f4", 1)) // as float32, these integers are numbers near 0
		all = append(all, at)
	}
	out := filepath.Join(dir, "out.varve")
	how := func(names ...string) *Options {
		return &Options{Sources: Sources{Names: names}, Plan: plan.Options{Tolerance: 1e-30}, ValueBytes: valueBytes}
	}
	if _, err := Build(ctx, out, &Options{Sources: Sources{Names: all[:2]}}); err == nil {
		t.Error("built without a tolerance")
	}
	if _, err := Build(ctx, out, how(all[:2]...)); err != nil {
		t.Fatal(err)
	}
	made, err := Append(ctx, out, how(all[2]))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range made.Snapshot.Tables {
		if table.Kind == manifest.ValueOf && table.Bytes > 4<<10 {
			t.Errorf("%d bytes of values", table.Bytes)
		}
	}
}
