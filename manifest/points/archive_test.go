package points

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/store"
	"varve/readers/source"
)

const (
	lats, lons = 800, 1000
	chunkBytes = lats * lons * 4
)

// archive is a manifest of zipped Zarr stores of one day each. A day is one shuffled and deflated chunk.
type archive struct {
	testing.TB
	files, out string
	compressor string // of .zarray
	versions   map[int]int
}

func newArchive(t testing.TB, days ...int) *archive {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	a := &archive{TB: t, files: filepath.Join(dir, "files"), out: filepath.Join(dir, "a.varve"), versions: map[int]int{},
		compressor: `{"id":"zlib","level":4}`}
	for _, day := range days {
		a.write(day)
	}
	return a
}

// value returns the value of an element. A day that is written again has other values.
func (a *archive) value(day, lat, lon int) float32 {
	rng := rand.NewPCG(uint64(day)<<20|uint64(lat), uint64(lon)<<8|uint64(a.versions[day]))
	return float32(280 + 20*math.Cos(float64(lat)/90) + float64(rng.Uint64()%32)/16 + float64(day))
}

func (a *archive) name(day int) string {
	return filepath.Join(a.files, fmt.Sprintf("day%03d.zip", day))
}

// write writes the file of a day, or writes it again with other values.
func (a *archive) write(day int) {
	a.Helper()
	if _, err := os.Stat(a.name(day)); err == nil {
		a.versions[day]++
	}
	elements := make([]byte, 0, chunkBytes)
	for lat := range lats {
		for lon := range lons {
			elements = binary.LittleEndian.AppendUint32(elements, math.Float32bits(a.value(day, lat, lon)))
		}
	}
	id, config := a.compressor[len(`{"id":"`):], "{"+a.compressor[strings.Index(a.compressor, ",")+1:]
	compressor := codec.Spec{Name: "numcodecs." + id[:strings.Index(id, `"`)], Config: []byte(config)}
	p, err := codec.New([]codec.Spec{codec.InOrder(codec.LittleEndian), {Name: "numcodecs.shuffle"}, compressor},
		codec.Form{Type: codec.Type{Kind: codec.Float, Size: 4}, Shape: []int64{1, lats, lons}})
	if err != nil {
		a.Fatal(err)
	}
	stored, err := p.Encode(nil, codec.Elems{Fixed: elements})
	if err != nil {
		a.Fatal(err)
	}
	date := binary.LittleEndian.AppendUint64(nil, uint64(day))
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{".zgroup", `{"zarr_format":2}`},
		{"time/.zarray", `{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"<i8","compressor":null,"filters":null,"fill_value":null,"order":"C"}`},
		{"time/.zattrs", `{"_ARRAY_DIMENSIONS":["time"],"units":"days since 2000-01-01"}`},
		{"time/0", string(date)},
		{"v/.zarray", fmt.Sprintf(`{"zarr_format":2,"shape":[1,%d,%d],"chunks":[1,%[1]d,%[2]d],"dtype":"<f4","compressor":%s,"filters":[{"id":"shuffle","elementsize":4}],"fill_value":null,"order":"C"}`,
			lats, lons, a.compressor)},
		{"v/.zattrs", `{"_ARRAY_DIMENSIONS":["time","lat","lon"]}`},
		{"v/0.0.0", string(stored)},
	} {
		part, err := w.CreateHeader(&zip.FileHeader{Name: f[0], Method: zip.Store})
		if err == nil {
			_, err = part.Write([]byte(f[1]))
		}
		if err != nil {
			a.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.MkdirAll(a.files, 0o777), os.WriteFile(a.name(day), b.Bytes(), 0o666)); err != nil {
		a.Fatal(err)
	}
}

func (a *archive) build() {
	a.Helper()
	if _, err := ingest.Build(a.Context(), a.out, &ingest.Options{Sources: ingest.Sources{Names: []string{a.files}}}); err != nil {
		a.Fatal(err)
	}
}

// smallest are options with the smallest distance of access points.
var smallest = Options{Every: codec.MinSpan}

func (a *archive) index(opts Options) *Result {
	a.Helper()
	r, err := Make(a.Context(), a.out, &opts)
	if err != nil {
		a.Fatal(err)
	}
	return r
}

// count counts what a read does.
type count struct {
	mu                      sync.Mutex
	decodes, decoded, bytes int64
	refused                 []error // access points that were not used
}

func (c *count) trace(ctx context.Context, op source.Operation) (context.Context, func(error)) {
	return ctx, func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch op.Name {
		case "store.decode":
			c.decodes++
			c.decoded += op.Bytes
		case "source.read":
			c.bytes += op.Bytes
		case "store.points":
			c.refused = append(c.refused, err)
		}
	}
}

// read reads one element of all days, and checks the values.
func (a *archive) read(days []int, lat, lon int) *count {
	a.Helper()
	c := &count{}
	s, err := store.Open(a.Context(), a.out, &store.Options{Trace: c.trace})
	if err != nil {
		a.Fatal(err)
	}
	defer s.Close()
	v, err := s.Array("v")
	if err != nil {
		a.Fatal(err)
	}
	c.decoded, c.bytes = 0, 0
	region := grid.Region{Origin: []int64{0, int64(lat), int64(lon)}, Shape: []int64{int64(len(days)), 1, 1}}
	e := codec.NewElems(v.Schema().Form(region.Shape))
	if err := v.ReadRegion(a.Context(), region, e); err != nil {
		a.Fatal(err)
	}
	var want []byte
	for _, day := range days {
		want = binary.LittleEndian.AppendUint32(want, math.Float32bits(a.value(day, lat, lon)))
	}
	if !bytes.Equal(e.Fixed, want) {
		a.Fatalf("wrong values at %d, %d: %x instead of %x", lat, lon, e.Fixed, want)
	}
	return c
}

// wantParts checks that an element of each of n days was read without decoding whole chunks.
func (a *archive) wantParts(c *count, n int) {
	a.Helper()
	// A byte of each of the four planes needs one block of 64 KiB, or a span up to it.
	if most := int64(n * chunkBytes / 2); c.decoded > most || c.decoded == 0 || c.refused != nil {
		a.Errorf("%d chunks: %d bytes were decoded, at most %d were expected; refused: %v", n, c.decoded, most, c.refused)
	}
}

// wantWhole checks that the chunks of n days were decoded as a whole.
func (a *archive) wantWhole(c *count, n int) {
	a.Helper()
	if c.decoded < int64(n*chunkBytes) {
		a.Errorf("%d bytes were decoded instead of %d whole chunks", c.decoded, n)
	}
}
