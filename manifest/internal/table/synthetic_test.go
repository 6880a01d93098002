package table

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"varve/fixtures/system"
	"varve/manifest"
)

var billion = flag.Bool("billion", false, "run the tests and benchmarks of a manifest of a billion refs too: 2.7 GB of disk, minutes")

// order is the order of the refs of a synthetic archive.
type order string

const (
	inFileOrder order = "in-file-order" // each begins where the one before ends, but for metadata in between
	interleaved order = "interleaved"   // ten variables that were written in turns
	shuffled    order = "shuffled"      // written in no order, in a file of 1 TiB
	raw         order = "raw"           // chunks of one size
)

// synthetic makes the refs of an archive whose chunk lengths have 19 bits of entropy, a batch at a
// time.
type synthetic struct {
	order order
	rng   *rand.Rand
	at    int64
}

func newSynthetic(o order) *synthetic {
	return &synthetic{order: o, rng: rand.New(rand.NewPCG(19, 19))}
}

func (s *synthetic) fill(offsets, sizes []int64) {
	for i := range offsets {
		n := 1<<19 + int64(s.rng.Uint64()>>45)
		switch s.order {
		case raw:
			n = 1 << 20
		case shuffled:
			s.at = int64(s.rng.Uint64() >> 24)
		case inFileOrder:
			if s.rng.Uint64()>>58 == 0 {
				s.at += 2096 // a node of an index
			}
		}
		offsets[i], sizes[i] = s.at, n
		s.at += n
		if s.order == interleaved {
			for range 9 {
				s.at += 1<<19 + int64(s.rng.Uint64()>>45)
			}
		}
	}
}

// write writes a table of refs.
func (s *synthetic) write(t testing.TB, w io.Writer, rows int64) {
	t.Helper()
	refs := NewRefs(w)
	offsets, sizes := make([]int64, 10_000), make([]int64, 10_000)
	for rows > 0 {
		n := min(rows, int64(len(offsets)))
		s.fill(offsets[:n], sizes[:n])
		if err := refs.Append(&manifest.RefColumns{Offsets: offsets[:n], Sizes: sizes[:n]}); err != nil {
			t.Fatal(err)
		}
		rows -= n
	}
	if err := refs.Close(); err != nil {
		t.Fatal(err)
	}
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// TestBytesPerRef limits the bytes on disk for each ref.
func TestBytesPerRef(t *testing.T) {
	for o, most := range map[order]float64{inFileOrder: 2.75, interleaved: 5.5, shuffled: 8, raw: 0.04} {
		var c counter
		newSynthetic(o).write(t, &c, 1_000_000)
		perRef := float64(c.n) / 1e6
		t.Logf("%s: %.3f bytes a ref", o, perRef)
		if perRef > most {
			t.Errorf("%s: %.3f bytes a ref, more than %.2f", o, perRef, most)
		}
	}
}

// onDisk writes a table of refs to a file, or finds it there.
func onDisk(t testing.TB, o order, rows int64) *Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "refs.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	newSynthetic(o).write(t, f, rows)
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, manifest.Table) (File, error) {
		f, err := os.Open(path)
		return diskFile{f, size}, err
	}
	r, err := Open([]manifest.Table{{Kind: manifest.Refs, Name: path, Rows: rows, Bytes: size}}, open, NewCache(256<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

type diskFile struct {
	*os.File
	size int64
}

func (f diskFile) Size() int64 { return f.size }

// residentBytes returns the memory of the process.
func residentBytes(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm")
	}
	var pages int64
	for _, c := range strings.Fields(string(text))[1] {
		pages = pages*10 + int64(c-'0')
	}
	return pages * int64(os.Getpagesize())
}

func testFirstLookup(t *testing.T, rows int64, within time.Duration, most int64) {
	r := onDisk(t, inFileOrder, rows)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	dst := make([]manifest.Ref, 1)
	if err := r.ReadRefs(context.Background(), rows/3, dst); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	allocated := int64(after.TotalAlloc - before.TotalAlloc)
	t.Logf("%d refs: opened and found one in %v, with %d KiB allocated; %d MiB resident", rows, took, allocated>>10, residentBytes(t)>>20)
	if took > within || allocated > most {
		t.Errorf("%v and %d KiB; at most %v and %d KiB", took, allocated>>10, within, most>>10)
	}
	for range 10 {
		if err := r.ReadRefs(context.Background(), rand.Int64N(rows), dst); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFirstLookup(t *testing.T) {
	if testing.Short() {
		t.Skip("writes ten million refs")
	}
	testFirstLookup(t, 10_000_000, 50*time.Millisecond, 4<<20)
}

func TestFirstLookupOfABillion(t *testing.T) {
	if !*billion {
		t.Skip("-billion was not given")
	}
	testFirstLookup(t, 1_000_000_000, time.Second, 64<<20)
}

// reportRate reports the number of refs for each second of one processor.
func reportRate(b *testing.B, refs int64, since time.Duration) {
	b.Helper()
	b.ReportMetric(float64(refs)/(system.UserTime(b)-since).Seconds()/1e6, "Mrefs/cpu-s")
}

func BenchmarkWriteRefs(b *testing.B) {
	for _, o := range []order{inFileOrder, interleaved, shuffled, raw} {
		b.Run(string(o), func(b *testing.B) {
			const n = 1 << 18
			offsets, sizes := make([]int64, n), make([]int64, n)
			newSynthetic(o).fill(offsets, sizes)
			var c counter
			w := NewRefs(&c)
			b.ReportAllocs()
			start := system.UserTime(b)
			b.ResetTimer()
			for range b.N {
				if err := w.Append(&manifest.RefColumns{Offsets: offsets, Sizes: sizes}); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(c.n)/float64(w.Rows()), "B/ref")
			reportRate(b, w.Rows(), start)
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	const rows = 10_000_000
	r := onDisk(b, inFileOrder, rows)
	dst := make([]manifest.Ref, 1)
	ctx := context.Background()
	for row := int64(0); row < rows; row += 4096 {
		if err := r.ReadRefs(ctx, row, dst); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d MiB in the cache", r.cache.bytes>>20)
	rng := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	start := system.UserTime(b)
	b.ResetTimer()
	for range b.N {
		if err := r.ReadRefs(ctx, rng.Int64N(rows), dst); err != nil {
			b.Fatal(err)
		}
	}
	reportRate(b, int64(b.N), start)
}

func BenchmarkScanRefs(b *testing.B) {
	const rows = 4_000_000
	for _, o := range []order{inFileOrder, interleaved, shuffled, raw} {
		b.Run(string(o), func(b *testing.B) {
			r := onDisk(b, o, rows)
			b.ReportAllocs()
			start := system.UserTime(b)
			b.ResetTimer()
			for range b.N {
				n := 0
				for batch, err := range r.ScanRefs(context.Background(), 0, rows) {
					if err != nil {
						b.Fatal(err)
					}
					n += len(batch.Offsets)
				}
				if n != rows {
					b.Fatalf("%d refs", n)
				}
			}
			reportRate(b, rows*int64(b.N), start)
		})
	}
}
