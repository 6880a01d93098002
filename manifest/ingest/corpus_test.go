package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/manifest/export/kerchunk"
	"varve/manifest/export/zarr"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/scan"
	"varve/manifest/store"
)

// corpus returns the names of all files and stores below folders that may be a source.
func corpus(t *testing.T, folders ...string) (names []string) {
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				for _, store := range []string{".zgroup", ".zarray", "zarr.json", "repo"} {
					if _, err := os.Stat(filepath.Join(name, store)); err == nil {
						names = append(names, name)
						return fs.SkipDir
					}
				}
				return nil
			}
			switch filepath.Ext(name) {
			case ".py", ".go", ".md", ".txt", ".idx", ".index", ".tsv", ".sh":
			default:
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// mostCorpusBytes is the size of the largest array that TestCorpusReads keeps in memory.
const mostCorpusBytes = 1 << 28

// errTooLarge is the error of an array of more than mostCorpusBytes.
var errTooLarge = errors.New("an array is too large for this test")

// hashes returns a hash of the elements of each array.
func hashes(ctx context.Context, s *store.Store) (map[string]string, error) {
	out := map[string]string{}
	for _, a := range s.Arrays() {
		form := codec.Form{Type: a.Schema().DataType.Type(), Shape: a.Schema().Shape}
		if form.MemorySize() > mostCorpusBytes {
			return nil, errTooLarge
		}
		e := codec.NewElems(form)
		if err := a.ReadRegion(ctx, grid.Whole(form.Shape), e); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
		h := sha256.New()
		h.Write(e.Fixed)
		for _, b := range e.Var {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
			h.Write(b)
		}
		out[a.Path()] = fmt.Sprintf("%s %v %x", a.Schema().DataType.Type(), form.Shape, h.Sum(nil)[:8])
	}
	return out, nil
}

// built returns the hashes of a manifest of one source that is built at dir. It is an error if its report does not explain a chunk.
func built(ctx context.Context, dir, name string) (s *store.Store, have map[string]string, err error) {
	opts := optionsFor(name)
	opts.Allow = []string{filepath.Dir(name), "/"}
	made, err := Build(ctx, dir, opts)
	if err != nil {
		return nil, nil, err
	}
	if s, err = store.Open(ctx, dir, &store.Options{Trusted: true}); err != nil {
		return nil, nil, err
	}
	if have, err = hashes(ctx, s); err != nil {
		return s, have, err
	}
	lines, err := unexplained(ctx, s, made.Report.Findings)
	if len(lines) > 0 {
		err = errors.Join(err, fmt.Errorf("not explained: %s", strings.Join(lines, "; ")))
	}
	return s, have, err
}

// refusalKind returns the kind of a refusal: the codes of findings, or for a source that cannot be read the kind of its error. ok is
// false if it does not say what is wrong with which file.
func refusalKind(err error, name string) (kind string, ok bool) {
	var refused *plan.Error
	var broken *scan.BrokenError
	switch {
	case errors.As(err, &refused):
		var codes []string
		for _, f := range refused.Findings {
			codes = append(codes, string(f.Code))
		}
		slices.Sort(codes)
		return strings.Join(slices.Compact(codes), ", "), len(codes) > 0
	case errors.As(err, &broken):
		for _, b := range broken.Broken {
			said := b.String()
			for what, is := range map[string]error{"corrupt": codec.ErrCorrupt, "unsupported": errors.ErrUnsupported, "missing": fs.ErrNotExist} {
				if errors.Is(b.Err, is) {
					kind = what
				}
			}
			if kind == "" || !strings.Contains(said, filepath.Base(name)) || len(said) < len(b.URL)+20 {
				return said, false
			}
		}
		return kind, true
	}
	return err.Error(), false
}

// TestCorpusReads builds a manifest of each of some sources. If that succeeds, all its arrays can be read, and exports to Zarr and to
// references of kerchunk are made or refused, can be opened, and have the same elements. VARVE_CORPUS names folders instead of the fixtures; with
// it or with VARVE_SOAK all sources are read, otherwise a fixed sample.
// Then xarray reads the Zarr stores.
func TestCorpusReads(t *testing.T) {
	kept := t.TempDir()
	configured(t)
	folders, step := []string{"hdf5", "netcdf3", "grib", "gribindex", "fits", "hdf4", "zarr", "icechunk"}, 6
	for i, name := range folders {
		folders[i] = filepath.Join("../../fixtures", name)
	}
	if list := os.Getenv("VARVE_CORPUS"); list != "" {
		folders, step = filepath.SplitList(list), 1
	} else if soak.Duration(t, 0) > 0 {
		step = 1
	}
	names, count, refused := corpus(t, folders...), 0, map[string]int{}
	for i := 0; i < len(names); i += step {
		name, err := filepath.Abs(names[i])
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := readCorpus(t, name, kept, refused); err != nil {
			t.Errorf("%s: %v", names[i], err)
		} else if ok {
			count++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%d refused: %s", refused[kind], kind)
	}
	t.Logf("%d of %d sources are built and read", count, (len(names)+step-1)/step)
	if count < 10 {
		t.Errorf("%d sources are built, want at least 10", count)
	}
	t.Run("xarray", func(t *testing.T) { venv.Run(t, "xarray", "testdata/corpus.py", kept) })
}

// readCorpus returns false if no manifest of a source can be built, and counts the refusal by its kind. It returns an error if the
// refusal does not say what is wrong, or if the manifest or an export cannot be read. It keeps the Zarr store in a folder.
func readCorpus(t *testing.T, name, kept string, refusals map[string]int) (ok bool, err error) {
	dir := t.TempDir()
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "a.varve")
	s, want, err := built(t.Context(), out, name)
	if s == nil && err != nil {
		kind, isNamed := refusalKind(err, name)
		if !isNamed {
			return false, fmt.Errorf("refused without a reason: %w", err)
		}
		refusals[kind]++
		return false, nil
	}
	if errors.Is(err, errTooLarge) {
		t.Logf("%s: %v", name, err)
		return false, s.Close()
	}
	if err != nil {
		return false, errors.Join(err, s.Close())
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := repo.Open(t.Context(), out)
	if err != nil {
		return false, err
	}
	defer r.Close()
	for _, kind := range []string{"zarr", "json", "parquet"} {
		dest := filepath.Join(dir, "export."+kind)
		if kind == "zarr" {
			_, err = zarr.Write(t.Context(), s, dest, &zarr.Options{Manifest: r, Memory: 4 * mostCorpusBytes})
		} else {
			_, err = kerchunk.Write(t.Context(), s, dest, &kerchunk.Options{})
		}
		if errors.Is(err, errors.ErrUnsupported) {
			t.Logf("%s: the export to %s is refused: %v", name, kind, err)
			continue
		}
		if err != nil {
			return false, fmt.Errorf("export to %s: %w", kind, err)
		}
		again, have, err := built(t.Context(), filepath.Join(dir, kind+".varve"), dest)
		if again != nil {
			err = errors.Join(err, again.Close())
		}
		if err != nil {
			return false, fmt.Errorf("reading the export to %s: %w", kind, err)
		}
		if differ := different(want, have); len(differ) > 0 {
			return false, fmt.Errorf("the export to %s differs: %s", kind, strings.Join(differ, ", "))
		}
		if kind == "zarr" {
			if err := keep(dest, kept, name, want); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// keep moves an exported Zarr store to a folder, with the name of its source and the hashes of its arrays beside it.
func keep(dest, folder, source string, want map[string]string) error {
	text, err := json.Marshal(map[string]any{"source": source, "arrays": want})
	if err != nil {
		return err
	}
	to := filepath.Join(folder, fmt.Sprintf("%x.zarr", sha256.Sum256([]byte(source))))
	return errors.Join(os.Rename(dest, to), os.WriteFile(to+".json", text, 0o600))
}

// different describes the arrays that an export lacks, or has with other elements.
func different(want, have map[string]string) (out []string) {
	for path, content := range want {
		if have[path] != content {
			out = append(out, fmt.Sprintf("%s is %q, want %q", path, have[path], content))
		}
	}
	slices.Sort(out)
	return out
}
