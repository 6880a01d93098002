package compact

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/manifest/verify"
	"varve/readers/source"
)

// floats returns the unpacked numbers of v.
func floats(t testing.TB, v *store.Array, e codec.Elems) (out []float64) {
	t.Helper()
	if text, ok := v.Schema().Attributes.Get("scale_factor"); ok {
		scale, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			for i := range out {
				out[i] *= scale
			}
		}()
	}
	b := e.Fixed
	switch v.Schema().DataType.Name() {
	case "int16":
		for ; len(b) > 0; b = b[2:] {
			out = append(out, float64(int16(binary.LittleEndian.Uint16(b))))
		}
	case "float32":
		for ; len(b) > 0; b = b[4:] {
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
	case "float64":
		for ; len(b) > 0; b = b[8:] {
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	default:
		t.Fatalf("v is %s", v.Schema().DataType.Name())
	}
	return out
}

// drifting builds an archive with two scales, so that every chunk has to be re-encoded.
func drifting(t testing.TB, days ...int) *archive {
	a := newArchive(t)
	a.build(a.drift(days...)...)
	return a
}

func (a *archive) drift(days ...int) (names []string) {
	for i := range len(days) - 1 {
		names = append(names, a.file(days[i], days[i+1], []float64{0.5, 1}[i%2]))
	}
	return names
}

// TestCompact checks that clients get the same chunks before and after Compact, that all are compacted chunks then,
// and that a second run does nothing.
func TestCompact(t *testing.T) {
	a := drifting(t, 100, 103, 108, 110)
	before := a.counts()
	if before.Reencoded == 0 || before.Verbatim > 0 {
		t.Fatalf("nothing to do: %+v", before)
	}
	var chunks [][]byte
	v := a.v()
	for w := v.Grid().Walk(); w.Next(); {
		b, err := v.Chunk(t.Context(), w.Coords)
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, b)
	}
	r := a.compact(Options{})
	if r.Chunks != before.Reencoded || r.Adopted != 0 || r.Snapshot == nil || r.Snapshot.ID != a.snapshot().ID {
		t.Errorf("did %+v", r)
	}
	if got, want := a.counts(), (manifest.Counts{Verbatim: before.Reencoded, Patched: before.Reencoded}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	a.check(100, 110)
	v = a.v()
	for w := v.Grid().Walk(); w.Next(); {
		b, err := v.Chunk(t.Context(), w.Coords)
		if err != nil || !bytes.Equal(b, chunks[0]) {
			t.Errorf("chunk %v differs from the chunk before Compact (%v)", w.Coords, err)
		}
		chunks = chunks[1:]
	}
	if r := a.compact(Options{}); r.Snapshot != nil {
		t.Errorf("a second run published %+v", r)
	}
	if left := a.files("drafts"); left != nil {
		t.Errorf("drafts remain: %q", left)
	}
}

// TestPartsOfKept reads parts of compacted chunks, with and without a cache.
func TestPartsOfKept(t *testing.T) {
	a := drifting(t, 0, 5, 10, 12)
	shape := a.v().Grid().Shape()
	form := a.v().Schema().Form(shape)
	whole := codec.NewElems(form)
	if err := a.v().ReadRegion(t.Context(), grid.Whole(shape), whole); err != nil {
		t.Fatal(err)
	}
	a.compact(Options{})
	for _, cache := range []int64{0, -1} {
		v := openWith(t, a, cache)
		for at := range shape[0] * shape[1] {
			one := grid.Region{Origin: []int64{at / shape[1], at % shape[1]}, Shape: []int64{1, 1}}
			got := codec.NewElems(v.Schema().Form(one.Shape))
			if err := v.ReadRegion(t.Context(), one, got); err != nil {
				t.Fatal(err)
			}
			if size := int64(form.Type.Size); !bytes.Equal(got.Fixed, whole.Fixed[at*size:][:size]) {
				t.Errorf("cache of %d, %v: %v, want %v", cache, one.Origin, got.Fixed, whole.Fixed[at*size:][:size])
			}
		}
	}
}

// openWith opens v with a cache of a size in bytes.
func openWith(t *testing.T, a *archive, cache int64) *store.Array {
	t.Helper()
	s, err := store.Open(t.Context(), a.out, &store.Options{CacheBytes: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	v, err := s.Array("v")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRanges checks that a compacted chunk is one range of a file.
func TestRanges(t *testing.T) {
	a := drifting(t, 0, 5, 10, 12)
	a.compact(Options{BatchBytes: 1})
	s, v := a.open(), a.v()
	for w := v.Grid().Walk(); w.Next(); {
		l, err := v.Locate(t.Context(), w.Coords)
		if err != nil {
			t.Fatal(err)
		}
		src, err := s.Source(t.Context(), l.Source)
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(src.URL)
		b, err2 := v.Chunk(t.Context(), w.Coords)
		if err != nil || err2 != nil || int64(len(file)) != src.Size || !bytes.Equal(file[l.Offset:l.Offset+l.Size], b) {
			t.Errorf("chunk %v: %d bytes from %d on of %s (%v, %v)", w.Coords, l.Size, l.Offset, src.URL, err, err2)
		}
	}
	if n := len(a.files("patches")); n < 4 {
		t.Errorf("%d files of patches", n)
	}
}

// TestInterrupted stops a run many times. It checks that this publishes nothing, and that the next run does not repeat
// finished batches.
func TestInterrupted(t *testing.T) {
	days := []int{0}
	for range 40 {
		days = append(days, days[len(days)-1]+2)
	}
	a := drifting(t, days...)
	before := a.counts()
	id := a.snapshot().ID
	left, runs := before.Reencoded, 0
	for ; left > 5; runs++ {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Compact(ctx, a.out, &Options{Workers: 2, BatchBytes: 40, Progress: func(done, total int64) {
			if total != left {
				t.Fatalf("%d chunks to do, want %d", total, left)
			}
			if done == 5 {
				cancel()
			}
		}})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted: %v", err)
		}
		left -= 5
		if a.snapshot().ID != id {
			t.Fatal("an interrupted run was published")
		}
		a.check(0, days[40])
	}
	r := a.compact(Options{})
	if r.Chunks != left || r.Adopted != before.Reencoded-left || runs == 0 {
		t.Errorf("%d of %d chunks were left, but Compact returned %+v", left, before.Reencoded, r)
	}
	a.check(0, days[40])
	if got := a.counts(); got.Patched != before.Reencoded {
		t.Errorf("%+v", got)
	}
	a.compacted(1)
}

// TestSlices checks that slices re-encode all chunks once, in any order and again, that readers see them only after the
// whole run, and that a slice that is missing or damaged is done then.
func TestSlices(t *testing.T) {
	days := []int{0}
	for range 40 {
		days = append(days, days[len(days)-1]+2)
	}
	a := drifting(t, days...)
	before, id := a.counts(), a.snapshot().ID
	const of, missing, damaged = 6, 2, 4
	done, lost := int64(0), int64(0)
	for _, number := range []int64{5, 0, 1, damaged, 3, 0} {
		r := a.compact(Options{Slice: manifest.Slice{Number: number, Of: of}, BatchBytes: 40, Progress: func(done, total int64) {
			if done > total {
				t.Errorf("slice %d: %d of %d chunks", number, done, total)
			}
		}})
		if r.Snapshot != nil || r.Chunks == 0 && r.Adopted == 0 {
			t.Errorf("slice %d: %+v", number, r)
		}
		done += r.Chunks
		if number == damaged {
			lost = r.Chunks
		}
	}
	if a.snapshot().ID != id {
		t.Error("a slice was published")
	}
	if err := os.WriteFile(filepath.Join(a.out, "drafts", draftName(manifest.Slice{Number: damaged, Of: of})+".json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := a.compact(Options{})
	if r.Adopted != done-lost || r.Adopted+r.Chunks != before.Reencoded || r.Chunks == 0 {
		t.Errorf("slices re-encoded %d of %d chunks, and %d of them were lost: %+v", done, before.Reencoded, lost, r)
	}
	a.check(0, days[40])
	if got := a.counts(); got.Patched != before.Reencoded {
		t.Errorf("%+v", got)
	}
	if left := a.files("drafts"); left != nil {
		t.Errorf("drafts remain: %q", left)
	}
	a.compacted(1)
	if _, err := Compact(t.Context(), a.out, &Options{Slice: manifest.Slice{Number: 3, Of: 3}}); err == nil {
		t.Error("a slice that is not there is accepted")
	}
}

// compacted runs gc, and checks that the snapshots that it keeps are complete and that no unused file remains.
func (a *archive) compacted(keep int) {
	a.Helper()
	if _, err := a.repository().GC(a.Context(), &repo.GCOptions{Keep: keep}); err != nil {
		a.Fatal(err)
	}
	var needed []string
	for snap, err := range a.repository().History(a.Context()) {
		if err != nil {
			a.Fatal(err)
		}
		if err := a.repository().Check(a.Context(), snap); err != nil {
			a.Error(err)
		}
		for _, t := range snap.Tables {
			needed = append(needed, t.Name)
		}
	}
	for _, name := range a.files("patches") {
		if !slices.Contains(needed, name) {
			a.Errorf("%s remains after gc", name)
		}
	}
}

// TestStaleDraft checks that Compact uses the chunks of a draft only where they are still correct.
func TestStaleDraft(t *testing.T) {
	interrupt := func(a *archive) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := Compact(ctx, a.out, &Options{BatchBytes: 1, Progress: func(int64, int64) { cancel() }}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	t.Run("a file is inserted before the others", func(t *testing.T) {
		a := drifting(t, 10, 12, 14)
		interrupt(a)
		a.append(a.file(0, 10, 1))
		if r := a.compact(Options{}); r.Adopted == 0 {
			t.Error("adopted nothing")
		}
		a.check(0, 14)
	})
	t.Run("a file is appended", func(t *testing.T) {
		a := drifting(t, 10, 12, 14)
		interrupt(a)
		a.append(a.file(14, 16, 0.5))
		if r := a.compact(Options{}); r.Adopted == 0 {
			t.Error("adopted nothing")
		}
		a.check(10, 16)
	})
	t.Run("a file is inserted between the others", func(t *testing.T) {
		a := drifting(t, 0, 5)
		a.append(a.file(10, 12, 1))
		a.compact(Options{})
		a.append(a.file(12, 14, 0.5))
		interrupt(a) // the draft has the compacted chunks, which the next snapshot has at other places
		a.append(a.file(5, 10, 0.5))
		left := a.counts().Reencoded
		if r := a.compact(Options{}); r.Adopted == 0 || r.Adopted+r.Chunks != left {
			t.Errorf("adopted %d and encoded %d of %d chunks", r.Adopted, r.Chunks, left)
		}
		a.check(0, 14)
	})
	t.Run("slices of different numbers", func(t *testing.T) {
		a := drifting(t, 0, 3, 6, 9, 12)
		left := a.counts().Reencoded
		a.compact(Options{Slice: manifest.Slice{Number: 1, Of: 2}})
		a.compact(Options{Slice: manifest.Slice{Number: 1, Of: 3}})
		if r := a.compact(Options{}); r.Adopted == 0 || r.Chunks == 0 || r.Adopted+r.Chunks != left {
			t.Errorf("adopted %d and encoded %d of %d chunks", r.Adopted, r.Chunks, left)
		}
		a.check(0, 12)
	})
	t.Run("chunks are merged", func(t *testing.T) {
		a := drifting(t, 10, 12, 14)
		interrupt(a)
		a.compact(Options{Chunks: map[string]int64{"time": 3}})
		a.check(10, 14)
	})
	t.Run("a file of chunks is missing", func(t *testing.T) {
		a := drifting(t, 10, 12, 14)
		interrupt(a)
		for _, name := range a.files("patches") {
			if strings.HasSuffix(name, ".bin") {
				if err := os.Remove(filepath.Join(a.out, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r := a.compact(Options{}); r.Adopted != 0 {
			t.Errorf("adopted %d chunks", r.Adopted)
		}
		a.check(10, 14)
	})
	t.Run("the draft has runs without counts", func(t *testing.T) {
		a := drifting(t, 10, 12, 14)
		interrupt(a)
		name := filepath.Join(a.out, "drafts", draftPrefix+".json")
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		broken := regexp.MustCompile(`"counts":\[[^]]*\]`).ReplaceAll(data, []byte(`"counts":[]`))
		if bytes.Equal(broken, data) {
			t.Fatalf("no counts in %s", data)
		}
		if err := os.WriteFile(name, broken, 0o666); err != nil {
			t.Fatal(err)
		}
		if r := a.compact(Options{}); r.Adopted != 0 {
			t.Errorf("adopted %d chunks", r.Adopted)
		}
		a.check(10, 14)
	})
	t.Run("the draft is not valid JSON", func(t *testing.T) {
		a := drifting(t, 10, 12, 14)
		interrupt(a)
		if err := os.WriteFile(filepath.Join(a.out, "drafts", draftPrefix+".json"), []byte("{"), 0o666); err != nil {
			t.Fatal(err)
		}
		a.compact(Options{})
		a.check(10, 14)
	})
}

// TestAppend checks that compacted chunks stay valid when files are appended after or before the others.
func TestAppend(t *testing.T) {
	for _, second := range []bool{false, true} {
		a := newArchive(t)
		a.second = second
		a.build(a.drift(50, 52, 55)...)
		a.compact(Options{})
		kept := a.counts().Patched
		a.append(a.file(55, 60, 0.5))
		if got := a.counts(); got.Patched != kept || got.Reencoded == 0 {
			t.Errorf("appended after %d compacted chunks: %+v", kept, got)
		}
		a.check(50, 60)
		if r := a.compact(Options{}); r.Chunks == 0 || r.Chunks >= a.counts().Verbatim {
			t.Errorf("Compact returned %+v for %+v", r, a.counts())
		}
		a.check(50, 60)
		kept = a.counts().Patched
		a.append(a.file(40, 50, 0.5))
		if got := a.counts(); got.Patched != kept || got.Reencoded == 0 {
			t.Errorf("inserted before %d compacted chunks: %+v", kept, got)
		}
		a.check(40, 60)
		a.compact(Options{})
		a.check(40, 60)
		if got := a.counts(); got.Reencoded != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// TestBetween checks that compacted chunks stay valid when a file is inserted between others, until the files change, and that gc
// removes them then.
func TestBetween(t *testing.T) {
	a := drifting(t, 0, 5)
	a.append(a.file(10, 12, 1))
	a.compact(Options{})
	kept := a.counts().Patched
	a.append(a.file(5, 10, 0.5))
	if got := a.counts(); got.Patched != kept || got.Reencoded == 0 {
		t.Errorf("%+v, want %d compacted chunks", got, kept)
	}
	a.check(0, 12)
	names := []string{a.file(0, 5, 0.5), a.file(5, 10, 1), a.file(10, 12, 0.5)}
	a.touch(names...)
	a.sync(names...)
	if got := a.counts(); got.Patched != 0 || got.Reencoded == 0 {
		t.Errorf("%+v", got)
	}
	a.check(0, 12)
	a.compacted(1)
	if left := a.files("patches"); left != nil {
		t.Errorf("unused files remain: %q", left)
	}
}

// TestRandom appends, inserts, merges, compacts and runs gc in random order, and reads all values after each step.
func TestRandom(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 8 {
		a := newArchive(t)
		a.second = r.IntN(2) == 0
		low, high, scale := 1000, 1000, func() float64 { return []float64{1, 0.5}[r.IntN(2)] }
		if r.IntN(2) == 0 {
			scale = func() float64 { return 0 }
		}
		behind := func() (names []string) {
			for range 1 + r.IntN(4) {
				n := 1 + r.IntN(3)
				names = append(names, a.file(high, high+n, scale()))
				high += n
			}
			return names
		}
		a.build(behind()...)
		for range 12 {
			switch r.IntN(6) {
			case 0, 1:
				a.append(behind()...)
			case 2:
				n := 1 + r.IntN(3)
				a.append(a.file(low-n, low, scale()))
				low -= n
			case 3:
				a.compact(Options{Chunks: map[string]int64{"time": int64(1 + r.IntN(7))}, BatchBytes: int64(1 + r.IntN(200))})
			case 4:
				a.compact(Options{BatchBytes: int64(1 + r.IntN(200))})
			default:
				a.compacted(1 + r.IntN(2))
			}
			a.check(low, high)
		}
	}
}

// TestMergeSteps merges chunks of one time step, and does so again after an append.
func TestMergeSteps(t *testing.T) {
	a := newArchive(t)
	var names []string
	for day := range 25 {
		names = append(names, a.file(day, day+1, 0))
	}
	a.build(names...)
	if got := a.counts(); got.Verbatim != 25 {
		t.Fatalf("%+v", got)
	}
	r := a.compact(Options{Chunks: map[string]int64{"time": 10}})
	if got, want := a.counts(), (manifest.Counts{Verbatim: 3, Patched: 3}); got != want || !slices.Equal(r.Merged, []string{"/v"}) {
		t.Errorf("%+v, want %+v; Compact returned %+v", got, want, r)
	}
	a.check(0, 25)
	a.append(a.file(25, 26, 0), a.file(26, 29, 0))
	if got := a.counts(); got.Patched != 3 || got.Verbatim != 7 {
		t.Errorf("appended: %+v", got)
	}
	a.check(0, 29)
	if r := a.compact(Options{Chunks: map[string]int64{"/time": 10}}); r.Chunks != 1 {
		t.Errorf("re-encoded more than the last chunk: %+v", r)
	}
	if got, want := a.counts(), (manifest.Counts{Verbatim: 3, Patched: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	a.check(0, 29)
	a.compacted(1)
	var unknown *DimensionError
	if _, err := Compact(t.Context(), a.out, &Options{Chunks: map[string]int64{"tim": 5}}); !errors.As(err, &unknown) || unknown.Name != "tim" {
		t.Errorf("an unknown dimension: %v", err)
	}
}

// TestChanged checks that the error names all changed sources, and that nothing is published.
func TestChanged(t *testing.T) {
	a := drifting(t, 0, 2, 4, 6, 8)
	id := a.snapshot().ID
	for _, name := range []string{"00002.nc", "00006.nc"} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte("other"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Compact(t.Context(), a.out, &Options{})
	if !errors.Is(err, source.ErrChanged) || !strings.Contains(err.Error(), "00002.nc") || !strings.Contains(err.Error(), "00006.nc") || strings.Contains(err.Error(), "00004.nc") {
		t.Errorf("got %v", err)
	}
	if a.snapshot().ID != id {
		t.Error("a snapshot was published")
	}
}

// TestConflict appends a file while chunks are re-encoded, and checks that Compact continues with all files.
func TestConflict(t *testing.T) {
	a := drifting(t, 10, 12, 14)
	chunks := a.counts().Reencoded
	appended := false
	r := a.compact(Options{BatchBytes: 1, Progress: func(int64, int64) {
		if !appended {
			appended = true
			a.append(a.file(14, 17, 0.5))
		}
	}})
	if got := a.counts(); got.Reencoded != 0 || got.Patched <= chunks || r.Chunks != got.Patched {
		t.Errorf("%+v, but Compact returned %+v", got, r)
	}
	a.check(10, 17)
}

// TestDamaged checks that every way of reading a damaged compacted chunk fails.
func TestDamaged(t *testing.T) {
	a := drifting(t, 0, 2, 4)
	a.compact(Options{})
	for _, name := range a.files("patches") {
		if !strings.HasSuffix(name, ".bin") {
			continue
		}
		name = filepath.Join(a.out, name)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[0] ^= 1
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, v := a.open(), a.v()
	if _, err := v.Chunk(t.Context(), []int64{0, 0}); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("the chunk: %v", err)
	}
	e := codec.NewElems(v.Schema().Form(v.Schema().Shape))
	if err := v.ReadRegion(t.Context(), whole(v), codec.NewElems(v.Schema().Form(v.Grid().Counts()))); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("a region: %v (%d bytes)", err, len(e.Fixed))
	}
	found, err := verify.Verify(t.Context(), s, &verify.Options{Deep: true})
	if err != nil || len(found.Problems) != 1 || !errors.Is(found.Err(), codec.ErrCorrupt) || !strings.Contains(found.Problems[0].Source, ".bin") {
		t.Errorf("Verify: %v (%v)", found.Problems, err)
	}
}

// TestMoved checks that compacted chunks can be read after the manifest was moved.
func TestMoved(t *testing.T) {
	a := drifting(t, 0, 2, 4)
	a.compact(Options{})
	moved := filepath.Join(a.dir, "elsewhere %41 #.varve")
	if err := os.Rename(a.out, moved); err != nil {
		t.Fatal(err)
	}
	a.out = moved
	a.check(0, 4)
}
