package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/manifest/ingest"
	"varve/manifest/points"
	"varve/readers/source"
)

const (
	fieldLats, fieldLons = 1000, 1600
	fieldBytes           = 4 * fieldLats * fieldLons
)

// fieldOf returns a field of float32.
func fieldOf(day int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(day), 2))
	field := make([]float32, fieldLats*fieldLons)
	for i := range field {
		field[i] = float32(math.Round(64*(280+20*math.Cos(float64(i)/90_000)+rng.NormFloat64())) / 64)
	}
	return field
}

func writeTo(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeStore writes a Zarr store of one day, which is one shuffled and deflated chunk.
func writeStore(t *testing.T, dir string, day int) {
	t.Helper()
	p, err := codec.New([]codec.Spec{codec.InOrder(codec.LittleEndian), {Name: "numcodecs.shuffle"}, {Name: "numcodecs.zlib", Config: []byte(`{"level":4}`)}},
		codec.Form{Type: codec.Type{Kind: codec.Float, Size: 4}, Shape: []int64{1, fieldLats, fieldLons}})
	if err != nil {
		t.Fatal(err)
	}
	var elements []byte
	for _, v := range fieldOf(day) {
		elements = binary.LittleEndian.AppendUint32(elements, math.Float32bits(v))
	}
	stored, err := p.Encode(nil, codec.Elems{Fixed: elements})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		".zgroup":      `{"zarr_format":2}`,
		"time/.zarray": `{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"<i8","compressor":null,"filters":null,"fill_value":null,"order":"C"}`,
		"time/.zattrs": `{"_ARRAY_DIMENSIONS":["time"],"units":"days since 2000-01-01"}`,
		"time/0":       string(binary.LittleEndian.AppendUint64(nil, uint64(day))),
		"v/.zarray": fmt.Sprintf(`{"zarr_format":2,"shape":[1,%d,%d],"chunks":[1,%[1]d,%[2]d],"dtype":"<f4","compressor":{"id":"zlib","level":4},`+
			`"filters":[{"id":"shuffle","elementsize":4}],"fill_value":null,"order":"C"}`, fieldLats, fieldLons),
		"v/.zattrs": `{"_ARRAY_DIMENSIONS":["time","lat","lon"]}`,
		"v/0.0.0":   string(stored),
	} {
		writeTo(t, filepath.Join(dir, fmt.Sprintf("day%d.zarr", day), name), []byte(content))
	}
}

// writeGzip writes a netCDF-3 file of one day, compressed as a whole.
func writeGzip(t *testing.T, dir string, day int) {
	t.Helper()
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "lat", Length: fieldLats}, {Name: "lon", Length: fieldLons}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []int32{int32(day)}},
			{Name: "v", Dims: []string{"time", "lat", "lon"}, Data: fieldOf(day)},
		},
	}
	b, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeTo(t, filepath.Join(dir, fmt.Sprintf("day%d.nc.gz", day)), out.Bytes())
}

// TestPixel reads one element of each file through the server of the Python package, and counts the bytes that are decompressed.
func TestPixel(t *testing.T) {
	const days = 2
	for name, write := range map[string]func(*testing.T, string, int){"chunks": writeStore, "compressed files": writeGzip} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			files, out := t.TempDir(), filepath.Join(t.TempDir(), "v.varve")
			var want []byte
			for day := range days {
				write(t, files, day)
				want = binary.LittleEndian.AppendUint32(want, math.Float32bits(fieldOf(day)[700*fieldLons+33]))
			}
			if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{files}}}); err != nil {
				t.Fatal(err)
			}
			var decoded atomic.Int64
			read := func() int64 {
				t.Helper()
				decoded.Store(0)
				c := newClientOf(t, Options{Version: "test", Trace: func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
					if op.Name == "store.decode" || op.Name == "source.inflate" {
						decoded.Add(op.Bytes)
					}
					return ctx, func(error) {}
				}})
				o := c.open(out)
				status, got := c.ask(opRead, o.Dataset, o.number("/v"), []byte{selectOrthogonal, 3, 0, 0},
					slices.Concat(numbers(axisSlice, 0, days, 1), numbers(axisAt, 700), numbers(axisAt, 33)))
				if status != statusDone || !bytes.Equal(got, want) {
					t.Fatalf("status %d, %x, want %x", status, got, want)
				}
				return decoded.Load()
			}
			if name == "chunks" {
				if whole := read(); whole != days*fieldBytes {
					t.Errorf("without access points %d bytes were decompressed, want %d", whole, days*fieldBytes)
				}
				if _, err := points.Make(t.Context(), out, &points.Options{Every: codec.MinSpan}); err != nil {
					t.Fatal(err)
				}
			}
			if n := read(); n <= 0 || n > days*fieldBytes/2 {
				t.Errorf("%d bytes were decompressed for %d elements; the fields have %d", n, days, days*fieldBytes)
			}
		})
	}
}
