package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/fixtures/system"
	"varve/grid"
)

// shards returns the sharding codec with a shape and codecs of inner chunks.
func shards(shape, codecs string) string {
	return fmt.Sprintf(`{"name":"sharding_indexed","configuration":{"chunk_shape":%s,"codecs":[%s],"index_codecs":[%s,{"name":"crc32c"}]}}`, shape, codecs, littleBytes)
}

// rawShards is like shards without a checksum of the index, so that a test can change it.
func rawShards(shape, codecs string) string {
	return strings.Replace(shards(shape, codecs), `,{"name":"crc32c"}]}}`, `]}}`, 1)
}

var uint8Type = Type{Kind: Uint, Size: 1}

func TestShardLayout(t *testing.T) {
	const le = littleBytes
	form := Form{Type: uint8Type, Shape: []int64{2, 4}}
	none := strings.Repeat("\xff", 16)
	at := func(offset, n uint64) string {
		return string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, offset), n))
	}
	for _, tt := range []struct{ name, list, elems, want string }{
		{"end", rawShards("[1,2]", le), "abcdefgh", "abefcdgh" + at(0, 2) + at(4, 2) + at(2, 2) + at(6, 2)},
		{"start", strings.Replace(rawShards("[1,2]", le), "]}}", `],"index_location":"start"}}`, 1), "abcdefgh",
			at(64, 2) + at(68, 2) + at(66, 2) + at(70, 2) + "abefcdgh"},
		{"an empty inner chunk", rawShards("[1,2]", le), "ab\x00\x00efgh", "abefgh" + at(0, 2) + none + at(2, 2) + at(4, 2)},
		{"all empty", rawShards("[1,2]", le), "\x00\x00\x00\x00\x00\x00\x00\x00", none + none + none + none},
		{"one inner chunk", rawShards("[2,4]", le), "abcdefgh", "abcdefgh" + at(0, 8)},
		{"nested", rawShards("[2,2]", rawShards("[1,2]", le)), "abcd\x00\x00gh",
			"ab" + at(0, 2) + none + "cdgh" + at(0, 2) + at(2, 2) + at(0, 34) + at(34, 36)},
	} {
		p := mustNew(t, "["+tt.list+"]", form)
		got, err := p.Encode(nil, Elems{Fixed: []byte(tt.elems)})
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %x, %v; want %x", tt.name, got, err, tt.want)
		}
		back := NewElems(form)
		if err := p.Decode(back, []byte(tt.want)); err != nil || string(back.Fixed) != tt.elems {
			t.Errorf("%s: decodes to %q, %v", tt.name, back.Fixed, err)
		}
	}
}

func TestIndexSizeOfTheSpecification(t *testing.T) {
	p := mustNew(t, "["+shards("[32,32]", littleBytes)+"]", Form{Type: int16Type, Shape: []int64{64, 64}})
	s, err := p.Shards()
	if err != nil {
		t.Fatal(err)
	}
	if n, atEnd := s.IndexSize(); n != 68 || !atEnd {
		t.Errorf("four inner chunks with crc32c have an index of %d bytes, at the end: %v", n, atEnd)
	}
}

func TestShardingRefuses(t *testing.T) {
	config := func(fields string) string {
		return `[{"name":"sharding_indexed","configuration":{` + fields + `}}]`
	}
	const codecs = `"codecs":[` + littleBytes + `]`
	const index = `"index_codecs":[` + littleBytes + `]`
	deep := littleBytes
	for range 40 {
		deep = shards("[4,6]", deep)
	}
	for _, tt := range []struct{ name, list string }{
		{"no configuration", `[{"name":"sharding_indexed"}]`},
		{"no shape", config(codecs + `,` + index)},
		{"zero", config(`"chunk_shape":[0,2],` + codecs + `,` + index)},
		{"fraction", config(`"chunk_shape":[1.5,2],` + codecs + `,` + index)},
		{"other rank", config(`"chunk_shape":[2],` + codecs + `,` + index)},
		{"straddles", config(`"chunk_shape":[3,2],` + codecs + `,` + index)},
		{"larger", config(`"chunk_shape":[4,12],` + codecs + `,` + index)},
		{"no codecs", config(`"chunk_shape":[2,2],` + index)},
		{"codecs that make no bytes", config(`"chunk_shape":[2,2],"codecs":[],` + index)},
		{"a codec unknown", config(`"chunk_shape":[2,2],"codecs":[{"name":"nonsense"}],` + index)},
		{"codecs of another kind", config(`"chunk_shape":[2,2],"codecs":"bytes",` + index)},
		{"no index codecs", config(`"chunk_shape":[2,2],` + codecs)},
		{"a compressed index", config(`"chunk_shape":[2,2],` + codecs + `,"index_codecs":[` + littleBytes + `,{"name":"zstd"}]`)},
		{"a sharded index", config(`"chunk_shape":[2,2],` + codecs + `,"index_codecs":[` + shards("[1,1,1]", littleBytes) + `]`)},
		{"location", config(`"chunk_shape":[2,2],` + codecs + `,` + index + `,"index_location":"middle"`)},
		{"another field", config(`"chunk_shape":[2,2],` + codecs + `,` + index + `,"order":"morton"`)},
		{"nested that does not divide", `[` + shards("[2,2]", shards("[2,3]", littleBytes)) + `]`},
		{"too deep", `[` + deep + `]`},
	} {
		p, err := New(specs(t, tt.list), Form{Type: int16Type, Shape: []int64{4, 6}})
		if err == nil || p != nil {
			t.Errorf("%s: accepted", tt.name)
		}
		checkMessage(t, tt.name, err)
	}
}

// shardOfFour returns a shard of four inner chunks of two bytes, whose last 64 bytes, the index,
// a test can change.
func shardOfFour(t testing.TB) (*Pipeline, []byte) {
	t.Helper()
	p := mustNew(t, "["+rawShards("[2]", littleBytes)+"]", Form{Type: uint8Type, Shape: []int64{8}})
	stored, err := p.Encode(nil, Elems{Fixed: []byte("abcdefgh")})
	if err != nil {
		t.Fatal(err)
	}
	return p, stored
}

func TestHostileIndexes(t *testing.T) {
	const none = 1<<64 - 1
	for _, tt := range []struct {
		name         string
		offset, size uint64
		want         string // elements 2 and 3, or an error
	}{
		{"as it is", 2, 2, "cd"},
		{"not stored", none, none, "\x00\x00"},
		{"another chunk's bytes", 0, 2, "ab"},
		{"overlapping another", 1, 2, "bc"},
		{"the length of the first, in the index", 8 + 8, 2, "\x02\x00"},
		{"begins past the end", 73, 2, "error"},
		{"begins at the end", 72, 2, "error"},
		{"ends past the end", 71, 2, "error"},
		{"overflows", none - 1, 2, "error"},
		{"overflows an int64", 1 << 63, 2, "error"},
		{"offset of none", none, 2, "error"},
		{"length of none", 2, none, "error"},
		{"longer than it is", 2, 3, "error"},
		{"shorter than it is", 2, 1, "error"},
		{"no bytes", 2, 0, "error"},
	} {
		p, stored := shardOfFour(t)
		binary.LittleEndian.PutUint64(stored[8+16:], tt.offset)
		binary.LittleEndian.PutUint64(stored[8+24:], tt.size)
		all, part := make([]byte, 8), make([]byte, 2)
		errAll := p.Decode(Elems{Fixed: all}, stored)
		errPart := p.DecodeRegion(t.Context(), Memory(stored), grid.Region{Origin: []int64{2}, Shape: []int64{2}}, Elems{Fixed: part})
		if tt.want == "error" {
			if !errors.Is(errAll, ErrCorrupt) || !errors.Is(errPart, ErrCorrupt) {
				t.Errorf("%s: %v; in part: %v", tt.name, errAll, errPart)
			}
			continue
		}
		if want := "ab" + tt.want + "efgh"; errAll != nil || string(all) != want {
			t.Errorf("%s: %q, %v; want %q", tt.name, all, errAll, want)
		}
		if errPart != nil || string(part) != tt.want {
			t.Errorf("%s: in part %q, %v; want %q", tt.name, part, errPart, tt.want)
		}
	}
}

func TestShortShards(t *testing.T) {
	p, stored := shardOfFour(t)
	r := grid.Region{Origin: []int64{2}, Shape: []int64{2}}
	for _, n := range []int{0, 1, 63} {
		if err := p.Decode(Elems{Fixed: make([]byte, 8)}, stored[len(stored)-n:]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err := p.DecodeRegion(t.Context(), Memory(stored[len(stored)-n:]), r, Elems{Fixed: make([]byte, 2)}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a region of %d bytes: %v", n, err)
		}
	}
}

// An inner chunk of an impossible size is not fetched.
func TestInnerChunksOfImpossibleSize(t *testing.T) {
	p, stored := shardOfFour(t)
	binary.LittleEndian.PutUint64(stored[8+24:], 60)
	reader := &strictReader{t: t, stored: stored}
	err := p.DecodeRegion(t.Context(), reader, grid.Region{Origin: []int64{2}, Shape: []int64{2}}, Elems{Fixed: make([]byte, 2)})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "inner chunk [1]") {
		t.Error(err)
	}
	if reader.calls != 1 || reader.read != 64 {
		t.Errorf("%d calls and %d bytes, want only the index", reader.calls, reader.read)
	}
}

func TestIndexIsVerified(t *testing.T) {
	p := mustNew(t, "["+shards("[2]", littleBytes)+"]", Form{Type: uint8Type, Shape: []int64{8}})
	stored, err := p.Encode(nil, Elems{Fixed: []byte("abcdefgh")})
	if err != nil {
		t.Fatal(err)
	}
	stored[20] ^= 1
	if err := p.Decode(Elems{Fixed: make([]byte, 8)}, stored); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "index: ") {
		t.Errorf("a changed index: %v", err)
	}
}

// The cases are the examples of zarr-specs' pull request 370.
func TestClippedInnerChunks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		extent int64
		shard  grid.Sizes
		inner  []int64 // of each level
		want   []int64
	}{
		{"shape 10, shard 5, inner 3", 10, grid.Every(5), []int64{3}, []int64{3, 2, 3, 2}},
		{"shards 6 and 9, inner 4", 15, grid.List(6, 9), []int64{4}, []int64{4, 2, 4, 4, 1}},
		{"nested, first axis", 20, grid.Every(8), []int64{3, 2}, []int64{2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2}},
		{"nested, second axis", 17, grid.Every(6), []int64{4, 3}, []int64{3, 1, 2, 3, 1, 2, 3, 1, 2}},
		{"inner larger than the shard", 5, grid.Every(5), []int64{8}, []int64{5}},
	} {
		codecs := littleBytes
		for _, n := range slices.Backward(tt.inner) {
			codecs = rawShards(fmt.Sprintf("[%d]", n), codecs)
		}
		list := WithClipping(specs(t, "["+codecs+"]"))
		d, err := tt.shard.Bind(tt.extent)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := d.CodecSize(0)
		p, err := New(list, Form{Type: uint8Type, Shape: []int64{first}})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []int64
		for chunk := range d.Chunks() {
			size, _ := d.CodecSize(chunk)
			q, err := p.WithShape([]int64{size})
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			got = append(got, storedInnerChunks(t, q, len(tt.inner))...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: inner chunks of %v, want %v", tt.name, got, tt.want)
		}
	}
}

// storedInnerChunks encodes a chunk of bytes and returns the stored lengths of the innermost
// chunks of its shard.
func storedInnerChunks(t *testing.T, p *Pipeline, levels int) []int64 {
	t.Helper()
	if levels == 0 {
		n, _ := p.EncodedSize()
		return []int64{int64(n)}
	}
	elems := bytes.Repeat([]byte{1}, p.Form().Bytes())
	stored, err := p.Encode(nil, Elems{Fixed: elems})
	if err != nil {
		t.Fatal(err)
	}
	sh, err := p.Shards()
	if err != nil {
		t.Fatal(err)
	}
	at, err := sh.IndexRange(int64(len(stored)))
	if err != nil {
		t.Fatal(err)
	}
	index, err := sh.Index(stored[at.Offset:at.End()], int64(len(stored)))
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	for coords, at := range index.Stored() {
		inner, err := sh.Pipeline(coords)
		if err != nil {
			t.Fatal(err)
		}
		below := storedInnerChunks(t, inner, levels-1)
		if levels == 1 && below[0] != at.Length {
			t.Errorf("inner chunk %v is stored in %d bytes and not in %d", coords, at.Length, below[0])
		}
		sizes = append(sizes, below...)
	}
	return sizes
}

func TestClippedShardsInTwoAxes(t *testing.T) {
	list := WithClipping(specs(t, "["+shards("[3,4]", shards("[2,3]", littleBytes))+"]"))
	p, err := New(list, Form{Type: int16Type, Shape: []int64{8, 6}})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Clients(); got != NoClient {
		t.Errorf("clipped shards are read by %v", got)
	}
	src := Elems{Fixed: ramp(96)}
	stored, err := p.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	back := NewElems(p.Form())
	if err := p.Decode(back, stored); err != nil || !sameElems(back, src) {
		t.Errorf("round trip: %v", err)
	}
	whole, err := p.WithShape([]int64{3, 4})
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Clients(); got != NoClient { // 3 × 4 is cut into 2 × 3 with a rest
		t.Errorf("nested clipped shards are read by %v", got)
	}
}

func TestRectilinearShards(t *testing.T) {
	list := specs(t, "["+shards("[10,10]", littleBytes)+"]")
	for _, tt := range []struct {
		name string
		rows grid.Sizes
		fits bool
	}{
		{"60, 40, 20", grid.List(60, 40, 20), true},
		{"60, 45, 15", grid.List(60, 45, 15), false},
		{"a million runs", grid.Pattern(grid.Times(60, 1), grid.Times(40, 1)), true},
	} {
		g, err := grid.FromSizes([]int64{120, 100}, tt.rows, grid.List(50, 50))
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(list, Form{Type: uint8Type, Shape: []int64{60, 50}})
		if err != nil {
			t.Fatal(err)
		}
		err = p.CheckGrid(g)
		if !tt.fits {
			if err == nil {
				t.Errorf("%s: accepted", tt.name)
			}
			checkMessage(t, tt.name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for w := g.Walk(); w.Next(); {
			q, err := p.WithShape(w.Codec)
			if err != nil {
				t.Fatalf("%s: chunk %v: %v", tt.name, w.Coords, err)
			}
			roundTrip(t, q)
		}
	}
}

func roundTrip(t *testing.T, p *Pipeline) {
	t.Helper()
	src := Elems{Fixed: ramp(p.Form().Bytes())}
	stored, err := p.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	back := NewElems(p.Form())
	if err := p.Decode(back, stored); err != nil || !sameElems(back, src) {
		t.Errorf("shape %v: round trip: %v", p.Form().Shape, err)
	}
}

func TestShardsOfNothing(t *testing.T) {
	for _, shape := range [][]int64{{}, {0}, {0, 4}} {
		inner := strings.ReplaceAll(fmt.Sprint(slices.Repeat([]int64{2}, len(shape))), " ", ",")
		p := mustNew(t, "["+shards(inner, littleBytes)+"]", Form{Type: int16Type, Shape: shape})
		roundTrip(t, p)
	}
}

func TestSameDecodeOfShards(t *testing.T) {
	form := Form{Type: int16Type, Shape: []int64{4, 4}}
	base := mustNew(t, "["+shards("[2,2]", littleBytes+`,{"name":"gzip","configuration":{"level":1}}`)+"]", form)
	for _, tt := range []struct {
		list string
		same bool
	}{
		{shards("[2,2]", littleBytes+`,{"name":"gzip","configuration":{"level":9}}`), true},
		{shards("[2,4]", littleBytes+`,{"name":"gzip","configuration":{"level":1}}`), false},
		{shards("[2,2]", littleBytes), false},
		{rawShards("[2,2]", littleBytes+`,{"name":"gzip","configuration":{"level":1}}`), false},
		{strings.Replace(shards("[2,2]", littleBytes+`,{"name":"gzip"}`), `"}]}}`, `"}],"index_location":"start"}}`, 1), false},
	} {
		if got := base.SameDecode(mustNew(t, "["+tt.list+"]", form)); got != tt.same {
			t.Errorf("%s: SameDecode is %v", tt.list, got)
		}
	}
}

func TestInnerCodecsThatOnlyDecode(t *testing.T) {
	p := mustNew(t, "["+shards("[2]", littleBytes+`,{"name":"hdf5.lzf","configuration":{"cd_values":[]}}`)+"]", Form{Type: int16Type, Shape: []int64{4}})
	if err := p.CanEncode(); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `"hdf5.lzf"`) {
		t.Errorf("CanEncode: %v", err)
	}
	if out, err := p.Encode(nil, NewElems(p.Form())); err == nil || out != nil {
		t.Errorf("Encode: %v", err)
	}
	if got := p.Clients(); got != NoClient {
		t.Errorf("Clients: %v", got)
	}
}

func TestShardsFromManyGoroutines(t *testing.T) {
	list := WithClipping(specs(t, "["+shards("[3,4]", shards("[2,3]", littleBytes+`,{"name":"zstd"}`))+"]"))
	var pipelines [2]*Pipeline // one to make the shard, one whose clipped pipelines are not made yet
	for i := range pipelines {
		var err error
		if pipelines[i], err = New(list, Form{Type: int16Type, Shape: []int64{8, 6}}); err != nil {
			t.Fatal(err)
		}
	}
	src := Elems{Fixed: ramp(96)}
	stored, err := pipelines[0].Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	p := pipelines[1]
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				back := NewElems(p.Form())
				if err := p.Decode(back, stored); err != nil || !sameElems(back, src) {
					t.Errorf("other elements, or %v", err)
				}
				if err := p.DecodeRegion(t.Context(), Memory(stored), grid.Whole([]int64{8, 5}), Elems{Fixed: make([]byte, 80)}); err != nil {
					t.Error(err)
				}
				if out, err := p.Encode(nil, src); err != nil || !bytes.Equal(out, stored) {
					t.Errorf("other bytes, or %v", err)
				}
			}
		})
	}
	all.Wait()
}

func TestShardDecodeDoesNotAllocate(t *testing.T) {
	if system.Race {
		t.Skip("the race detector allocates")
	}
	for _, tt := range []struct{ name, list string }{
		{"raw", shards("[16,16]", littleBytes)},
		{"whole rows", shards("[16,64]", littleBytes+`,{"name":"crc32c"}`)},
		{"zstd", shards("[16,16]", littleBytes+`,{"name":"zstd"}`)},
		{"blosc", shards("[16,16]", littleBytes+`,{"name":"numcodecs.blosc"}`)},
		{"nested", shards("[32,32]", shards("[8,8]", littleBytes+`,{"name":"zstd"}`))},
		{"clipped", shards("[7,9]", littleBytes+`,{"name":"zstd"}`)},
	} {
		p, err := New(WithClipping(specs(t, "["+tt.list+"]")), Form{Type: float32Type, Shape: []int64{64, 64}})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := p.Encode(nil, Elems{Fixed: ramp(64 * 64 * 4)})
		if err != nil {
			t.Fatal(err)
		}
		dst := NewElems(p.Form())
		if n := testing.AllocsPerRun(100, func() {
			if err := p.Decode(dst, stored); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations a shard", tt.name, n)
		}
	}
}
