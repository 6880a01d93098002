package serve_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/points"
	"varve/manifest/serve"
	"varve/manifest/store"
	"varve/readers/source"
	"varve/zarrjson"
)

const (
	fieldLats, fieldLons = 400, 1000
	fieldBytes           = 4 * fieldLats * fieldLons
)

// writeFields writes zipped Zarr stores. Each has one day, as one shuffled and deflated chunk.
func writeFields(t *testing.T, dir string, days int) {
	t.Helper()
	for day := range days {
		rng := rand.New(rand.NewPCG(uint64(day), 1))
		planes := make([]byte, fieldBytes)
		for i := range fieldLats * fieldLons {
			bits := math.Float32bits(float32(280 + 20*math.Cos(float64(i)/90_000) + float64(rng.IntN(64))/64))
			for plane := range 4 {
				planes[plane*fieldLats*fieldLons+i] = byte(bits >> (8 * plane))
			}
		}
		var stored, b bytes.Buffer
		z := zlib.NewWriter(&stored)
		_, err := z.Write(planes)
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		w := zip.NewWriter(&b)
		for _, f := range [][2]string{
			{".zgroup", `{"zarr_format":2}`},
			{"time/.zarray", `{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"<i8","compressor":null,"filters":null,"fill_value":null,"order":"C"}`},
			{"time/.zattrs", `{"_ARRAY_DIMENSIONS":["time"],"units":"days since 2000-01-01"}`},
			{"time/0", string(binary.LittleEndian.AppendUint64(nil, uint64(day)))},
			{"v/.zarray", fmt.Sprintf(`{"zarr_format":2,"shape":[1,%d,%d],"chunks":[1,%[1]d,%[2]d],"dtype":"<f4","compressor":{"id":"zlib","level":1},`+
				`"filters":[{"id":"shuffle","elementsize":4}],"fill_value":null,"order":"C"}`, fieldLats, fieldLons)},
			{"v/.zattrs", `{"_ARRAY_DIMENSIONS":["time","lat","lon"]}`},
			{"v/0.0.0", stored.String()},
		} {
			part, err := w.CreateHeader(&zip.FileHeader{Name: f[0], Method: zip.Store})
			if err == nil {
				_, err = part.Write([]byte(f[1]))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), os.WriteFile(filepath.Join(dir, fmt.Sprintf("day%d.zip", day)), b.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// serveFields serves fields of three days. decoded has the number of bytes that were decompressed.
func serveFields(t *testing.T, hasPoints bool, sub serve.SubChunks) (address, dir string, decoded *atomic.Int64, err error) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	files := t.TempDir()
	writeFields(t, files, 3)
	dir = filepath.Join(t.TempDir(), "v.varve")
	if _, err := ingest.Build(t.Context(), dir, &ingest.Options{Sources: ingest.Sources{Names: []string{files}}}); err != nil {
		t.Fatal(err)
	}
	if hasPoints {
		if _, err := points.Make(t.Context(), dir, &points.Options{Every: codec.MinSpan}); err != nil {
			t.Fatal(err)
		}
	}
	decoded = new(atomic.Int64)
	trace := func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
		if op.Name == "store.decode" {
			decoded.Add(op.Bytes)
		}
		return ctx, func(error) {}
	}
	h, err := serve.New(t.Context(), []string{dir}, &serve.Options{Reload: -1, SubChunks: sub, Store: store.Options{Trusted: true, CacheBytes: -1, Trace: trace}})
	if err != nil {
		return "", dir, nil, err
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL, dir, decoded, nil
}

// documentOf returns the zarr.json of an array.
func documentOf(t *testing.T, address string) *zarrjson.Array {
	t.Helper()
	a, err := zarrjson.ParseArray(bodyOf(t, address+"/zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// fieldValues reads the array from the manifest.
func fieldValues(t *testing.T, dir string) (out []float64) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v, err := s.Array("v")
	if err != nil {
		t.Fatal(err)
	}
	e := codec.NewElems(v.Schema().Form(v.Grid().Shape()))
	if err := v.ReadRegion(t.Context(), grid.Whole(v.Grid().Shape()), e); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(e.Fixed); i += 4 {
		out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(e.Fixed[i:]))))
	}
	return out
}

// TestSubChunks checks the values of sub-chunks in the views, and that the chunk of a point decompresses only spans.
func TestSubChunks(t *testing.T) {
	for name, c := range map[string]struct {
		sub  serve.SubChunks
		want []int64
	}{
		"auto":      {serve.SubChunks{Auto: true}, []int64{1, 50, 1000}},
		"a shape":   {serve.SubChunks{Shapes: map[string][]int64{"v": {1, 30, 70}}}, []int64{1, 30, 70}},
		"two days":  {serve.SubChunks{Shapes: map[string][]int64{"/v": {2, 20, 1000}}, Auto: true}, []int64{2, 20, 1000}},
		"the chunk": {serve.SubChunks{Shapes: map[string][]int64{"v": {1, fieldLats, fieldLons}}}, []int64{1, fieldLats, fieldLons}},
	} {
		t.Run(name, func(t *testing.T) {
			address, dir, decoded, err := serveFields(t, true, c.sub)
			if err != nil {
				t.Fatal(err)
			}
			want := fieldValues(t, dir)
			for _, view := range []string{"", "/regular", "/core"} {
				a := documentOf(t, address+view+"/v")
				if g, err := a.Grid(); err != nil || !slices.Equal(edgesOf(g), c.want) {
					t.Fatalf("%s: chunks %v, want %v: %v", view, edgesOf(g), c.want, err)
				}
				if !slices.Equal(coreValues(t, address+view+"/v", a), want) {
					t.Errorf("%s: other values", view)
				}
			}
			if bodyOf(t, address+"/v2/v/.zarray") == nil {
				t.Error("the array is not in the view of format 2")
			}
			decoded.Store(0)
			bodyOf(t, address+"/v/c/0/2/0")
			days := c.want[0]
			if most := days * fieldBytes / 2; name != "the chunk" && (decoded.Load() > most || decoded.Load() == 0) {
				t.Errorf("one sub-chunk decompresses %d bytes, at most %d of %d were expected", decoded.Load(), most, days*fieldBytes)
			}
		})
	}
}

func edgesOf(g *grid.Grid) (edges []int64) {
	for axis := range g.Rank() {
		for run := range g.Dim(axis).Runs() {
			edges = append(edges, run.Edge.Codec)
			break
		}
	}
	return edges
}

// TestSubChunksWithoutPoints checks that automatic sub-chunks need access points, and that others do not.
func TestSubChunksWithoutPoints(t *testing.T) {
	address, _, _, err := serveFields(t, false, serve.SubChunks{Auto: true})
	if err != nil {
		t.Fatal(err)
	}
	if g, err := documentOf(t, address+"/v").Grid(); err != nil || !slices.Equal(edgesOf(g), []int64{1, fieldLats, fieldLons}) {
		t.Errorf("chunks %v, %v", edgesOf(g), err)
	}
	address, dir, _, err := serveFields(t, false, serve.SubChunks{Shapes: map[string][]int64{"v": {1, 100, 500}}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(coreValues(t, address+"/v", documentOf(t, address+"/v")), fieldValues(t, dir)) {
		t.Error("other values")
	}
}

// TestWrongSubChunks checks the errors of shapes and names that do not fit.
func TestWrongSubChunks(t *testing.T) {
	for name, c := range map[string]struct {
		shapes map[string][]int64
		want   error
	}{
		"no such array":   {map[string][]int64{"w": {1, 1, 1}}, store.ErrNoArray},
		"two dimensions":  {map[string][]int64{"v": {1, 1}}, nil},
		"an endless edge": {map[string][]int64{"v": {1, 1 << 40, 1 << 40}}, nil},
	} {
		if _, _, _, err := serveFields(t, false, serve.SubChunks{Shapes: c.shapes}); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
