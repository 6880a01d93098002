package zarr

import (
	"archive/zip"
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

// zipped returns a sample store as a zip file.
func zipped(t testing.TB, files map[string][]byte, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, key := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: key, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(files[key]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func fromBytes(data []byte) *source.Source {
	return source.New("store.zip", &readertest.Memory{Data: data})
}

// TestZip compares zip files of the sample stores, stored and deflated, with their folders: values,
// attributes and the bytes of all chunks.
func TestZip(t *testing.T) {
	for _, store := range []string{"v2", "v2_consolidated", "v3", "v3_consolidated", "sharded", "rectilinear"} {
		files := readertest.ReadFolder(t, store, filepath.Join(fixtureDir, store)).Files
		want := readertest.Variables(readertest.Open(t, Format{}, filepath.Join(fixtureDir, store)))
		for method, name := range map[uint16]string{zip.Store: "stored", zip.Deflate: "deflated"} {
			t.Run(store+"/"+name, func(t *testing.T) {
				archive := zipped(t, files, method)
				src := fromBytes(archive)
				if is, err := (Format{}).Detect(t.Context(), src); !is || err != nil {
					t.Fatalf("Detect: got %v, %v", is, err)
				}
				data, err := Format{}.Open(t.Context(), src)
				if err != nil || len(data.Problems) > 0 {
					t.Fatal(err, data.Problems)
				}
				got := readertest.Variables(data)
				if len(got) != len(want) || len(got) == 0 {
					t.Errorf("%d variables, want %d", len(got), len(want))
				}
				for path, w := range want {
					compareZipped(t, archive, got[path], w)
				}
			})
		}
	}
}

func compareZipped(t *testing.T, archive []byte, got, want *readers.Variable) {
	t.Helper()
	g, err := got.ReadAll(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	w, err := want.ReadAll(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(g.Data, w.Data) || !slices.EqualFunc(g.Texts, w.Texts, bytes.Equal) {
		t.Errorf("%s: other values", want.Path)
	}
	if g, w := chunkBytes(t, archive, got), chunkBytes(t, nil, want); !maps.Equal(g, w) {
		t.Errorf("%s: chunks %q, want %q", want.Path, g, w)
	}
}

// chunkBytes returns the bytes of all chunks by grid position.
func chunkBytes(t *testing.T, archive []byte, v *readers.Variable) map[string]string {
	t.Helper()
	out := map[string]string{}
	for r, err := range v.Storage.Refs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		whole := archive
		if r.Other != nil {
			whole = r.Other.Inline
		}
		if r.Other != nil && r.Other.Inline == nil {
			if whole, err = os.ReadFile(r.Other.Source); err != nil {
				t.Fatal(err)
			}
		}
		out[line(r.Index, "", 0, r.Size)] = string(whole[r.Offset : uint64(r.Offset)+r.Size])
	}
	return out
}

// TestZipStore reads a file that zarr-python's ZipStore wrote.
func TestZipStore(t *testing.T) {
	for _, name := range []string{"zip_stored.zip", "zip_deflated.zip"} {
		t.Run(name, func(t *testing.T) {
			data := readertest.Open(t, Format{}, filepath.Join(fixtureDir, name))
			v := readertest.Variables(data)["/g/x"]
			if v == nil {
				t.Fatal("no /g/x")
			}
			value, err := v.ReadAll(t.Context(), 100)
			if err != nil {
				t.Fatal(err)
			}
			if want := []byte{0, 0, 1, 0, 2, 0, 3, 0, 9, 0}; !bytes.Equal(value.Data, want) {
				t.Errorf("got %v, want %v", value.Data, want)
			}
			if len(data.Root.Attributes) != 1 || data.Root.Attributes[0].Name != "title" {
				t.Errorf("attributes %v", data.Root.Attributes)
			}
		})
	}
}

func TestZipConformance(t *testing.T) {
	var samples []readertest.Sample
	for name, method := range map[string]uint16{"stored": zip.Store, "deflated": zip.Deflate} {
		files := map[string][]byte{"zarr.json": []byte(group3), "a/zarr.json": []byte(array3()), "a/c/0": {1, 2}}
		samples = append(samples, readertest.Sample{Name: name, Data: zipped(t, files, method)})
	}
	readertest.Run(t, Info(), samples...)
}

func TestZipRefused(t *testing.T) {
	files := map[string][]byte{"zarr.json": []byte(array3())}
	whole, deflated := zipped(t, files, zip.Store), zipped(t, files, zip.Deflate)
	last := bytes.LastIndex(whole, []byte("PK\x01\x02")) // the entry of zarr.json
	for _, test := range []struct {
		name   string
		data   []byte
		at     int
		change []byte
		want   error
	}{
		{"encrypted", whole, last + 8, []byte{1}, errors.ErrUnsupported},
		{"another method", whole, last + 10, []byte{14}, errors.ErrUnsupported},
		{"two sizes", whole, last + 24, []byte{1}, readers.ErrCorrupt},
		{"beyond the directory", whole, last + 42, []byte{0xff, 0xff}, readers.ErrCorrupt},
		{"no header there", whole, last + 42, []byte{1}, readers.ErrCorrupt},
		{"in several parts", whole, len(whole) - 18, []byte{1}, errors.ErrUnsupported},
		{"more entries than bytes", whole, len(whole) - 12, []byte{9}, readers.ErrCorrupt},
		{"directory beyond the end", whole, len(whole) - 6, []byte{0xff, 0xff}, readers.ErrCorrupt},
		{"another checksum", deflated, bytes.LastIndex(deflated, []byte("PK\x01\x02")) + 16, []byte{0, 0, 0, 1}, readers.ErrCorrupt},
		{"a bomb", deflated, bytes.LastIndex(deflated, []byte("PK\x01\x02")) + 24, []byte{0, 0, 0, 3}, readers.ErrCorrupt},
		{"too large to inflate", deflated, bytes.LastIndex(deflated, []byte("PK\x01\x02")) + 24, []byte{0, 0, 0, 0xf0}, errors.ErrUnsupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := bytes.Clone(test.data)
			copy(data[test.at:], test.change)
			src := fromBytes(data)
			if is, err := (Format{}).Detect(t.Context(), src); !is || err != nil {
				t.Errorf("Detect: got %v, %v", is, err)
			}
			if _, err := (Format{}).Open(t.Context(), src); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestZipOther reads zip files that are not stores.
func TestZipOther(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"other files":   {"a.txt": []byte("text")},
		"a store below": {"s.zarr/zarr.json": []byte(group3)},
		"nothing":       {},
	} {
		src := fromBytes(zipped(t, files, zip.Store))
		if is, err := (Format{}).Detect(t.Context(), src); is || err != nil {
			t.Errorf("%s: Detect gave %v, %v", name, is, err)
		}
		if _, err := (Format{}).Open(t.Context(), src); err == nil {
			t.Errorf("%s: Open gave no error", name)
		}
	}
}

func FuzzZip(f *testing.F) {
	files := map[string][]byte{"zarr.json": []byte(array3()), "c/0": {1, 2}, "sub/c/0": {3}}
	f.Add(zipped(f, files, zip.Store))
	f.Add(zipped(f, files, zip.Deflate))
	f.Fuzz(func(t *testing.T, data []byte) {
		readertest.Describe(t.Context(), Format{}, fromBytes(data))
	})
}
