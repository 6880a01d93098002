package scan_test

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/scan"
)

// sink keeps what it gets.
type sink struct {
	refs   []manifest.Ref
	inline [][]byte
}

func (s *sink) Append(offsets, sizes []int64, masks []uint32, others []int32) error {
	for i, offset := range offsets {
		s.refs = append(s.refs, manifest.Ref{Offset: offset, Size: sizes[i], Mask: masks[i], Other: others[i]})
	}
	return nil
}

func (s *sink) Inline(b []byte) (int64, error) {
	s.inline = append(s.inline, bytes.Clone(b))
	return int64(len(s.inline) - 1), nil
}

const fixtures = "../../fixtures"

// fixtureFiles are all sources among the fixtures: files, and folders that are a store.
func fixtureFiles(t testing.TB) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(fixtures, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
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

// TestFixtures scans every sample file, and logs what is in it.
func TestFixtures(t *testing.T) {
	for _, name := range fixtureFiles(t) {
		s := &sink{}
		result, err := scan.Scan(context.Background(), []string{name}, &scan.Options{Sink: s, Workers: 1})
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		if int64(len(s.refs)) != result.Rows {
			t.Errorf("%s: %d rows, %d refs", name, result.Rows, len(s.refs))
		}
		for _, f := range result.Files {
			for _, v := range f.Header.Variables {
				t.Logf("%s %s %s %v %s %s %d", filepath.Base(f.URL), v.Path, v.Type, v.Shape, v.Storage.Layout, v.Unreadable, v.Rows())
			}
		}
	}
}
