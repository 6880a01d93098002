package codec

import (
	"errors"
	"strings"
	"testing"
)

// TestPartial checks that a part of a raw chunk or of a shard can be read alone, but not a part of
// a chunk that is compressed as a whole.
func TestPartial(t *testing.T) {
	spec := func(name, config string) Spec { return Spec{Name: name, Config: []byte(config)} }
	little, zstd := spec("bytes", `{"endian":"little"}`), spec("zstd", `{"level":1,"checksum":false}`)
	turned := spec("transpose", `{"order":[1,0]}`)
	shards := spec("sharding_indexed", `{"chunk_shape":[2,2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`)
	form := Form{Type: Type{Kind: Float, Size: 4}, Shape: []int64{4, 4}}
	for _, c := range []struct {
		name  string
		specs []Spec
		want  Partial
	}{
		{"raw", []Spec{little}, PartialRows},
		{"raw, turned", []Spec{turned, little}, PartialRows},
		{"shards", []Spec{shards}, PartialChunks},
		{"shards, turned", []Spec{turned, shards}, PartialChunks},
		{"compressed", []Spec{little, zstd}, WholeChunks},
		{"compressed shards", []Spec{shards, zstd}, WholeChunks},
		{"rounded", []Spec{spec("numcodecs.bitround", `{"keepbits":5}`), little}, PartialRows},
	} {
		p, err := New(c.specs, form)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := p.Partial(); got != c.want {
			t.Errorf("%s: parts %d instead of %d", c.name, got, c.want)
		}
	}
}

// TestCheckPortable checks that CheckPortable rejects a checksum with swapped bytes, which Decode accepts.
func TestCheckPortable(t *testing.T) {
	specs := []Spec{{Name: "bytes"}, {Name: "numcodecs.zlib"}, {Name: "numcodecs.fletcher32"}}
	p, err := New(specs, Form{Type: Type{Kind: Uint, Size: 1}, Shape: []int64{9}})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := p.Encode(nil, Elems{Fixed: []byte("some text")})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckPortable(stored); err != nil {
		t.Error(err)
	}
	sum := stored[len(stored)-4:]
	sum[0], sum[1], sum[2], sum[3] = sum[1], sum[0], sum[3], sum[2]
	if err := p.Decode(NewElems(p.Form()), stored); err != nil {
		t.Fatal("varve cannot decode it:", err)
	}
	if err := p.CheckPortable(stored); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "h5repack") {
		t.Errorf("swapped: got %v", err)
	}
	p, err = New(specs[:2], p.Form())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckPortable(stored); err != nil {
		t.Errorf("without a checksum: %v", err)
	}
}

// TestByteOrder checks the byte orders of codecs that store elements one after the other.
func TestByteOrder(t *testing.T) {
	for _, c := range []struct {
		spec  Spec
		order string
		ok    bool
	}{
		{InOrder(LittleEndian), LittleEndian, true},
		{InOrder(BigEndian), BigEndian, true},
		{InOrder(""), "", true},
		{Spec{Name: "zstd"}, "", false},
	} {
		if order, ok := c.spec.ByteOrder(); order != c.order || ok != c.ok {
			t.Errorf("%s %s: order %q, %v", c.spec.Name, c.spec.Config, order, ok)
		}
	}
}

// TestIsMemoryForm compares the stored bytes of chunks with their elements.
func TestIsMemoryForm(t *testing.T) {
	for _, typ := range []Type{{Kind: Uint, Size: 1}, {Kind: Int, Size: 4}} {
		for _, order := range []string{LittleEndian, BigEndian} {
			p, err := New([]Spec{InOrder(order)}, Form{Type: typ, Shape: []int64{3}})
			if err != nil {
				t.Fatal(err)
			}
			elems := NewElems(p.Form())
			for i := range elems.Fixed {
				elems.Fixed[i] = byte(i)
			}
			stored, err := p.Encode(nil, elems)
			if err != nil {
				t.Fatal(err)
			}
			if want := string(stored) == string(elems.Fixed); p.IsMemoryForm() != want {
				t.Errorf("%v, %s: memory form is %v", typ, order, !want)
			}
		}
	}
}
