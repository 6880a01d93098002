package points

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/compact"
	"varve/manifest/ingest"
	"varve/manifest/internal/table"
	"varve/manifest/relocate"
	"varve/manifest/repo"
	"varve/readers/source"
)

func TestMake(t *testing.T) {
	for _, compressor := range []string{`{"id":"zlib","level":4}`, `{"id":"gzip","level":4}`, `{"id":"lz4","acceleration":1}`,
		`{"id":"blosc","cname":"zstd","clevel":5,"shuffle":0,"blocksize":65536}`} {
		a := newArchive(t)
		a.compressor = compressor
		days := []int{1, 2, 3}
		for _, day := range days {
			a.write(day)
		}
		a.build()
		a.wantWhole(a.read(days, 100, 200), 3)
		r := a.index(smallest)
		if r.Chunks != 3 || r.Decoded != 3*chunkBytes || r.Points < 9 || len(r.Arrays) != 1 || r.Arrays[0] != (ArrayResult{"/v", 3}) {
			t.Errorf("got %+v", r)
		}
		if r.Bytes > r.Decoded/50 {
			t.Errorf("%s: the index has %d bytes for %d bytes of elements", compressor, r.Bytes, r.Decoded)
		}
		for _, at := range [][2]int{{0, 0}, {100, 200}, {lats - 1, lons - 1}} {
			a.wantParts(a.read(days, at[0], at[1]), 3)
		}
		if again := a.index(smallest); again.Snapshot != nil || again.Chunks != 0 {
			t.Errorf("the second time: %+v", again)
		}
		again := smallest
		again.Again = true
		if r := a.index(again); r.Chunks != 3 || r.Snapshot == nil {
			t.Errorf("again: %+v", r)
		}
		if tables := a.tables(); len(tables) != 1 {
			t.Errorf("%d tables of access points, want the new one only", len(tables))
		}
		a.wantParts(a.read(days, 100, 200), 3)
		if snap, err := Remove(t.Context(), a.out, "test"); err != nil || snap == nil || len(a.tables()) != 0 {
			t.Errorf("removed: %v, %v", snap, err)
		}
		a.wantWhole(a.read(days, 100, 200), 3)
	}
}

// snapshot loads the current snapshot.
func (a *archive) snapshot() *manifest.Snapshot {
	a.Helper()
	r, err := repo.Open(a.Context(), a.out)
	if err != nil {
		a.Fatal(err)
	}
	defer r.Close()
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

func (a *archive) tables() (tables []manifest.Table) {
	a.Helper()
	for _, t := range a.snapshot().Tables {
		if t.Kind == manifest.Points {
			tables = append(tables, t)
		}
	}
	return tables
}

// TestLife checks that all commands keep valid access points. After a chunk was replaced, its old access points must not
// be used.
func TestLife(t *testing.T) {
	a := newArchive(t, 1, 2, 3)
	a.build()
	a.index(smallest)
	days := []int{1, 2, 3, 4, 5, 6}
	for _, day := range days[3:] {
		a.write(day)
		if _, err := ingest.Append(t.Context(), a.out, &ingest.Options{Sources: ingest.Sources{Names: []string{a.name(day)}}}); err != nil {
			t.Fatal(err)
		}
		c := a.read(days[:day], 7, 7)
		if c.decoded < chunkBytes || c.decoded > 2*chunkBytes+int64(day)*chunkBytes/2 {
			t.Errorf("day %d is without access points, the others have them: %d bytes were decoded", day, c.decoded)
		}
		a.index(smallest)
		a.wantParts(a.read(days[:day], 7, 7), day)
	}
	if n := len(a.tables()); n > 3 {
		t.Errorf("%d tables of access points", n)
	}
	if _, err := compact.Compact(t.Context(), a.out, nil); err != nil {
		t.Fatal(err)
	}
	a.wantParts(a.read(days, 8, 8), 6)

	moved := a.files + "-moved"
	if err := os.Rename(a.files, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := relocate.Relocate(t.Context(), a.out, &relocate.Options{Moves: []relocate.Move{{From: a.files, To: moved}}}); err != nil {
		t.Fatal(err)
	}
	a.files = moved
	a.wantParts(a.read(days, 9, 9), 6)

	// A day is written again, and is a new source.
	a.write(2)
	if _, err := ingest.Sync(t.Context(), a.out, &ingest.Options{Sources: ingest.Sources{Names: []string{a.files}}}); err != nil {
		t.Fatal(err)
	}
	c := a.read(days, 10, 10)
	if c.decoded < chunkBytes || c.decoded > 4*chunkBytes {
		t.Errorf("only day 2 has no access points: %d bytes were decoded", c.decoded)
	}
	if r := a.index(smallest); r.Chunks != 1 {
		t.Errorf("%d chunks are indexed again, want that of day 2", r.Chunks)
	}
	a.wantParts(a.read(days, 11, 11), 6)
	r, err := repo.Open(t.Context(), a.out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.GC(t.Context(), &repo.GCOptions{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	a.wantParts(a.read(days, 12, 12), 6)
}

// TestInterrupted checks that access points are kept when the work ends early.
func TestInterrupted(t *testing.T) {
	a := newArchive(t, 1, 2, 3, 4)
	a.build()
	ctx, cancel := context.WithCancel(t.Context())
	opts := smallest
	opts.Workers = 1
	opts.Progress = func(done, total int64) {
		if done == 2 {
			cancel()
		}
	}
	if _, err := Make(ctx, a.out, &opts); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	r := a.index(smallest)
	if r.Chunks < 1 || r.Chunks > 2 {
		t.Errorf("the second run indexes %d of 4 chunks", r.Chunks)
	}
	a.wantParts(a.read([]int{1, 2, 3, 4}, 100, 100), 4)
	// A source that cannot be read: the chunks before it are kept.
	a = newArchive(t, 1, 2, 3)
	a.build()
	if err := os.WriteFile(a.name(2), []byte("no longer a chunk"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), a.out, &smallest); err == nil {
		t.Error("a changed source: no error")
	}
}

// TestNothing checks arrays that cannot have access points.
func TestNothing(t *testing.T) {
	a := newArchive(t, 1)
	a.build()
	if r := a.index(Options{}); r.Snapshot != nil {
		t.Errorf("chunks of %d bytes are indexed at a distance of 1 MiB: %+v", chunkBytes, r)
	}
	if _, err := Make(t.Context(), a.out, &Options{Arrays: []string{"v"}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("small chunks: %v", err)
	}
	if _, err := Make(t.Context(), a.out, &Options{Arrays: []string{"time"}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an array that is stored in the manifest: %v", err)
	}
	if snap, err := Remove(t.Context(), a.out, ""); snap != nil || err != nil {
		t.Errorf("nothing to remove: %v, %v", snap, err)
	}
}

// rewrite replaces the access points of the manifest by changed ones, with valid checksums.
func (a *archive) rewrite(change func(*table.ChunkPoints)) (err error) {
	m := &maker{}
	if m.repo, err = repo.Open(a.Context(), a.out); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.repo.Close()) }()
	old := a.tables()
	reader, err := table.Open(old, table.InRepository(m.repo), table.NewCache(1<<20))
	if err != nil {
		return err
	}
	defer reader.Close()
	file, err := m.repo.NewTable(a.Context(), manifest.Points)
	if err != nil {
		return err
	}
	defer file.Abort()
	buffer := bufio.NewWriter(file)
	w := table.NewPoints(buffer)
	for c, err := range reader.ScanPoints(a.Context(), 0, reader.Rows(manifest.Points)) {
		if err == nil {
			change(c)
			err = w.Append(c)
		}
		if err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), buffer.Flush()); err != nil {
		return err
	}
	made, err := file.Commit()
	if err != nil {
		return err
	}
	made.Rows = w.Rows()
	return m.publish(a.Context(), made, old)
}

// TestHostile checks tables whose checksums are right and whose content is wrong: no value is wrong, and chunks are
// decoded as a whole where the points cannot be used.
func TestHostile(t *testing.T) {
	last := func(c *table.ChunkPoints) *codec.AccessPoint { return &c.Points[len(c.Points)-1] }
	for name, change := range map[string]func(*table.ChunkPoints){
		"another source":        func(c *table.ChunkPoints) { c.Source = "0123456789abcdef0123456789abcdef" },
		"another offset":        func(c *table.ChunkPoints) { c.Offset++ },
		"another length":        func(c *table.ChunkPoints) { c.Length++ },
		"another codec":         func(c *table.ChunkPoints) { c.Codecs = "gzip" },
		"another size":          func(c *table.ChunkPoints) { c.Size += codec.SumBlock },
		"beyond the chunk":      func(c *table.ChunkPoints) { last(c).Bit = 1 << 50 },
		"beyond the elements":   func(c *table.ChunkPoints) { last(c).Out = 1 << 50 },
		"between blocks":        func(c *table.ChunkPoints) { c.Points[1].Bit += 5 },
		"a window that expands": func(c *table.ChunkPoints) { c.Windows[0] = []byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f} },
		"a window of zeros":     func(c *table.ChunkPoints) { c.Windows[0] = []byte{1, 0, 1, 0} },
		"no windows": func(c *table.ChunkPoints) {
			c.Windows = nil
			for i := range c.Points {
				c.Points[i].HasWindow = false
			}
		},
		"other checksums": func(c *table.ChunkPoints) {
			for i := range c.Sums {
				c.Sums[i]++
			}
		},
		"points without bytes": func(c *table.ChunkPoints) { c.Points = nil; c.Windows = nil; c.Sums = nil },
		"one point":            func(c *table.ChunkPoints) { c.Points, c.Windows = c.Points[:1], nil },
		"refs of other chunks": func(c *table.ChunkPoints) { c.Ref += 100 },
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t, 1, 2)
			a.build()
			a.index(smallest)
			at := 0 // an element whose first byte is decoded from the second point on
			err := a.rewrite(func(c *table.ChunkPoints) {
				at = int(c.Points[1].Out) + 100
				change(c)
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				a.read([]int{1, 2}, rand.IntN(lats), rand.IntN(lons))
			}
			a.wantWhole(a.read([]int{1, 2}, at/lons, at%lons), 1)
		})
	}
}

// TestOverwritten overwrites a byte of a chunk whose codecs have no checksum, and keeps the size and time of the file. If the
// manifest has checksums, no access points may be made of the chunk: reads of its spans would give other values.
func TestOverwritten(t *testing.T) {
	a := newArchive(t)
	a.compressor = `{"id":"lz4","acceleration":1}`
	a.write(1)
	if _, err := ingest.Build(t.Context(), a.out, &ingest.Options{Sources: ingest.Sources{Names: []string{a.name(1)}}, Checksums: true}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(a.name(1))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(a.name(1))
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := errors.Join(os.WriteFile(a.name(1), content, 0o666), os.Chtimes(a.name(1), time.Time{}, info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), a.out, &smallest); !errors.Is(err, source.ErrChanged) {
		t.Errorf("got %v, want source.ErrChanged", err)
	}
}

// TestDamaged changes bytes of the table: no value is wrong.
func TestDamaged(t *testing.T) {
	a := newArchive(t, 1, 2)
	a.build()
	a.index(smallest)
	name := filepath.Join(a.out, a.tables()[0].Name)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range 150 {
		bad := append([]byte(nil), good...)
		switch i % 3 {
		case 0:
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
		case 1:
			bad = bad[:rng.IntN(len(bad))]
		default:
			for range 20 {
				bad[rng.IntN(len(bad))] = byte(rng.Uint32())
			}
		}
		if err := os.Chmod(name, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		a.read([]int{1, 2}, rng.IntN(lats), rng.IntN(lons))
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	a.wantWhole(a.read([]int{1, 2}, 5, 5), 2)
	// A repair leaves out what can be made again at any time.
	if _, err := ingest.Repair(t.Context(), a.out, nil); err != nil {
		t.Fatal(err)
	}
	if len(a.tables()) != 0 {
		t.Error("the lost table is still listed")
	}
	a.index(smallest)
	a.wantParts(a.read([]int{1, 2}, 6, 6), 2)
}
