package compact

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/repo"
	"varve/manifest/store"
)

// archive is a manifest of netCDF-3 files along time. Each value encodes its own position.
type archive struct {
	testing.TB
	dir, out string
	columns  int
	second   bool   // time is the second axis of v, not the first
	name     string // of v, if it was renamed
	opts     ingest.Options
}

func newArchive(t testing.TB) *archive {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	return &archive{TB: t, dir: dir, out: filepath.Join(dir, "a.varve"), columns: 4}
}

// file writes a file of a range of days. The value of a day and a column is 8*day + column. It is packed with scale,
// unless that is 0.
func (a *archive) file(from, to int, scale float64) string {
	a.Helper()
	days, values := make([]float64, to-from), make([]int16, (to-from)*a.columns)
	var attributes []classic.Attribute
	if scale != 0 {
		attributes = []classic.Attribute{{Name: "scale_factor", Value: []float64{scale}}}
	}
	for i := range days {
		days[i] = float64(from + i)
		for k := range a.columns {
			at := i*a.columns + k
			if a.second {
				at = k*len(days) + i
			}
			values[at] = int16(float64(8*(from+i)+k) / cmp.Or(scale, 1))
		}
	}
	dims := []string{"time", "x"}
	if a.second {
		dims = []string{"x", "time"}
	}
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: to - from, Records: !a.second}, {Name: "x", Length: a.columns}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: days},
			{Name: "v", Dims: dims, Attributes: attributes, Data: values},
		},
	}
	name := filepath.Join(a.dir, fmt.Sprintf("%05d.nc", from))
	if err := f.Write(name); err != nil {
		a.Fatal(err)
	}
	return name
}

func (a *archive) build(names ...string) {
	a.Helper()
	opts := a.opts
	opts.Sources.Names = names
	if _, err := ingest.Build(a.Context(), a.out, &opts); err != nil {
		a.Fatal(err)
	}
}

func (a *archive) append(names ...string) {
	a.Helper()
	opts := a.opts
	opts.Sources.Names = names
	if _, err := ingest.Append(a.Context(), a.out, &opts); err != nil {
		a.Fatal(err)
	}
}

func (a *archive) compact(opts Options) *Result {
	a.Helper()
	r, err := Compact(a.Context(), a.out, &opts)
	if err != nil {
		a.Fatal(err)
	}
	return r
}

// open opens the current snapshot.
func (a *archive) open() *store.Store {
	a.Helper()
	s, err := store.Open(a.Context(), a.out, nil)
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { s.Close() })
	return s
}

func (a *archive) v() *store.Array {
	a.Helper()
	v, err := a.open().Array(cmp.Or(a.name, "v"))
	if err != nil {
		a.Fatal(err)
	}
	return v
}

func (a *archive) repository() *repo.Repository {
	a.Helper()
	r, err := repo.Open(a.Context(), a.out)
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { r.Close() })
	return r
}

// snapshot loads the current snapshot, and checks that its files exist.
func (a *archive) snapshot() *manifest.Snapshot {
	a.Helper()
	r := a.repository()
	id, err := r.Current(a.Context())
	if err != nil {
		a.Fatal(err)
	}
	snap, err := r.Load(a.Context(), id)
	if err == nil {
		err = r.Check(a.Context(), snap)
	}
	if err != nil {
		a.Fatal(err)
	}
	return snap
}

func (a *archive) counts() manifest.Counts { return a.v().Spec().Chunks }

// check reads v as a region and chunk by chunk. It checks that both have the values of a range of days, and that the
// kinds of the chunks agree with the counts in the snapshot.
func (a *archive) check(from, to int) {
	a.Helper()
	v := a.v()
	shape := []int64{int64(to - from), int64(a.columns)}
	if a.second {
		slices.Reverse(shape)
	}
	if !slices.Equal(v.Schema().Shape, shape) {
		a.Fatalf("shape %v, want %v", v.Schema().Shape, shape)
	}
	form := v.Schema().Form(shape)
	region, chunks := codec.NewElems(form), codec.NewElems(form)
	if err := v.ReadRegion(a.Context(), grid.Whole(shape), region); err != nil {
		a.Fatal(err)
	}
	counts := a.readChunks(v, chunks)
	if counts != v.Spec().Chunks {
		a.Errorf("counted %+v, the snapshot says %+v", counts, v.Spec().Chunks)
	}
	if !bytes.Equal(region.Fixed, chunks.Fixed) {
		a.Error("the array and its chunks differ")
	}
	for i, got := range floats(a, v, region) {
		day, column := i/a.columns, i%a.columns
		if a.second {
			day, column = i%(to-from), i/(to-from)
		}
		if want := float64(8*(from+day) + column); got != want {
			a.Fatalf("day %d, column %d: %v, want %v", day, column, got, want)
		}
	}
}

// readChunks decodes the chunks of an array, as clients get them, into elements. It returns the number of chunks of
// each kind.
func (a *archive) readChunks(v *store.Array, into codec.Elems) (counts manifest.Counts) {
	a.Helper()
	unit := v.Schema().DataType.Type().Size
	for w := v.Grid().Walk(); w.Next(); {
		l, err := v.Locate(a.Context(), w.Coords)
		b, err2 := v.Chunk(a.Context(), w.Coords)
		p, err3 := v.Pipeline(w.Coords)
		if err != nil || err2 != nil || err3 != nil {
			a.Fatal(err, err2, err3)
		}
		switch l.Kind {
		case manifest.Verbatim:
			counts.Verbatim++
			if l.Compacted {
				counts.Patched++
			}
		case manifest.Reencoded:
			counts.Reencoded++
		case manifest.Prefix:
			counts.Prefix++
		default:
			counts.Missing++
			continue
		}
		e := codec.NewElems(p.Form())
		if err := p.Decode(e, b); err != nil {
			a.Fatal(err)
		}
		from := grid.Window[byte]{Data: e.Fixed, Region: grid.Region{Origin: w.Origin, Shape: w.Codec}}
		if err := grid.Copy(grid.Window[byte]{Data: into.Fixed, Region: grid.Whole(v.Schema().Shape)}, from, w.Region, int64(unit)); err != nil {
			a.Fatal(err)
		}
	}
	return counts
}

// files returns the names of the files in a folder of the manifest.
func (a *archive) files(folder string) (names []string) {
	a.Helper()
	list, err := os.ReadDir(filepath.Join(a.out, folder))
	if err != nil && !os.IsNotExist(err) {
		a.Fatal(err)
	}
	for _, e := range list {
		names = append(names, folder+"/"+e.Name())
	}
	return names
}
