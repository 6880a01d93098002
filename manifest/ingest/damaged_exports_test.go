package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/export/icechunk"
	"varve/manifest/export/kerchunk"
	"varve/manifest/export/zarr"
	"varve/manifest/repo"
	"varve/manifest/store"
)

// exportAgain updates an export of a manifest, or makes it.
func exportAgain(ctx context.Context, kind, out, dest string) error {
	s, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := repo.Open(ctx, out)
	if err != nil {
		return err
	}
	defer r.Close()
	switch kind {
	case "parquet":
		_, err = kerchunk.Write(ctx, s, dest, &kerchunk.Options{Append: r, InlineBytes: 1})
	case "icechunk":
		_, err = icechunk.Write(ctx, s, dest, &icechunk.Options{Manifest: r})
	case "zarr":
		_, isThere := os.Stat(dest)
		_, err = zarr.Write(ctx, s, dest, &zarr.Options{Append: isThere == nil, Manifest: r})
	}
	return err
}

// TestUpdatesKeepGrids updates exports of January, whose chunk grid is regular, after February was appended. An export with a
// rectilinear grid cannot be read by all clients that read it before: so the update fails, names an option, and changes nothing.
func TestUpdatesKeepGrids(t *testing.T) {
	configured(t)
	out := filepath.Join(t.TempDir(), "a.varve")
	mustBuild(t, out, "../../fixtures/demo/2021-01.nc")
	kinds := []string{"parquet", "icechunk", "zarr"}
	dests, before := map[string]string{}, map[string]string{}
	for _, kind := range kinds {
		dests[kind] = filepath.Join(t.TempDir(), "export."+kind)
		if err := exportAgain(t.Context(), kind, out, dests[kind]); err != nil {
			t.Fatal(err)
		}
		before[kind] = treeHash(t, dests[kind])
	}
	if _, err := Append(t.Context(), out, optionsFor("../../fixtures/demo/2021-02.nc")); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		var advice *manifest.RemedyError
		if err := exportAgain(t.Context(), kind, out, dests[kind]); !errors.As(err, &advice) || len(advice.Remedies) == 0 {
			t.Errorf("%s: got %v, want an error with a remedy", kind, err)
		}
		if treeHash(t, dests[kind]) != before[kind] {
			t.Errorf("%s: the failed update changed files", kind)
		}
	}
	s, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := repo.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if made, err := icechunk.Write(t.Context(), s, dests["icechunk"], &icechunk.Options{Manifest: r, Rectilinear: true}); err != nil || !made.Appended {
		t.Errorf("icechunk: %+v, %v", made, err)
	}
	if made, err := zarr.Write(t.Context(), s, dests["zarr"], &zarr.Options{Append: true, Manifest: r, Rectilinear: true}); err != nil || !made.Appended {
		t.Errorf("zarr: %+v, %v", made, err)
	}
}

// treeHash returns a hash of the names and the bytes of all files below a folder.
func treeHash(t *testing.T, folder string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestDamagedExports flips single bits of the files of exports, and then updates the exports after an append. An error must
// name the export. Values must be right, or reading them must be an error; only the chunks of a copy that have no
// compressor have nothing that could tell. A seed is one flip.
func TestDamagedExports(t *testing.T) {
	configured(t)
	names := []string{"../../fixtures/demo/2021-01.nc", "../../fixtures/demo/2021-03.nc", "../../fixtures/demo/2021-02.nc"}
	fresh := filepath.Join(t.TempDir(), "fresh.varve")
	mustBuild(t, fresh, names...)
	want := map[string][]float64{}
	for _, path := range []string{"/t2m", "/time", "/lat", "/lon"} {
		want[path], _ = decoded(t, fresh, path, false)
	}
	for _, kind := range []string{"parquet", "icechunk", "zarr"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			out, first := filepath.Join(dir, "a.varve"), filepath.Join(dir, "first."+kind)
			mustBuild(t, out, names[0], names[2])
			if err := exportAgain(t.Context(), kind, out, first); err != nil {
				t.Fatal(err)
			}
			if _, err := Append(t.Context(), out, optionsFor(names[1])); err != nil {
				t.Fatal(err)
			}
			var files []string
			err := filepath.WalkDir(first, func(name string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					files = append(files, strings.TrimPrefix(name, first))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			refused, unreadable, right, plain := 0, 0, 0, 0
			for seed := range soak.Seeds(t, 15) {
				r := rand.New(rand.NewPCG(seed, 12))
				dest := filepath.Join(dir, fmt.Sprint(seed, ".", kind))
				if err := os.CopyFS(dest, os.DirFS(first)); err != nil {
					t.Fatal(err)
				}
				file := files[r.IntN(len(files))]
				content, err := os.ReadFile(dest + file)
				if err != nil {
					t.Fatal(err)
				}
				if len(content) == 0 {
					continue
				}
				content[r.IntN(len(content))] ^= 1 << r.IntN(8)
				if err := os.WriteFile(dest+file, content, 0o666); err != nil {
					t.Fatal(err)
				}
				if err := exportAgain(t.Context(), kind, out, dest); err != nil {
					if refused++; !strings.Contains(err.Error(), filepath.Base(dest)) && !strings.Contains(err.Error(), filepath.Base(file)) {
						t.Errorf("seed %d, %s: the error names neither the export nor the file: %v", seed, file, err)
					}
					continue
				}
				again := filepath.Join(dir, fmt.Sprint(seed, ".varve"))
				opts := optionsFor(dest)
				opts.Allow = []string{"../../fixtures/demo", dir}
				if _, err := Build(t.Context(), again, opts); err != nil {
					unreadable++
					continue
				}
				same, err := holdsValues(t, again, want)
				switch {
				case err != nil:
					unreadable++
				case same:
					right++
				case kind == "zarr" && (strings.HasPrefix(file, "/lat/c/") || strings.HasPrefix(file, "/lon/c/")):
					plain++
				default:
					t.Errorf("seed %d, %s: other values", seed, file)
				}
			}
			t.Logf("%d updates are refused, %d exports cannot be read, %d are right, %d have a damaged chunk without a compressor", refused, unreadable, right, plain)
		})
	}
}

// holdsValues reports whether a manifest has all values.
func holdsValues(t *testing.T, out string, want map[string][]float64) (same bool, err error) {
	s, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		return false, err
	}
	defer s.Close()
	for path, numbers := range want {
		got, _, err := numbersOf(t.Context(), s, path, true)
		if err != nil {
			return false, err
		}
		if fmt.Sprint(got) != fmt.Sprint(numbers) {
			return false, nil
		}
	}
	return true, nil
}
