package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest/export/icechunk"
	"varve/manifest/export/kerchunk"
	"varve/manifest/export/zarr"
	"varve/manifest/plan"
	"varve/manifest/store"
)

// sourceKind is a kind of source.
type sourceKind struct {
	name    string
	plan    plan.Options
	isFixed bool // the sources name other files by absolute paths, so they cannot be moved
	// write writes source i, and the files that it names, to a folder, and returns its name in that folder.
	write func(t *testing.T, dir string, i int) string
	// also returns further files of a source, which may change.
	also func(name string) []string
}

// files returns the files of a source that may change.
func (k *sourceKind) files(dir, name string) []string {
	file, _, _ := strings.Cut(name, "|")
	out := []string{filepath.Join(dir, file)}
	if k.also != nil {
		for _, other := range k.also(file) {
			out = append(out, filepath.Join(dir, other))
		}
	}
	return out
}

// byRun combines copies of a file, which have no dimension in which they differ.
func byRun(vars ...string) plan.Options {
	return plan.Options{Vars: vars, NewDims: []plan.NewDim{{Name: "run", Pattern: `run(\d+)`}}}
}

// sourceKinds are the kinds of sources that a manifest may have.
var sourceKinds = []sourceKind{
	{name: "netcdf", write: writeNetCDF},
	{name: "gzip", write: packedAs("nc.gz", "", func(name string, b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	})},
	{name: "zip", write: packedAs("zip", "|zip:", func(name string, b []byte) []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		m, err := w.Create(name)
		if err == nil {
			m.Write(b)
		}
		w.Close()
		return out.Bytes()
	})},
	{name: "tar", write: packedAs("tar", "|tar:", func(name string, b []byte) []byte {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if w.WriteHeader(&tar.Header{Name: name, Size: int64(len(b)), Mode: 0o644}) == nil {
			w.Write(b)
		}
		w.Close()
		return out.Bytes()
	})},
	{name: "kerchunk JSON", isFixed: true, write: writeKerchunk, also: func(name string) []string {
		return []string{strings.TrimSuffix(name, ".json") + ".bin", "shared.bin"}
	}},
	{name: "kerchunk texts", isFixed: true, write: writeKerchunkTexts, also: func(name string) []string {
		return []string{strings.TrimSuffix(name, ".json") + ".text", "shared.text"}
	}},
	{name: "kerchunk Parquet", isFixed: true, write: writeParquet, also: func(name string) []string {
		return []string{strings.TrimSuffix(name, ".parquet") + ".nc"}
	}},
	{name: "DMR++", write: writeDMRPP, also: func(name string) []string {
		return []string{strings.TrimSuffix(name, ".dmrpp")}
	}},
	{name: "Zarr 2", write: writeZarr(2)},
	{name: "Zarr 3", write: writeZarr(3)},
	{name: "Zarr in a zip file", plan: byRun(), write: fixtureCopy("zarr/zip_stored.zip")},
	{name: "Icechunk", isFixed: true, write: writeIcechunk},
	{name: "HDF5", plan: byRun(), write: fixtureCopy("hdf5/filters.h5")},
	{name: "HDF5 external files", plan: byRun(), write: fixtureCopy("hdf5/layouts.h5", "hdf5/layouts.raw"), also: beside("layouts.raw")},
	{name: "HDF5 virtual datasets", plan: byRun(), write: fixtureCopy("hdf5/virtual.h5", "hdf5/virtual_source.h5"), also: beside("virtual_source.h5")},
	{name: "HDF5 numbered sources", plan: byRun(), write: fixtureCopy("hdf5/virtual_numbered.h5", "hdf5/virtual_part_0.h5", "hdf5/virtual_part_1.h5", "hdf5/virtual_part_3.h5"), also: beside("virtual_part_0.h5", "virtual_part_3.h5")},
	{name: "HDF5 matched sources", plan: byRun(), write: fixtureCopy("hdf5/virtual_matched.h5", "hdf5/virtual_sources.h5"), also: beside("virtual_sources.h5")},
	{name: "HDF5 links", plan: byRun(), write: fixtureCopy("hdf5/links_files.h5", "hdf5/links_target.h5", "hdf5/virtual_source.h5"), also: beside("links_target.h5")},
	{name: "GRIB", plan: byRun(), write: fixtureCopy("grib/levels.grib")},
	{name: "GRIB with an index", plan: byRun(), write: fixtureCopy("gribindex/gfs.20240101.f006.grib2", "gribindex/gfs.20240101.f006.grib2.idx")},
	{name: "FITS", plan: byRun(), write: fixtureCopy("fits/images.fits")},
	{name: "HDF4", plan: byRun(), write: fixtureCopy("hdf4/chunked.hdf")},
	{name: "HDF4 external", plan: byRun(), write: fixtureCopy("hdf4/external.hdf", "hdf4/external.raw"), also: beside("external.raw")},
}

// beside returns the files beside a source in its own folder.
func beside(names ...string) func(string) []string {
	return func(name string) (out []string) {
		for _, other := range names {
			out = append(out, filepath.Join(filepath.Dir(name), other))
		}
		return out
	}
}

// fixtureCopy returns a function that copies a fixture to a folder of its own, with the fixtures that it names. An index file is
// named like the copy.
func fixtureCopy(main string, others ...string) func(*testing.T, string, int) string {
	return func(t *testing.T, dir string, i int) string {
		own := fmt.Sprint("run", i)
		name := filepath.Join(own, own+filepath.Ext(main))
		copyFixture(t, main, filepath.Join(dir, name))
		for _, other := range others {
			to := filepath.Join(dir, own, filepath.Base(other))
			if ending, ok := strings.CutPrefix(other, main); ok {
				to = filepath.Join(dir, name) + ending
			}
			copyFixture(t, other, to)
		}
		return name
	}
}

func copyFixture(t *testing.T, name, to string) {
	t.Helper()
	from := filepath.Join("../../fixtures", name)
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else if err == nil {
		var b []byte
		if b, err = os.ReadFile(from); err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if name == "hdf5/layouts.raw" {
			b = []byte("\x01\x00\x02\x00\x03\x00\x04\x01") // that of the fixtures is too short
		}
		if err == nil {
			err = os.WriteFile(to, b, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sampleTimes and sampleValues are the content of source i: two times, and a value at each of three positions.
func sampleTimes(i int) []int32 { return []int32{int32(2 * i), int32(2*i + 1)} }

func sampleValues(i int) (out []int32) {
	for k := range 6 {
		out = append(out, int32(100*i+k))
	}
	return out
}

func netCDF(i int) *classic.File {
	return &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 2}, {Name: "x", Length: 3}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: sampleTimes(i), Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}},
			{Name: "v", Dims: []string{"time", "x"}, Data: sampleValues(i)},
		},
	}
}

func writeNetCDF(t *testing.T, dir string, i int) string {
	name := fmt.Sprintf("part%d.nc", i)
	if err := netCDF(i).Write(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	return name
}

// packedAs returns a function that packs a netCDF file into another one.
func packedAs(ending, step string, pack func(name string, b []byte) []byte) func(*testing.T, string, int) string {
	return func(t *testing.T, dir string, i int) string {
		b, err := netCDF(i).Encode()
		if err != nil {
			t.Fatal(err)
		}
		member := fmt.Sprintf("part%d.nc", i)
		name := fmt.Sprintf("part%d.%s", i, ending)
		putFile(t, filepath.Join(dir, name), pack(member, b))
		if step == "" {
			return name
		}
		return name + step + member
	}
}

// bigEndian returns numbers as bytes.
func bigEndian(values []int32) (b []byte) {
	for _, n := range values {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// kerchunkTime has the references of a time coordinate, and kerchunkArray the metadata of an array.
func kerchunkTime(i int) string {
	return fmt.Sprintf(`".zgroup":"{\"zarr_format\":2}",
"time/.zarray":"%s","time/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"time\"],\"units\":\"days since 2000-01-01\"}","time/0":"base64:%s"`,
		kerchunkArray("[2]", "[2]", ">i4", "0", "null"), base64.StdEncoding.EncodeToString(bigEndian(sampleTimes(i))))
}

func kerchunkArray(shape, chunks, typ, fill, filters string) string {
	text := fmt.Sprintf(`{"zarr_format":2,"shape":%s,"chunks":%s,"dtype":"%s","fill_value":%s,"order":"C","filters":%s,"compressor":null}`, shape, chunks, typ, fill, filters)
	return strings.ReplaceAll(text, `"`, `\"`)
}

// writeKerchunk writes references whose first chunk is in a file of the source, and whose second one is in a file that all
// sources name.
func writeKerchunk(t *testing.T, dir string, i int) string {
	b := bigEndian(sampleValues(i))
	own, shared := filepath.Join(dir, fmt.Sprintf("part%d.bin", i)), filepath.Join(dir, "shared.bin")
	putFile(t, own, b[:12])
	all, err := os.ReadFile(shared)
	if err != nil {
		all = make([]byte, 100)
	}
	copy(all[12*i:], b[12:])
	putFile(t, shared, all)
	name := fmt.Sprintf("part%d.json", i)
	putFile(t, filepath.Join(dir, name), fmt.Appendf(nil, `{"version":1,"refs":{%s,
"v/.zarray":"%s","v/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"time\",\"x\"]}","v/0.0":[%q,0,12],"v/1.0":[%q,%d,12]}}`,
		kerchunkTime(i), kerchunkArray("[2,3]", "[1,3]", ">i4", "0", "null"), own, shared, 12*i))
	return name
}

// writeKerchunkTexts is writeKerchunk for texts, which the manifest stores.
func writeKerchunkTexts(t *testing.T, dir string, i int) string {
	own, shared := filepath.Join(dir, fmt.Sprintf("part%d.text", i)), filepath.Join(dir, "shared.text")
	putFile(t, own, []byte("\x01\x00\x00\x00\x01\x00\x00\x00"+string(rune('a'+i))))
	if i == 0 {
		putFile(t, shared, []byte("\x01\x00\x00\x00\x01\x00\x00\x00z"))
	}
	name := fmt.Sprintf("part%d.json", i)
	putFile(t, filepath.Join(dir, name), fmt.Appendf(nil, `{"version":1,"refs":{%s,
"v/.zarray":"%s","v/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"time\"]}","v/0":[%q,0,9],"v/1":[%q,0,9]}}`,
		kerchunkTime(i), kerchunkArray("[2]", "[1]", "|O", `""`, `[{"id":"vlen-utf8"}]`), own, shared))
	return name
}

// writeDMRPP writes a sidecar of a file without a format.
func writeDMRPP(t *testing.T, dir string, i int) string {
	own := fmt.Sprintf("part%d.bin", i)
	putFile(t, filepath.Join(dir, own), slices.Concat(bigEndian(sampleTimes(i)), bigEndian(sampleValues(i))))
	text := fmt.Sprintf(`<?xml version="1.0" encoding="ISO-8859-1"?>
<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" dapVersion="4.0" dmrVersion="1.0" name="%s" dmrpp:href="%s" dmrpp:version="3.21.1-0">
<Dimension name="time" size="2"/><Dimension name="x" size="3"/>
<Int32 name="time"><Dim name="/time"/><Attribute name="units" type="String"><Value>days since 2000-01-01</Value></Attribute>
<dmrpp:chunks fillValue="0" byteOrder="BE"><dmrpp:chunk offset="0" nBytes="8"/></dmrpp:chunks></Int32>
<Int32 name="v"><Dim name="/time"/><Dim name="/x"/>
<dmrpp:chunks fillValue="0" byteOrder="BE"><dmrpp:chunk offset="8" nBytes="24"/></dmrpp:chunks></Int32>
</Dataset>
`, own, own)
	putFile(t, filepath.Join(dir, own+".dmrpp"), []byte(text))
	return own + ".dmrpp"
}

// withSample calls do with a store of source i as a netCDF file in the folder.
func withSample(t *testing.T, dir string, i int, do func(*store.Store) error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "sample.varve")
	mustBuild(t, out, filepath.Join(dir, writeNetCDF(t, dir, i)))
	s, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err == nil {
		err = closing(s, do(s))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func writeZarr(format int) func(*testing.T, string, int) string {
	return func(t *testing.T, dir string, i int) string {
		name := fmt.Sprintf("part%d.zarr", i)
		withSample(t, t.TempDir(), i, func(s *store.Store) error {
			_, err := zarr.Write(t.Context(), s, filepath.Join(dir, name), &zarr.Options{Format: format})
			return err
		})
		return name
	}
}

func writeParquet(t *testing.T, dir string, i int) string {
	name := fmt.Sprintf("part%d.parquet", i)
	withSample(t, dir, i, func(s *store.Store) error {
		_, err := kerchunk.Write(t.Context(), s, filepath.Join(dir, name), &kerchunk.Options{})
		return err
	})
	return name
}

// writeIcechunk writes a repository with virtual chunks.
func writeIcechunk(t *testing.T, dir string, i int) string {
	name := fmt.Sprintf("part%d.icechunk", i)
	withSample(t, dir, i, func(s *store.Store) error {
		_, err := icechunk.Write(t.Context(), s, filepath.Join(dir, name), &icechunk.Options{InlineBytes: 1})
		return err
	})
	return name
}

func putFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
