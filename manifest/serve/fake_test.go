package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
	"varve/zarrjson"
)

// fakeArray is an array of float32 whose elements are their own index, stored without compression. kinds says
// which chunks are verbatim, re-encoded or missing.
type fakeArray struct {
	path     string
	schema   *zarrjson.Array
	grid     *grid.Grid
	pipeline *codec.Pipeline
	source   int64
	offsets  map[int64]int64 // of verbatim chunks, by number
	kinds    func(number int64) manifest.ChunkKind
	data     *fakeData
}

func (a *fakeArray) Path() string            { return a.path }
func (a *fakeArray) Schema() *zarrjson.Array { return a.schema }
func (a *fakeArray) Grid() *grid.Grid        { return a.grid }

func (a *fakeArray) Pipeline(coords []int64) (*codec.Pipeline, error) {
	c, ok := a.grid.Chunk(coords)
	if !ok {
		return nil, fmt.Errorf("no chunk %d", coords)
	}
	return a.pipeline.WithShape(c.Codec)
}

func (a *fakeArray) Locate(_ context.Context, coords []int64) (manifest.Location, error) {
	number, _ := a.grid.Number(coords)
	loc := manifest.Location{Coords: coords, Kind: a.kinds(number)}
	if loc.Kind == manifest.Verbatim {
		c, _ := a.grid.Chunk(coords)
		n, _ := grid.Elements(c.Codec)
		loc.Source, loc.Offset, loc.Size = a.source, a.offsets[number], 4*n
	}
	return loc, nil
}

func (a *fakeArray) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	a.data.reads.Add(1)
	loc, err := a.Locate(ctx, coords)
	if err != nil || loc.Kind == manifest.Missing {
		return nil, err
	}
	if err := a.data.failure(); err != nil {
		return nil, err
	}
	if loc.Kind == manifest.Verbatim {
		f, err := a.data.OpenLocal(ctx, loc.Source)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data := make([]byte, loc.Size)
		_, err = f.ReadAt(data, loc.Offset)
		return data, err
	}
	p, err := a.Pipeline(coords)
	if err != nil {
		return nil, err
	}
	c, _ := a.grid.Chunk(coords)
	return p.Encode(nil, codec.Elems{Fixed: a.bytes(c.Origin, c.Codec)})
}

func (a *fakeArray) Why(ctx context.Context, coords []int64) ([]manifest.Reason, error) {
	if at, err := a.Locate(ctx, coords); err != nil || at.Kind != manifest.Reencoded {
		return nil, err
	}
	return []manifest.Reason{manifest.OtherCodecs}, nil
}
func (a *fakeArray) Origins(context.Context, []int64) ([]int64, error) { return []int64{0}, nil }

func (a *fakeArray) ReadStored(ctx context.Context, l *manifest.Location, from, length int64) ([]byte, error) {
	data, err := a.Chunk(ctx, l.Coords)
	if err != nil {
		return nil, err
	}
	return data[from : from+length], nil
}

// bytes returns the elements of a box, including positions outside the array.
func (a *fakeArray) bytes(origin, shape []int64) []byte {
	var out []byte
	box := grid.Region{Origin: origin, Shape: shape}
	at, more := slices.Clone(origin), !box.IsEmpty()
	for ; more; more = box.Next(at) {
		number, inside := int64(0), true
		for axis, i := range at {
			number = number*a.schema.Shape[axis] + i
			inside = inside && i < a.schema.Shape[axis]
		}
		v := float32(number)
		if !inside {
			v = float32(math.NaN())
		}
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

func (a *fakeArray) ReadRegion(_ context.Context, r grid.Region, dst codec.Elems) error {
	if err := a.data.failure(); err != nil {
		return err
	}
	copy(dst.Fixed, a.bytes(r.Origin, r.Shape))
	return nil
}

type fakeData struct {
	snapshot manifest.Snapshot
	arrays   []array
	sources  []manifest.Source
	reads    atomic.Int64 // calls of Chunk
	closed   atomic.Int64
	removed  atomic.Bool     // from the manifest
	changed  map[string]bool // arrays whose elements differ from those in older snapshots

	mu  sync.Mutex
	err error // returned by reads; nil for none
}

func (d *fakeData) Snapshot() *manifest.Snapshot   { return &d.snapshot }
func (d *fakeData) Groups() []manifest.GroupSchema { return d.snapshot.Groups }
func (d *fakeData) Members() []array               { return d.arrays }
func (d *fakeData) Close() error                   { d.closed.Add(1); return nil }

func (d *fakeData) CheckAccess(context.Context) error { return nil }

func (d *fakeData) IsKept(context.Context) (bool, error) { return !d.removed.Load(), nil }

// Since reports the arrays in changed.
func (d *fakeData) Since(dataset) func(context.Context, string) (string, error) {
	return func(_ context.Context, path string) (why string, err error) {
		if d.changed[path] {
			why = "it was changed"
		}
		return why, d.failure()
	}
}

func (d *fakeData) Source(_ context.Context, row int64) (manifest.Source, error) {
	return d.sources[row], nil
}

func (d *fakeData) OpenLocal(_ context.Context, row int64) (*store.Local, error) {
	if err := d.failure(); err != nil {
		return nil, err
	}
	return store.OpenLocal(d.sources[row])
}

func (d *fakeData) Once(_ context.Context, _ any, _ int64, make func() ([]byte, error)) ([]byte, error) {
	return make()
}

func (d *fakeData) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (d *fakeData) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

// turnsOf makes chunks verbatim, re-encoded and missing, in rotation.
func turnsOf(number int64) manifest.ChunkKind {
	return [3]manifest.ChunkKind{manifest.Verbatim, manifest.Reencoded, manifest.Missing}[number%3]
}

// add adds an array, and a source with its verbatim chunks.
func (d *fakeData) add(tb testing.TB, path, doc string, kinds func(int64) manifest.ChunkKind) *fakeArray {
	tb.Helper()
	schema, err := zarrjson.ParseArray([]byte(doc))
	if err != nil {
		tb.Fatal(err)
	}
	g, err := schema.Grid()
	if err != nil {
		tb.Fatal(err)
	}
	first, _ := g.Chunk(make([]int64, g.Rank()))
	p, err := codec.New(schema.Codecs, schema.Form(first.Codec))
	if err != nil {
		tb.Fatal(err)
	}
	a := &fakeArray{path: path, schema: schema, grid: g, pipeline: p, source: int64(len(d.sources)), offsets: map[int64]int64{}, kinds: kinds, data: d}
	content := []byte("some bytes in front")
	coords := make([]int64, g.Rank())
	for n := range g.Chunks() {
		if kinds(n) == manifest.Verbatim {
			g.Coords(n, coords)
			c, _ := g.Chunk(coords)
			a.offsets[n] = int64(len(content))
			content = append(content, a.bytes(c.Origin, c.Codec)...)
		}
	}
	d.sources = append(d.sources, writeSource(tb, content))
	d.arrays = append(d.arrays, a)
	return a
}

func writeSource(tb testing.TB, content []byte) manifest.Source {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "source ü.bin")
	if err := os.WriteFile(name, content, 0o666); err != nil {
		tb.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		tb.Fatal(err)
	}
	return manifest.Source{URL: name, Size: info.Size(), Modified: info.ModTime()}
}

func arrayDoc(shape, chunkGrid, codecs, attributes, dims string) string {
	return fmt.Sprintf(`{"shape":%s,"data_type":"float32","chunk_grid":%s,"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
		"fill_value":"NaN","codecs":[{"name":"bytes","configuration":{"endian":"little"}}%s],"attributes":%s,"dimension_names":%s,
		"zarr_format":3,"node_type":"array","storage_transformers":[]}`, shape, chunkGrid, codecs, attributes, dims)
}

func regularDoc(shape, chunks string) string {
	return arrayDoc(shape, `{"name":"regular","configuration":{"chunk_shape":`+chunks+`}}`, "", `{"units":"K","long_name":"sea & <b>"}`, `["time","x"]`)
}

func rectilinearDoc(shape, edges string) string {
	return arrayDoc(shape, `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":`+edges+`}}`, "", `{}`, `["time","x"]`)
}

// oddName is the path of an array whose characters must be escaped in URLs.
const oddName = "/g h/ü #%41:x?&"

func newFake(tb testing.TB) *fakeData {
	tb.Helper()
	d := &fakeData{}
	d.snapshot.ID = strings.Repeat("ab", 32)
	attributes, err := zarrjson.ParseAttributes([]byte(`{"title":"a test"}`))
	if err != nil {
		tb.Fatal(err)
	}
	d.snapshot.Groups = []manifest.GroupSchema{{Path: "/", Attributes: attributes}}
	d.add(tb, "/big", regularDoc("[12,16384]", "[2,16384]"), turnsOf)
	d.add(tb, "/small", regularDoc("[7,3]", "[2,3]"), turnsOf)
	d.add(tb, "/rect", rectilinearDoc("[8,4]", "[[3,2,2,1],4]"), turnsOf)
	d.add(tb, oddName, regularDoc("[2,2]", "[2,2]"), turnsOf)
	return d
}

func newHandler(tb testing.TB, d dataset) *Handler {
	tb.Helper()
	return newHandlerOf(tb, &Options{open: fakeOpen(d)}, "a.varve")
}

func newHandlerOf(tb testing.TB, opts *Options, dirs ...string) *Handler {
	tb.Helper()
	if opts.Reload == 0 {
		opts.Reload = -1
	}
	opts.Log = slog.New(slog.NewTextHandler(tb.Output(), nil))
	h, err := New(tb.Context(), dirs, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := h.Close(); err != nil {
			tb.Error(err)
		}
	})
	return h
}

// start serves a handler on a real port.
func start(tb testing.TB, h http.Handler) *httptest.Server {
	tb.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Listener = newLimited(s.Listener, s.Config, 1000)
	s.Start()
	tb.Cleanup(s.Close)
	return s
}

type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request; headers alternates names and values.
func ask(tb testing.TB, method, url string, headers ...string) answer {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), method, url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatalf("%s %s: %v after %d bytes", method, url, err, len(data))
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

func fakeOpen(d dataset) func(context.Context, string, *store.Options) (dataset, error) {
	return func(context.Context, string, *store.Options) (dataset, error) { return d, nil }
}
