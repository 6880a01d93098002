package ingest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
)

// archive is a random archive of netCDF-3 files. It knows which values the combined arrays must have.
type archive struct {
	dims  []string // the dimensions along which files are concatenated
	cuts  [][]int  // by dimension: the first index of each file, then the length
	axes  [][]float64
	files []string // in the order of their positions

	want   []float64 // the elements of v, decoded; NaN where they are missing
	shape  []int
	levels int

	falling, alike bool // alike: the files agree on everything that a schema declares
	broadcasts     *broadcasts
	squeezed       bool // files of one step along an axis may lack it, except the first
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// newArchive writes the files of an archive to a folder.
func newArchive(t testing.TB, r *rand.Rand, dir string, axes int) *archive {
	t.Helper()
	return (&archive{}).write(t, r, dir, axes)
}

// write writes the files, with variables to broadcast.
func (a *archive) write(t testing.TB, r *rand.Rand, dir string, axes int) *archive {
	t.Helper()
	a.dims, a.levels, a.alike = []string{"time", "y", "x"}[:axes], 1+r.IntN(3), r.IntN(2) == 0
	for k := range a.dims {
		a.cut(r, k)
	}
	a.shape = append(a.shape, a.levels)
	n := 1
	for _, length := range a.shape {
		n *= length
	}
	a.want = make([]float64, n)
	if a.broadcasts != nil {
		a.broadcasts.begin(r, a)
	}
	style := newStyle(r)
	names := r.Perm(1000)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	a.each(func(cell []int) {
		if !a.alike {
			style.vary(r)
		}
		name := filepath.Join(dir, fmt.Sprintf("part %03d.nc", names[len(a.files)]))
		if err := a.file(r, style, cell).Write(name); err != nil {
			t.Fatal(err)
		}
		a.files = append(a.files, name)
	})
	return a
}

// cut draws the starts of files along a dimension, and its coordinates.
func (a *archive) cut(r *rand.Rand, k int) {
	cuts := []int{0}
	most := []int{6, 3, 3}[k]
	for range 2 + r.IntN(most) {
		cuts = append(cuts, cuts[len(cuts)-1]+1+r.IntN(4))
	}
	if r.IntN(2) == 0 { // all files have the same length
		for i := range cuts {
			cuts[i] = i * 3
		}
	}
	if k == 1 && r.IntN(3) == 0 { // the direction of an axis is unknown if each file has one step
		for i := range cuts[1:] {
			a.falling = a.falling || cuts[i+1]-cuts[i] > 1
		}
	}
	a.cuts = append(a.cuts, cuts)
	length := cuts[len(cuts)-1]
	a.shape = append(a.shape, length)
	axis := make([]float64, length)
	for i := range axis {
		axis[i] = float64(10*k + 2*i)
		if k == 1 && a.falling {
			axis[i] = float64(1000 - 2*i)
		}
	}
	a.axes = append(a.axes, axis)
}

// each calls do for each position of a file.
func (a *archive) each(do func(cell []int)) {
	cell := make([]int, len(a.dims))
	for {
		do(cell)
		k := len(cell) - 1
		for ; k >= 0; k-- {
			if cell[k]++; cell[k] < len(a.cuts[k])-1 {
				break
			}
			cell[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// style says how a file stores its values.
type style struct {
	typ           string
	scale, offset float64 // scale 0: not packed
	fill          int     // 0: none
	units         string
	timeType      string
	records       bool
}

var (
	unpackedTypes = []string{"int8", "int16", "int32", "float32", "float64"}
	timeUnits     = []string{"days since 2000-01-01", "days since 1999-12-01", "hours since 1999-12-31 12:00:00", "seconds since 2000-01-01"}
)

func newStyle(r *rand.Rand) *style {
	s := &style{typ: unpackedTypes[r.IntN(5)], units: timeUnits[0], timeType: []string{"int32", "float64"}[r.IntN(2)], records: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		s.typ, s.scale, s.offset = "int16", 0.5, 10
	}
	if r.IntN(2) == 0 {
		s.fill = -99
	}
	return s
}

// vary changes properties on which files may disagree.
func (s *style) vary(r *rand.Rand) {
	if r.IntN(3) == 0 {
		s.units = timeUnits[r.IntN(len(timeUnits))]
	}
	if r.IntN(3) == 0 {
		s.records = !s.records
	}
	switch r.IntN(8) {
	case 0:
		s.typ, s.scale = unpackedTypes[r.IntN(5)], 0
	case 1:
		s.typ, s.scale, s.offset = "int16", []float64{0.5, 0.25, 2}[r.IntN(3)], float64(r.IntN(3))
	case 2:
		s.fill = []int{-99, -100, -77}[r.IntN(3)]
	}
}

// file makes the file at a position.
func (a *archive) file(r *rand.Rand, s *style, cell []int) *classic.File {
	f := &classic.File{Attributes: []classic.Attribute{{Name: "title", Value: "an archive"}}}
	var dims []string
	var origin, shape []int
	for k, name := range a.dims {
		from, to := a.cuts[k][cell[k]], a.cuts[k][cell[k]+1]
		if a.squeezed && len(a.files) > 0 && to == from+1 && r.IntN(2) == 0 {
			one := a.coordinate(s, k, from, to)
			one.Dims = nil
			f.Vars = append(f.Vars, one)
			origin, shape = append(origin, from), append(shape, 1)
			continue
		}
		f.Dims = append(f.Dims, classic.Dim{Name: name, Length: to - from, Records: k == 0 && s.records})
		f.Vars = append(f.Vars, a.coordinate(s, k, from, to))
		dims, origin, shape = append(dims, name), append(origin, from), append(shape, to-from)
	}
	f.Dims = append(f.Dims, classic.Dim{Name: "level", Length: a.levels})
	v := classic.Var{Name: "v", Dims: append(dims, "level")}
	v.Data, v.Attributes = a.elements(r, s, append(origin, 0), append(shape, a.levels))
	f.Vars = append(f.Vars, v)
	if a.broadcasts != nil {
		a.broadcasts.add(r, f, s, cell)
	}
	return f
}

func (a *archive) coordinate(s *style, k, from, to int) classic.Var {
	v := classic.Var{Name: a.dims[k], Dims: a.dims[k : k+1]}
	values := slices.Clone(a.axes[k][from:to])
	if k > 0 {
		v.Data = values
		return v
	}
	for i, day := range values {
		values[i] = encodeTime(day, s.units)
	}
	v.Attributes = []classic.Attribute{{Name: "units", Value: s.units}}
	v.Data = values
	if s.timeType == "int32" {
		v.Data = numbers[int32](values)
	}
	return v
}

func numbers[T int8 | int16 | int32 | float32 | float64](values []float64) []T {
	out := make([]T, len(values))
	for i, x := range values {
		out[i] = T(x)
	}
	return out
}

// timeUnit parses the units of times.
func timeUnit(units string) (step time.Duration, since time.Time) {
	var unit, day, clock string
	fmt.Sscanf(units, "%s since %s %s", &unit, &day, &clock)
	if clock == "" {
		clock = "00:00:00"
	}
	since, err := time.Parse(time.DateTime, day+" "+clock)
	if err != nil {
		panic(err)
	}
	return map[string]time.Duration{"days": 24 * time.Hour, "hours": time.Hour, "seconds": time.Second, "nanoseconds": 1}[unit], since
}

func encodeTime(day float64, units string) float64 {
	step, since := timeUnit(units)
	return float64(epoch.Add(time.Duration(day*24)*time.Hour).Sub(since)) / float64(step)
}

// decodeTime converts a time to days since 2000.
func decodeTime(value float64, units string) float64 {
	step, since := timeUnit(units)
	return (value*float64(step) + float64(since.Sub(epoch))) / float64(24*time.Hour)
}

// elements draws stored elements of a file, and enters their decoded values into want.
func (a *archive) elements(r *rand.Rand, s *style, origin, shape []int) (data any, attributes []classic.Attribute) {
	n := 1
	for _, length := range shape {
		n *= length
	}
	stored := make([]float64, n)
	for i := range stored {
		stored[i] = float64(r.IntN(150) - 70)
		value := stored[i]
		if s.scale != 0 {
			value = value*s.scale + s.offset
		}
		if s.fill != 0 && (r.IntN(5) == 0 || stored[i] == float64(s.fill)) {
			stored[i], value = float64(s.fill), math.NaN()
		}
		a.want[a.index(i, origin, shape)] = value
	}
	if s.scale != 0 {
		attributes = append(attributes, classic.Attribute{Name: "scale_factor", Value: []float64{s.scale}}, classic.Attribute{Name: "add_offset", Value: []float64{s.offset}})
	}
	if s.fill != 0 {
		attributes = append(attributes, classic.Attribute{Name: "_FillValue", Value: typed(s.typ, []float64{float64(s.fill)})})
	}
	return typed(s.typ, stored), attributes
}

// index returns the index in want of the i-th element of a file.
func (a *archive) index(i int, origin, shape []int) (at int) {
	step := 1
	for k := len(shape) - 1; k >= 0; k-- {
		at += (origin[k] + i%shape[k]) * step
		i /= shape[k]
		step *= a.shape[k]
	}
	return at
}

func typed(typ string, values []float64) any {
	switch typ {
	case "int8":
		return numbers[int8](values)
	case "int16":
		return numbers[int16](values)
	case "int32":
		return numbers[int32](values)
	case "float32":
		return numbers[float32](values)
	}
	return values
}

// filesIn returns the files of a manifest's current snapshot.
func filesIn(t *testing.T, out string) []*manifest.File {
	t.Helper()
	ctx := context.Background()
	repository, err := repo.Open(ctx, out)
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	at, err := repository.Current(ctx)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := repository.Load(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.Open(snap.Tables, table.InRepository(repository), table.NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list, err := r.Files(ctx, manifest.NewShared())
	if err != nil {
		t.Fatal(err)
	}
	return list
}
