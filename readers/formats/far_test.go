package formats_test

import (
	"bytes"
	"io"
	"os"
	"testing"

	"varve/readers/formats"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

// sparse is a file of zeros with some content at an offset.
type sparse struct {
	content []byte
	at      int64
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for i := range p {
		if at := off + int64(i) - s.at; at >= 0 && at < int64(len(s.content)) {
			p[i] = s.content[at]
		}
	}
	return len(p), nil
}

var _ io.ReaderAt = sparse{}

// TestFarDetection counts the requests and bytes until the format of a large file on a server is known. A file is only searched
// for HDF5 beyond its start if no format begins there.
func TestFarDetection(t *testing.T) {
	content := func(name string) []byte {
		b, err := os.ReadFile("../../fixtures/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		file     sparse
		format   string // empty: unknown
		requests int64
		bytes    int64
	}{
		"netCDF-3":               {sparse{content("netcdf3/classic.nc"), 0}, "netCDF-3", 1, 256 << 10},
		"GRIB":                   {sparse{content("grib/levels.grib"), 0}, "GRIB", 1, 256 << 10},
		"gzip":                   {sparse{[]byte("\x1f\x8b\x08\x00"), 0}, "", 1, 256 << 10},
		"HDF5":                   {sparse{content("hdf5/layouts.h5"), 0}, "HDF5", 1, 256 << 10},
		"HDF5 after 512 bytes":   {sparse{content("hdf5/layouts.h5"), 512}, "HDF5", 1, 256 << 10},
		"HDF5 after 16 MiB":      {sparse{content("hdf5/layouts.h5"), 16 << 20}, "HDF5", 8, 256<<10 + 8*8},
		"none":                   {sparse{nil, 0}, "", 8, 256<<10 + 8*8},
		"HDF5 after 32 MiB":      {sparse{content("hdf5/layouts.h5"), 32 << 20}, "", 8, 256<<10 + 8*8},
		"a tar of one HDF5 file": {sparse{append(bytes.Replace(make([]byte, 512), make([]byte, 263), append(make([]byte, 257), "ustar\x00"...), 1), content("hdf5/layouts.h5")...), 0}, "", 1, 256 << 10},
	} {
		server := sourcetest.NewServer(t)
		src, err := source.Open(t.Context(), server.PutFile("/a", c.file, 600<<20))
		if err != nil {
			t.Fatal(err)
		}
		f, err := formats.New(nil).Detect(t.Context(), src)
		if requests, received := server.Counts(); f.Name != c.format || (err != nil) != (c.format == "") || requests > c.requests || received > c.bytes {
			t.Errorf("%s: found %q, %v, by %d requests and %d bytes; want %q, %d and %d", name, f.Name, err, requests, received, c.format, c.requests, c.bytes)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}
