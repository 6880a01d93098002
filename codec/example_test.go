package codec_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"varve/codec"
	"varve/grid"
)

// int16s is the type of the elements in the examples.
var int16s = codec.Type{Kind: codec.Int, Size: 2}

// pipeline returns the pipeline of the codecs of a zarr.json, for chunks of int16.
func pipeline(codecs string, shape ...int64) *codec.Pipeline {
	var specs []codec.Spec
	if err := json.Unmarshal([]byte(codecs), &specs); err != nil {
		panic(err)
	}
	p, err := codec.New(specs, codec.Form{Type: int16s, Shape: shape})
	if err != nil {
		panic(err)
	}
	return p
}

// count returns the elements 0, 1, 2, … of a form.
func count(f codec.Form) codec.Elems {
	e := codec.NewElems(f)
	for i := range f.Count() {
		binary.LittleEndian.PutUint16(e.Fixed[2*i:], uint16(i))
	}
	return e
}

// values returns elements as numbers.
func values(e codec.Elems) []uint16 {
	v := make([]uint16, len(e.Fixed)/2)
	for i := range v {
		v[i] = binary.LittleEndian.Uint16(e.Fixed[2*i:])
	}
	return v
}

const shardOf2x2 = `[{"name": "sharding_indexed", "configuration": {
	"chunk_shape": [2, 2],
	"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {}}],
	"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]`

func Example() {
	var specs []codec.Spec
	document := `[{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"}]`
	if err := json.Unmarshal([]byte(document), &specs); err != nil {
		fmt.Println(err)
		return
	}
	p, err := codec.New(specs, codec.Form{Type: codec.Type{Kind: codec.Int, Size: 2}, Shape: []int64{2, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := p.Encode(nil, codec.Elems{Fixed: []byte{1, 0, 2, 0, 3, 0, 4, 0}})
	fmt.Printf("stored % x %v\n", stored, err)

	elems := codec.NewElems(p.Form())
	err = p.Decode(elems, stored)
	fmt.Printf("elements % x %v\n", elems.Fixed, err)

	stored[0] ^= 1
	err = p.Decode(elems, stored)
	fmt.Println("changed:", errors.Is(err, codec.ErrCorrupt))
	// Output:
	// stored 00 01 00 02 00 03 00 04 76 16 bd b9 <nil>
	// elements 01 00 02 00 03 00 04 00 <nil>
	// changed: true
}

// Only one inner chunk of the shard is read.
func ExamplePipeline_DecodeRegion() {
	p := pipeline(shardOf2x2, 4, 4)
	shard, err := p.Encode(nil, count(p.Form()))
	if err != nil {
		fmt.Println(err)
		return
	}
	region := grid.Region{Origin: []int64{2, 1}, Shape: []int64{1, 3}}
	elems := codec.Elems{Fixed: make([]byte, 1*3*2)}
	err = p.DecodeRegion(context.Background(), codec.Memory(shard), region, elems)
	fmt.Println(values(elems), err)
	// Output: [9 10 11] <nil>
}

// The stored bytes of unchanged inner chunks are copied.
func ExamplePipeline_EncodeRegion() {
	p := pipeline(shardOf2x2, 4, 4)
	shard, err := p.Encode(nil, count(p.Form()))
	if err != nil {
		fmt.Println(err)
		return
	}
	corner := grid.Region{Origin: []int64{3, 3}, Shape: []int64{1, 1}}
	shard, err = p.EncodeRegion(nil, shard, corner, codec.Elems{Fixed: []byte{99, 0}})
	if err != nil {
		fmt.Println(err)
		return
	}
	elems := codec.NewElems(p.Form())
	err = p.Decode(elems, shard)
	fmt.Println(values(elems), err)
	// Output: [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 99] <nil>
}

// A compression level does not matter for decoding; a byte order does.
func ExamplePipeline_SameDecode() {
	fast := pipeline(`[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 1}}]`, 8)
	small := pipeline(`[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "numcodecs.zstd", "configuration": {"level": 19}}]`, 8)
	big := pipeline(`[{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "zstd", "configuration": {"level": 1}}]`, 8)
	fmt.Println(fast.SameDecode(small), fast.SameDecode(big))
	// Output: true false
}

// A filter mask names the filters that HDF5 did not apply to a chunk.
func ExamplePipeline_Skip() {
	p := pipeline(`[{"name": "bytes", "configuration": {"endian": "little"}},
		{"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}},
		{"name": "numcodecs.zlib", "configuration": {"level": 4}}]`, 3)
	elems := codec.NewElems(p.Form())
	err := p.Skip(0b10).Decode(elems, []byte{1, 2, 3, 0, 0, 0})
	fmt.Println(values(elems), err)
	// Output: [1 2 3] <nil>
}

func ExamplePipeline_CanEncode() {
	p := pipeline(`[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "numcodecs.bz2", "configuration": {"level": 9}}]`, 8)
	err := p.CanEncode()
	fmt.Println(errors.Is(err, errors.ErrUnsupported), err)
	// Output: true codec "numcodecs.bz2": varve only decodes it; encode with "zstd" or "numcodecs.zlib": unsupported operation
}

// The inner chunks of a shard can be listed without decoding it.
func ExamplePipeline_Shards() {
	p := pipeline(shardOf2x2, 2, 4)
	elems := count(p.Form())
	copy(elems.Fixed[0:4], make([]byte, 4)) // the first inner chunk has elements 0, 1, 4, 5
	copy(elems.Fixed[8:12], make([]byte, 4))
	shard, err := p.Encode(nil, elems)
	if err != nil {
		fmt.Println(err)
		return
	}
	shards, err := p.Shards()
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := shards.IndexRange(int64(len(shard)))
	if err != nil {
		fmt.Println(err)
		return
	}
	index, err := shards.Index(shard[at.Offset:at.End()], int64(len(shard)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for coords, stored := range index.Stored() {
		fmt.Println(coords, "of", shards.Grid().Counts(), "begins at", stored.Offset)
	}
	// Output: [0 1] of [1 2] begins at 0
}

// The declared inner chunks cannot always be read alone.
func ExampleReadGranularity() {
	g, err := grid.FromSizes([]int64{7, 8}, grid.List(4, 2, 1), grid.Every(4))
	if err != nil {
		fmt.Println(err)
		return
	}
	const inner = `{"name": "sharding_indexed", "configuration": {
		"chunk_shape": [1, 2],
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}`
	for _, codecs := range []string{inner, inner + `,{"name": "gzip", "configuration": {"level": 5}}`} {
		p := pipeline("["+codecs+"]", 4, 4)
		declared, err := codec.DeclaredLayout(g, p)
		if err != nil {
			fmt.Println(err)
			return
		}
		effective, err := codec.ReadGranularity(g, p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("declared", declared)
		fmt.Println("readable", effective, "elements:", effective.Elements)
	}
	// Output:
	// declared ([4,2,1], 4) > (1, 2)
	// readable ([4,2,1], 4) > (1, 2) elements: true
	// declared ([4,2,1], 4) > (1, 2)
	// readable ([4,2,1], 4) elements: false
}

// A layout returns the codecs that divide chunks in its way.
func ExampleLayout_Codecs() {
	layout := &codec.Layout{
		Chunks: []grid.Sizes{grid.Every(100)},
		Inner:  &codec.Layout{Chunks: []grid.Sizes{grid.Every(10)}},
	}
	specs, err := layout.Codecs([]codec.Spec{{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := codec.New(specs, codec.Form{Type: int16s, Shape: []int64{100}})
	if err != nil {
		fmt.Println(err)
		return
	}
	shards, err := p.Shards()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout, shards.Grid().Counts())
	// Output: (100) > (10) [10]
}
