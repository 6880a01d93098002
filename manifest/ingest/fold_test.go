package ingest

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"varve/fixtures/classic"
	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/repo"
)

// TestTail: tables of any sizes stay few, and each row is rewritten a few times.
func TestTail(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for name, next := range map[string]func(i int) int64{
		"equal":      func(int) int64 { return 700 },
		"one large":  func(i int) int64 { return map[bool]int64{true: 1 << 22, false: 700}[i == 0] },
		"random":     func(int) int64 { return 1 + r.Int64N(1<<(1+r.IntN(16))) },
		"some large": func(i int) int64 { return map[bool]int64{true: 50_000, false: 300}[i%97 == 0] },
		"rising":     func(i int) int64 { return 10 * int64(i+1) },
		"falling":    func(i int) int64 { return 10 * int64(5000-i) },
	} {
		t.Run(name, func(t *testing.T) {
			var sizes []int64
			var sum, written int64
			most := 0
			for i := range 5000 {
				sizes = append(sizes, next(i))
				sum += sizes[len(sizes)-1]
				if from := tail(sizes); from < len(sizes) {
					one := int64(0)
					for _, n := range sizes[from:] {
						one += n
					}
					written += one
					sizes = append(sizes[:from], one)
				}
				most = max(most, len(sizes))
			}
			t.Logf("%d tables at most; each byte written %.1f times", most, float64(written)/float64(sum))
			levels := math.Log2(float64(sum))
			if float64(most) > 3*levels || float64(written) > float64(sum)*levels/2 {
				t.Errorf("%d tables, and each byte written %.1f times", most, float64(written)/float64(sum))
			}
		})
	}
}

// TestTailOfLarge: large tables are not merged.
func TestTailOfLarge(t *testing.T) {
	var sizes []int64
	for range 1000 {
		sizes = append(sizes, foldBytes/20)
		if from := tail(sizes); from < len(sizes) {
			one := int64(0)
			for _, n := range sizes[from:] {
				one += n
			}
			if one > foldFactor*foldBytes {
				t.Fatalf("%d bytes were merged", one)
			}
			sizes = append(sizes[:from], one)
		}
	}
}

// TestManyAppends: a manifest after many appends is as small and correct as one that was built at
// once, and old snapshots still exist.
func TestManyAppends(t *testing.T) {
	configured(t)
	seed := soak.Seed(t)
	a := newSeries(t, rand.New(rand.NewPCG(seed, 3)), 60)
	out := filepath.Join(t.TempDir(), "a.varve")
	mustBuild(t, out, a.files[0])
	var half string
	for i, name := range a.files[1:] {
		outcome, err := Append(t.Context(), out, optionsFor(name))
		if err != nil {
			t.Fatal(err)
		}
		if i == 30 {
			half = outcome.Snapshot.ID
		}
		checkFew(t, outcome.Snapshot)
	}
	a.check(t, out)
	repository, err := repo.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	now := checkSound(t, repository, "")
	if !new(appended).asBuilt(t, now, optionsFor(a.files...)) {
		t.Fatal("the appended manifest differs from a manifest built from all files")
	}
	if entries, err := os.ReadDir(filepath.Join(out, "drafts")); err != nil || len(entries) > 0 {
		t.Errorf("%d drafts were left behind: %v", len(entries), err)
	}
	if before := checkSound(t, repository, half); before.Sources != 32 {
		t.Errorf("the older snapshot has %d sources", before.Sources)
	}
	if _, err := repository.GC(t.Context(), &repo.GCOptions{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	tables, err := os.ReadDir(filepath.Join(out, "tables"))
	if err != nil || len(tables) > len(now.Tables) { // equal tables share one file
		t.Errorf("%d table files are left, but the snapshot has %d tables: %v", len(tables), len(now.Tables), err)
	}
	a.check(t, out)
}

// TestManyPlacements: the number of tables does not grow with the number of placements. One file
// per placement would mean as many open files. Here, each file has variables that only some files
// have.
func TestManyPlacements(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	var files []string
	for i := range 90 {
		f := &classic.File{Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "x", Length: 2}}, Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(i)}},
			{Name: "all", Dims: []string{"time", "x"}, Data: []int32{int32(i), 1}},
		}}
		for k := i % 30; k < 30; k++ {
			f.Vars = append(f.Vars, classic.Var{Name: fmt.Sprintf("v%02d", k), Dims: []string{"time", "x"}, Data: []float32{float32(i), float32(k)}})
		}
		files = append(files, filepath.Join(dir, fmt.Sprintf("%02d.nc", i)))
		if err := f.Write(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "a.varve")
	now := mustBuild(t, out, files[:30]...)
	if len(now.Placements) < 30 {
		t.Fatalf("%d placements", len(now.Placements))
	}
	checkFew(t, now)
	for _, name := range files[30:] {
		outcome, err := Append(t.Context(), out, optionsFor(name))
		if err != nil {
			t.Fatal(err)
		}
		now = outcome.Snapshot
		checkFew(t, now)
	}
	if !new(appended).asBuilt(t, now, optionsFor(files...)) {
		t.Fatal("the appended manifest differs from a manifest built from all files")
	}
	repository, err := repo.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	checkSound(t, repository, "")
	got, _ := decoded(t, out, "/v29", true)
	for i := range files {
		if got[2*i] != float64(i) || got[2*i+1] != 29 {
			t.Fatalf("step %d is %v", i, got[2*i:2*i+2])
		}
	}
}

// newSeries writes files with one step each.
func newSeries(t testing.TB, r *rand.Rand, files int) *archive {
	a := &archive{dims: []string{"time"}, levels: 2, shape: []int{files, 2}, want: make([]float64, 2*files), alike: true}
	cuts, axis := []int{0}, []float64{}
	for i := range files {
		cuts, axis = append(cuts, i+1), append(axis, float64(i))
	}
	a.cuts, a.axes = [][]int{cuts}, [][]float64{axis}
	style := &style{typ: "int16", units: timeUnits[0], timeType: "float64"}
	dir := t.TempDir()
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("%04d.nc", i))
		file := a.file(r, style, []int{i})
		file.Vars = append(file.Vars, classic.Var{Name: "small", Dims: []string{"time"}, Data: []int32{int32(r.IntN(100))}})
		if err := file.Write(name); err != nil {
			t.Fatal(err)
		}
		a.files = append(a.files, name)
	}
	return a
}

// checkFew checks that there are few tables, segments and pieces.
func checkFew(t *testing.T, s *manifest.Snapshot) {
	t.Helper()
	count := map[manifest.TableKind]int{}
	for _, table := range s.Tables {
		count[table.Kind]++
	}
	for kind, n := range count {
		if n > 10 {
			t.Fatalf("%d sources: %d tables of %s", s.Sources, n, kind)
		}
	}
	for _, p := range s.Placements {
		if len(p.Segments) > 10 {
			t.Fatalf("%d sources: %d segments", s.Sources, len(p.Segments))
		}
	}
	for _, a := range s.Arrays {
		if len(a.Pieces) > 10 {
			t.Fatalf("%d sources: %d pieces of %s", s.Sources, len(a.Pieces), a.Path)
		}
	}
}

// checkSound checks the files of a snapshot; an empty ID means the current one.
func checkSound(t *testing.T, repository *repo.Repository, id string) *manifest.Snapshot {
	t.Helper()
	var err error
	if id == "" {
		id, err = repository.Current(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := repository.Load(t.Context(), id)
	if err == nil {
		err = repository.Check(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(s.Tables, func(a, b manifest.Table) int {
		if a.Kind != b.Kind {
			return 0
		}
		return int(a.First - b.First)
	}) {
		t.Error("tables of a kind are not listed in the order of their rows")
	}
	return s
}

// BenchmarkAppends appends files one at a time, and reports the cost of the last hundred, including
// writes to disk.
func BenchmarkAppends(b *testing.B) {
	b.Setenv("XDG_CONFIG_HOME", b.TempDir())
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := newSeries(b, rand.New(rand.NewPCG(1, 1)), n+1)
			for b.Loop() {
				out := filepath.Join(b.TempDir(), "a.varve")
				if _, err := Build(b.Context(), out, optionsFor(a.files[0])); err != nil {
					b.Fatal(err)
				}
				var outcome *Result
				var start time.Time
				var before int64
				for i, name := range a.files[1:] {
					if i == n-100 {
						start, before = time.Now(), bytesIn(b, out)
					}
					var err error
					if outcome, err = Append(b.Context(), out, optionsFor(name)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(time.Since(start).Milliseconds())/100, "ms/append")
				b.ReportMetric(float64(bytesIn(b, out)-before)/100, "B/append")
				b.ReportMetric(float64(len(outcome.Snapshot.Tables)), "tables")
			}
		})
	}
}

// bytesIn returns the size of a folder.
func bytesIn(t testing.TB, dir string) (n int64) {
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
