package scan_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/scan"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// TestExternal reads values from an external file, and checks that a file that is too short is an error.
func TestExternal(t *testing.T) {
	folder := t.TempDir()
	name := copyTo(t, folder, fixtures+"/hdf5/layouts.h5")
	raw := filepath.Join(folder, "layouts.raw")
	for _, c := range []struct{ name, content, refused string }{
		{"complete", "\x01\x00\x02\x00\x03\x00\x04\x01", ""},
		{"truncated", "\x01\x00\x02\x00", "(4)"},
	} {
		if err := os.WriteFile(raw, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := scanAll([]string{name}, scan.Options{})
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		f := a.Files[0]
		n := f.Header.Find("/external")
		got, err := a.read(f, n)
		if err != nil || string(got.Fixed) != c.content {
			t.Errorf("%s: %x, %v", c.name, got.Fixed, err)
		}
		if h := a.Files[f.Parts[n][0].File]; h.URL != raw || h.Size != 8 || !h.Hidden {
			t.Errorf("%s: part in %+v", c.name, h.Source)
		}
		later, err := valuesLater(f, n, nil)
		if err != nil || string(later.Data) != c.content {
			t.Errorf("%s: later %v, %v", c.name, later, err)
		}
	}
}

// TestAllow checks that references to a file in another folder are read only if that folder is allowed.
func TestAllow(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	data := filepath.Join(there, "data.bin")
	if err := os.WriteFile(data, []byte("0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	refs := fmt.Sprintf(`{"version":1,"refs":{".zgroup":"{\"zarr_format\":2}",
		"x/.zarray":"{\"zarr_format\":2,\"shape\":[4],\"chunks\":[2],\"dtype\":\"|u1\",\"compressor\":null,\"filters\":null,\"fill_value\":0,\"order\":\"C\"}",
		"x/0":[%q,1,2],"x/1":"AB"}}`, data)
	name := filepath.Join(here, "refs.json")
	if err := os.WriteFile(name, []byte(refs), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := scanAll([]string{name}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := a.Files[0].Header.Variable(0); v.Elsewhere != there || !strings.Contains(v.Unreadable, there) {
		t.Errorf("unreadable %q, folder to allow %q", v.Unreadable, v.Elsewhere)
	}
	a, err = scanAll([]string{name, name}, scan.Options{Allow: []string{there}})
	if err != nil || len(a.Files) != 3 || !a.Files[1].Hidden || a.Files[1].URL != data || a.Files[1].Size != 10 {
		t.Fatalf("files %v, %v", a.Files, err)
	}
	for _, f := range []*manifest.File{a.Files[0], a.Files[2]} {
		if got, err := a.read(f, 0); string(got.Fixed) != "12AB" || err != nil {
			t.Errorf("values %q, %v", got.Fixed, err)
		}
	}
	if a.refs[0].Other != 2 || a.refs[2].Other != 2 {
		t.Errorf("refs %v", a.refs)
	}
}

// TestURL checks that files on a server have the same headers and refs as local files.
func TestURL(t *testing.T) {
	folder, err := filepath.Abs(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	for _, name := range []string{"/demo/2021-01.nc", "/netcdf3/classic.nc", "/hdf5/virtual.h5", "/hdf5/netcdf4.nc"} {
		want, err := scanAll([]string{folder + name}, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := scanAll([]string{server.URL + name}, scan.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f := got.Files[0]; f.URL != server.URL+name || f.Size != want.Files[0].Size {
			t.Errorf("source %+v", f.Source)
		}
		if strings.Contains(name, "virtual") { // its length depends on its sources, which the reader finds only in a folder
			if v := got.Files[0].Header.Variable(0); v.Path != "/v" || !strings.Contains(v.Unreadable, "virtual_source.h5") {
				t.Errorf("a virtual dataset of unknown length: %+v", v)
			}
			continue
		}
		if got.Files[0].Header.ID != want.Files[0].Header.ID || !slices.Equal(got.refs, want.refs) {
			t.Errorf("%s: headers or refs differ from the local file", name)
		}
	}
}

// TestFileURL checks that relative names are resolved for a source with a file URL.
func TestFileURL(t *testing.T) {
	name, err := filepath.Abs(fixtures + "/hdf5/virtual.h5")
	if err != nil {
		t.Fatal(err)
	}
	want, err := scanAll([]string{name}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := scanAll([]string{"file://" + name}, scan.Options{})
	if err != nil || got.Files[0].Header.ID != want.Files[0].Header.ID {
		t.Errorf("%v, %+v, want %+v", err, got.Files[0].Header, want.Files[0].Header)
	}
}

// TestNoWayUp checks that a source on a server can name only files below its folder, also after the server
// has resolved the URL.
func TestNoWayUp(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if !strings.HasSuffix(r.URL.Path, ".json") {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"version":1,"refs":{".zgroup":"{\"zarr_format\":2}",
			"x/.zarray":"{\"zarr_format\":2,\"shape\":[2],\"chunks\":[2],\"dtype\":\"|u1\",\"compressor\":null,\"filters\":null,\"fill_value\":0,\"order\":\"C\"}",
			"x/0":["http://%s/a/%%2e%%2e/b/secret.bin",0,2]}}`, r.Host)
	}))
	defer server.Close()
	a, err := scanAll([]string{server.URL + "/a/refs.json"}, scan.Options{Opener: source.NewOpener(&source.Options{Download: true})})
	if err != nil {
		t.Fatal(err)
	}
	if v := a.Files[0].Header.Variable(0); !strings.HasPrefix(v.Elsewhere, server.URL) {
		t.Errorf("unreadable %q, folder to allow %q", v.Unreadable, v.Elsewhere)
	}
	if slices.ContainsFunc(asked, func(path string) bool { return strings.Contains(path, "secret") }) {
		t.Errorf("requested %q", asked)
	}
}

// TestLinks checks that targets of links appear under the paths of the links, with the values that libhdf5
// reads, and that broken links are listed as unreadable.
func TestLinks(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/links_files.h5"}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	upTo := func(from, to int) (out []int16) {
		for i := range to - from {
			out = append(out, int16(from+i))
		}
		return out
	}
	image, x := upTo(0, 24), upTo(0, 18)
	stack := append([]int16{4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18}, x...)
	for path, want := range map[string]any{
		"/image": image, "/scan/image": image, "/scan/again": image, "/soft": image, "/through": image,
		"/further": x, "/scan/onward": x, "/scan/stack": stack,
		"/partly":     append(upTo(8, 16), slices.Repeat([]int16{-1}, 8)...),
		"/scan/plain": upTo(0, 4), "/scan/never": []float32{7, 7, 7}, "/own": []int64{0, 1, 2}, "/scan/back": []int64{0, 1, 2},
		"/time": []float64{0, .5, 1, 1.5, 2, 2.5}, "/scan/time": []float64{0, .5, 1, 1.5, 2, 2.5},
		"/names": "a bb ccc", "/scan/names": "a bb ccc", "/scan/references": "/scan/image /scan ",
	} {
		i := f.Header.Find(path)
		if i < 0 || f.Header.Variable(i).Unreadable != "" {
			t.Errorf("%s is number %d: %+v", path, i, f.Header.Variable(max(i, 0)))
			continue
		}
		got, err := a.read(f, i)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if text, ok := want.(string); ok {
			if all := string(bytes.Join(got.Var, []byte(" "))); all != text {
				t.Errorf("%s: %q", path, all)
			}
			continue
		}
		if stored, err := binary.Append(nil, binary.LittleEndian, want); err != nil || !bytes.Equal(got.Fixed, stored) {
			t.Errorf("%s: %v, want %v, %v", path, got.Fixed, stored, err)
		}
	}
	for path, why := range map[string]string{
		"/no_file":   `/x of the file "absent.h5"`,
		"/no_object": "/run/absent",
		"/self":      "links_files.h5",
		"/scan/loop": "links_files.h5",
	} {
		if i := f.Header.Find(path); i < 0 || !strings.Contains(f.Header.Variable(i).Unreadable, why) {
			t.Errorf("%s is number %d: %+v", path, i, f.Header.Variable(max(i, 0)))
		}
	}
	dims := func(path string) []string { return f.Header.Variable(f.Header.Find(path)).Dims }
	if d := dims("/scan/image"); d[0] != "/scan/time" || d[0] != dims("/scan/time")[0] {
		t.Errorf("dimensions %v", d)
	}
	if d := dims("/image"); d[0] != "/image#time" {
		t.Errorf("dimensions %v", d)
	}
	names := f.Header.Variable(f.Header.Find("/scan/names")).Attributes
	if a := manifest.Lookup(names, "shows"); a == nil || !slices.Equal(a.Texts, []string{"/scan/image"}) || !strings.Contains(manifest.Lookup(names, "lost").Unreadable, "refers to /outside") {
		t.Errorf("attributes %+v", names)
	}
	g := slices.IndexFunc(f.Groups.Expand().Groups, func(g manifest.Group) bool { return g.Path == "/scan" })
	if g < 0 || manifest.Lookup(f.Groups.Expand().Groups[g].Attributes, "made_by") == nil {
		t.Errorf("groups %+v", f.Groups.Expand().Groups)
	}
	if n := f.Header.Len(); n != 22 {
		t.Errorf("%d variables", n)
	}
}

// TestLinksElsewhere checks that files in other folders are read if that is allowed.
func TestLinksElsewhere(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	name := copyTo(t, folder, fixtures+"/hdf5/links_files.h5")
	target := copyTo(t, other, fixtures+"/hdf5/links_target.h5")
	if err := os.Symlink(target, filepath.Join(folder, "links_target.h5")); err != nil {
		t.Skip(err) // the system does not support symbolic links
	}
	look := func(path string, allow ...string) manifest.Variable {
		a, err := scanAll([]string{name}, scan.Options{Allow: allow})
		if err != nil {
			t.Fatal(err)
		}
		return *a.Files[0].Header.Variable(a.Files[0].Header.Find(path))
	}
	for _, path := range []string{"/image", "/scan", "/through"} {
		if v := look(path); v.Elsewhere != other {
			t.Errorf("%s is in another folder: %+v", path, v)
		}
	}
	for _, path := range []string{"/image", "/scan/image", "/through"} {
		if v := look(path, other); v.Unreadable != "" {
			t.Errorf("%s is allowed: %+v", path, v)
		}
	}
}

// TestVirtualPlaces checks that parts of the same file that are not boxes are read by value.
func TestVirtualPlaces(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/virtual_places.h5"}, scan.Options{ValueBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	h := a.Files[0].Header.Expand()
	for path, want := range map[string][]float32{"/column": {14, 18, 22}, "/blocks": {2, 3, 21, -1}} {
		var stored []byte
		for _, x := range want {
			stored = binary.LittleEndian.AppendUint32(stored, math.Float32bits(x))
		}
		i := h.Find(path)
		if v := a.Files[0].Values[i]; v == nil || h.Variables[i].Storage.Layout != manifest.Valued || !bytes.Equal(v.Data, stored) {
			t.Errorf("%s: %+v, %v", path, h.Variables[i], v)
		}
	}
}

// TestVirtualDamaged checks that a damaged source of a virtual dataset is an error, and is not replaced by fill
// values.
func TestVirtualDamaged(t *testing.T) {
	folder := t.TempDir()
	name := copyTo(t, folder, fixtures+"/hdf5/virtual.h5")
	other := copyTo(t, folder, fixtures+"/hdf5/virtual_source.h5")
	data, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(data, []byte("OHDR"))
	data[at+20] ^= 1
	if err := os.WriteFile(other, data, 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := scanAll([]string{name}, scan.Options{})
	if err == nil || len(a.Broken) != 1 || !strings.Contains(a.Broken[0].Err.Error(), other) || !strings.Contains(a.Broken[0].Err.Error(), "checksum") {
		t.Errorf("broken %v, %v", a.Broken, err)
	}
}

// TestVirtualNested checks that virtual datasets that refer to each other many times are each read once.
func TestVirtualNested(t *testing.T) {
	began := time.Now()
	a, err := scanAll([]string{fixtures + "/hostile/bomb_virtual.h5"}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	i := f.Header.Find("/a7")
	got, err := a.read(f, i)
	if want := "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"; err != nil || string(got.Fixed) != want {
		t.Errorf("values %q, %v", got.Fixed, err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// manyChunks is a format. Its sources name a file beside them, and each byte of that is a chunk.
type manyChunks struct{ chunks uint64 }

func (m manyChunks) Open(_ context.Context, src *source.Source) (*readers.Dataset, error) {
	name := filepath.Join(filepath.Dir(src.Name()), "data.bin")
	d := &readers.Dimension{Name: "x", Path: "/x", Length: m.chunks}
	v := &readers.Variable{Name: "v", Path: "/v", Type: readers.Int(1, readers.LittleEndian, false), Dims: []*readers.Dimension{d}, Shape: []uint64{m.chunks}, MaxShape: []uint64{m.chunks}}
	v.Storage = readers.Storage{Layout: readers.Chunked, ChunkShape: []uint64{1}, Index: "computed", Source: name, Plain: true, Bytes: m.chunks, Pipeline: readers.Pipeline{Bytes: codec.InOrder("")}}
	v.Storage.ReadIndex = func(context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			for k := range m.chunks {
				if !yield(&readers.Ref{Index: []uint64{k}, Offset: int64(k), Size: 1}, nil) {
					return
				}
			}
		}
	}
	root := &readers.Group{Path: "/", Variables: []*readers.Variable{v}, Dimensions: []*readers.Dimension{d}}
	return &readers.Dataset{Source: src, Format: "ManyChunks", Root: root, HoldsChunks: true}, nil
}

// TestChunksOfOther checks that the file that holds the chunks limits their number, not the header beside it.
func TestChunksOfOther(t *testing.T) {
	const chunks = 1<<20 + 1000
	if err := formats.Register(readers.Format{
		Name: "ManyChunks", Magic: []readers.Magic{{Bytes: "many chunks\n"}}, New: func(*readers.Config) readers.Reader { return manyChunks{chunks} },
	}); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	name := filepath.Join(folder, "header")
	if err := os.WriteFile(name, []byte("many chunks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for size, refused := range map[int]string{chunks: "", 10: "has 1049576 chunks, more than a file of this size can contain (1048586)"} {
		if err := os.WriteFile(filepath.Join(folder, "data.bin"), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := scanAll([]string{name}, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v := a.Files[0].Header.Variable(0); !strings.Contains(v.Unreadable, refused) || (refused == "") != (v.Unreadable == "") {
			t.Errorf("%d bytes: %q, want %q", size, v.Unreadable, refused)
		}
	}
}
