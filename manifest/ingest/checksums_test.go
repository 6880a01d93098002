package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/compact"
	"varve/manifest/export/zarr"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/serve"
	"varve/manifest/store"
	"varve/readers"
	"varve/readers/source"
)

// checkedArchives are archives whose manifests get checksums, by name. Each function writes files to a folder.
var checkedArchives = map[string]func(t *testing.T, r *rand.Rand, dir string) plan.Options{
	"demo": func(t *testing.T, _ *rand.Rand, dir string) plan.Options {
		return copied(t, fixtures.Demo, dir, plan.Options{})
	},
	"netCDF-3": func(t *testing.T, r *rand.Rand, dir string) plan.Options {
		newArchive(t, r, dir, 1)
		return plan.Options{}
	},
	"netCDF-3 of two dimensions": func(t *testing.T, r *rand.Rand, dir string) plan.Options {
		newArchive(t, r, dir, 2)
		return plan.Options{}
	},
	"HDF5 filters": func(t *testing.T, _ *rand.Rand, dir string) plan.Options {
		return copied(t, os.DirFS("../../fixtures/hdf5"), dir, plan.Options{}, "filters.h5")
	},
	"HDF5 layouts": func(t *testing.T, _ *rand.Rand, dir string) plan.Options {
		return copied(t, os.DirFS("../../fixtures/hdf5"), dir, plan.Options{}, "layouts.h5")
	},
	"filter masks": func(t *testing.T, _ *rand.Rand, dir string) plan.Options {
		return copied(t, os.DirFS("../../fixtures/hdf5"), dir, plan.Options{}, "filter_masks.h5")
	},
	"Zarr": func(t *testing.T, _ *rand.Rand, dir string) plan.Options {
		return copied(t, os.DirFS("../../fixtures/zarr/v3"), filepath.Join(dir, "v3"), plan.Options{})
	},
	"Zarr shards": func(t *testing.T, _ *rand.Rand, dir string) plan.Options {
		return copied(t, os.DirFS("../../fixtures/zarr/sharded"), filepath.Join(dir, "sharded"), plan.Options{Formats: readers.Settings{"keep-shards": true}})
	},
	"chunks in shards": func(t *testing.T, _ *rand.Rand, dir string) plan.Options {
		return copied(t, os.DirFS("../../fixtures/zarr/sharded"), filepath.Join(dir, "sharded"), plan.Options{})
	},
	"GRIB": func(t *testing.T, _ *rand.Rand, dir string) plan.Options {
		return copied(t, os.DirFS("../../fixtures/grib"), dir, plan.Options{}, "surface.grib")
	},
}

// copied copies files from a file system to a folder: all files, or only the named ones.
func copied(t *testing.T, from fs.FS, dir string, opts plan.Options, names ...string) plan.Options {
	t.Helper()
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".py") {
			return err
		}
		if len(names) > 0 && !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			return nil
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.Base(filepath.Dir(name)), filepath.Base(name))
		if filepath.Dir(name) != "." {
			to = filepath.Join(dir, name)
		}
		if len(names) > 0 {
			to = filepath.Join(dir, name)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

// TestChecksums overwrites one byte of a stored chunk and restores the time of the file. All ways to read give either the
// values from before, or an error that names the file and the offset. Parts of uncompressed chunks are not verified.
func TestChecksums(t *testing.T) {
	for name, write := range checkedArchives {
		t.Run(name, func(t *testing.T) {
			configured(t)
			seed := soak.Seed(t)
			r := rand.New(rand.NewPCG(seed, 1))
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.varve")
			opts := &Options{Sources: Sources{Names: []string{dir}}, Plan: write(t, r, dir), Checksums: true, Writer: "test"}
			if _, err := Build(t.Context(), out, opts); err != nil {
				t.Fatal(err)
			}
			checkOverwriting(t, r, out, strings.HasPrefix(name, "netCDF-3"))
		})
	}
}

// checkOverwriting overwrites bytes of chunks of a manifest with checksums, and reads it.
func checkOverwriting(t *testing.T, r *rand.Rand, out string, inParts bool) {
	t.Helper()
	was := answersOf(t, out, inParts)
	refs := refsWithBytes(t, out)
	noticed := 0
	for n := 0; n < 6 || noticed == 0 && n < 60; n++ { // many refs are of coordinates, whose values the manifest has
		ref := refs[r.IntN(len(refs))]
		if ref.Checksum == 0 {
			t.Fatalf("the ref of %s at offset %d has no checksum", ref.url, ref.Offset)
		}
		restore := overwrite(t, r, ref)
		is := answersOf(t, out, inParts)
		some := false
		for what, before := range was {
			after := is[what]
			switch {
			case before.err != nil:
			case after.err == nil:
				if !bytes.Equal(before.data, after.data) {
					t.Errorf("%s: other values after a byte of %s at offset %d was overwritten", what, ref.url, ref.Offset)
				}
			case !errors.Is(after.err, source.ErrChanged) && !strings.Contains(after.err.Error(), "source has changed"):
				t.Errorf("%s: %v, want source.ErrChanged", what, after.err)
			default:
				some = true
				if strings.HasPrefix(what, "served ") {
					break // clients see no paths
				}
				if text := after.err.Error(); !strings.Contains(text, filepath.Base(ref.url)) || !strings.Contains(text, "at offset ") || !strings.Contains(text, "chunk [") && !strings.Contains(text, "chunk []") {
					t.Errorf("%s: the error names no file, chunk or offset: %v", what, after.err)
				}
			}
		}
		if some {
			noticed++
		}
		restore()
	}
	if noticed == 0 {
		t.Error("no overwritten byte was noticed")
	}
	is := answersOf(t, out, inParts)
	for what, before := range was {
		if after := is[what]; before.err == nil && (after.err != nil || !bytes.Equal(before.data, after.data)) {
			t.Errorf("%s: %v after the bytes were restored", what, after.err)
		}
	}
}

// answer is what a way to read gives.
type answer struct {
	data []byte
	err  error
}

// answersOf reads a manifest in all ways: arrays, chunks, chunks over HTTP, and a copy. inParts says that declared chunks
// may be parts of stored ones; then it reads only whole arrays.
func answersOf(t *testing.T, out string, inParts bool) map[string]answer {
	t.Helper()
	answers := map[string]answer{}
	s, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := serve.New(t.Context(), []string{out}, &serve.Options{Store: store.Options{Trusted: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	copied := filepath.Join(t.TempDir(), "copy.zarr")
	_, failed := zarr.Write(t.Context(), s, copied, nil)
	for _, a := range s.Arrays() {
		answers[a.Path()] = answerOf(func() ([]byte, error) {
			form := a.Schema().Form(a.Grid().Shape())
			e := codec.NewElems(form)
			err := a.ReadRegion(t.Context(), grid.Whole(form.Shape), e)
			return append(e.Fixed, bytes.Join(e.Var, []byte{0})...), err
		})
		if inParts {
			continue
		}
		coords := make([]int64, a.Grid().Rank())
		for n := int64(0); a.Grid().Coords(n, coords); n++ {
			at := fmt.Sprintf("%s %v", a.Path(), coords)
			answers["chunk "+at] = answerOf(func() ([]byte, error) { return a.Chunk(t.Context(), coords) })
			key := a.Schema().Keys.Append([]byte(a.Path()+"/"), coords)
			if !strings.ContainsAny(a.Path(), " %?#") {
				answers["served "+at] = answerOf(func() ([]byte, error) { return get(t.Context(), server.URL+string(key)) })
			}
			answers["copied "+at] = answerOf(func() ([]byte, error) {
				if failed != nil {
					return nil, failed
				}
				b, err := os.ReadFile(filepath.Join(copied, filepath.FromSlash(string(key))))
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
				return b, err
			})
		}
	}
	return answers
}

func answerOf(do func() ([]byte, error)) answer {
	data, err := do()
	return answer{bytes.Clone(data), err}
}

// get returns the body of an answer; another status than 200 and 404 is an error with the body.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != 200 && r.StatusCode != 404 {
		err = fmt.Errorf("%d: %s", r.StatusCode, b)
	}
	return b, err
}

// locatedRef is a ref with the path of its source.
type locatedRef struct {
	manifest.Ref
	url string
}

// refsWithBytes returns the refs of a manifest whose chunks are in sources.
func refsWithBytes(t *testing.T, out string) (refs []locatedRef) {
	t.Helper()
	repository, err := repo.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	id, err := repository.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	snap, err := repository.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := table.Open(snap.Tables, table.InRepository(repository), table.NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	files, err := reader.Files(t.Context(), manifest.NewShared())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		end := reader.Rows(manifest.Refs)
		if i+1 < len(files) {
			end = files[i+1].Row
		}
		for batch, err := range reader.ScanRefs(t.Context(), f.Row, end-f.Row) {
			if err != nil {
				t.Fatal(err)
			}
			for k := range batch.Offsets {
				ref := batch.At(k)
				if _, isInline := ref.Inline(); isInline || !ref.Stored() || ref.Size == 0 {
					continue
				}
				url := f.URL
				if ref.Other > 0 {
					url = files[ref.Other-1].URL
				}
				refs = append(refs, locatedRef{ref, url})
			}
		}
	}
	if len(refs) == 0 {
		t.Fatal("no refs")
	}
	return refs
}

// overwrite changes a byte of a chunk, and keeps the size and time of the file. The result undoes that.
func overwrite(t *testing.T, r *rand.Rand, ref locatedRef) (restore func()) {
	t.Helper()
	path := filepath.FromSlash(strings.TrimPrefix(ref.url, "file://"))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	at := ref.Offset + r.Int64N(ref.Size)
	flip := func() {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		var one [1]byte
		if _, err = file.ReadAt(one[:], at); err == nil {
			one[0] ^= 1 << (at % 8)
			_, err = file.WriteAt(one[:], at)
		}
		if err := errors.Join(err, file.Close(), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	flip()
	return flip
}

// TestChecksumsOfAppends checks that appends, updates and compaction keep checksums, or add them.
func TestChecksumsOfAppends(t *testing.T) {
	configured(t)
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.varve")
	copied(t, fixtures.Demo, dir, plan.Options{})
	files, err := filepath.Glob(filepath.Join(dir, "demo", "*.nc"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		checkOverwriting(t, r, out, false)
	}
	_, err = Build(ctx, out, &Options{Sources: Sources{Names: files[:1]}, Checksums: true})
	check("build", err)
	for _, name := range files[1:] {
		_, err = Append(ctx, out, optionsFor(name))
		check("append", err)
	}
	_, err = compact.Compact(ctx, out, &compact.Options{Store: store.Options{Trusted: true}})
	check("compact", err)
	_, err = Sync(ctx, out, optionsFor(files[0], files[2]))
	check("sync", err)
	_, err = Sync(ctx, out, optionsFor(files...))
	check("sync again", err)
}

// TestChecksumsLater checks that an append can add checksums to a manifest without them, and that a manifest without
// them has the columns that it always had.
func TestChecksumsLater(t *testing.T) {
	configured(t)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.varve")
	copied(t, fixtures.Demo, dir, plan.Options{})
	files, err := filepath.Glob(filepath.Join(dir, "demo", "*.nc"))
	if err != nil {
		t.Fatal(err)
	}
	snap := mustBuild(t, out, files[:2]...)
	if doc, err := snap.Encode(); err != nil || bytes.Contains(doc, []byte("checksum")) {
		t.Errorf("a snapshot without checksums speaks of them: %v", err)
	}
	count := func() (with, without int) {
		for _, ref := range refsWithBytes(t, out) {
			if ref.Checksum != 0 {
				with++
			} else {
				without++
			}
		}
		return with, without
	}
	if with, _ := count(); with > 0 {
		t.Fatalf("%d refs have checksums that nobody asked for", with)
	}
	opts := optionsFor(files[2])
	opts.Checksums = true
	if _, err := Append(t.Context(), out, opts); err != nil {
		t.Fatal(err)
	}
	if with, without := count(); with == 0 || without == 0 {
		t.Errorf("%d refs have checksums and %d have none, want some of both", with, without)
	}
	answersOf(t, out, false)
}

// TestChecksumsCancelled checks that a build stops while it computes checksums.
func TestChecksumsCancelled(t *testing.T) {
	configured(t)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.varve")
	copied(t, fixtures.Demo, dir, plan.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts := optionsFor(dir)
	opts.Checksums, opts.Checking = true, func(int64, int64) { cancel() }
	if _, err := Build(ctx, out, opts); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want context.Canceled", err)
	}
	if _, err := os.Stat(filepath.Join(out, "current")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a snapshot was published: %v", err)
	}
}
