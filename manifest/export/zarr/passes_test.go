package zarr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
	"varve/manifest/zarrstore"
	"varve/readers/source"
	"varve/readers/source/storetest"
	"varve/zarrjson"
)

// stored is an archive with one array, v, in a folder, and a manifest of it.
type stored struct {
	*sample
	source  string
	decodes *atomic.Int64
}

const (
	little = `{"name":"bytes","configuration":{"endian":"little"}}`
	packed = little + `,{"name":"numcodecs.zlib","configuration":{"level":1}}`
)

func codecsOf(t testing.TB, text string) (list []codec.Spec) {
	t.Helper()
	if err := json.Unmarshal([]byte("["+text+"]"), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// newStored writes random elements into chunks of these lengths. Some chunks have only fill values.
func newStored(t testing.TB, random *rand.Rand, shape []int64, chunks []grid.Sizes, size int, codecs string) *stored {
	t.Helper()
	s := &stored{sample: &sample{}, source: filepath.Join(t.TempDir(), "in.zarr"), decodes: &atomic.Int64{}}
	typ, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Uint, Size: size})
	if err != nil {
		t.Fatal(err)
	}
	g, err := grid.FromSizes(shape, chunks...)
	if err != nil {
		t.Fatal(err)
	}
	kind := zarrjson.AsRegular
	if !g.IsRegular() {
		kind = zarrjson.AsRectilinear
	}
	described, err := zarrjson.DescribeGrid(g, kind)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c", "d"}[:len(shape)]
	schema := &zarrjson.Array{Shape: shape, DataType: typ, ChunkGrid: described, DimensionNames: zarrjson.Names(names...), Codecs: codecsOf(t, codecs)}
	if err := errors.Join(os.MkdirAll(s.source, 0o755), os.WriteFile(filepath.Join(s.source, "zarr.json"), []byte(`{"attributes":{},"zarr_format":3,"node_type":"group"}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	a, err := zarrstore.Create(t.Context(), filepath.Join(s.source, "v"), schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := codec.NewElems(schema.Form(shape))
	for w := g.Walk(); w.Next(); {
		if random.IntN(5) == 0 {
			continue // fill values
		}
		part := codec.NewElems(schema.Form(w.Region.Shape))
		for i := range part.Fixed {
			part.Fixed[i] = byte(random.Uint32())
		}
		if err := grid.Copy(grid.Window[byte]{Data: e.Fixed, Region: grid.Whole(shape)}, grid.Window[byte]{Data: part.Fixed, Region: w.Region}, w.Region, int64(size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.WriteRegion(t.Context(), grid.Whole(shape), e); err != nil {
		t.Fatal(err)
	}
	s.sample = newSample(t, s.source)
	s.trace(t, nil)
	return s
}

// trace opens the store again, and counts the chunks that it decodes. each, if set, is called before each of them.
func (s *stored) trace(t testing.TB, each func(n int64)) {
	t.Helper()
	var err error
	s.store, err = store.Open(t.Context(), s.dir, &store.Options{Trusted: true, CacheBytes: -1, Trace: func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
		if op.Name == "store.decode" {
			if n := s.decodes.Add(1); each != nil {
				each(n)
			}
		}
		return ctx, func(error) {}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.store.Close() })
}

// chunksStored returns the number of chunks that are not missing.
func (s *stored) chunksStored(t testing.TB) (n int64) {
	t.Helper()
	a := s.store.Arrays()[0]
	for w := a.Grid().Walk(); w.Next(); {
		l, err := a.Locate(t.Context(), w.Coords)
		if err != nil {
			t.Fatal(err)
		}
		if l.Kind != manifest.Missing {
			n++
		}
	}
	return n
}

// sharesChunks reports whether a chunk of the archive is also one of a copy. It is then copied as it is, so that its block is not read.
func (s *stored) sharesChunks(t testing.TB, dest string) bool {
	t.Helper()
	g, err := readSchema(t, filepath.Join(dest, "v"), 3).Grid()
	if err != nil {
		t.Fatal(err)
	}
	from := s.store.Arrays()[0].Grid()
	for w := g.Walk(); w.Next(); {
		coords, _, err := from.Locate(w.Region.Origin)
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := from.Chunk(coords); ok && c.Region.Equal(w.Region) {
			return true
		}
	}
	return false
}

// randomSizes returns chunk lengths of an axis: one that repeats, up to the given one, or several if they may vary.
func randomSizes(random *rand.Rand, length, most int64, mayVary bool) (sizes []int64) {
	if mayVary && random.IntN(3) == 0 {
		for left := length; left > 0; left -= sizes[len(sizes)-1] {
			sizes = append(sizes, 1+random.Int64N(min(left, most, 9)))
		}
		return sizes
	}
	return []int64{1 + random.Int64N(min(length, most))}
}

// moved counts the bytes that requests store and fetch below a prefix of a store.
type moved struct{ put, got atomic.Int64 }

func (m *moved) watch(store *storetest.Memory, name string) func(r *http.Request) storetest.Fault {
	return func(r *http.Request) storetest.Fault {
		if !strings.Contains(r.URL.Path, name) {
			return nil
		}
		switch r.Method {
		case http.MethodPut:
			m.put.Add(r.ContentLength)
		case http.MethodGet:
			var first, last int64
			if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); n == 2 {
				m.got.Add(last - first + 1)
			} else { // small objects are fetched whole, and kept
				m.got.Add(int64(len(store.Get(strings.TrimPrefix(r.URL.Path, "/")))))
			}
		}
		return nil
	}
}

// TestPasses copies random arrays into random chunks, in too little memory for one pass, and compares all elements. Each stored
// chunk is decoded once, and each temporary byte is written once and read once.
func TestPasses(t *testing.T) {
	twice := 0
	for seed := range soak.Seeds(t, 20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if copyRandom(t, seed) {
				twice++
			}
		})
	}
	if twice < 5 && !soak.Selected() {
		t.Errorf("only %d copies had two passes", twice)
	}
}

// copyRandom copies a random array and reports whether the copy had two passes.
func copyRandom(t *testing.T, seed uint64) (isTwice bool) {
	random := rand.New(rand.NewPCG(seed, 1))
	var shape []int64
	var chunks []grid.Sizes
	var edges, shards []Edges
	stored, made := int64(1), int64(1)
	isSharded := random.IntN(4) == 0
	for k := range 2 + random.IntN(2) {
		n := 1 + random.Int64N(30)
		shape = append(shape, n)
		long, short := n, int64(3) // chunks that are long along an axis become short, and the other way round
		if random.IntN(2) == 0 {
			long, short = short, long
		}
		lengths := randomSizes(random, n, long, !isSharded)
		if len(lengths) > 1 {
			chunks = append(chunks, grid.List(lengths...))
		} else {
			chunks = append(chunks, grid.Every(lengths[0]))
		}
		stored *= slices.Max(lengths)
		e := Edges{Array: "v", Dim: string(rune('a' + k)), Sizes: randomSizes(random, n, short, !isSharded)}
		edges = append(edges, e)
		if isSharded {
			e.Sizes = []int64{e.Sizes[0] * (1 + random.Int64N(3))}
			shards = append(shards, e)
		}
		made *= slices.Max(e.Sizes)
	}
	size := 1 << random.IntN(4)
	codecs := []string{packed, little + `,{"name":"zstd"}`, `{"name":"transpose","configuration":{"order":[` + order(random, len(shape)) + `]}},` + packed}[random.IntN(3)]
	o := Options{Chunks: edges, Shards: shards, Workers: 1 + random.IntN(3)}
	o.Memory = (max(stored, made)*(1+random.Int64N(4)) + int64(o.Workers)*2*made) * int64(size)
	m := storetest.NewMemory(t)
	s := newStored(t, random, shape, chunks, size, codecs)
	var bytes moved
	m.SetFault(bytes.watch(m, "/temporary/"))
	o.Temporary = "s3://bucket/temporary"
	var plan *Plan
	o.Planned = func(p *Plan) { plan = p }
	dest := filepath.Join(t.TempDir(), "copy")
	s.copy(t, dest, o)
	if len(plan.Arrays) == 1 && plan.Arrays[0].Passes == 2 {
		isTwice = true
		a := plan.Arrays[0]
		if got, want := s.decodes.Load(), s.chunksStored(t); got != want {
			t.Errorf("seed %d: %d chunks were decoded, and %d are stored", seed, got, want)
		}
		if put, got := bytes.put.Load(), bytes.got.Load(); put != a.Temporary || got > put || got < put && !s.sharesChunks(t, dest) || a.Temporary != a.Size+4*a.Blocks {
			t.Errorf("seed %d: %d temporary bytes were written and %d read, of %d (%d bytes in %d blocks)", seed, put, got, a.Temporary, a.Size, a.Blocks)
		}
		if a.Box > o.Memory {
			t.Errorf("seed %d: %d bytes of memory, and the limit is %d", seed, a.Box, o.Memory)
		}
	}
	if left := m.Names("bucket/temporary"); len(left) > 0 {
		t.Errorf("seed %d: %q remain", seed, left)
	}
	m.SetFault(nil)
	s.compare(t, dest, 3)
	if t.Failed() {
		t.Fatalf("seed %d: shape %v, chunks %v, %+v", seed, shape, chunks, o)
	}
	return isTwice
}

// order returns the order of axes for a transpose.
func order(random *rand.Rand, rank int) string {
	text := make([]string, rank)
	for i, k := range random.Perm(rank) {
		text[i] = fmt.Sprint(k)
	}
	return strings.Join(text, ",")
}

// newMaps returns an archive with a chunk for each index of the first axis.
func newMaps(t testing.TB) (*stored, Options) {
	t.Helper()
	return newStored(t, rand.New(rand.NewPCG(7, 7)), []int64{40, 30, 30}, []grid.Sizes{grid.Every(1), grid.Every(30), grid.Every(30)}, 4, packed), toSeries()
}

// toSeries returns the options of a copy of newMaps in two passes, with a chunk for all indices of the first axis.
func toSeries() Options {
	return Options{Chunks: []Edges{{Dim: "a", Sizes: []int64{40}}, {Dim: "b", Sizes: []int64{5}}, {Dim: "c", Sizes: []int64{5}}}, Memory: 40000, Workers: 2}
}

// tree returns the contents of all files of a folder.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		key, _ := filepath.Rel(dir, name)
		all[key] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameTree(t testing.TB, got, want map[string]string) {
	t.Helper()
	for key, content := range want {
		if got[key] != content {
			t.Errorf("%s: %d bytes differ from the %d of an uninterrupted copy", key, len(got[key]), len(content))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
}

// The environment of the process that TestKilled kills.
const killedOut, killedDest, killedTemp = "VARVE_TEST_OUT", "VARVE_TEST_DEST", "VARVE_TEST_TEMP"

// TestCopyToKill is the process that TestKilled kills.
func TestCopyToKill(t *testing.T) {
	if os.Getenv(killedOut) == "" {
		t.Skip("TestKilled runs it")
	}
	s := &sample{dir: os.Getenv(killedOut)}
	s.open(t)
	o := toSeries()
	o.Temporary = os.Getenv(killedTemp)
	s.copy(t, os.Getenv(killedDest), o)
}

// TestKilled kills copies when they have written some number of files. The next attempt gives the same bytes and leaves nothing.
func TestKilled(t *testing.T) {
	s, o := newMaps(t)
	whole := filepath.Join(t.TempDir(), "whole")
	s.copy(t, whole, o)
	want := tree(t, whole)
	for seed := range soak.Seeds(t, 6) {
		random := rand.New(rand.NewPCG(seed, 2))
		dest, temp := filepath.Join(t.TempDir(), "copy"), t.TempDir()
		after := random.IntN(len(want) + 10)
		cmd := exec.Command(os.Args[0], "-test.run=^TestCopyToKill$")
		cmd.Env = append(os.Environ(), killedOut+"="+s.dir, killedDest+"="+dest, killedTemp+"="+temp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		for isRunning := true; isRunning && count(dest)+count(temp) < after; {
			select {
			case <-ended:
				isRunning = false
			case <-time.After(100 * time.Microsecond):
			}
		}
		_ = cmd.Process.Kill()
		<-ended
		if _, err := os.Stat(filepath.Join(dest, stateName)); err == nil {
			continue // it was complete
		}
		o.Temporary = temp
		s.copy(t, dest, o)
		sameTree(t, tree(t, dest), want)
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("seed %d: %v remain in the temporary folder: %v", seed, left, err)
		}
	}
}

// count returns the number of files in a folder, which another process changes.
func count(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return nil
	})
	return n
}

// TestStoppedPasses stops copies in each pass. The next attempt decodes only the chunks whose temporary blocks were not complete.
func TestStoppedPasses(t *testing.T) {
	for name, stopped := range map[string]struct{ decodes, again int64 }{"first pass": {25, 24}, "second pass": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			s, o := newMaps(t)
			o.Workers, o.Temporary = 1, t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			dest := filepath.Join(t.TempDir(), "copy")
			all := s.chunksStored(t)
			if stopped.decodes > 0 {
				s.trace(t, func(n int64) {
					if n == stopped.decodes {
						cancel()
					}
				})
			} else {
				o.Progress = func(done, total int64) {
					if done > 50 { // 40 are stored chunks
						cancel()
					}
				}
			}
			if _, err := Write(ctx, s.store, dest, &o); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			o.Progress = nil
			first := s.decodes.Swap(0)
			s.trace(t, nil)
			s.copy(t, dest, o)
			if again := s.decodes.Load(); again >= all || first+again < all || stopped.decodes == 0 && again != 0 {
				t.Errorf("of %d chunks, %d were decoded at first and %d again", all, first, again)
			}
			s.compare(t, dest, 3)
		})
	}
}

// TestOtherPlan continues a stopped copy with other memory: the temporary blocks of the first attempt are removed.
func TestOtherPlan(t *testing.T) {
	s, o := newMaps(t)
	o.Temporary = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dest := filepath.Join(t.TempDir(), "copy")
	s.trace(t, func(n int64) {
		if n == 25 {
			cancel()
		}
	})
	if _, err := Write(ctx, s.store, dest, &o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if left, err := os.ReadDir(o.Temporary); err != nil || len(left) != 1 {
		t.Fatalf("%v in the temporary folder: %v", left, err)
	}
	s.trace(t, nil)
	o.Memory = 60000
	s.copy(t, dest, o)
	s.compare(t, dest, 3)
	if left, err := os.ReadDir(o.Temporary); err != nil || len(left) > 0 {
		t.Errorf("%v remain in the temporary folder: %v", left, err)
	}
}

// TestDamagedBlock damages a temporary block between the passes: the copy fails, and the next attempt writes the block again.
func TestDamagedBlock(t *testing.T) {
	s, o := newMaps(t)
	o.Temporary, o.Workers = t.TempDir(), 1
	var mu sync.Mutex
	isDamaged := false
	s.trace(t, func(int64) {
		mu.Lock()
		defer mu.Unlock()
		files, err := filepath.Glob(filepath.Join(o.Temporary, "*", "0-0"))
		if err != nil || len(files) != 1 || isDamaged {
			return
		}
		data, err := os.ReadFile(files[0])
		if err == nil {
			data[100] ^= 1
			err = os.WriteFile(files[0], data, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
		isDamaged = true
	})
	dest := filepath.Join(t.TempDir(), "copy")
	if _, err := Write(t.Context(), s.store, dest, &o); err == nil || !strings.Contains(err.Error(), "checksum") || !isDamaged {
		t.Errorf("damaged %t: %v", isDamaged, err)
	}
	s.trace(t, nil)
	s.copy(t, dest, o)
	s.compare(t, dest, 3)
}

// TestChangedInFirstPass changes a source during the first pass. After it is restored, the next attempt completes the copy.
func TestChangedInFirstPass(t *testing.T) {
	s, o := newMaps(t)
	o.Temporary, o.Workers = t.TempDir(), 1
	name := filepath.Join(s.source, "v", "c", "39", "0", "0")
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	s.trace(t, func(n int64) {
		once.Do(func() {
			if err := os.WriteFile(name, bytes.Repeat([]byte{1}, 50), 0o600); err != nil {
				t.Error(err)
			}
		})
	})
	dest := filepath.Join(t.TempDir(), "copy")
	if _, err := Write(t.Context(), s.store, dest, &o); !errors.Is(err, source.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(os.WriteFile(name, before, 0o600), os.Chtimes(name, time.Time{}, info.ModTime())); err != nil {
		t.Fatal(err)
	}
	s.trace(t, nil)
	s.copy(t, dest, o)
	s.compare(t, dest, 3)
}

// TestTooLargeChunks checks that the error says how much memory chunks need, and that it is enough. Uncompressed chunks are read in
// parts.
func TestTooLargeChunks(t *testing.T) {
	whole := []grid.Sizes{grid.Every(20), grid.Every(100)}
	for _, test := range []struct {
		name     string
		codecs   string
		chunk    int64
		isStored bool
		isRead   bool
	}{
		{"stored", packed, 5, true, false},
		{"of the copy", packed, 100, false, false},
		{"not compressed", little, 5, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStored(t, rand.New(rand.NewPCG(3, 3)), []int64{40, 100}, whole, 8, test.codecs)
			o := Options{Chunks: []Edges{{Dim: "a", Sizes: []int64{40}}, {Dim: "b", Sizes: []int64{test.chunk}}}, Memory: 6000, Workers: 1}
			dest := filepath.Join(t.TempDir(), "copy")
			_, err := Write(t.Context(), s.store, dest, &o)
			var e *MemoryError
			if errors.As(err, &e) == test.isRead || e != nil && e.IsStored != test.isStored {
				t.Fatalf("got %v", err)
			}
			if e != nil {
				o.Memory = e.Need
				s.copy(t, dest, o)
			}
			s.compare(t, dest, 3)
		})
	}
}

// TestPassesInStore copies in two passes, with temporary blocks in the store, while 5 % of the requests fail.
func TestPassesInStore(t *testing.T) {
	random := rand.New(rand.NewPCG(soak.Seed(t), 4))
	m := storetest.NewMemory(t)
	s, o := newMaps(t)
	var mu sync.Mutex
	failed := 0
	m.SetFault(func(*http.Request) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(20) > 0 {
			return nil
		}
		failed++
		return []storetest.Fault{storetest.Busy, storetest.Cut, storetest.Lost}[random.IntN(3)]
	})
	o.Temporary = "s3://bucket/temporary"
	s.copy(t, away, o)
	m.SetFault(nil)
	if left := m.Names("bucket/temporary"); len(left) > 0 || failed == 0 {
		t.Errorf("%d requests failed; %q remain", failed, left)
	}
	o.Temporary = ""
	s.same(t, m, o)
}

// TestPassesOfSlices copies slices in two passes.
func TestPassesOfSlices(t *testing.T) {
	s, o := newMaps(t)
	o.Temporary, o.Memory = t.TempDir(), 20000
	dest := filepath.Join(t.TempDir(), "copy")
	if n := s.sliced(t, dest, o, 3, 0, 1); n == 0 {
		t.Error("the slices have no chunks")
	}
	s.copy(t, dest, o)
	s.compare(t, dest, 3)
	if left, err := os.ReadDir(o.Temporary); err != nil || len(left) > 0 {
		t.Errorf("%v remain in the temporary folder: %v", left, err)
	}
}

// TestPassesOfSlicesInStore is TestPassesOfSlices in an object store.
func TestPassesOfSlicesInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	s, o := newMaps(t)
	o.Temporary, o.Memory = t.TempDir(), 20000
	if n := s.sliced(t, away, o, 3, 0, 1); n == 0 {
		t.Error("the slices have no chunks")
	}
	s.copy(t, away, o)
	s.same(t, m, o)
	if left, err := os.ReadDir(o.Temporary); err != nil || len(left) > 0 {
		t.Errorf("%v remain in the temporary folder: %v", left, err)
	}
}

// TestCoordinatesStay checks that chunk lengths of all arrays do not apply to coordinates, unless these are named.
func TestCoordinatesStay(t *testing.T) {
	s := newSample(t, january, february)
	for _, isNamed := range []bool{false, true} {
		chunks := []Edges{{Dim: "time", Sizes: []int64{7}}}
		if isNamed {
			chunks = append(chunks, Edges{Array: "time", Dim: "time", Sizes: []int64{7}})
		}
		dest := filepath.Join(t.TempDir(), "copy")
		s.copy(t, dest, Options{Chunks: chunks})
		s.compare(t, dest, 3)
		g, err := readSchema(t, filepath.Join(dest, "time"), 3).Grid()
		if err != nil {
			t.Fatal(err)
		}
		if size, _ := g.Dim(0).CodecSize(0); (size == 7) != isNamed {
			t.Errorf("named %t: the coordinate has chunks of %d", isNamed, size)
		}
	}
}

// TestOnlyCoordinate: lengths for a dimension that only its coordinate has are an error, which says how to re-chunk the coordinate.
func TestOnlyCoordinate(t *testing.T) {
	s := newSample(t, january)
	part, err := s.store.Cut(t.Context(), []store.Part{{Array: s.array(t, "time"), Ranges: make([][]store.Range, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	var e *EdgesError
	_, err = Write(t.Context(), part, filepath.Join(t.TempDir(), "copy"), &Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{3}}}})
	if !errors.As(err, &e) || !e.IsCoordinate || !strings.Contains(err.Error(), "time:time=") {
		t.Errorf("got %v", err)
	}
}

func (s *sample) array(t testing.TB, name string) *store.Array {
	t.Helper()
	a, err := s.store.Array(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
