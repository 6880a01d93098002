package codec

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/soak"
	"varve/grid"
)

// pointChains are the chains of codecs of TestSpans: any codec of each group, in this order. "" is none.
var pointChains = [][]string{
	{"", `{"name":"transpose","configuration":{"order":[2,0,1]}}`},
	{"", `{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":3,"scale":100,"dtype":"<f4","astype":"<i2"}}`,
		`{"name":"numcodecs.quantize","configuration":{"digits":2,"dtype":"<f4"}}`, `{"name":"numcodecs.bitround","configuration":{"keepbits":8}}`,
		`{"name":"scale_offset","configuration":{"offset":1.0,"scale":2.0}}`},
	{`{"name":"bytes","configuration":{"endian":"little"}}`, `{"name":"bytes","configuration":{"endian":"big"}}`},
	{"", "", `{"name":"crc32c"}`, `{"name":"numcodecs.crc32"}`},
	{"", `{"name":"numcodecs.shuffle"}`, `{"name":"numcodecs.shuffle","configuration":{"elementsize":2}}`, `{"name":"numcodecs.shuffle","configuration":{"elementsize":7}}`},
	{"", "", `{"name":"numcodecs.adler32"}`},
	{`{"name":"numcodecs.zlib","configuration":{"level":4}}`, `{"name":"gzip","configuration":{"level":6}}`, `{"name":"numcodecs.zlib","configuration":{"level":0}}`,
		`{"name":"zstd"}`, `{"name":"numcodecs.lz4"}`, `{"name":"imagecodecs_lz4h5"}`, `{"name":"imagecodecs_lz4h5","configuration":{"blocksize":50000}}`,
		`{"name":"blosc","configuration":{"typesize":4,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0}}`,
		`{"name":"numcodecs.blosc","configuration":{"cname":"zstd","clevel":3,"shuffle":2,"blocksize":30000}}`,
		`{"name":"numcodecs.bz2"}`, `{"name":"numcodecs.lzma"}`},
	{"", `{"name":"numcodecs.fletcher32"}`, `{"name":"numcodecs.crc32"}`},
}

// indexedChunk is a stored chunk with its access points.
type indexedChunk struct {
	name    string
	p       *Pipeline
	stored  []byte
	want    []byte
	points  *AccessPoints
	windows [][]byte
	cache   SpanCache
}

// mapCache keeps all spans.
type mapCache map[int][]byte

func (c mapCache) Get(span int) []byte    { return c[span] }
func (c mapCache) Put(span int, b []byte) { c[span] = b }

func newIndexedChunk(t *testing.T, rng *rand.Rand) indexedChunk {
	t.Helper()
	var list []string
	for _, group := range pointChains {
		if c := group[rng.IntN(len(group))]; c != "" {
			list = append(list, c)
		}
	}
	c := indexedChunk{name: "[" + strings.Join(list, ",") + "]"}
	var specs []Spec
	if err := json.Unmarshal([]byte(c.name), &specs); err != nil {
		t.Fatal(err)
	}
	form := Form{Type: float32Type, Shape: []int64{1 + rng.Int64N(40), 1 + rng.Int64N(150), 1 + rng.Int64N(150)}}
	var err error
	if c.p, err = New(specs, form); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	e := NewElems(form)
	for i := range form.Count() {
		v := 250 + 45*math.Cos(float64(i)/3000) + float64(rng.IntN(64))/64
		binary.LittleEndian.PutUint32(e.Fixed[4*i:], math.Float32bits(float32(v)))
	}
	c.stored = encodeInParts(t, rng, specs, e, form)
	whole := NewElems(form)
	if err = c.p.Decode(whole, c.stored); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	c.want = whole.Fixed
	if c.points, c.windows, err = c.p.FindPoints(c.stored, MinSpan); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return c
}

// encodeInParts encodes elements. If one of the codecs is in splitEncoders, that is used instead of the codec.
func encodeInParts(t *testing.T, rng *rand.Rand, specs []Spec, e Elems, form Form) []byte {
	t.Helper()
	encode := func(specs []Spec, e Elems, form Form) []byte {
		p, err := New(specs, form)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Encode(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	at := slices.IndexFunc(specs, func(s Spec) bool { return splitEncoders[s.Name] != nil })
	if at < 0 {
		return encode(specs, e, form)
	}
	b := splitEncoders[specs[at].Name](t, rng, encode(specs[:at], e, form))
	form = Form{Type: Type{Kind: Uint, Size: 1}, Shape: []int64{int64(len(b))}}
	return encode(append([]Spec{InOrder("")}, specs[at+1:]...), Elems{Fixed: b}, form)
}

func (c *indexedChunk) window(_ context.Context, points []int) (list [][]byte, err error) {
	for _, i := range points {
		list = append(list, c.windows[i])
	}
	return list, nil
}

// read reads a region at the access points.
func (c *indexedChunk) read(region grid.Region, points *AccessPoints, stored []byte, windows Windows) (Elems, *SpanReader, error) {
	r, err := c.p.NewSpanReader(points, int64(len(stored)), region, c.cache)
	if err != nil {
		return Elems{}, nil, err
	}
	form := c.p.Form()
	form.Shape = region.Shape
	got := NewElems(form)
	return got, r, r.Decode(context.Background(), Memory(stored), windows, got)
}

// part returns the elements of a region of the decoded chunk.
func (c *indexedChunk) part(t *testing.T, region grid.Region) []byte {
	t.Helper()
	form := c.p.Form()
	all := grid.Whole(form.Shape)
	form.Shape = region.Shape
	e := NewElems(form)
	if err := (window{e, region, 4}).copyFrom(window{Elems{Fixed: c.want}, all, 4}, region); err != nil {
		t.Fatal(err)
	}
	return e.Fixed
}

func randomSpanRegion(rng *rand.Rand, shape []int64) grid.Region {
	r := grid.MakeRegion(len(shape))
	for k, n := range shape {
		r.Shape[k] = 1 + rng.Int64N(min(n, 1<<rng.IntN(8)))
		r.Origin[k] = rng.Int64N(n - r.Shape[k] + 1)
	}
	return r
}

// TestSpans compares regions that are read at access points with whole decoding, for all chains of codecs. A
// seed is a chunk of which it reads 100 regions.
func TestSpans(t *testing.T) {
	partly, count := 0, 0
	for seed := range soak.Seeds(t, 10) {
		partly += testSpans(t, rand.New(rand.NewPCG(seed, 1)), 100)
		count += 100
	}
	if partly < count/4 && !soak.Selected() {
		t.Errorf("only %d of %d regions were read without decompressing all bytes", partly, count)
	}
}

// testSpans returns how many regions of a chunk were read without decompressing all bytes.
func testSpans(t *testing.T, rng *rand.Rand, count int) (partly int) {
	t.Helper()
	c := newIndexedChunk(t, rng)
	if rng.IntN(2) == 0 {
		c.cache = mapCache{}
	}
	for range count {
		region := randomSpanRegion(rng, c.p.Form().Shape)
		got, r, err := c.read(region, c.points, c.stored, c.window)
		if err != nil || !bytes.Equal(got.Fixed, c.part(t, region)) {
			t.Fatalf("%s: shape %v, region %v: %v", c.name, c.p.Form().Shape, region, err)
		}
		if r.Inflates() < c.points.Size {
			partly++
		}
	}
	return partly
}

// TestSpanBytes checks how many bytes one element of a shuffled chunk needs: one block of each plane.
func TestSpanBytes(t *testing.T) {
	c := largeIndexedChunk(t)
	one := grid.Region{Origin: []int64{0, 300, 300}, Shape: []int64{1, 1, 1}}
	got, r, err := c.read(one, c.points, c.stored, c.window)
	if err != nil || !bytes.Equal(got.Fixed, c.part(t, one)) {
		t.Fatalf("wrong element: %v", err)
	}
	if most := int64(4 * 4 * SumBlock); r.Inflates() > most || r.Fetches() > int64(len(c.stored))/4 {
		t.Errorf("one element decompresses %d bytes (at most %d) and reads %d of %d", r.Inflates(), most, r.Fetches(), len(c.stored))
	}
}

func largeIndexedChunk(t *testing.T) indexedChunk {
	t.Helper()
	c := indexedChunk{name: "zlib"}
	form := Form{Type: float32Type, Shape: []int64{1, 1000, 1000}}
	var err error
	if c.p, err = New([]Spec{InOrder(LittleEndian), {Name: "numcodecs.shuffle"}, {Name: "numcodecs.zlib"}}, form); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	e := NewElems(form)
	for i := range form.Count() {
		binary.LittleEndian.PutUint32(e.Fixed[4*i:], math.Float32bits(float32(math.Sin(float64(i)/9000)+float64(rng.IntN(64))/64)))
	}
	if c.stored, err = c.p.Encode(nil, e); err != nil {
		t.Fatal(err)
	}
	c.want = e.Fixed
	if c.points, c.windows, err = c.p.FindPoints(c.stored, MinSpan); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHostilePoints checks that wrong access points give an error, and never a wrong value.
func TestHostilePoints(t *testing.T) {
	c := largeIndexedChunk(t)
	rng := rand.New(rand.NewPCG(5, 6))
	regions := []grid.Region{grid.Whole(c.p.Form().Shape), {Origin: []int64{0, 500, 0}, Shape: []int64{1, 1, 1000}}}
	copied := func() *AccessPoints {
		ap := *c.points
		ap.Points, ap.Sums = slices.Clone(ap.Points), slices.Clone(ap.Sums)
		return &ap
	}
	last := len(c.points.Points) - 1
	for !c.points.Points[last].HasWindow {
		last--
	}
	for name, change := range map[string]func(*AccessPoints){
		"beyond the stored chunk":      func(ap *AccessPoints) { ap.Points[last].Bit = 8 * int64(len(c.stored)) },
		"beyond any chunk":             func(ap *AccessPoints) { ap.Points[last].Bit = math.MaxInt64 },
		"a negative bit":               func(ap *AccessPoints) { ap.Points[0].Bit = -1 },
		"a decoded byte beyond":        func(ap *AccessPoints) { ap.Points[last].Out = ap.Size + 1 },
		"a negative decoded byte":      func(ap *AccessPoints) { ap.Points[1].Out = -5 },
		"not in order":                 func(ap *AccessPoints) { ap.Points[1], ap.Points[2] = ap.Points[2], ap.Points[1] },
		"twice":                        func(ap *AccessPoints) { ap.Points[2] = ap.Points[1] },
		"not from the start":           func(ap *AccessPoints) { ap.Points = ap.Points[1:] },
		"none":                         func(ap *AccessPoints) { ap.Points = nil },
		"another size":                 func(ap *AccessPoints) { ap.Size-- },
		"too few checksums":            func(ap *AccessPoints) { ap.Sums = ap.Sums[1:] },
		"another codec":                func(ap *AccessPoints) { ap.Codecs = "gzip" },
		"the bit before":               func(ap *AccessPoints) { ap.Points[last].Bit-- },
		"the bit after":                func(ap *AccessPoints) { ap.Points[last].Bit++ },
		"no window where it is needed": func(ap *AccessPoints) { ap.Points[last].HasWindow = false },
		"another checksum":             func(ap *AccessPoints) { ap.Sums[len(ap.Sums)-1]++ },
		"a point that is shifted":      func(ap *AccessPoints) { ap.Points[last].Out++ },
	} {
		ap := copied()
		change(ap)
		if _, _, err := c.read(regions[0], ap, c.stored, c.window); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, windows := range map[string]Windows{
		"too few": func(context.Context, []int) ([][]byte, error) { return nil, nil },
		"of other points": func(_ context.Context, points []int) (list [][]byte, err error) {
			for range points {
				list = append(list, c.windows[1])
			}
			return list, nil
		},
		"empty": func(_ context.Context, points []int) ([][]byte, error) { return make([][]byte, len(points)), nil },
		"noise": func(_ context.Context, points []int) (list [][]byte, err error) {
			for range points {
				list = append(list, binary.LittleEndian.AppendUint64(nil, rng.Uint64()))
			}
			return list, nil
		},
	} {
		if _, _, err := c.read(regions[0], c.points, c.stored, windows); !errors.Is(err, ErrCorrupt) {
			t.Errorf("windows that are %s: got %v", name, err)
		}
	}
	// Another file of the same size, in which some bytes differ: a value is right or there is an error.
	for range 300 {
		stored := bytes.Clone(c.stored)
		stored[rng.IntN(len(stored))] ^= 1 << rng.IntN(8)
		for _, region := range regions {
			got, _, err := c.read(region, c.points, stored, c.window)
			if err == nil && !bytes.Equal(got.Fixed, c.part(t, region)) {
				t.Fatal("wrong values without an error")
			}
		}
	}
}

// TestUnindexable checks which codecs are named as the reason why a chunk has no access points.
func TestUnindexable(t *testing.T) {
	little := InOrder(LittleEndian)
	form := Form{Type: float32Type, Shape: []int64{4, 4}}
	for _, c := range []struct {
		specs []Spec
		says  string
	}{
		{[]Spec{little, {Name: "numcodecs.zlib"}, {Name: "numcodecs.zlib"}}, `codec "numcodecs.zlib"`},
		{[]Spec{little, {Name: "numcodecs.zlib"}, {Name: "numcodecs.shuffle"}}, `codec "numcodecs.shuffle"`},
		{[]Spec{{Name: "numcodecs.delta", Config: []byte(`{"dtype":"<f4"}`)}, little, {Name: "numcodecs.zlib"}}, `codec "numcodecs.delta"`},
		{[]Spec{little, {Name: "numcodecs.shuffle"}}, "no compressor"},
		{[]Spec{little, {Name: "hdf5.lzf", Config: []byte(`{"cd_values":[]}`)}}, `codec "hdf5.lzf"`},
	} {
		p, err := New(c.specs, form)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckPoints(); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%v: got %v, want %q", p.names(), err, c.says)
		}
		if _, _, err := p.FindPoints(nil, MinSpan); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v: FindPoints returned %v", p.names(), err)
		}
	}
}
