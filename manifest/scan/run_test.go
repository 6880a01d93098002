package scan_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/scan"
	"varve/readers/source"
)

func demo() []string {
	names, _ := filepath.Glob(fixtures + "/demo/*.nc")
	return names
}

// copyTo copies a file, and returns where.
func copyTo(t *testing.T, folder, from string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(folder, filepath.Base(from))
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestShared(t *testing.T) {
	names := demo()
	again := copyTo(t, t.TempDir(), names[0])
	a, err := scanAll(append(names, again), scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, second, last := a.Files[0], a.Files[1], a.Files[3]
	if first.Header != last.Header || first.Groups != last.Groups || !slices.Equal(first.Values, last.Values) {
		t.Error("equal files share nothing")
	}
	if first.Header == second.Header {
		t.Error("files of 31 and of 28 days have one header")
	}
	lat, time := first.Header.Find("/lat"), first.Header.Find("/time")
	if first.Values[lat] == nil || first.Values[lat] != second.Values[lat] {
		t.Error("equal coordinates are not shared")
	}
	if first.Values[time] == second.Values[time] {
		t.Error("different times are shared")
	}
	if last.URL != again || last.Row != first.Row+second.Row-first.Row+a.Files[2].Row-second.Row+first.Header.Rows() {
		t.Errorf("%s begins at row %d", last.URL, last.Row)
	}
}

// TestOrder holds that the result does not depend on who was first.
func TestOrder(t *testing.T) {
	names := fixtureFiles(t)
	names = append(names, names...)
	want, err := scanAll(names, scan.Options{Workers: 1, SkipBroken: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := scanAll(names, scan.Options{Workers: 7, SkipBroken: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.refs, want.refs) || !slices.EqualFunc(got.inline, want.inline, bytes.Equal) {
		t.Error("refs differ")
	}
	if !reflect.DeepEqual(got.Files, want.Files) {
		t.Error("files differ")
	}
	for i, b := range got.Broken {
		if b.URL != want.Broken[i].URL || b.Err.Error() != want.Broken[i].Err.Error() {
			t.Errorf("broken: %v, want %v", b, want.Broken[i])
		}
	}
	for _, f := range got.Files {
		checkKept(t, f)
	}
}

// checkKept holds that nothing of a file has changed since it got its ID: nothing is in memory
// that was used for other files afterwards.
func checkKept(t *testing.T, f *manifest.File) {
	t.Helper()
	h, g := *f.Header, *f.Groups
	h.SetID()
	g.SetID()
	if h.ID != f.Header.ID || g.ID != f.Groups.ID {
		t.Errorf("%s: the header or the attributes changed", f.URL)
	}
	for i, v := range f.Values {
		if v == nil {
			continue
		}
		c := *v
		if c.SetID(); c.ID != v.ID {
			t.Errorf("%s: the values of %s changed", f.URL, f.Header.Variables[i].Path)
		}
	}
}

func TestBroken(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{
		"cut.nc":   "",
		"page.nc":  "<!DOCTYPE html><html>",
		"empty.nc": "",
	}
	whole, err := os.ReadFile(demo()[0])
	if err != nil {
		t.Fatal(err)
	}
	files["cut.nc"] = string(whole[:len(whole)/2])
	names := demo()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"cut.nc", "absent.nc", "page.nc", "empty.nc"} {
		names = slices.Insert(names, 1, filepath.Join(folder, name))
	}
	a, err := scanAll(names, scan.Options{})
	var broken *scan.BrokenError
	if !errors.As(err, &broken) || len(broken.Broken) != 4 {
		t.Fatalf("got %v", err)
	}
	for _, name := range []string{"cut.nc", "absent.nc", "page.nc", "empty.nc"} {
		if n := strings.Count(err.Error(), name); n < 1 || n > 2 {
			t.Errorf("%s is named %d times:\n%v", name, n, err)
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Error("the errors of the sources are not to be had")
	}
	if len(a.Files) != 3 {
		t.Errorf("%d files", len(a.Files))
	}
	skipped, err := scanAll(names, scan.Options{SkipBroken: true})
	if err != nil || len(skipped.Files) != 3 || len(skipped.Broken) != 4 {
		t.Errorf("%d files, %d broken, %v", len(skipped.Files), len(skipped.Broken), err)
	}
	if int64(len(skipped.refs)) != skipped.Rows {
		t.Error("rows of broken files are counted")
	}
}

// stopping is a sink that calls off what it is a part of.
type stopping struct {
	discard
	stop func() error
}

func (s *stopping) Append(offsets, sizes []int64, masks []uint32, others []int32) error {
	if s.rows > 20 {
		return s.stop()
	}
	return s.discard.Append(offsets, sizes, masks, others)
}

func TestStopped(t *testing.T) {
	names := slices.Repeat(demo(), 200)
	ctx, cancel := context.WithCancel(context.Background())
	sink := &stopping{stop: func() error { cancel(); return nil }}
	start := time.Now()
	if _, err := scan.Scan(ctx, names, &scan.Options{Sink: sink}); !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %v", err)
	}
	full := errors.New("no space left")
	sink = &stopping{stop: func() error { return full }}
	if _, err := scan.Scan(context.Background(), names, &scan.Options{Sink: sink}); !errors.Is(err, full) {
		t.Errorf("full sink: %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

func TestProgress(t *testing.T) {
	var steps []scan.Progress
	var d discard
	opts := scan.Options{Sink: &d, Progress: func(p scan.Progress) { steps = append(steps, p) }}
	if _, err := scan.Scan(context.Background(), demo(), &opts); err != nil {
		t.Fatal(err)
	}
	if len(steps) != 3 || steps[0].Done != 1 || steps[2].Done != 3 || steps[2].Sources != 3 || steps[2].Refs != d.rows || steps[2].Bytes == 0 {
		t.Errorf("steps %+v, %d rows", steps, d.rows)
	}
}

func TestFirst(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/virtual.h5"}, scan.Options{FirstFile: 40, FirstRow: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if a.Files[0].Row != 1000 || a.Files[0].Parts[0][0].File != 41 {
		t.Errorf("row %d, parts %v", a.Files[0].Row, a.Files[0].Parts)
	}
}

func valuesLater(f *manifest.File, variable int, opts *scan.Options) (*manifest.Values, error) {
	l, err := scan.Reopen(context.Background(), f, opts)
	if err != nil {
		return nil, err
	}
	values, err := l.Values(variable)
	return values, errors.Join(err, l.Close())
}

func sumLater(f *manifest.File, variable int, sums *scan.Sums) (*manifest.Values, error) {
	l, err := scan.Reopen(context.Background(), f, nil)
	if err != nil {
		return nil, err
	}
	sum, err := l.Sum(variable, sums)
	return sum, errors.Join(err, l.Close())
}

// blocksLater reads the elements of a variable some at a time, in a copy of a file of which no
// values are known.
func blocksLater(f *manifest.File, variable int) (all []byte, err error) {
	bare := *f
	bare.Values = make([]*manifest.Values, len(f.Values))
	l, err := scan.Reopen(context.Background(), &bare, nil)
	if err != nil {
		return nil, err
	}
	err = l.Blocks(variable, func(elements []byte) error {
		all = append(all, elements...)
		return nil
	})
	return all, errors.Join(err, l.Close())
}

// TestValuesLater reads what a scan did not.
func TestValuesLater(t *testing.T) {
	sums := scan.NewSums()
	for _, name := range fixtureFiles(t) {
		a, err := scanAll([]string{name}, scan.Options{})
		if err != nil {
			continue
		}
		f := a.Files[0]
		for i, v := range f.Header.Variables {
			if v.Unreadable != "" {
				if _, err := valuesLater(f, i, nil); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), v.Path) {
					t.Errorf("%s %s: %v", name, v.Path, err)
				}
				continue
			}
			want, err := a.read(f, i)
			if err != nil {
				t.Errorf("%s %s: %v", name, v.Path, err)
				continue
			}
			sum, err := sumLater(f, i, sums)
			got, err2 := valuesLater(f, i, nil)
			if err = errors.Join(err, err2); err == nil && (sum.ID != got.ID || !sum.Summed || sum.Data != nil || sum.Texts != nil) {
				t.Errorf("%s %s: sum %+v of values %s", name, v.Path, sum, got.ID)
			}
			if blocks, err3 := blocksLater(f, i); err3 != nil || !v.Type.Varies() && !bytes.Equal(blocks, want.Fixed) {
				t.Errorf("%s %s: other elements block by block, %v", name, v.Path, err3)
			}
			if err != nil || !bytes.Equal(got.Data, want.Fixed) || !slices.EqualFunc(got.Texts, want.Var, bytes.Equal) {
				t.Errorf("%s %s: other values, %v", name, v.Path, err)
			}
		}
	}
}

// TestSums: values have one sum however they are stored, others have others.
func TestSums(t *testing.T) {
	dir := t.TempDir()
	var files []*manifest.File
	for _, c := range []struct{ name, compressor, chunk string }{
		{"plain", `null`, "\x01\x02\x03\x04"},
		{"plain again", `null`, "\x01\x02\x03\x04"},
		{"packed", `{"id":"zlib","level":0}`, "\x78\x01\x01\x04\x00\xfb\xff\x01\x02\x03\x04\x00\x18\x00\x0b"},
		{"other", `null`, "\x01\x02\x03\x05"},
	} {
		folder := filepath.Join(dir, c.name+".zarr")
		for name, text := range map[string]string{
			".zgroup":   `{"zarr_format":2}`,
			"v/.zarray": `{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i2","order":"C","compressor":` + c.compressor + `,"fill_value":0,"filters":null}`,
			"v/0":       c.chunk,
		} {
			name = filepath.Join(folder, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		a, err := scanAll([]string{folder}, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, a.Files[0])
	}
	sums := scan.NewSums()
	var ids []string
	for _, f := range files {
		sum, err := sumLater(f, f.Header.Find("/v"), sums)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sum.ID)
	}
	if ids[0] != ids[1] || ids[0] != ids[2] || ids[0] == ids[3] {
		t.Errorf("sums %v", ids)
	}
}

// TestValuesOfLongChunk: chunks may be far longer than what they hold, as those of coordinates are
// that were made to grow, and compressors make little of that.
func TestValuesOfLongChunk(t *testing.T) {
	const length = 1 << 19
	p, err := codec.New([]codec.Spec{{Name: "bytes", Config: []byte(`{"endian":"little"}`)}, {Name: "zstd"}},
		codec.Form{Type: codec.Type{Kind: codec.Float, Size: 8}, Shape: []int64{length}})
	if err != nil {
		t.Fatal(err)
	}
	elems := codec.NewElems(p.Form())
	copy(elems.Fixed, binary.LittleEndian.AppendUint64(nil, math.Float64bits(7)))
	chunk, err := p.Encode(nil, elems)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "a.zarr")
	for name, text := range map[string]string{
		".zgroup":   `{"zarr_format":2}`,
		"x/.zarray": fmt.Sprintf(`{"zarr_format":2,"shape":[2],"chunks":[%d],"dtype":"<f8","order":"C","compressor":{"id":"zstd","level":0},"fill_value":0,"filters":null}`, length),
		"x/.zattrs": `{"_ARRAY_DIMENSIONS":["x"]}`,
		"x/0":       string(chunk),
	} {
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	a, err := scanAll([]string{folder}, scan.Options{ValueBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	values := f.Values[f.Header.Find("/x")]
	if values == nil || !bytes.Equal(values.Data, elems.Fixed[:16]) {
		t.Errorf("of a chunk of %d bytes in %d the values are %+v", 8*length, len(chunk), values)
	}
}

func TestValuesChanged(t *testing.T) {
	name := copyTo(t, t.TempDir(), demo()[0])
	a, err := scanAll([]string{name}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := valuesLater(a.Files[0], a.Files[0].Header.Find("/t2m"), nil); !errors.Is(err, source.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if _, err := sumLater(a.Files[0], a.Files[0].Header.Find("/t2m"), scan.NewSums()); !errors.Is(err, source.ErrChanged) {
		t.Errorf("a sum: %v", err)
	}
}

func TestValuesLimit(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/netcdf4.nc"}, scan.Options{ValueBytes: 16})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	if v := f.Header.Variables[f.Header.Find("/deep/er/name")]; !strings.Contains(v.Unreadable, "--value-bytes") {
		t.Errorf("strings: %q", v.Unreadable)
	}
	n := f.Header.Find("/v")
	if _, err := valuesLater(f, n, &scan.Options{ValueBytes: 16}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("large values: %v", err)
	}
}

// TestExternal reads values that are in a file beside the one that says so.
func TestExternal(t *testing.T) {
	folder := t.TempDir()
	name := copyTo(t, folder, fixtures+"/hdf5/layouts.h5")
	raw := filepath.Join(folder, "layouts.raw")
	for _, c := range []struct{ name, content, refused string }{
		{"all there", "\x01\x00\x02\x00\x03\x00\x04\x01", ""},
		{"cut off", "\x01\x00\x02\x00", "has 4"},
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

// TestAllow reads a set of references to a file in another folder.
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
	if v := a.Files[0].Header.Variables[0]; v.Elsewhere != there || !strings.Contains(v.Unreadable, there) {
		t.Errorf("read, or refused with %q for %q", v.Unreadable, v.Elsewhere)
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

// TestURL scans files on a server, which cannot be read at once nor be looked at for nothing.
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
		if strings.Contains(name, "virtual") { // grows with its sources, which the reader only finds in a folder
			if v := got.Files[0].Header.Variables[0]; v.Path != "/v" || !strings.Contains(v.Unreadable, "virtual_source.h5") {
				t.Errorf("of no known length: %+v", v)
			}
			continue
		}
		if got.Files[0].Header.ID != want.Files[0].Header.ID || !slices.Equal(got.refs, want.refs) {
			t.Errorf("%s: other headers or refs", name)
		}
	}
}

// TestFileURL: what a file names lies beside it also if that is given as a URL.
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

// TestNoWayUp: what a source of a server names lies below its folder also when a server has
// resolved the URL.
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
	if v := a.Files[0].Header.Variables[0]; !strings.HasPrefix(v.Elsewhere, server.URL) {
		t.Errorf("read, or refused with %q for %q", v.Unreadable, v.Elsewhere)
	}
	if slices.ContainsFunc(asked, func(path string) bool { return strings.Contains(path, "secret") }) {
		t.Errorf("asked for %q", asked)
	}
}

// TestDamaged scans files with bytes changed or cut off: none makes a reader fail, and no ref
// is to what is not there.
func TestDamaged(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	folder := t.TempDir()
	scanned := 0
	for _, from := range []string{"hdf5/filter_masks.h5", "hdf5/virtual.h5", "hdf5/types.h5", "hdf5/layouts.h5", "netcdf3/classic.nc", "demo/2021-01.nc"} {
		name := copyTo(t, folder, fixtures+"/"+from)
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			data := bytes.Clone(whole)
			for range 1 + r.IntN(3) {
				data[r.IntN(min(len(data), 8<<10))] ^= byte(1 << r.IntN(8))
			}
			if r.IntN(6) == 0 {
				data = data[:r.IntN(len(data))]
			}
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
			a, err := scanAll([]string{name}, scan.Options{SkipBroken: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range a.Broken {
				if strings.Contains(b.Err.Error(), "defect of varve") {
					t.Errorf("%s: %v", from, b.Err)
				}
			}
			scanned += len(a.Files)
			for _, ref := range a.refs {
				if ref.Offset >= 0 && ref.Other == 0 && len(a.Files) == 1 && ref.Offset > int64(len(data)) {
					t.Errorf("%s: a ref to offset %d of %d", from, ref.Offset, len(data))
				}
			}
		}
	}
	if scanned == 0 {
		t.Error("no damage was passed over")
	}
}

// TestNull: a dataset without a dataspace has no element, which is other than one without a value.
func TestNull(t *testing.T) {
	folder := t.TempDir()
	name := copyTo(t, folder, fixtures+"/hdf5/layouts.h5")
	if err := os.WriteFile(filepath.Join(folder, "layouts.raw"), make([]byte, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := scanAll([]string{name}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := a.Files[0].Header
	for _, path := range []string{"/null", "/null text"} {
		if v := h.Variables[h.Find(path)]; v.Unreadable != "" || !slices.Equal(v.Shape, []int64{0}) {
			t.Errorf("%s: shape %v, %q", path, v.Shape, v.Unreadable)
		}
	}
}

// TestLinks: what links lead to in other files is there as it is there, under the paths of the
// links, and what leads nowhere is listed. Values are what libhdf5 reads.
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
		if i < 0 || f.Header.Variables[i].Unreadable != "" {
			t.Errorf("%s is number %d: %+v", path, i, f.Header.Variables[max(i, 0)])
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
		"/no_file":   `is /x of the file "absent.h5", which is not there`,
		"/no_object": "in which there is no such variable or group",
		"/self":      "which it is in itself",
		"/scan/loop": "which it is in itself",
	} {
		if i := f.Header.Find(path); i < 0 || !strings.Contains(f.Header.Variables[i].Unreadable, why) {
			t.Errorf("%s is number %d: %+v", path, i, f.Header.Variables[max(i, 0)])
		}
	}
	dims := func(path string) []string { return f.Header.Variables[f.Header.Find(path)].Dims }
	if d := dims("/scan/image"); d[0] != "/scan/time" || d[0] != dims("/scan/time")[0] {
		t.Errorf("dimensions %v", d)
	}
	if d := dims("/image"); d[0] != "/image#time" {
		t.Errorf("dimensions %v", d)
	}
	names := f.Header.Variables[f.Header.Find("/scan/names")].Attributes
	if a := manifest.Lookup(names, "shows"); a == nil || !slices.Equal(a.Texts, []string{"/scan/image"}) || !strings.Contains(manifest.Lookup(names, "lost").Unreadable, "refers to /outside") {
		t.Errorf("attributes %+v", names)
	}
	g := slices.IndexFunc(f.Groups.Groups, func(g manifest.Group) bool { return g.Path == "/scan" })
	if g < 0 || manifest.Lookup(f.Groups.Groups[g].Attributes, "made_by") == nil {
		t.Errorf("groups %+v", f.Groups.Groups)
	}
	if n := len(f.Header.Variables); n != 22 {
		t.Errorf("%d variables", n)
	}
}

// TestLinksElsewhere: files of other folders are read if that is allowed.
func TestLinksElsewhere(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	name := copyTo(t, folder, fixtures+"/hdf5/links_files.h5")
	target := copyTo(t, other, fixtures+"/hdf5/links_target.h5")
	if err := os.Symlink(target, filepath.Join(folder, "links_target.h5")); err != nil {
		t.Skip(err) // a system without such links
	}
	look := func(path string, allow ...string) manifest.Variable {
		a, err := scanAll([]string{name}, scan.Options{Allow: allow})
		if err != nil {
			t.Fatal(err)
		}
		return a.Files[0].Header.Variables[a.Files[0].Header.Find(path)]
	}
	for _, path := range []string{"/image", "/scan", "/through"} {
		if v := look(path); v.Elsewhere != other {
			t.Errorf("%s is out of the folder: %+v", path, v)
		}
	}
	for _, path := range []string{"/image", "/scan/image", "/through"} {
		if v := look(path, other); v.Unreadable != "" {
			t.Errorf("%s is allowed: %+v", path, v)
		}
	}
}

// TestVirtualPlaces: parts of virtual datasets of the same file that are no boxes are values.
func TestVirtualPlaces(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/virtual_places.h5"}, scan.Options{ValueBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	h := a.Files[0].Header
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

// TestConventions: what HDF5 has no type for is what those who wrote it meant.
func TestConventions(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/conventions.h5"}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, values := a.Files[0].Header, a.Files[0].Values
	for path, want := range map[string]codec.Type{
		"/truth": {Kind: codec.Bool, Size: 1}, "/complex": {Kind: codec.Complex, Size: 16}, "/big complex": {Kind: codec.Complex, Size: 8},
		"/paths": {Kind: codec.String}, "/nothing": {Kind: codec.Float, Size: 4},
	} {
		if v := h.Variables[h.Find(path)]; !v.Type.Equal(want) || v.Unreadable != "" {
			t.Errorf("%s: %s, %q, want %s", path, v.Type, v.Unreadable, want)
		}
	}
	paths := h.Find("/paths")
	if got := fmt.Sprintf("%q", values[paths].Texts); got != `["/truth" "/table" "" "/"]` {
		t.Errorf("paths are %s", got)
	}
	if v := h.Variables[h.Find("/nothing")]; !slices.Equal(v.Shape, []int64{0}) || len(v.Attributes) != 1 {
		t.Errorf("nothing: %+v", v)
	}
	var groups []manifest.Attribute
	for _, g := range a.Files[0].Groups.Groups {
		groups = append(groups, g.Attributes...)
	}
	text := codec.Type{Kind: codec.String}
	for name, want := range map[string]manifest.Attribute{
		"of":           {Name: "of", Type: text, Texts: []string{"/truth"}, Scalar: true},
		"column-order": {Name: "column-order", Type: text, Texts: []string{"truth"}},
	} {
		if got := manifest.Lookup(groups, name); got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	rows := h.Find("/rows")
	if v := h.Variables[rows]; v.Type.String() != "struct of 3 fields, 138 bytes" || v.Type.Fields[1].Type.String() != "U32" {
		t.Errorf("rows are of %s, %+v, %q", v.Type, v.Type.Fields, v.Unreadable)
	} else if b := values[rows].Data; len(b) != 2*138 || b[0] != 1 || b[2] != 0xe9 || b[138] != 2 || string(b[140:144]) != "a\x00\x00\x00" || b[138+2+17*4] != 's' {
		t.Errorf("rows are %x", b)
	}
	if a := manifest.Lookup(h.Variables[h.Find("/truth")].Attributes, "ordered"); a == nil || a.Type.Kind != codec.Bool {
		t.Errorf("ordered: %+v", a)
	}
}

// TestVirtualDamaged: a source of a virtual dataset that cannot be read is not fill.
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

// TestVirtualNested: virtual datasets that are of one another many times are each read once.
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
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}
