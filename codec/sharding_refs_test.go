package codec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"varve/grid"
)

func TestShardsSaysWhyNot(t *testing.T) {
	form := Form{Type: int16Type, Shape: []int64{4, 4}}
	for _, tt := range []struct{ name, list string }{
		{"no sharding", littleBytes},
		{"gzip around", shards("[2,2]", littleBytes) + `,{"name":"gzip"}`},
		{"a checksum around", shards("[2,2]", littleBytes) + `,{"name":"crc32c"}`},
	} {
		_, err := mustNew(t, "["+tt.list+"]", form).Shards()
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", tt.name, err)
		}
		checkMessage(t, tt.name, err)
	}
}

// Each inner chunk decodes alone, from its range and with its pipeline, to its region of the
// chunk.
func TestInnerChunksDecodeOnTheirOwn(t *testing.T) {
	for _, tt := range []struct {
		name, list string
		inner      []int64
	}{
		{"plain", shards("[2,3]", littleBytes), []int64{2, 3}},
		{"compressed", rawShards("[4,1]", littleBytes+`,{"name":"zstd"}`), []int64{4, 1}},
		{"after a transposition", `{"name":"transpose","configuration":{"order":[1,0]}},` + shards("[2,4]", littleBytes), []int64{4, 2}},
		{"nested", shards("[4,3]", shards("[2,1]", littleBytes)), []int64{4, 3}},
		{"clipped", shards("[3,4]", littleBytes), []int64{3, 4}},
	} {
		p, err := New(WithClipping(specs(t, "["+tt.list+"]")), Form{Type: int16Type, Shape: []int64{8, 6}, Fill: []byte{1, 0}})
		if err != nil {
			t.Fatal(err)
		}
		c := randomCase{tt.list, p, Elems{Fixed: ramp(96)}}
		missing := grid.Region{Origin: []int64{0, 0}, Shape: tt.inner}
		fill := NewElems(Form{p.Form().Type, tt.inner, nil})
		fill.SetFill(p.Form())
		if err := windowOf(c.elems, p.Form()).copyFrom(window{fill, missing, 2}, missing); err != nil {
			t.Fatal(err)
		}
		stored, err := p.Encode(nil, c.elems)
		if err != nil {
			t.Fatal(err)
		}
		index := shardIndexOf(t, p, stored)
		sh, err := p.Shards()
		if err != nil {
			t.Fatal(err)
		}
		if first := firstChunk(sh.Grid()); !slices.Equal(first, tt.inner) {
			t.Errorf("%s: inner chunks of %v, want %v", tt.name, first, tt.inner)
		}
		seen := int64(0)
		for coords, at := range index.Stored() {
			seen++
			inner, err := sh.Pipeline(coords)
			if err != nil {
				t.Fatal(err)
			}
			got := NewElems(inner.Form())
			if err := inner.Decode(got, stored[at.Offset:at.End()]); err != nil {
				t.Fatalf("%s: inner chunk %v: %v", tt.name, coords, err)
			}
			box, _ := sh.Grid().Chunk(coords)
			if !sameElems(got, c.part(t, box.Region)) {
				t.Errorf("%s: inner chunk %v decodes to other elements", tt.name, coords)
			}
		}
		if want := sh.Grid().Chunks() - 1; seen != want {
			t.Errorf("%s: %d inner chunks are stored, want %d", tt.name, seen, want)
		}
		if _, ok := index.At([]int64{0, 0}); ok {
			t.Errorf("%s: the inner chunk of fill is stored", tt.name)
		}
		if _, ok := index.At([]int64{99, 0}); ok {
			t.Errorf("%s: there is an inner chunk 99", tt.name)
		}
		if _, err := sh.Pipeline([]int64{0, 99}); !errors.Is(err, grid.ErrOutOfBounds) {
			t.Errorf("%s: inner chunk 99: %v", tt.name, err)
		}
		again, err := sh.Assemble(func(inner *grid.Walker) ([]byte, error) {
			at, _ := index.At(inner.Coords)
			return stored[at.Offset:at.End()], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got := NewElems(p.Form())
		if err := p.Decode(got, again); err != nil || len(again) != len(stored) || !sameElems(got, c.elems) {
			t.Errorf("%s: assembled again, it decodes to other elements: %v", tt.name, err)
		}
		if none, err := sh.Assemble(func(*grid.Walker) ([]byte, error) { return nil, nil }); none != nil || err != nil {
			t.Errorf("%s: a shard of nothing has %d bytes, %v", tt.name, len(none), err)
		}
	}
}

func TestIndexIsCheckedWhole(t *testing.T) {
	p, stored := shardOfFour(t)
	sh, err := p.Shards()
	if err != nil {
		t.Fatal(err)
	}
	stored[8+3*16] = 200
	if _, err := sh.Index(stored[8:], int64(len(stored))); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "entry 3") {
		t.Errorf("an entry beyond the shard: %v", err)
	}
	if _, err := sh.Index(stored[9:], int64(len(stored))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("too short an index: %v", err)
	}
}
