package ingest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
)

// writeArray adds an int32 array of 2 elements to a Zarr group.
func writeArray(t *testing.T, group, name, dim, codecs string) {
	t.Helper()
	folder := filepath.Join(group, name)
	doc := fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int32","fill_value":0,"dimension_names":[%q],
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"codecs":[%s]}`, dim, codecs)
	if err := errors.Join(os.MkdirAll(filepath.Join(folder, "c"), 0o777),
		os.WriteFile(filepath.Join(group, "zarr.json"), []byte(`{"zarr_format":3,"node_type":"group"}`), 0o666),
		os.WriteFile(filepath.Join(folder, "zarr.json"), []byte(doc), 0o666),
		os.WriteFile(filepath.Join(folder, "c", "0"), []byte("\x01\x00\x00\x00\x02\x00\x00\x00"), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// TestAllUnreadable checks that a build is refused if only coordinates remain, because nothing else can be read, and
// that variables that are dropped by name are no reason to refuse it.
func TestAllUnreadable(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const known, unknown = `{"name":"bytes","configuration":{"endian":"little"}}`, `{"name":"secret-codec"}`
	for _, c := range []struct {
		name    string
		codecs  map[string]string // of each array
		drop    []string
		refused []string // arrays
		arrays  []string
	}{
		{"one unreadable", map[string]string{"a": unknown}, nil, []string{"/a"}, nil},
		{"two unreadable, and a coordinate", map[string]string{"a": unknown, "b": unknown, "x": known}, nil, []string{"/a", "/b"}, nil},
		{"one of two unreadable", map[string]string{"a": unknown, "b": known}, nil, nil, []string{"/b"}},
		{"dropped by name", map[string]string{"a": unknown, "x": known}, []string{"a"}, nil, []string{"/x"}},
		{"only a coordinate", map[string]string{"x": known}, nil, nil, []string{"/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			group := filepath.Join(t.TempDir(), "z.zarr")
			for name, codecs := range c.codecs {
				writeArray(t, group, name, "x", codecs)
			}
			made, err := Build(t.Context(), filepath.Join(t.TempDir(), "out"), &Options{Sources: Sources{Names: []string{group}}, Plan: plan.Options{Drop: c.drop}})
			var refused *plan.Error
			if errors.As(err, &refused) != (c.refused != nil) || err != nil && refused == nil {
				t.Fatal(err)
			}
			var got []string
			if refused != nil {
				for _, f := range refused.Findings {
					if f.Code != report.VariableUnreadable || f.Effect != report.Refused || len(f.Remedies) != 1 {
						t.Fatalf("the finding is %+v", f)
					}
					for _, s := range append([]report.Setting{f.Remedies[0].Setting}, f.Remedies[0].With...) {
						got = append(got, "/"+s.Value)
					}
				}
				if slices.Sort(got); !slices.Equal(got, c.refused) {
					t.Errorf("refused for %q, want %q", got, c.refused)
				}
				return
			}
			for _, a := range made.Snapshot.Arrays {
				got = append(got, a.Path)
			}
			if !slices.Equal(got, c.arrays) {
				t.Errorf("arrays %q, want %q", got, c.arrays)
			}
		})
	}
}
