package source_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

func TestPackedNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"a.nc.gz|gzip:":                     {"a.nc.gz", "|gzip:"},
		"/x/a.nc.zst|zstd:":                 {"/x/a.nc.zst", "|zstd:"},
		"s3://b/y.zip|zip:m/a.nc":           {"s3://b/y.zip", "|zip:m/a.nc"},
		"y.tar|tar:m/a|b.nc":                {"y.tar", "|tar:m/a|b.nc"},
		"y.tar.gz|gzip:|tar:a.nc":           {"y.tar.gz", "|gzip:|tar:a.nc"},
		"https://h/a.gz?token=secret|gzip:": {"https://h/a.gz?token=secret", "|gzip:"},

		"a.nc.gz":                             {"a.nc.gz", ""},
		"|gzip:":                              {"|gzip:", ""},
		"a|gzip:b":                            {"a|gzip:b", ""},
		"a|gzip:|zip:b":                       {"a|gzip:|zip:b", ""},
		"a|zip:":                              {"a|zip:", ""},
		"a|zip:../b":                          {"a|zip:../b", ""},
		"a|zip:/b":                            {"a|zip:/b", ""},
		"a|zip:b//c":                          {"a|zip:b//c", ""},
		"a|tar:.":                             {"a|tar:.", ""},
		"s3://b/x.zip|zip:data.zarr|zarr2:":   {"s3://b/x.zip|zip:data.zarr|zarr2:", ""},
		"s3://b/x.zip|zip:y.gz|gzip:":         {"s3://b/x.zip|zip:y.gz|gzip:", ""},
		"s3://b/x.zip|zip:data|byte-range:1-": {"s3://b/x.zip|zip:data|byte-range:1-", ""},
	} {
		outer, steps := source.CutPacked(name)
		if got := [2]string{outer, steps}; got != want || source.IsPacked(name) != (want[1] != "") || source.Outer(name) != want[0] {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := source.Shown("https://user:pass@h/a.gz?token=secret|gzip:"); got != "https://h/a.gz|gzip:" {
		t.Errorf("shown as %s", got)
	}
	for name, is := range map[string]bool{"a.gz": true, "A.ZIP": true, "s3://b/a.tar.zst": true, "https://h/a.gz?x=1": true, "a.nc": false, "gz": false, "https://h/a?x=.gz": false} {
		if source.HasPackedEnding(name) != is {
			t.Errorf("%s: %v", name, !is)
		}
	}
	for name, is := range map[string]bool{"a.gz": false, "A.ZIP": true, "s3://b/a.tar.zst": true, "https://h/a.tgz?x=1": true, "a.zip|zip:b.zip": false, "a.nc": false} {
		if source.IsArchive(name) != is {
			t.Errorf("%s: %v", name, !is)
		}
	}
}

// packedOpener opens mem://x/NAME from memory.
func packedOpener(files map[string]*sourcetest.Memory, trace source.TraceFunc) *source.Opener {
	return source.NewOpener(&source.Options{Trace: trace, Schemes: map[string]source.OpenFunc{"mem": func(_ context.Context, name string) (source.Ranges, error) {
		m := files[name]
		if m == nil {
			return nil, fs.ErrNotExist
		}
		return m.Reopen(), nil
	}}})
}

// packedFiles returns data in all packed forms, by the name of the packed file.
func packedFiles(t testing.TB, data []byte) map[string]*sourcetest.Memory {
	t.Helper()
	files := map[string]*sourcetest.Memory{}
	gz := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		w.Close()
		return out.Bytes()
	}
	files["mem://x/a.gz"] = sourcetest.NewMemory(gz(data))
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	half := len(data) / 2
	files["mem://x/a.zst"] = sourcetest.NewMemory(enc.EncodeAll(data[half:], enc.EncodeAll(data[:half], nil)))
	var zipped, tarred bytes.Buffer
	z, w := zip.NewWriter(&zipped), tar.NewWriter(&tarred)
	for _, name := range []string{"first", "m/a", "z"} {
		content := data
		if name != "m/a" {
			content = []byte(name)
		}
		e, err := z.Create(name)
		if err == nil {
			_, err = e.Write(content)
		}
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644})
		}
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	files["mem://x/a.zip"] = sourcetest.NewMemory(zipped.Bytes())
	files["mem://x/a.tar"] = sourcetest.NewMemory(tarred.Bytes())
	files["mem://x/a.tgz"] = sourcetest.NewMemory(gz(tarred.Bytes()))
	return files
}

// packedSteps are the steps to the data in packedFiles.
var packedSteps = map[string]string{"mem://x/a.gz": "|gzip:", "mem://x/a.zst": "|zstd:", "mem://x/a.zip": "|zip:m/a", "mem://x/a.tar": "|tar:m/a", "mem://x/a.tgz": "|gzip:|tar:m/a"}

// TestPackedReads reads random ranges of packed files with many goroutines, and opens each file many times: there is one pass.
func TestPackedReads(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, 5<<20)
	for i := range data {
		data[i] = byte(rng.IntN(20) * (i >> 12))
	}
	files := packedFiles(t, data)
	for outer, steps := range packedSteps {
		var passes atomic.Int64
		o := packedOpener(files, func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
			if op.Name == "source.unpack" {
				passes.Add(1)
			}
			return ctx, func(error) {}
		})
		var group sync.WaitGroup
		for worker := range 8 {
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			group.Go(func() {
				s, err := o.Open(t.Context(), outer+steps)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if s.Size() != int64(len(data)) || s.Identity() != files[outer].Identity() {
					t.Errorf("%s: %d bytes, version %+v", outer, s.Size(), s.Identity())
				}
				for range 30 {
					from := rng.IntN(len(data))
					n := rng.IntN(min(len(data)-from, 1<<rng.IntN(23)) + 1)
					got := make([]byte, n)
					if rng.IntN(2) == 0 {
						_, err = s.ReadAt(t.Context(), got, int64(from))
					} else {
						got, err = s.View(t.Context(), int64(from), n)
					}
					if err != nil || !bytes.Equal(got, data[from:from+n]) {
						t.Errorf("%s (seed %d): %d bytes from %d on: %v", outer, seed, n, from, err)
						return
					}
				}
				if _, err := s.ReadAt(t.Context(), make([]byte, 2), int64(len(data)-1)); err == nil {
					t.Errorf("%s: no error for bytes after the end", outer)
				}
			})
		}
		group.Wait()
		if n := passes.Load(); n > 1 {
			t.Errorf("%s: %d passes", outer, n)
		}
		changed := files[outer]
		s, err := o.Open(t.Context(), outer+steps)
		if err != nil {
			t.Fatal(err)
		}
		id := s.Identity()
		changed.Change([]byte("another file"))
		if _, err := s.ReadAt(t.Context(), make([]byte, 2000), 100); !errors.Is(err, source.ErrChanged) {
			t.Errorf("%s: after a change: %v", outer, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := o.OpenVersion(t.Context(), outer+steps, id); !errors.Is(err, source.ErrChanged) {
			t.Errorf("%s: opening the old version: %v", outer, err)
		}
	}
}

// TestPackedForward reads files in small steps, as a verification does: bytes are decompressed only a few times.
func TestPackedForward(t *testing.T) {
	data := make([]byte, 6<<20)
	rng := rand.New(rand.NewPCG(2, 1))
	for i := range data {
		data[i] = byte(rng.IntN(40))
	}
	for _, outer := range []string{"mem://x/a.gz", "mem://x/a.zst", "mem://x/a.zip", "mem://x/a.tgz"} {
		var inflated atomic.Int64
		o := packedOpener(packedFiles(t, data), func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
			if op.Name == "source.inflate" {
				inflated.Add(op.Bytes)
			}
			return ctx, func(error) {}
		})
		s, err := o.Open(t.Context(), outer+packedSteps[outer])
		if err != nil {
			t.Fatal(err)
		}
		const step = 20_000
		for at := 0; at < len(data); at += step {
			got := make([]byte, min(step, len(data)-at))
			if _, err := s.ReadAt(t.Context(), got, int64(at)); err != nil || !bytes.Equal(got, data[at:at+len(got)]) {
				t.Fatalf("%s: %d bytes from %d on: %v", outer, len(got), at, err)
			}
		}
		if n := inflated.Load(); n > int64(3*len(data)) {
			t.Errorf("%s: %d bytes were decompressed to read %d", outer, n, len(data))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPackedOverlap checks that a zip file is refused whose members have the same bytes: it could hold any number of them.
func TestPackedOverlap(t *testing.T) {
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	e, err := w.CreateHeader(&zip.FileHeader{Name: "a.nc", Method: zip.Store})
	if err == nil {
		_, err = e.Write(noise)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	at, end := bytes.Index(b.Bytes(), []byte("PK\x01\x02")), bytes.Index(b.Bytes(), []byte("PK\x05\x06"))
	entry := b.Bytes()[at:end]
	twice := append(bytes.Clone(b.Bytes()[:end]), bytes.Replace(entry, []byte("a.nc"), []byte("b.nc"), 1)...)
	ending := bytes.Clone(b.Bytes()[end:])
	ending[8], ending[10] = 2, 2
	binary.LittleEndian.PutUint32(ending[12:], uint32(2*len(entry)))
	o := packedOpener(map[string]*sourcetest.Memory{"mem://x/a.zip": sourcetest.NewMemory(append(twice, ending...))}, nil)
	if _, err := o.InPacked(t.Context(), "mem://x/a.zip", func(string) bool { return true }); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// TestPackedPoints checks that points of another file are not used, and that they cannot make values wrong.
func TestPackedPoints(t *testing.T) {
	data := make([]byte, 4<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range data {
		data[i] = byte(rng.IntN(50))
	}
	files := packedFiles(t, data)
	for outer, steps := range packedSteps {
		o := packedOpener(files, nil)
		s, err := o.Open(t.Context(), outer+steps)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		points := s.Points()
		if (points == nil) != (outer == "mem://x/a.tar") {
			t.Fatalf("%s: points %v", outer, points)
		}
		if points == nil {
			continue
		}
		for what, change := range map[string]func(p *source.Points){
			"as they are":     func(*source.Points) {},
			"a negative skip": func(p *source.Points) { p.Skip = -1 },
			"a large skip":    func(p *source.Points) { p.Skip = 1 << 40 },
			"a large length":  func(p *source.Points) { p.Length = 1 << 40 },
			"no points":       func(p *source.Points) { p.AccessPoints.Points = nil },
			"no sums":         func(p *source.Points) { p.Sums = nil },
			"other sums":      func(p *source.Points) { p.Sums = make([]uint32, len(p.Sums)) },
			"bits beyond":     func(p *source.Points) { p.AccessPoints.Points[0].Bit = 1 << 50 },
			"another codec":   func(p *source.Points) { p.Codecs = "zstd;gzip" },
			"a negative size": func(p *source.Points) { p.Size = -5 },
			"other windows":   func(p *source.Points) { p.Windows = func(context.Context, []int) ([][]byte, error) { return nil, nil } },
			"damaged windows": func(p *source.Points) {
				p.Windows = func(context.Context, []int) ([][]byte, error) { return nil, codec.ErrCorrupt }
			},
			"shifted by a bit": func(p *source.Points) { p.AccessPoints.Points[0].Bit++ },
		} {
			bad := *points
			bad.AccessPoints.Points = append([]codec.AccessPoint(nil), points.AccessPoints.Points...)
			change(&bad)
			plain, err := o.Open(t.Context(), outer)
			if err != nil {
				t.Fatal(err)
			}
			u, err := o.Unpack(t.Context(), plain, outer+steps, &bad)
			if err != nil {
				t.Errorf("%s, %s: %v", outer, what, err)
				continue
			}
			got := make([]byte, u.Size())
			if _, err := u.ReadAt(t.Context(), got, 0); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s, %s: %d bytes, %v", outer, what, len(got), err)
			}
			if err := u.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func FuzzPacked(f *testing.F) {
	var names []string
	for outer, m := range packedFiles(f, bytes.Repeat([]byte("varve "), 300)) {
		b := make([]byte, m.Identity().Size)
		if _, err := m.ReadAt(f.Context(), b, 0); err != nil {
			f.Fatal(err)
		}
		f.Add(outer, b)
		names = append(names, outer)
	}
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		if packedSteps[name] == "" {
			name = names[len(name)%len(names)]
		}
		o := packedOpener(map[string]*sourcetest.Memory{name: sourcetest.NewMemory(b)}, nil)
		list, err := o.InPacked(t.Context(), name, func(string) bool { return true })
		if err != nil {
			return
		}
		for _, inner := range list[:min(len(list), 4)] {
			s, err := o.Open(t.Context(), inner)
			if err != nil {
				continue
			}
			if got := make([]byte, min(s.Size(), 1<<20)); s.Size() < 0 {
				t.Errorf("%d bytes", s.Size())
			} else if _, err := s.ReadAt(t.Context(), got, s.Size()-int64(len(got))); err != nil {
				t.Logf("%s: %v", inner, err)
			}
			s.Close()
		}
	})
}
