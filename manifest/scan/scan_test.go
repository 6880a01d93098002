package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/scan"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// sink stores the refs and inline bytes that it receives.
type sink struct {
	refs   []manifest.Ref
	inline [][]byte
	points []*source.Points
}

func (s *sink) Append(rows *manifest.RefColumns) error {
	for i := range rows.Offsets {
		s.refs = append(s.refs, rows.At(i))
	}
	return nil
}

func (s *sink) FilePoints(_ context.Context, _ int64, _ *manifest.Source, points *source.Points) error {
	s.points = append(s.points, points)
	return nil
}

func (s *sink) Inline(b []byte) (int64, error) {
	s.inline = append(s.inline, bytes.Clone(b))
	return int64(len(s.inline) - 1), nil
}

const fixtures = "../../fixtures"

// fixtureFiles returns all sources among the fixtures: files, and folders that are stores. Malicious files
// are tested by the readers.
func fixtureFiles(t testing.TB) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(fixtures, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "hostile" {
				return fs.SkipDir
			}
			for _, mark := range []string{"zarr.json", ".zgroup", ".zarray", ".zmetadata", "repo", "refs"} {
				if found, _ := filepath.Glob(filepath.Join(path, mark)); len(found) > 0 {
					out = append(out, path)
					return fs.SkipDir
				}
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".nc", ".h5", ".fits", ".dmrpp":
			out = append(out, path)
		case ".json":
			if strings.Contains(path, "/kerchunk/") && filepath.Base(path) != "expected.json" {
				out = append(out, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestValues compares every variable of every fixture, read from the scan's result, with the values of its
// reader. VARVE_SCAN names a folder with more files.
func TestValues(t *testing.T) {
	names := fixtureFiles(t)
	if more := os.Getenv("VARVE_SCAN"); more != "" {
		err := filepath.WalkDir(more, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	compared := 0
	for _, name := range names {
		n, err := compareValues(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		compared += n
	}
	if compared < 200 {
		t.Errorf("only %d variables were compared", compared)
	}
	t.Logf("compared %d variables of %d files", compared, len(names))
}

const limit = 160 << 20

func compareValues(name string) (compared int, failed error) {
	ctx := context.Background()
	a, err := scanAll([]string{name}, scan.Options{Workers: 1})
	var broken *scan.BrokenError
	if errors.As(err, &broken) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	src, err := source.Open(ctx, strings.TrimSuffix(name, ".dmrpp")) // the reader of DMR++ has no values, so read the file that it describes
	if err != nil {
		return 0, err
	}
	defer src.Close()
	data, err := formats.Open(ctx, src, nil)
	if err != nil {
		return 0, err
	}
	f := a.Files[0]
	scan.SpellPaths(data)
	data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			n := f.Header.Find(v.Path)
			if n < 0 {
				failed = errors.Join(failed, fmt.Errorf("%s: is not in the header", v.Path))
				continue
			}
			ok, err := compareVariable(a, f, n, v)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", v.Path, err))
			}
			if ok {
				compared++
			}
		}
		return true
	})
	return compared, failed
}

func compareVariable(a *archive, f *manifest.File, n int, v *readers.Variable) (bool, error) {
	h := f.Header.Variable(n)
	if h.Unreadable != "" {
		return false, nil
	}
	longer := func(i int) bool { return uint64(h.Shape[i]) != v.Shape[i] }
	if v.Storage.Layout == readers.External || len(v.Shape) > 0 && longer(0) || len(v.Shape) > 1 && longer(1) {
		return false, nil // the reader does not read external files, or the scan extended the variable
	}
	want, wantErr := v.ReadAll(context.Background(), limit)
	got, err := a.read(f, n)
	if (err != nil) != (wantErr != nil) {
		return false, fmt.Errorf("got error %v, want %v", err, wantErr)
	}
	if err != nil {
		return false, nil
	}
	if got.Var != nil {
		if !slices.EqualFunc(got.Var, want.Texts, bytes.Equal) {
			return false, fmt.Errorf("texts %q, want %q", got.Var, want.Texts)
		}
		return true, nil
	}
	if integers := v.Type.Class == readers.Integer || v.Type.Class == readers.Enum; integers && v.Type.Precision < 8*v.Type.Size && v.Type.Base == nil {
		return false, nil // the reader does not convert numbers with unusual numbers of bits
	}
	if v.Type.Class == readers.Float && !v.Type.IsIEEE() {
		return false, nil // the same for floating-point numbers
	}
	if _, ok := v.Type.Row(); ok {
		return false, nil // the reader returns texts of varying length; TestConventions checks rows
	}
	if h.Type.Kind == codec.FixedBytes && want.Texts != nil {
		for i, text := range want.Texts {
			if one := got.Fixed[i*h.Type.Size:][:h.Type.Size]; !bytes.HasPrefix(one, text) {
				return false, fmt.Errorf("element %d is %q, want %q", i, one, text)
			}
		}
		return true, nil
	}
	if !bytes.Equal(got.Fixed, want.Data) {
		return false, fmt.Errorf("values %.60x, want %.60x", got.Fixed, want.Data)
	}
	if values := f.Values[n]; values != nil && !bytes.Equal(values.Data, want.Data) {
		return false, errors.New("the values in the result differ")
	}
	return true, nil
}
