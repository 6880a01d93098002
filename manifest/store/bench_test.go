package store

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// bigArchive makes two files with 12 time steps of 1024 × 1024 float32 numbers, in chunks of 1 MiB.
func bigArchive(b *testing.B, codecs ...codec.Spec) *Array {
	b.Helper()
	typ := codec.Type{Kind: codec.Float, Size: 4}
	dt, err := zarrjson.DataTypeOf(typ)
	if err != nil {
		b.Fatal(err)
	}
	m, r := newMemoryTables(), rand.New(rand.NewPCG(1, 2))
	schema := &zarrjson.Array{Shape: []int64{24, 1024, 1024}, DataType: dt, ChunkGrid: zarrjson.RegularGrid(1, 512, 512), Codecs: codecs}
	w := &world{t: b, r: r}
	var tiles []manifest.Tile
	for f := range int64(2) {
		v := manifest.Variable{Path: "/v", Type: typ, Shape: []int64{12, 1024, 1024}, Dims: []string{"/t", "/y", "/x"},
			Storage: manifest.Storage{Layout: manifest.Chunked, Chunks: []int64{1, 512, 512}, Codecs: codecs}}
		var chunks []storedChunk
		for range 48 {
			e := codec.NewElems(codec.Form{Type: typ, Shape: []int64{1, 512, 512}})
			for i := 0; i < len(e.Fixed); i += 4 {
				value := 280 + 10*math.Sin(float64(i)/5000) + r.NormFloat64()
				binary.LittleEndian.PutUint32(e.Fixed[i:], math.Float32bits(float32(math.Round(value*64)/64)))
			}
			chunks = append(chunks, storedChunk{bytes: w.encode(codecs, &v, []int64{1, 512, 512}, e)})
		}
		tiles = append(tiles, manifest.Tile{File: m.addFile(b, r, v, chunks), Origin: []int64{12 * f}, Start: []int64{0}, Shape: []int64{12}})
	}
	a := manifest.Array{Path: "/v", Schema: schema, Placement: "p", Variables: []string{"/v"}, Dims: []string{"/t", "/y", "/x"}, Reading: manifest.AsStored}
	s := openMemory(b, m.snapshot([]string{"/t"}, tiles, a), m, Options{CacheBytes: -1})
	array, err := s.Array("/v")
	if err != nil {
		b.Fatal(err)
	}
	return array
}

// BenchmarkRead reads all of an array, a time series and a part of a time step, for several codecs.
func BenchmarkRead(b *testing.B) {
	little := spec("bytes", `{"endian":"little"}`)
	shuffle := spec("numcodecs.shuffle", `{"elementsize":4}`)
	for _, c := range []struct {
		name   string
		codecs []codec.Spec
	}{
		{"raw", []codec.Spec{little}},
		{"big-endian", []codec.Spec{spec("bytes", `{"endian":"big"}`)}},
		{"shuffle zlib", []codec.Spec{little, shuffle, spec("numcodecs.zlib", `{"level":4}`)}},
		{"shuffle zstd", []codec.Spec{little, shuffle, spec("numcodecs.zstd", `{"level":3}`)}},
	} {
		a := bigArchive(b, c.codecs...)
		for _, r := range []struct {
			name string
			grid.Region
		}{
			{"all", grid.Region{Origin: []int64{0, 0, 0}, Shape: []int64{24, 1024, 1024}}},
			{"series", grid.Region{Origin: []int64{0, 300, 700}, Shape: []int64{24, 1, 1}}},
			{"slice", grid.Region{Origin: []int64{11, 200, 300}, Shape: []int64{1, 600, 600}}},
		} {
			b.Run(c.name+"/"+r.name, func(b *testing.B) {
				e := codec.NewElems(a.Schema().Form(r.Shape))
				b.SetBytes(int64(len(e.Fixed)))
				b.ReportAllocs()
				for b.Loop() {
					if err := a.ReadRegion(b.Context(), r.Region, e); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkChunk gets the bytes of a verbatim chunk and of a re-encoded chunk.
func BenchmarkChunk(b *testing.B) {
	little := spec("bytes", `{"endian":"little"}`)
	a := bigArchive(b, little, spec("numcodecs.zstd", `{"level":3}`))
	b.Run("verbatim", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c, err := a.Chunk(b.Context(), []int64{3, 1, 0})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c)))
		}
	})
	schema := *a.spec.Schema
	schema.Codecs = []codec.Spec{little}
	a.spec.Schema, a.mosaic, a.pipes = &schema, nil, pipelines{}
	b.Run("re-encoded", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c, err := a.Chunk(b.Context(), []int64{3, 1, 0})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c)))
		}
	})
}
