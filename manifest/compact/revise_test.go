package compact

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"varve/fixtures/soak"
	"varve/manifest/ingest"
	"varve/manifest/plan"
)

// curate renames arrays and dimensions.
func (a *archive) curate(renames ...plan.Rename) {
	a.Helper()
	if _, err := ingest.Curate(a.Context(), a.out, &plan.Curation{Rename: renames}, &a.opts); err != nil {
		a.Fatal(err)
	}
}

// touch makes files differ from those that were scanned.
func (a *archive) touch(names ...string) {
	a.Helper()
	for _, name := range names {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(time.Hour)); err != nil {
			a.Fatal(err)
		}
	}
}

// sync makes the manifest one of these files.
func (a *archive) sync(names ...string) {
	a.Helper()
	opts := a.opts
	opts.Sources.Names = names
	if _, err := ingest.Sync(a.Context(), a.out, &opts); err != nil {
		a.Fatal(err)
	}
}

// TestRenamed checks that compacted and merged chunks stay valid when a curation renames an array and its dimensions, and back.
func TestRenamed(t *testing.T) {
	for _, chunks := range []map[string]int64{nil, {"time": 4}, {"/time": 4}} {
		a := drifting(t, 0, 3, 5, 8, 10)
		a.compact(Options{Chunks: chunks})
		want := a.counts()
		if want.Patched == 0 {
			t.Fatalf("%+v", want)
		}
		for _, step := range []struct {
			name    string
			renames []plan.Rename
		}{
			{"w", []plan.Rename{{Old: "v", New: "w"}}},
			{"w", []plan.Rename{{Old: "v", New: "w"}, {Old: "time", New: "t"}}},
			{"v", []plan.Rename{{Old: "time", New: "when"}, {Old: "x", New: "time"}}},
			{"v", nil},
		} {
			a.name = step.name
			a.curate(step.renames...)
			if got := a.counts(); got != want {
				t.Errorf("%v, renamed %v: %+v, want %+v", chunks, step.renames, got, want)
			}
			a.check(0, 10)
		}
		a.append(a.file(10, 13, 1))
		a.check(0, 13)
	}
}

// TestRevised checks which compacted chunks stay valid when sources are replaced, removed and inserted.
func TestRevised(t *testing.T) {
	for _, second := range []bool{false, true} {
		for _, merged := range []map[string]int64{nil, {"time": 2}} {
			a := newArchive(t)
			a.second = second
			names := a.drift(0, 2, 4, 6, 8, 10)
			a.build(names...)
			a.compact(Options{Chunks: merged})
			all := a.counts().Patched
			if all == 0 || all%5 != 0 {
				t.Fatalf("%d chunks are compacted", all)
			}
			each := all / 5
			// The third file is written again, with another packing.
			names[2] = a.file(4, 6, 1)
			a.touch(names[2])
			a.sync(names...)
			if got := a.counts(); got.Patched != 4*each || got.Reencoded == 0 {
				t.Errorf("second %t, merged %v: replaced: %+v, want %d", second, merged, got, 4*each)
			}
			a.check(0, 10)
			a.sync(names[1:]...)
			if got := a.counts(); got.Patched != 3*each {
				t.Errorf("second %t, merged %v: the first is gone: %+v, want %d", second, merged, got, 3*each)
			}
			a.check(2, 10)
			if r := a.compact(Options{}); r.Chunks == 0 || a.counts().Reencoded != 0 {
				t.Errorf("%+v, %+v", r, a.counts())
			}
			a.check(2, 10)
			a.sync(append(slices.Clone(names[1:]), a.file(10, 12, 0.5), a.file(0, 2, 1))...)
			a.check(0, 12)
			a.compacted(1)
			a.check(0, 12)
		}
	}
}

// TestRevisedRandomly replaces, removes, inserts, merges, compacts, renames and runs gc in random order, and reads all values after
// each step.
func TestRevisedRandomly(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	scale := func() float64 { return []float64{1, 0.5}[r.IntN(2)] }
	kept := int64(0)
	for range 8 {
		a, dim := newArchive(t), "time"
		a.second = r.IntN(2) == 0
		files := map[int]string{} // by the first day; each has two days
		low, high := 100, 100+2*(3+r.IntN(4))
		for day := low; day < high; day += 2 {
			files[day] = a.file(day, day+2, scale())
		}
		names := func() (list []string) {
			for _, day := range slices.Sorted(maps.Keys(files)) {
				list = append(list, files[day])
			}
			return list
		}
		a.build(names()...)
		for range 12 {
			was := a.counts().Patched
			switch r.IntN(7) {
			case 0:
				a.compact(Options{Chunks: map[string]int64{dim: int64(1 + r.IntN(7))}, BatchBytes: int64(1 + r.IntN(200))})
			case 1:
				a.compact(Options{BatchBytes: int64(1 + r.IntN(200))})
			case 2:
				day := low + 2*r.IntN((high-low)/2)
				files[day] = a.file(day, day+2, scale())
				a.touch(files[day])
				a.sync(names()...)
			case 3:
				if high-low > 4 {
					delete(files, low)
					low += 2
					a.sync(names()...)
				}
			case 4:
				low, high = low-2, high+2
				files[low], files[high-2] = a.file(low, low+2, scale()), a.file(high-2, high, scale())
				day := low + 2
				files[day] = a.file(day, day+2, scale())
				a.touch(files[low], files[day], files[high-2])
				a.sync(names()...)
			case 5:
				dim = []string{"time", "t"}[r.IntN(2)]
				a.curate([]plan.Rename{{Old: "time", New: dim}}...)
			default:
				a.compacted(1 + r.IntN(2))
			}
			kept += min(was, a.counts().Patched)
			a.check(low, high)
		}
	}
	if kept == 0 {
		t.Error("no compacted chunk was ever kept")
	}
}
