package codec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/soak"
	"varve/grid"
)

// newRand returns a random generator whose seed is printed if the test fails.
func newRand(t testing.TB) *rand.Rand {
	seed := soak.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomRegion returns a random region of a shape, which is rarely empty.
func randomRegion(rng *rand.Rand, shape []int64) grid.Region {
	r := grid.MakeRegion(len(shape))
	for k, n := range shape {
		r.Origin[k] = rng.Int64N(n + 1)
		r.Shape[k] = rng.Int64N(n - r.Origin[k] + 1)
		if rng.IntN(5) > 0 && r.Shape[k] == 0 && r.Origin[k] < n {
			r.Shape[k] = 1
		}
		if rng.IntN(4) == 0 {
			r.Origin[k], r.Shape[k] = 0, n
		}
	}
	return r
}

// randomCase is a random pipeline and elements for it.
type randomCase struct {
	list  string
	p     *Pipeline
	elems Elems
}

const littleBytes = `{"name":"bytes","configuration":{"endian":"little"}}`

var (
	partialTypes = []Type{{Kind: Uint, Size: 1}, int16Type, float32Type, float64Type, {Kind: Raw, Size: 3}, stringType}
	// partialBytes has codecs for each method of decoding a region.
	partialBytes = []string{
		"", "", "", `,{"name":"crc32c"}`, `,{"name":"zstd"}`, `,{"name":"numcodecs.crc32","configuration":{}}`,
		`,{"name":"numcodecs.shuffle","configuration":{"elementsize":2}},{"name":"gzip","configuration":{"level":1}}`,
		`,{"name":"numcodecs.blosc","configuration":{"blocksize":64}}`, `,{"name":"numcodecs.fletcher32","configuration":{}},{"name":"zstd"}`,
		`,{"name":"numcodecs.blosc","configuration":{}},{"name":"crc32c"}`, `,{"name":"crc32c"},{"name":"gzip"}`,
	}
)

func newRandomCase(t testing.TB, rng *rand.Rand) randomCase {
	t.Helper()
	form := Form{Type: partialTypes[rng.IntN(len(partialTypes))], Shape: make([]int64, rng.IntN(4))}
	for k := range form.Shape {
		form.Shape[k] = 1 + rng.Int64N(12)
	}
	if rng.IntN(2) == 0 {
		form.Fill = []byte("fillfill")[:form.Type.Size]
	}
	leaf := fmt.Sprintf(`{"name":"bytes","configuration":{"endian":%q}}`, []string{"little", "big"}[rng.IntN(2)])
	if form.Type.Varies() {
		leaf, form.Fill = `{"name":"vlen-utf8"}`, []byte("fill")
	}
	list := "[" + randomCodecs(rng, leaf, form.Shape, 2) + "]"
	p, err := New(WithClipping(specs(t, list)), form)
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	c := randomCase{list, p, NewElems(form)}
	c.elems.SetFill(form)
	for range rng.IntN(4) {
		putRandom(rng, windowOf(c.elems, form), randomRegion(rng, form.Shape))
	}
	return c
}

// putRandom sets the elements of a region to random values.
func putRandom(rng *rand.Rand, w window, r grid.Region) {
	form := Form{Type: Type{Kind: Raw, Size: w.unit}, Shape: r.Shape}
	if w.unit == varying {
		form.Type = stringType
	}
	e := NewElems(form)
	for i := range e.Fixed {
		e.Fixed[i] = byte(rng.IntN(4))
	}
	for i := range e.Var {
		e.Var[i] = []byte(strings.Repeat("é", rng.IntN(4)))
	}
	if err := w.copyFrom(window{e, r, w.unit}, r); err != nil {
		panic(err)
	}
}

// randomCodecs returns a random codec pipeline with shards nested up to a depth.
func randomCodecs(rng *rand.Rand, leaf string, shape []int64, shards int) string {
	var list string
	if rng.IntN(3) == 0 {
		order := rng.Perm(len(shape))
		raw, err := json.Marshal(order)
		if err != nil {
			panic(err)
		}
		list = fmt.Sprintf(`{"name":"transpose","configuration":{"order":%s}},`, raw)
		shape = permute(shape, order)
	}
	outer := partialBytes[rng.IntN(len(partialBytes))]
	if shards == 0 || rng.IntN(4) == 0 {
		return list + leaf + outer
	}
	inner := make([]int64, len(shape))
	for k, n := range shape {
		inner[k] = 1 + rng.Int64N(n+n/2)
	}
	raw, err := json.Marshal(inner)
	if err != nil {
		panic(err)
	}
	if rng.IntN(3) > 0 {
		outer = ""
	}
	return list + fmt.Sprintf(`{"name":"sharding_indexed","configuration":{"chunk_shape":%s,"codecs":[%s],"index_codecs":[%s],"index_location":%q}}`,
		raw, randomCodecs(rng, leaf, inner, shards-1), littleBytes+[]string{"", `,{"name":"crc32c"}`}[rng.IntN(2)],
		[]string{"start", "end"}[rng.IntN(2)]) + outer
}

// part returns the elements of a region.
func (c *randomCase) part(t testing.TB, r grid.Region) Elems {
	t.Helper()
	form := c.p.Form()
	form.Shape = r.Shape
	e, err := windowOf(c.elems, c.p.Form()).extract(r, &scratch{a: new(arena)}, form)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// strictReader is a stored chunk that checks the rules that Reader states for its caller.
type strictReader struct {
	t      testing.TB
	stored []byte
	calls  int
	read   int64
}

func (s *strictReader) Size() int64 { return int64(len(s.stored)) }

func (s *strictReader) ReadRanges(_ context.Context, ranges []Range, out [][]byte) error {
	s.calls++
	end := int64(0)
	for i, r := range ranges {
		if r.Length <= 0 || r.Offset < end || r.End() > s.Size() {
			s.t.Errorf("range %v: end of the last %d, size %d", r, end, s.Size())
		}
		end = r.End()
		s.read += r.Length
		out[i] = bytes.Clone(s.stored[r.Offset:r.End()])
	}
	if len(ranges) == 0 || len(out) != len(ranges) {
		s.t.Errorf("%d ranges for %d answers", len(ranges), len(out))
	}
	return nil
}

func TestRegionsDecodeAsTheWhole(t *testing.T) {
	rng := newRand(t)
	for range 400 {
		c := newRandomCase(t, rng)
		stored, err := c.p.Encode(nil, c.elems)
		if err != nil {
			t.Fatalf("%s: %v", c.list, err)
		}
		back := NewElems(c.p.Form())
		if err := c.p.Decode(back, stored); err != nil {
			t.Fatalf("%v %s: %v", c.p.Form().Shape, c.list, err)
		}
		if !sameElems(back, c.elems) {
			t.Fatalf("%v %s: decodes to other elements", c.p.Form().Shape, c.list)
		}
		for range 8 {
			r := randomRegion(rng, c.p.Form().Shape)
			want := c.part(t, r)
			got := Elems{bytes.Repeat([]byte{0xee}, len(want.Fixed)), make([][]byte, len(want.Var))}
			if err := c.p.DecodeRegion(t.Context(), &strictReader{t: t, stored: stored}, r, got); err != nil {
				t.Fatalf("%v %s: region %v: %v", c.p.Form().Shape, c.list, r, err)
			}
			if !sameElems(got, want) {
				t.Fatalf("%v %s: region %v decodes to other elements", c.p.Form().Shape, c.list, r)
			}
		}
	}
}

// Replacing a region returns the same bytes as encoding the changed elements: the copied bytes
// are those of the encoder, in the same order.
func TestRegionsEncodeAsTheWhole(t *testing.T) {
	rng := newRand(t)
	for range 300 {
		c := newRandomCase(t, rng)
		form := c.p.Form()
		var stored []byte
		if form.IsFill(c.elems) && rng.IntN(2) == 0 {
			stored = nil
		} else {
			var err error
			if stored, err = c.p.Encode(nil, c.elems); err != nil {
				t.Fatalf("%s: %v", c.list, err)
			}
		}
		for range 4 {
			r := randomRegion(rng, form.Shape)
			if rng.IntN(3) > 0 {
				putRandom(rng, windowOf(c.elems, form), r)
			} else {
				w := windowOf(c.elems, form)
				fill := NewElems(Form{form.Type, r.Shape, form.Fill})
				fill.SetFill(form)
				if err := w.copyFrom(window{fill, r, w.unit}, r); err != nil {
					t.Fatal(err)
				}
			}
			out, err := c.p.EncodeRegion([]byte("before"), stored, r, c.part(t, r))
			if err != nil {
				t.Fatalf("%v %s: region %v: %v", form.Shape, c.list, r, err)
			}
			var want []byte
			if !form.IsFill(c.elems) {
				if want, err = c.p.Encode(nil, c.elems); err != nil {
					t.Fatal(err)
				}
			}
			if string(out) != "before"+string(want) {
				t.Fatalf("%v %s: region %v: encodes to\n%x, want\n%x", form.Shape, c.list, r, out[6:], want)
			}
			if stored = out[6:]; len(stored) == 0 {
				stored = nil
			}
		}
	}
}

func TestRegionRefuses(t *testing.T) {
	p := mustNew(t, "["+littleBytes+"]", Form{Type: int16Type, Shape: []int64{4, 6}})
	stored := Memory(ramp(48))
	for _, tt := range []struct {
		name          string
		origin, shape []int64
		room          int
	}{
		{"beyond", []int64{2, 0}, []int64{3, 1}, 6},
		{"before", []int64{-1, 0}, []int64{1, 1}, 2},
		{"far", []int64{1<<63 - 1, 0}, []int64{1, 1}, 2},
		{"negative", []int64{1, 0}, []int64{-1, 1}, 2},
		{"fewer axes", []int64{1}, []int64{1}, 2},
		{"too little room", []int64{1, 1}, []int64{2, 2}, 7},
	} {
		r := grid.Region{Origin: tt.origin, Shape: tt.shape}
		if err := p.DecodeRegion(t.Context(), stored, r, Elems{Fixed: make([]byte, tt.room)}); err == nil {
			t.Errorf("%s: decoded", tt.name)
		} else {
			checkMessage(t, tt.name, err)
		}
		if out, err := p.EncodeRegion(nil, stored, r, Elems{Fixed: make([]byte, tt.room)}); err == nil || out != nil {
			t.Errorf("%s: encoded", tt.name)
		} else {
			checkMessage(t, tt.name, err)
		}
	}
	short := p.DecodeRegion(t.Context(), stored[:47], grid.Region{Origin: []int64{0, 0}, Shape: []int64{1, 1}}, Elems{Fixed: make([]byte, 2)})
	if !errors.Is(short, ErrCorrupt) {
		t.Errorf("a chunk that is too short: %v", short)
	}
}

// badReader returns an error, or too few bytes.
type badReader struct {
	Memory
	err error
}

func (b badReader) ReadRanges(ctx context.Context, ranges []Range, out [][]byte) error {
	if b.err != nil {
		return b.err
	}
	if err := b.Memory.ReadRanges(ctx, ranges, out); err != nil {
		return err
	}
	out[0] = out[0][:1]
	return nil
}

func TestRegionReportsTheReader(t *testing.T) {
	p := mustNew(t, "["+littleBytes+"]", Form{Type: int16Type, Shape: []int64{4}})
	r := grid.Region{Origin: []int64{1}, Shape: []int64{2}}
	gone := errors.New("gone")
	if err := p.DecodeRegion(t.Context(), badReader{ramp(8), gone}, r, Elems{Fixed: make([]byte, 4)}); !errors.Is(err, gone) {
		t.Errorf("the reader's error became %v", err)
	}
	if err := p.DecodeRegion(t.Context(), badReader{ramp(8), nil}, r, Elems{Fixed: make([]byte, 4)}); err == nil {
		t.Error("a short answer is taken")
	}
	if err := (Memory{1, 2}).ReadRanges(t.Context(), []Range{{1, 2}}, make([][]byte, 1)); err == nil {
		t.Error("memory reads beyond its end")
	}
}

func TestRegionStopsWhenCancelled(t *testing.T) {
	p := mustNew(t, `[`+littleBytes+`,{"name":"zstd"}]`, Form{Type: int16Type, Shape: []int64{4}})
	stored, err := p.Encode(nil, Elems{Fixed: ramp(8)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := grid.Region{Origin: []int64{1}, Shape: []int64{2}}
	if err := p.DecodeRegion(ctx, Memory(stored), r, Elems{Fixed: make([]byte, 4)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestRegionReadsNoMoreThanItMust(t *testing.T) {
	const all = 256 * 256 * 4
	inner := rawShards("[16,16]", littleBytes)
	outer := func(codecs string) string { return "[" + shards("[64,64]", codecs) + "]" }
	const index, nested = 16*16 + 4, 16 * 16
	for _, tt := range []struct {
		name, list    string
		origin, shape []int64
		calls         int
		least, most   int64
	}{
		{"a row of raw bytes", "[" + littleBytes + "]", []int64{5, 0}, []int64{1, 256}, 1, 1024, 1024},
		{"two rows are one run", "[" + littleBytes + "]", []int64{5, 0}, []int64{2, 256}, 1, 2048, 2048},
		{"an element", "[" + littleBytes + "]", []int64{5, 7}, []int64{1, 1}, 1, 4, 4},
		{"a column, gaps and all", "[" + littleBytes + "]", []int64{0, 7}, []int64{256, 1}, 1, 255 * 1024, all},
		{"an element after a transposition", `[{"name":"transpose","configuration":{"order":[1,0]}},` + littleBytes + "]", []int64{5, 7}, []int64{1, 1}, 1, 4, 4},
		{"a checksum guards everything", `[` + littleBytes + `,{"name":"crc32c"}]`, []int64{5, 7}, []int64{1, 1}, 1, all + 4, all + 4},
		{"an inner chunk", outer(littleBytes + `,{"name":"crc32c"}`), []int64{64, 128}, []int64{64, 64}, 2, 64*64*4 + 4 + index, 64*64*4 + 4 + index},
		{"an element of a raw inner chunk", outer(littleBytes), []int64{70, 128}, []int64{1, 1}, 2, 4 + index, 4 + index},
		{"an element of nested shards", outer(inner), []int64{70, 128}, []int64{1, 1}, 3, 4 + index + nested, 4 + index + nested},
		{"the corners of four nested shards", outer(inner), []int64{63, 63}, []int64{2, 2}, 3, 16 + index + 4*nested, all / 2},
		{"nothing", outer(inner), []int64{63, 63}, []int64{0, 2}, 0, 0, 0},
	} {
		p := mustNew(t, tt.list, Form{Type: float32Type, Shape: []int64{256, 256}})
		c := randomCase{tt.list, p, Elems{Fixed: ramp(all)}}
		stored, err := p.Encode(nil, c.elems)
		if err != nil {
			t.Fatal(err)
		}
		r := grid.Region{Origin: tt.origin, Shape: tt.shape}
		want := c.part(t, r)
		got := Elems{Fixed: make([]byte, len(want.Fixed))}
		reader := &strictReader{t: t, stored: stored}
		if err := p.DecodeRegion(t.Context(), reader, r, got); err != nil || !sameElems(got, want) {
			t.Errorf("%s: other elements, or %v", tt.name, err)
		}
		if reader.calls != tt.calls || reader.read < tt.least || reader.read > tt.most {
			t.Errorf("%s: %d calls and %d bytes, want %d and from %d to %d", tt.name, reader.calls, reader.read, tt.calls, tt.least, tt.most)
		}
	}
}

func TestRowsFarApart(t *testing.T) {
	const row = maxReadGap + 100
	p := mustNew(t, `[{"name":"bytes"}]`, Form{Type: uint8Type, Shape: []int64{4, row}})
	c := randomCase{p: p, elems: Elems{Fixed: ramp(4 * row)}}
	r := grid.Region{Origin: []int64{0, 50}, Shape: []int64{4, 10}}
	reader, got := &strictReader{t: t, stored: c.elems.Fixed}, Elems{Fixed: make([]byte, 40)}
	if err := p.DecodeRegion(t.Context(), reader, r, got); err != nil || !sameElems(got, c.part(t, r)) {
		t.Errorf("other elements, or %v", err)
	}
	if reader.calls != 1 || reader.read != 40 {
		t.Errorf("%d calls and %d bytes", reader.calls, reader.read)
	}
}

// A chunk of too many or too few bytes is corrupt even if only a small part of it is read.
func TestRegionOfAChunkOfAnotherSize(t *testing.T) {
	for _, list := range []string{"", `,{"name":"crc32c"}`, `,{"name":"numcodecs.fletcher32"}`, `,{"name":"numcodecs.blosc"}`, `,{"name":"zstd"}`, `,{"name":"numcodecs.crc32"},{"name":"gzip"}`} {
		p := mustNew(t, "["+littleBytes+list+"]", Form{Type: int16Type, Shape: []int64{10}})
		for _, n := range []int64{5, 9, 11, 20} {
			q, err := p.WithShape([]int64{n})
			if err != nil {
				t.Fatal(err)
			}
			stored, err := q.Encode(nil, Elems{Fixed: ramp(int(2 * n))})
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []int64{0, 8} {
				if err := p.DecodeRegion(t.Context(), Memory(stored), region1(at, 2), Elems{Fixed: make([]byte, 4)}); !errors.Is(err, ErrCorrupt) {
					t.Errorf("bytes%s: %d elements for 10: %v", list, n, err)
				}
			}
		}
	}
}

func TestFetchJoins(t *testing.T) {
	const gap = maxReadGap
	for _, tt := range []struct {
		name  string
		wants []Range
		reads []Range
	}{
		{"near", []Range{{0, 10}, {10 + gap, 10}}, []Range{{0, 20 + gap}}},
		{"far", []Range{{0, 10}, {11 + gap, 10}}, []Range{{0, 10}, {11 + gap, 10}}},
		{"out of order", []Range{{20, 10}, {0, 10}}, []Range{{0, 30}}},
		{"twice the same", []Range{{5, 10}, {5, 10}}, []Range{{5, 10}}},
		{"one in another", []Range{{0, 100}, {20, 10}, {200, 10}}, []Range{{0, 210}}},
		{"the last in another", []Range{{0, 100}, {20, 10}}, []Range{{0, 100}}},
		{"empty", []Range{{5, 0}, {7, 1}, {1 << 40, 0}}, []Range{{7, 1}}},
		{"none", []Range{{5, 0}}, nil},
		{"too long together", []Range{{0, maxRead}, {maxRead, 5}}, []Range{{0, maxRead}, {maxRead, 5}}},
		{"too long, but they overlap", []Range{{0, maxRead}, {maxRead - 1, 5}}, []Range{{0, maxRead + 4}}},
	} {
		r := &listReader{}
		got, err := fetch(t.Context(), r, tt.wants)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if !slices.Equal(r.ranges, tt.reads) {
			t.Errorf("%s: reads %v, want %v", tt.name, r.ranges, tt.reads)
		}
		for i, w := range tt.wants {
			if int64(len(got[i])) != w.Length || w.Length > 0 && int64(got[i][0]) != w.Offset%251 {
				t.Errorf("%s: range %v got %d bytes that are not its own", tt.name, w, len(got[i]))
			}
		}
	}
}

// listReader returns bytes that equal their offset, and records the requested ranges.
type listReader struct{ ranges []Range }

func (l *listReader) Size() int64 { return 1 << 50 }

func (l *listReader) ReadRanges(_ context.Context, ranges []Range, out [][]byte) error {
	l.ranges = append(l.ranges, ranges...)
	for i, r := range ranges {
		out[i] = make([]byte, r.Length)
		for k := range out[i] {
			out[i][k] = byte((r.Offset + int64(k)) % 251)
		}
	}
	return nil
}
