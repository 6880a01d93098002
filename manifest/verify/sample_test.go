package verify

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/store"
	"varve/readers/source"
)

// TestSampleIsSpread checks that samples have the asked size, select one chunk of each run, and repeat.
func TestSampleIsSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		all, fraction, seed := 1+r.Int64N(300), 0.001+r.Float64()*0.999, r.Uint64()
		draw := func() (list []int64) {
			s := newSample(all, fraction, seed)
			for at := int64(0); at < all; {
				n := min(1+r.Int64N(40), all-at)
				for d := range s.take(at, n) {
					list = append(list, at+d)
				}
				at += n
			}
			return list
		}
		list := draw()
		s := newSample(all, fraction, seed)
		if int64(len(list)) != s.size || s.size < 1 || !slices.Equal(list, draw()) {
			t.Fatalf("%d of %d chunks: %v", s.size, all, list)
		}
		for i, n := range list {
			if n < s.start(int64(i)) || n >= s.start(int64(i)+1) {
				t.Errorf("chunk %d is not in run %d of %d", n, i, s.size)
			}
		}
	}
	if s := newSample(0, 0.5, 1); len(slices.Collect(s.take(0, 0))) != 0 {
		t.Error("a chunk of nothing is selected")
	}
}

// TestVerifyOverwritten overwrites a value of a netCDF-3 file in place. Nothing but a checksum can notice that, and
// reads of single steps do not verify it, because they read only a part of the variable.
func TestVerifyOverwritten(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, isChecked := range []bool{false, true} {
		dir := t.TempDir()
		name, out := filepath.Join(dir, "a.nc"), filepath.Join(dir, "out.varve")
		f := &classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 5, Records: true}, {Name: "x", Length: 3}},
			Vars: []classic.Var{
				{Name: "v", Dims: []string{"time", "x"}, Data: make([]float32, 15)},
				{Name: "w", Dims: []string{"time", "x"}, Data: make([]float32, 15)},
			},
		}
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{name}}, Checksums: isChecked}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)-24] ^= 1 // the first value of v in the last record
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		for _, opts := range []*Options{{}, {Deep: true}, {Sample: 1, Seed: 7}} {
			s, err := store.Open(t.Context(), out, nil)
			if err != nil {
				t.Fatal(err)
			}
			result, err := Verify(t.Context(), s, opts)
			if err != nil {
				t.Fatal(err)
			}
			found := len(result.Problems) > 0 && result.Problems[0].Array == "/v"
			if want := isChecked && (opts.Deep || opts.Sample > 0); found != want {
				t.Errorf("checksums %t, %+v: problems %v", isChecked, opts, result.Problems)
			}
			for _, p := range result.Problems {
				if p.Array == "/w" {
					t.Errorf("w did not change: %v", p)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestVerifySlices checks that slices read all sources and chunks once, and that one of them finds a damaged chunk.
func TestVerifySlices(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	var names []string
	for i := range 5 {
		name := filepath.Join(dir, string(rune('a'+i))+".nc")
		f := &classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 3, Records: true}, {Name: "x", Length: 2}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Data: []float64{float64(3 * i), float64(3*i + 1), float64(3*i + 2)}},
				{Name: "v", Dims: []string{"time", "x"}, Data: []int16{1, 2, 3, 4, 5, int16(i)}},
			},
		}
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	out := filepath.Join(dir, "out.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: names}, Checksums: true}); err != nil {
		t.Fatal(err)
	}
	check := func() (total Result) {
		s, err := store.Open(t.Context(), out, &store.Options{Allow: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		const of = 4
		for i := range int64(of) {
			r, err := Verify(t.Context(), s, &Options{Deep: true, Slice: manifest.Slice{Number: i, Of: of}})
			if err != nil {
				t.Fatal(err)
			}
			total.Sources += r.Sources
			total.Chunks += r.Chunks
			total.Stored = r.Stored
			total.Problems = append(total.Problems, r.Problems...)
		}
		return total
	}
	if r := check(); r.Sources != 5 || r.Stored == 0 || r.Chunks != r.Stored || len(r.Problems) > 0 {
		t.Errorf("%+v", r)
	}
	info, err := os.Stat(names[2])
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(names[2])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := errors.Join(os.WriteFile(names[2], data, 0o666), os.Chtimes(names[2], info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if r := check(); len(r.Problems) != 1 || !errors.Is(r.Problems[0].Err, source.ErrChanged) {
		t.Errorf("%+v", r.Problems)
	}
}
