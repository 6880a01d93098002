package ingest

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"varve/fixtures/classic"
	"varve/fixtures/soak"
	"varve/manifest/plan"
)

// broadcasts holds variables that lack some of the dimensions along which files are concatenated: a
// number for the position along some of them, a time along the first, and an array of numbers per
// file.
type broadcasts struct {
	a         *archive
	along     map[string][]int // the dimensions, by variable
	want      map[string][]float64
	sheet     int // number of elements of the variable "sheet" in one file
	broadcast []plan.Broadcast
}

func (l *broadcasts) begin(r *rand.Rand, a *archive) {
	l.a = a
	all := r.Perm(len(a.dims))
	slices.Sort(all)
	some := r.Perm(len(a.dims))[:1+r.IntN(len(a.dims))]
	slices.Sort(some)
	l.sheet = []int{3, 1100}[r.IntN(2)] // the manifest stores 3 elements, and refers to the files for 1,100
	l.along = map[string][]int{"id": some, "ref": {0}, "sheet": all}
	l.want = map[string][]float64{}
	for _, name := range []string{"id", "ref", "sheet"} {
		n := 1
		for _, length := range l.shape(name) {
			n *= int(length)
		}
		l.want[name] = make([]float64, n)
		for _, k := range l.along[name] {
			l.broadcast = append(l.broadcast, plan.Broadcast{Array: name, Dim: a.dims[k]})
		}
	}
}

// shape returns the shape of an array.
func (l *broadcasts) shape(name string) (shape []int64) {
	for _, k := range l.along[name] {
		shape = append(shape, int64(l.a.shape[k]))
	}
	if name == "sheet" {
		shape = append(shape, int64(l.sheet))
	}
	return shape
}

// add makes the variables of a file.
func (l *broadcasts) add(r *rand.Rand, f *classic.File, s *style, cell []int) {
	id := 0
	for _, k := range l.along["id"] {
		id = 4*id + cell[k]
	}
	l.enter("id", cell, []float64{float64(id)})
	f.Vars = append(f.Vars, classic.Var{Name: "id", Data: typed(s.typ, []float64{float64(id)})})

	day := float64(5 * cell[0])
	l.enter("ref", cell, []float64{day})
	f.Vars = append(f.Vars, classic.Var{Name: "ref", Data: []float64{encodeTime(day, s.units)}, Attributes: []classic.Attribute{{Name: "units", Value: s.units}}})

	f.Dims = append(f.Dims, classic.Dim{Name: "n", Length: l.sheet})
	sheet := classic.Var{Name: "sheet", Dims: []string{"n"}}
	one := &archive{want: make([]float64, l.sheet), shape: []int{l.sheet}}
	sheet.Data, sheet.Attributes = one.elements(r, s, []int{0}, []int{l.sheet})
	l.enter("sheet", cell, one.want)
	f.Vars = append(f.Vars, sheet)
}

// enter writes the values of a file to all indices of its position.
func (l *broadcasts) enter(name string, cell []int, values []float64) {
	along := l.along[name]
	at := make([]int, len(along))
	for i, k := range along {
		at[i] = l.a.cuts[k][cell[k]]
	}
	for {
		flat := 0
		for i, k := range along {
			flat = flat*l.a.shape[k] + at[i]
		}
		copy(l.want[name][flat*len(values):], values)
		i := len(along) - 1
		for ; i >= 0; i-- {
			k := along[i]
			if at[i]++; at[i] < l.a.cuts[k][cell[k]+1] {
				break
			}
			at[i] = l.a.cuts[k][cell[k]]
		}
		if i < 0 {
			return
		}
	}
}

// check compares a manifest with the files.
func (l *broadcasts) check(t *testing.T, dir string) bool {
	t.Helper()
	for name, want := range l.want {
		got, array := decoded(t, dir, "/"+name, name != "ref")
		if units, ok := array.Schema().Attributes.Get("units"); ok {
			for i := range got {
				got[i] = decodeTime(got[i], string(units[1:len(units)-1]))
			}
		}
		if !slices.Equal(array.Schema().Shape, l.shape(name)) || !slices.EqualFunc(got, want, same) {
			t.Errorf("%s%v is %v, not %v", name, array.Schema().Shape, got, want)
			return false
		}
		if missing := slices.ContainsFunc(want, math.IsNaN); name != "sheet" && missing {
			t.Errorf("%s has missing values", name)
		}
	}
	return true
}

// TestRandomBroadcasts: a broadcast array has the values of each file at all indices of that file,
// whether files are built at once in any order or appended in parts.
func TestRandomBroadcasts(t *testing.T) {
	configured(t)
	var seen appended
	for seed := range soak.Seeds(t, 8) {
		r := rand.New(rand.NewPCG(seed, 3))
		dir := t.TempDir()
		a := (&archive{broadcasts: &broadcasts{}}).write(t, r, filepath.Join(dir, "files"), []int{1, 2, 1, 3}[seed%4])
		opts := optionsFor(shuffled(r, a.files)...)
		opts.Plan.Broadcast = a.broadcasts.broadcast
		if seed%3 == 0 {
			opts.Plan.Schemas = []plan.Override{{Array: "sheet", Chunks: map[string][]int64{"time": {2}}}} // other chunks than the files have
		}
		out := filepath.Join(dir, "a.varve")
		if _, err := Build(t.Context(), out, opts); err != nil || !a.check(t, out) || !a.broadcasts.check(t, out) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !seen.try(t, r, a) {
			t.Fatalf("seed %d: appending failed", seed)
		}
	}
	if (seen.behind == 0 || seen.anew == 0) && !soak.Selected() {
		t.Errorf("%d appends extended the plan, %d made a new one", seen.behind, seen.anew)
	}
}
