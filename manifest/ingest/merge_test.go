package ingest

import (
	"bytes"
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
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/scan"
)

// scanned scans sources, or merges parts, into the file name.parquet of a folder.
func scanned(t *testing.T, dir, name string, sources ...string) string {
	t.Helper()
	out := filepath.Join(dir, name+".parquet")
	if _, err := Scan(t.Context(), out, &Options{Sources: Sources{Names: sources}, SkipBroken: true}); err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestMerge checks that a merged part, also of merged parts and of a part and files, has the bytes of one scan of all
// files, and that a second merge changes nothing.
func TestMerge(t *testing.T) {
	names, dir := days(t, 12), t.TempDir()
	for _, i := range []int{2, 7} {
		if err := os.WriteFile(names[i], []byte("CDF\x01 and no more"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := read(t, scanned(t, dir, "all", names...))
	p := make([]string, 4)
	for i := range p {
		p[i] = scanned(t, dir, fmt.Sprintf("p%d", i), names[3*i:3*i+3]...)
	}
	pair := []string{scanned(t, dir, "m0", p[:2]...), scanned(t, dir, "m1", p[2:]...)}
	for what, sources := range map[string][]string{"four parts": p, "two merged parts": pair, "parts and files": append(slices.Clone(p[:3]), names[9:]...)} {
		if !bytes.Equal(read(t, scanned(t, t.TempDir(), "merged", sources...)), want) {
			t.Errorf("%s: the merged part differs from one scan", what)
		}
	}
	parts := t.TempDir()
	for i, name := range p {
		if err := os.Rename(name, filepath.Join(parts, fmt.Sprintf("%d.parquet", i))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time, the folder has the output of the first
		if !bytes.Equal(read(t, scanned(t, parts, "merged", parts)), want) {
			t.Error("a part that is merged in the folder of its parts differs from one scan")
		}
	}
}

// TestMergeBuilds checks that a manifest of a merged part equals one of the parts, and one of the files. The virtual
// datasets refer to other files, by numbers that a merge changes.
func TestMergeBuilds(t *testing.T) {
	for kind, files := range map[string][]string{
		"numbers": {"../../fixtures/hdf5/phony_numbers_1.h5", "../../fixtures/hdf5/phony_numbers_2.h5"},
		"virtual": {"../../fixtures/hdf5/phony_virtual_1.h5", "../../fixtures/hdf5/phony_virtual_2.h5"},
	} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			parts := []string{scanned(t, dir, "a", files[0]), scanned(t, dir, "b", files[1])}
			var made []map[string]string
			for i, names := range [][]string{files, parts, {scanned(t, dir, "merged", parts...)}} {
				out := filepath.Join(dir, fmt.Sprint(i, ".varve"))
				opts := &Options{Sources: Sources{Names: names}, Plan: plan.Options{Concat: []string{"phony_dim_0"}}}
				if _, err := Build(t.Context(), out, opts); err != nil {
					t.Fatal(err)
				}
				made = append(made, contents(t, out))
			}
			if !maps.Equal(made[0], made[2]) || !maps.Equal(made[1], made[2]) {
				t.Errorf("of files\n%v\nof parts\n%v\nof a merged part\n%v", made[0], made[1], made[2])
			}
		})
	}
}

// TestMergeRefuses checks that repeated, missing and truncated parts are errors that name them, and that nothing is
// written then.
func TestMergeRefuses(t *testing.T) {
	names, dir := days(t, 6), t.TempDir()
	a, b := scanned(t, dir, "a", names[:3]...), scanned(t, dir, "b", names[3:]...)
	overlap := scanned(t, dir, "overlap", names[2:4]...)
	whole := read(t, b)
	short := filepath.Join(dir, "short.parquet")
	if err := os.WriteFile(short, whole[:len(whole)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		parts []string
		is    error
		says  []string
	}{
		{[]string{a, a}, fs.ErrExist, []string{a, names[0]}},
		{[]string{a, b, overlap}, fs.ErrExist, []string{overlap, names[2], a}},
		{[]string{a, names[1]}, nil, []string{names[1]}},
		{[]string{a, short}, codec.ErrCorrupt, []string{short}},
		{[]string{a, filepath.Join(dir, "absent.parquet")}, fs.ErrNotExist, []string{"absent.parquet"}},
	} {
		out := filepath.Join(dir, "merged.parquet")
		result, err := Scan(t.Context(), out, &Options{Sources: Sources{Names: c.parts}})
		if err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%q: %+v, %v", c.parts, result, err)
			continue
		}
		for _, text := range c.says {
			if refused := (*plan.Error)(nil); errors.As(err, &refused) {
				continue // its finding has the names
			}
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q: the error does not name %s: %v", c.parts, text, err)
			}
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %s exists: %v", c.parts, out, err)
		}
	}
}

// TestMergeDamaged checks that a damaged part is an error that names it, or does no harm.
func TestMergeDamaged(t *testing.T) {
	dir := t.TempDir()
	a, damaged := scanned(t, dir, "a", days(t, 3)...), filepath.Join(dir, "damaged.parquet")
	whole, refused := read(t, a), 0
	for at := 0; at < len(whole); at += 1 + len(whole)/100 {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x55
		for _, data := range [][]byte{bad, whole[:at]} {
			if err := os.WriteFile(damaged, data, 0o666); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(dir, "merged.parquet")
			_, err := Scan(t.Context(), out, &Options{Sources: Sources{Names: []string{damaged}}})
			switch {
			case err == nil && !bytes.Equal(read(t, out), whole):
				t.Errorf("byte %d of %d: the merged part differs", at, len(whole))
			case err != nil && !strings.Contains(err.Error(), damaged):
				t.Errorf("byte %d of %d: %v", at, len(whole), err)
			case err != nil:
				refused++
			}
		}
	}
	if refused < 150 {
		t.Errorf("%d damaged parts were refused", refused)
	}
}

// TestSkippedInParts checks that a manifest of parts lists the same sources as left out as a manifest of files, and
// leaves out a source that a later scan could read.
func TestSkippedInParts(t *testing.T) {
	names, dir := days(t, 6), t.TempDir()
	good := read(t, names[4])
	for _, i := range []int{1, 2, 3, 4} {
		if err := os.WriteFile(names[i], []byte("CDF\x01 and no more"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := scanned(t, dir, "a", names[:2]...), scanned(t, dir, "b", names[2:4]...), scanned(t, dir, "c", names[4:]...)
	build := func(out string, sources ...string) (*Result, []manifest.Skipped) {
		t.Helper()
		made, err := Build(t.Context(), filepath.Join(dir, out), &Options{Sources: Sources{Names: sources}, SkipBroken: true})
		if err != nil {
			t.Fatal(err)
		}
		return made, made.Snapshot.Skipped
	}
	_, want := build("files.varve", names...)
	made, got := build("parts.varve", a, b, c)
	if len(want) != 4 || !slices.Equal(got, want) || len(made.Report.Findings) != 4 {
		t.Errorf("got %v, want %v, with findings %v", got, want, made.Report.Findings)
	}
	if _, got := build("merged.varve", scanned(t, dir, "all", scanned(t, dir, "ab", a, b), c)); !slices.Equal(got, want) {
		t.Errorf("of a merged part: got %v, want %v", got, want)
	}
	if err := os.WriteFile(names[4], good, 0o666); err != nil {
		t.Fatal(err)
	}
	again := scanned(t, dir, "again", names[4])
	if _, got := build("again.varve", a, b, c, again); !slices.Equal(got, want[:3]) {
		t.Errorf("with a later scan: got %v, want %v", got, want[:3])
	}
	var broken *scan.BrokenError
	if _, err := Build(t.Context(), filepath.Join(dir, "none.varve"), &Options{Sources: Sources{Names: []string{b}}}); !errors.As(err, &broken) || len(broken.Broken) != 2 {
		t.Errorf("a part without sources: %v", err)
	}
}
