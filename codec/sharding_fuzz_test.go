package codec

import (
	"bytes"
	"errors"
	"testing"

	"varve/grid"
)

// fuzzPipelines use every method of decoding a region. All have 12 × 10 elements.
func fuzzPipelines(t testing.TB) []*Pipeline {
	t.Helper()
	var all []*Pipeline
	for _, list := range []string{
		rawShards("[4,5]", littleBytes),
		rawShards("[4,5]", littleBytes+`,{"name":"zstd"}`),
		rawShards("[5,3]", `{"name":"transpose","configuration":{"order":[1,0]}},`+littleBytes+`,{"name":"numcodecs.zlib","configuration":{}}`),
		rawShards("[6,10]", rawShards("[4,4]", littleBytes+`,{"name":"numcodecs.blosc"}`)),
		rawShards("[6,10]", rawShards("[2,2]", littleBytes)) + `,{"name":"numcodecs.lz4"}`,
		littleBytes + `,{"name":"numcodecs.blosc"},{"name":"crc32c"}`,
		littleBytes,
	} {
		p, err := New(WithClipping(specs(t, "["+list+"]")), Form{Type: int16Type, Shape: []int64{12, 10}, Fill: []byte{1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func addFuzzSeeds(f *testing.F, pipelines []*Pipeline) {
	f.Helper()
	for i, p := range pipelines {
		elems := ramp(240)
		copy(elems, bytes.Repeat([]byte{1, 2}, 60))
		stored, err := p.Encode(nil, Elems{Fixed: elems})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), stored, uint16(0x35), uint16(0x72))
		f.Add(uint8(i), stored[:len(stored)/2], uint16(0x01), uint16(0x22))
	}
}

// FuzzShardDecode decodes arbitrary bytes. The result must be elements that survive encoding
// and decoding, or ErrCorrupt.
func FuzzShardDecode(f *testing.F) {
	pipelines := fuzzPipelines(f)
	addFuzzSeeds(f, pipelines)
	f.Fuzz(func(t *testing.T, which uint8, stored []byte, _, _ uint16) {
		p := pipelines[int(which)%len(pipelines)]
		elems := NewElems(p.Form())
		if err := p.Decode(elems, stored); err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("neither corrupt nor unsupported: %v", err)
			}
			return
		}
		again, err := p.Encode(nil, elems)
		if err != nil {
			t.Fatal(err)
		}
		back := NewElems(p.Form())
		if err := p.Decode(back, again); err != nil || !sameElems(back, elems) {
			t.Fatalf("encoded again: %v", err)
		}
	})
}

// FuzzDecodeRegion compares decoding and replacing a region of arbitrary bytes with decoding
// and encoding the whole chunk.
func FuzzDecodeRegion(f *testing.F) {
	pipelines := fuzzPipelines(f)
	addFuzzSeeds(f, pipelines)
	f.Fuzz(func(t *testing.T, which uint8, stored []byte, rows, columns uint16) {
		p := pipelines[int(which)%len(pipelines)]
		r := grid.Region{Origin: []int64{int64(rows>>8) % 12, int64(columns>>8) % 10}, Shape: make([]int64, 2)}
		r.Shape[0] = int64(rows&0xff) % (13 - r.Origin[0])
		r.Shape[1] = int64(columns&0xff) % (11 - r.Origin[1])
		c := randomCase{p: p, elems: NewElems(p.Form())}
		whole := p.Decode(c.elems, stored)
		part := NewElems(Form{p.Form().Type, r.Shape, nil})
		err := p.DecodeRegion(t.Context(), &strictReader{t: t, stored: stored}, r, part)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("neither corrupt nor unsupported: %v", err)
		}
		if whole != nil {
			return // the region may be in order nevertheless
		}
		if err != nil || !sameElems(part, c.part(t, r)) {
			t.Fatalf("region %v decodes to other elements, or %v", r, err)
		}
		replaceRegion(t, &c, stored, r)
	})
}

func replaceRegion(t *testing.T, c *randomCase, stored []byte, r grid.Region) {
	t.Helper()
	src := Elems{Fixed: ramp(len(c.part(t, r).Fixed))}
	if stored == nil {
		stored = []byte{}
	}
	out, err := c.p.EncodeRegion(nil, stored, r, src)
	if err != nil {
		t.Fatalf("replacing %v: %v", r, err)
	}
	if err := windowOf(c.elems, c.p.Form()).copyFrom(window{src, r, c.p.Form().Type.unit()}, r); err != nil {
		t.Fatal(err)
	}
	back := NewElems(c.p.Form())
	if back.SetFill(c.p.Form()); len(out) > 0 {
		err = c.p.Decode(back, out)
	}
	if err != nil || !sameElems(back, c.elems) {
		t.Fatalf("replacing %v: decodes to other elements, or %v", r, err)
	}
}

// FuzzShardingConfig makes pipelines of arbitrary lists of codecs. The result must be an error
// or a pipeline that round-trips.
func FuzzShardingConfig(f *testing.F) {
	for _, list := range []string{
		rawShards("[4,5]", littleBytes), shards("[6,10]", shards("[2,2]", littleBytes)), rawShards("[1,9223372036854775807]", littleBytes),
		rawShards("[5,7]", rawShards("[9,9]", `{"name":"bytes"}`)),
	} {
		f.Add([]byte("["+list+"]"), false)
		f.Add([]byte("["+list+"]"), true)
	}
	f.Fuzz(func(t *testing.T, list []byte, clip bool) {
		var codecs []Spec
		if unmarshal(list, &codecs) != nil {
			return
		}
		if clip {
			codecs = WithClipping(codecs)
		}
		p, err := New(codecs, Form{Type: uint8Type, Shape: []int64{12, 10}})
		if err != nil || p.CanEncode() != nil {
			return
		}
		if _, ok := p.toBytes.(*sharding); ok {
			roundTrip(t, p)
		}
	})
}
