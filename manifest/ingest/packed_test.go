package ingest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/export/icechunk"
	"varve/manifest/export/kerchunk"
	"varve/manifest/export/zarr"
	"varve/manifest/ingest"
	"varve/manifest/present"
	"varve/manifest/relocate"
	"varve/manifest/repo"
	"varve/manifest/serve"
	"varve/manifest/store"
	"varve/manifest/verify"
	"varve/readers/source"
	"varve/readers/source/storetest"
)

const packedLats, packedLons = 512, 700

// dayFile returns a netCDF-3 file of 2.9 MB with two steps.
func dayFile(t testing.TB, day int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(day), 1))
	values := make([]float32, 2*packedLats*packedLons)
	for i := range values {
		values[i] = float32(math.Round(64*(20*math.Sin(float64(i)/5000)+rng.NormFloat64())) / 64)
	}
	lat, lon := make([]float32, packedLats), make([]float32, packedLons)
	for i := range lat {
		lat[i] = float32(i) / 4
	}
	for i := range lon {
		lon[i] = float32(i) / 2
	}
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 2, Records: true}, {Name: "lat", Length: packedLats}, {Name: "lon", Length: packedLons}},
		Vars: []classic.Var{
			{Name: "lat", Dims: []string{"lat"}, Data: lat},
			{Name: "lon", Dims: []string{"lon"}, Data: lon},
			{Name: "v", Dims: []string{"time", "lat", "lon"}, Data: values},
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(2 * day), float64(2*day + 1)}},
		},
	}
	b, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func writeFile(t testing.TB, name string, b []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// packers writes files in packed form to a folder, and returns the names to build from.
var packers = map[string]func(t testing.TB, dir string, names []string, files [][]byte){
	"gz": func(t testing.TB, dir string, names []string, files [][]byte) {
		for i, name := range names {
			writeFile(t, filepath.Join(dir, name+".gz"), gzipped(t, files[i]))
		}
	},
	"gz of several members": func(t testing.TB, dir string, names []string, files [][]byte) {
		for i, name := range names {
			half := len(files[i]) / 2
			writeFile(t, filepath.Join(dir, name+".gz"), append(gzipped(t, files[i][:half]), gzipped(t, files[i][half:])...))
		}
	},
	"zst": func(t testing.TB, dir string, names []string, files [][]byte) {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for i, name := range names {
			var out []byte
			for from := 0; from < len(files[i]); from += 300_000 {
				out = w.EncodeAll(files[i][from:min(from+300_000, len(files[i]))], out)
			}
			writeFile(t, filepath.Join(dir, name+".zst"), out)
		}
	},
	"zip":        zipper(zip.Deflate),
	"stored zip": zipper(zip.Store),
	"tar":        tarrer(".tar", func(_ testing.TB, b []byte) []byte { return b }),
	"tar.gz":     tarrer(".tar.gz", gzipped),
}

func zipper(method uint16) func(testing.TB, string, []string, [][]byte) {
	return func(t testing.TB, dir string, names []string, files [][]byte) {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for i, name := range names {
			m, err := w.CreateHeader(&zip.FileHeader{Name: "years/" + name, Method: method})
			if err == nil {
				_, err = m.Write(files[i])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "all.zip"), out.Bytes())
	}
}

func tarrer(ending string, compress func(testing.TB, []byte) []byte) func(testing.TB, string, []string, [][]byte) {
	return func(t testing.TB, dir string, names []string, files [][]byte) {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for i, name := range append(names, "._hidden") {
			content := []byte("of no interest")
			if i < len(files) {
				content = files[i]
			}
			err := w.WriteHeader(&tar.Header{Name: "./years/" + strings.Repeat("long/", 30*(i%2)) + name, Size: int64(len(content)), Mode: 0o644})
			if err == nil {
				_, err = w.Write(content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "all"+ending), compress(t, out.Bytes()))
	}
}

// inflations counts decompressed bytes, and passes over whole files.
type inflations struct{ bytes, passes, unused atomic.Int64 }

func (c *inflations) trace(ctx context.Context, op source.Operation) (context.Context, func(error)) {
	switch op.Name {
	case "source.inflate":
		c.bytes.Add(op.Bytes)
	case "source.unpack":
		c.passes.Add(1)
	case "store.points":
		c.unused.Add(1)
	}
	return ctx, func(error) {}
}

// openPacked opens a manifest. It does not keep decoded chunks.
func openPacked(t testing.TB, out string, c *inflations) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), out, &store.Options{Trace: c.trace, CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// valuesOf returns the values of all arrays of numbers.
func valuesOf(t testing.TB, st *store.Store) map[string][]float64 {
	t.Helper()
	all := map[string][]float64{}
	for _, a := range st.Arrays() {
		v, err := present.Read[float64](t.Context(), st, a.Path(), present.Sel{})
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", a.Path(), err)
		}
		all[a.Path()] = v.Data
	}
	return all
}

// sameValues reports whether the bits of all values are equal.
func sameValues(a, b map[string][]float64) bool {
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	return maps.EqualFunc(a, b, func(a, b []float64) bool { return slices.EqualFunc(a, b, same) })
}

func buildPacked(t testing.TB, out string, names ...string) *ingest.Result {
	t.Helper()
	r, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: names}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pixel reads one element of each file, and returns the values and the bytes that were decompressed.
func pixel(t testing.TB, out string) (values []float64, c *inflations) {
	t.Helper()
	c = &inflations{}
	st := openPacked(t, out, c)
	v, err := present.Read[float64](t.Context(), st, "v", present.Sel{Index: map[string]string{"lat": "300", "lon": "17"}})
	if err != nil {
		t.Fatal(err)
	}
	return v.Data, c
}

// TestPacked compares files in all packed forms with the plain files.
func TestPacked(t *testing.T) {
	days := []string{"day1.nc", "day2.nc", "day3.nc"}
	contents := map[string]struct {
		names []string
		files [][]byte
	}{"netCDF-3": {names: days}}
	for i := range days {
		c := contents["netCDF-3"]
		c.files = append(c.files, dayFile(t, i))
		contents["netCDF-3"] = c
	}
	for format, name := range map[string]string{"GRIB": "../../fixtures/grib/levels.grib", "HDF5": "../../fixtures/clib/netcdf4.nc"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := contents[format]
		c.names, c.files = []string{filepath.Base(name)}, [][]byte{b}
		contents[format] = c
	}
	for format, content := range contents {
		dir := t.TempDir()
		for i, name := range content.names {
			writeFile(t, filepath.Join(dir, "plain", name), content.files[i])
		}
		buildPacked(t, filepath.Join(dir, "plain.varve"), filepath.Join(dir, "plain"))
		want := valuesOf(t, openPacked(t, filepath.Join(dir, "plain.varve"), &inflations{}))
		if len(want) == 0 {
			t.Fatalf("%s: no values", format)
		}
		for how, pack := range packers {
			t.Run(format+" in "+how, func(t *testing.T) {
				folder, out := filepath.Join(dir, how), filepath.Join(dir, how+".varve")
				pack(t, folder, content.names, content.files)
				buildPacked(t, out, folder)
				c := &inflations{}
				if got := valuesOf(t, openPacked(t, out, c)); !sameValues(got, want) {
					t.Error("the values differ from those of the plain files")
				}
				isPlain := how == "tar" || how == "stored zip"
				if how != "tar" && c.passes.Load() > 0 || c.unused.Load() > 0 {
					t.Errorf("%d files were decompressed as a whole, %d access points were not used", c.passes.Load(), c.unused.Load())
				}
				if format != "netCDF-3" {
					return
				}
				values, c := pixel(t, out)
				if len(values) != 6 || c.bytes.Load() > 6<<20 || !isPlain && c.bytes.Load() == 0 || isPlain && c.bytes.Load() > 0 {
					t.Errorf("6 elements: %v, %d bytes were decompressed", values, c.bytes.Load())
				}
				checkServed(t, out, filepath.Join(dir, "plain.varve"))
				checkExports(t, out, want)
			})
		}
	}
}

// checkServed compares all chunks that a server sends with those of another manifest.
func checkServed(t *testing.T, out, plain string) {
	t.Helper()
	h, err := serve.New(t.Context(), []string{out}, &serve.Options{Reload: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	other, err := serve.New(t.Context(), []string{plain}, &serve.Options{Reload: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	chunks := 0
	for _, key := range []string{"v/zarr.json", "v/c/0/0/0", "v/c/1/0/0", "v/c/2/0/0", "v/c/3/0/0", "v/c/5/0/0", "lat/c/0"} {
		var got [2]*httptest.ResponseRecorder
		for i, handler := range []*serve.Handler{h, other} {
			got[i] = httptest.NewRecorder()
			handler.ServeHTTP(got[i], httptest.NewRequest("GET", "/"+key, nil))
		}
		if got[0].Code != got[1].Code || !bytes.Equal(got[0].Body.Bytes(), got[1].Body.Bytes()) {
			t.Errorf("%s: status %d with %d bytes, of the plain files %d with %d bytes", key, got[0].Code, got[0].Body.Len(), got[1].Code, got[1].Body.Len())
		}
		if got[0].Code == 200 {
			chunks++
		}
	}
	if chunks < 3 {
		t.Errorf("%d chunks were served", chunks)
	}
}

// checkExports checks that references are refused by name, and that a copy has the values.
func checkExports(t *testing.T, out string, want map[string][]float64) {
	t.Helper()
	st := openPacked(t, out, &inflations{})
	dir := t.TempDir()
	_, failed := kerchunk.Write(t.Context(), st, filepath.Join(dir, "refs.json"), &kerchunk.Options{})
	_, failedToo := icechunk.Write(t.Context(), st, filepath.Join(dir, "ice"), &icechunk.Options{})
	for _, err := range []error{failed, failedToo} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "export zarr") {
			t.Errorf("references: %v", err)
		}
	}
	if _, err := zarr.Write(t.Context(), st, filepath.Join(dir, "copy.zarr"), &zarr.Options{}); err != nil {
		t.Fatal(err)
	}
	buildPacked(t, filepath.Join(dir, "copy.varve"), filepath.Join(dir, "copy.zarr"))
	if got := valuesOf(t, openPacked(t, filepath.Join(dir, "copy.varve"), &inflations{})); !sameValues(got, want) {
		t.Error("the copy has other values")
	}
	r, err := verify.Verify(t.Context(), st, &verify.Options{Deep: true})
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

// filePoints returns the number of rows of access points of files in the current snapshot.
func filePoints(t testing.TB, out string) int64 {
	t.Helper()
	st := openPacked(t, out, &inflations{})
	return st.Snapshot().Rows(manifest.FilePoints)
}

// TestPackedLife checks that all commands keep the access points of packed files, and follow the version of outer files.
func TestPackedLife(t *testing.T) {
	dir := t.TempDir()
	files, out := filepath.Join(dir, "files"), filepath.Join(dir, "o.varve")
	name := func(day int) string { return filepath.Join(files, fmt.Sprintf("day%d.nc.gz", day)) }
	var want []float64
	check := func(what, out string, days int) {
		t.Helper()
		got, c := pixel(t, out)
		if !reflect.DeepEqual(got, want[:2*days]) {
			t.Errorf("%s: got %v, want %v", what, got, want[:2*days])
		}
		if c.passes.Load() > 0 || c.unused.Load() > 0 || c.bytes.Load() > int64(days)*4<<20 {
			t.Errorf("%s: %d passes, %d points not used, %d bytes decompressed", what, c.passes.Load(), c.unused.Load(), c.bytes.Load())
		}
	}
	valueOf := func(content []byte) []float64 {
		plain := filepath.Join(t.TempDir(), "plain.nc")
		writeFile(t, plain, content)
		buildPacked(t, plain+".varve", plain)
		v, _ := pixel(t, plain+".varve")
		return v
	}
	for day := range 6 {
		writeFile(t, name(day), gzipped(t, dayFile(t, day)))
		want = append(want, valueOf(dayFile(t, day))...)
	}
	options := func(names ...string) *ingest.Options {
		return &ingest.Options{Sources: ingest.Sources{Names: names}}
	}
	buildPacked(t, out, name(0))
	check("build", out, 1)
	for day := 1; day < 6; day++ {
		if _, err := ingest.Append(t.Context(), out, options(name(day))); err != nil {
			t.Fatal(err)
		}
		check("append", out, day+1)
	}
	// A file that changes is noticed by its outer version.
	changed := dayFile(t, 3)
	copy(changed[len(changed)-2000:], bytes.Repeat([]byte{0x41}, 1000))
	writeFile(t, name(3), gzipped(t, changed))
	if err := os.Chtimes(name(3), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	st := openPacked(t, out, &inflations{})
	if _, err := present.Read[float64](t.Context(), st, "v", present.Sel{}); !errors.Is(err, source.ErrChanged) {
		t.Errorf("a changed file: %v", err)
	}
	r, err := ingest.Refresh(t.Context(), out, options())
	if err != nil || len(r.Replaced) != 1 || r.Replaced[0] != name(3)+"|gzip:" {
		t.Fatalf("refresh: %+v, %v", r, err)
	}
	check("refresh", out, 6)
	if r, err := ingest.Sync(t.Context(), out, options(files)); err != nil || r.IsNew() {
		t.Errorf("sync: %+v, %v", r, err)
	}
	if _, err := ingest.Append(t.Context(), out, options(name(5))); err == nil {
		t.Error("a source was appended twice")
	}
	// Scan parts.
	var parts []string
	for day := range 6 {
		parts = append(parts, filepath.Join(dir, fmt.Sprintf("part%d.parquet", day)))
		if _, err := ingest.Scan(t.Context(), parts[day], options(name(day))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ingest.Scan(t.Context(), filepath.Join(dir, "merged.parquet"), options(parts[1:4]...)); err != nil {
		t.Fatal(err)
	}
	buildPacked(t, filepath.Join(dir, "parts.varve"), parts[0], filepath.Join(dir, "merged.parquet"), parts[4], parts[5])
	check("parts", filepath.Join(dir, "parts.varve"), 6)
	// A kept scan.
	kept := options(files)
	kept.KeepScan = filepath.Join(dir, "kept")
	for i := range 2 {
		kept.Force = i > 0
		if _, err := ingest.Build(t.Context(), filepath.Join(dir, "kept.varve"), kept); err != nil {
			t.Fatal(err)
		}
		check("kept scan", filepath.Join(dir, "kept.varve"), 6)
	}
	// Removal of sources, and a move of the folder.
	if _, err := ingest.Sync(t.Context(), out, options(name(0), name(1), name(2))); err != nil {
		t.Fatal(err)
	}
	check("removal", out, 3)
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(files, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := relocate.Relocate(t.Context(), out, &relocate.Options{Moves: []relocate.Move{{From: files, To: moved}}}); err != nil {
		t.Fatal(err)
	}
	check("relocation", out, 3)
	one := filepath.Join(dir, "one.nc.gz")
	if err := os.Rename(filepath.Join(moved, "day1.nc.gz"), one); err != nil {
		t.Fatal(err)
	}
	if _, err := relocate.Relocate(t.Context(), out, &relocate.Options{Moves: []relocate.Move{{From: filepath.Join(moved, "day1.nc.gz"), To: one}}}); err != nil {
		t.Fatal(err)
	}
	check("relocation of one file", out, 3)
}

// TestPackedPointsDamaged checks that values do not depend on the table of access points.
func TestPackedPointsDamaged(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "o.varve")
	for day := range 2 {
		writeFile(t, filepath.Join(dir, "files", fmt.Sprintf("day%d.nc.gz", day)), gzipped(t, dayFile(t, day)))
	}
	buildPacked(t, out, filepath.Join(dir, "files"))
	if filePoints(t, out) == 0 {
		t.Fatal("there are no access points")
	}
	want, _ := pixel(t, out)
	tables, err := filepath.Glob(filepath.Join(out, "tables", "filepoints-*"))
	if err != nil || len(tables) != 1 {
		t.Fatal(tables, err)
	}
	whole, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	noticed := 0
	for range 40 {
		bad := bytes.Clone(whole)
		for range 1 + rng.IntN(3) {
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
		}
		if err := os.Chmod(tables[0], 0o644); err != nil {
			t.Fatal(err)
		}
		writeFile(t, tables[0], bad)
		got, c := pixel(t, out)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with damaged access points: got %v, want %v", got, want)
		}
		noticed += int(min(c.passes.Load(), 1))
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
	if err := os.Remove(tables[0]); err != nil {
		t.Fatal(err)
	}
	if got, c := pixel(t, out); !reflect.DeepEqual(got, want) || c.passes.Load() != 2 {
		t.Errorf("without access points: got %v, want %v; %d passes", got, want, c.passes.Load())
	}
	if _, err := ingest.Repair(t.Context(), out, &ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := pixel(t, out); !reflect.DeepEqual(got, want) || filePoints(t, out) != 0 {
		t.Errorf("after a repair: got %v, want %v", got, want)
	}
}

// TestPackedDamaged checks the errors of damaged files and of files that cannot be read.
func TestPackedDamaged(t *testing.T) {
	day := dayFile(t, 1)
	whole := gzipped(t, day)
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 1
		return b
	}
	var zipped, encrypted bytes.Buffer
	for _, out := range []*bytes.Buffer{&zipped, &encrypted} {
		w := zip.NewWriter(out)
		h := &zip.FileHeader{Name: "day.nc", Method: zip.Deflate}
		if out == &encrypted {
			h.Flags = 1
		}
		m, err := w.CreateHeader(h)
		if err == nil {
			_, err = m.Write(day)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	var tarred bytes.Buffer
	w := tar.NewWriter(&tarred)
	err := w.WriteHeader(&tar.Header{Name: "day.nc", Size: int64(len(day)), Mode: 0o644})
	if _, more := w.Write(day); err != nil || more != nil {
		t.Fatal(err, more)
	}
	w.Close()
	for _, c := range []struct {
		name, file string
		content    []byte
		is         error
		says       string
	}{
		{"truncated", "x.nc.gz", whole[:len(whole)/2], codec.ErrCorrupt, "input ends"},
		{"truncated trailer", "x.nc.gz", whole[:len(whole)-3], codec.ErrCorrupt, "trailer"},
		{"changed byte", "x.nc.gz", flip(whole, len(whole)/2), codec.ErrCorrupt, ""},
		{"changed CRC", "x.nc.gz", flip(whole, len(whole)-8), codec.ErrCorrupt, "CRC-32"},
		{"changed size", "x.nc.gz", flip(whole, len(whole)-1), codec.ErrCorrupt, "ISIZE"},
		{"garbage at the end", "x.nc.gz", append(bytes.Clone(whole), "garbage after the file"...), codec.ErrCorrupt, "no member"},
		{"not gzip", "x.nc.gz", day, codec.ErrCorrupt, "no member at offset 0"},
		{"not zstd", "x.nc.zst", day, codec.ErrCorrupt, "no frame at offset 0"},
		{"empty", "x.nc.gz", nil, codec.ErrCorrupt, "empty"},
		{"no dataset", "x.txt.gz", gzipped(t, []byte("not a dataset")), errors.ErrUnsupported, "not a format"},
		{"twice compressed", "x.nc.gz", gzipped(t, whole), errors.ErrUnsupported, "gzip"},
		{"encrypted", "x.zip", encrypted.Bytes(), errors.ErrUnsupported, "encrypted"},
		{"truncated zip", "x.zip", zipped.Bytes()[:zipped.Len()/2], codec.ErrCorrupt, "end record"},
		{"changed byte in zip", "x.zip", flip(zipped.Bytes(), zipped.Len()/2), codec.ErrCorrupt, ""},
		{"not a zip", "x.zip", day, codec.ErrCorrupt, "not a zip file"},
		{"no members", "x.zip", append([]byte("PK\x05\x06"), make([]byte, 18)...), codec.ErrCorrupt, ""},
		{"truncated tar", "x.tar", tarred.Bytes()[:tarred.Len()/2], codec.ErrCorrupt, "ends at byte"},
		{"changed tar", "x.tar", flip(tarred.Bytes(), 3), codec.ErrCorrupt, "header"},
		{"truncated tar.gz", "x.tar.gz", gzipped(t, tarred.Bytes())[:100_000], codec.ErrCorrupt, "input ends"},
		{"truncated tar in gz", "x.tar.gz", gzipped(t, tarred.Bytes()[:100_000]), codec.ErrCorrupt, "ends at byte"},
	} {
		dir := t.TempDir()
		name := writeFile(t, filepath.Join(dir, c.file), c.content)
		_, err := ingest.Build(t.Context(), filepath.Join(dir, "o.varve"), &ingest.Options{Sources: ingest.Sources{Names: []string{name}}})
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %v with %q and the name of the file", c.name, err, c.is, c.says)
		}
		if n := strings.Count(fmt.Sprint(err), name); n > 1 {
			t.Errorf("%s: the error names the file %d times: %v", c.name, n, err)
		}
	}
}

// TestPackedNames checks how packed files may be named.
func TestPackedNames(t *testing.T) {
	dir := t.TempDir()
	packers["zip"](t, dir, []string{"b.nc", "a.nc", "readme.txt"}, [][]byte{dayFile(t, 2), dayFile(t, 1), []byte("text")})
	all := filepath.Join(dir, "all.zip")
	expand := func(match string, names ...string) []string {
		t.Helper()
		list, err := (&ingest.Sources{Names: names, Match: match}).Expand(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, c := range []struct {
		got  []string
		want string
	}{
		{expand("", all), "a.nc b.nc readme.txt"},
		{expand("*.nc", all), "a.nc b.nc"},
		{expand("", all+"|zip:years/b.nc"), "b.nc"},
	} {
		var want []string
		for _, name := range strings.Fields(c.want) {
			want = append(want, all+"|zip:years/"+name)
		}
		if !reflect.DeepEqual(c.got, want) {
			t.Errorf("got %q, want %q", c.got, want)
		}
	}
	for name, is := range map[string]error{
		all + "|zip:years/c.nc":                   os.ErrNotExist,
		all + "|zip:../years/b.nc":                os.ErrNotExist, // not the name of a packed file
		filepath.Join(dir, "none.nc.gz|gzip:"):    os.ErrNotExist,
		"https://host/x.zip|zip:data.zarr|zarr2:": errors.ErrUnsupported,
	} {
		_, err := ingest.Build(t.Context(), filepath.Join(dir, "o.varve"), &ingest.Options{Sources: ingest.Sources{Names: []string{name}}})
		if !errors.Is(err, is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	repository, err := repo.Open(t.Context(), filepath.Join(dir, "o.varve"))
	if err == nil {
		repository.Close()
		t.Error("a failed build left a manifest")
	}
}

// TestPackedObjects reads packed files in an object store: by ranges of the outer files.
func TestPackedObjects(t *testing.T) {
	m := storetest.NewMemory(t)
	dir := t.TempDir()
	days := []string{"day1.nc", "day2.nc", "day3.nc"}
	files := [][]byte{dayFile(t, 1), dayFile(t, 2), dayFile(t, 3)}
	for i, name := range days {
		writeFile(t, filepath.Join(dir, "plain", name), files[i])
	}
	buildPacked(t, filepath.Join(dir, "plain.varve"), filepath.Join(dir, "plain"))
	want, _ := pixel(t, filepath.Join(dir, "plain.varve"))
	for _, how := range []string{"gz", "zip", "tar.gz"} {
		packers[how](t, filepath.Join(dir, how), days, files)
		stored := int64(0)
		list, err := filepath.Glob(filepath.Join(dir, how, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			m.Put("bucket/"+how+"/"+filepath.Base(name), b)
			stored += int64(len(b))
		}
		out := filepath.Join(dir, how+".varve")
		buildPacked(t, out, "s3://bucket/"+how+"/")
		opener := source.NewOpener(nil)
		st, err := store.Open(t.Context(), out, &store.Options{Opener: opener, CacheBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		v, err := present.Read[float64](t.Context(), st, "v", present.Sel{Index: map[string]string{"lat": "300", "lon": "17"}})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v.Data, want) {
			t.Errorf("%s: got %v, want %v", how, v.Data, want)
		}
		// The files are small: two spans of each are about half of it.
		if read := opener.Stats().Bytes; read == 0 || read > stored*4/5 {
			t.Errorf("%s: %d of %d bytes were read", how, read, stored)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		m.Put("bucket/"+how+"/"+filepath.Base(list[0]), append(gzipped(t, files[0]), 0))
		if _, err := present.Read[float64](t.Context(), openPacked(t, out, &inflations{}), "v", present.Sel{}); !errors.Is(err, source.ErrChanged) {
			t.Errorf("%s: a replaced object: %v", how, err)
		}
	}
}
