package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"varve/codec"
	"varve/grid"
)

// job is one measured task of varve, with the peer's task to compare it with.
type job struct {
	name    string
	peer    string  // name of the peer's job, or "" if there is none
	bar     float64 // required speed: a multiple of the peer's speed, or in unit if there is no peer
	unit    string
	amount  float64 // units processed in one pass
	chunks  float64 // chunks decoded in one pass
	isWhole bool    // decodes whole chunks, so a warm pass must not allocate
	pass    func() error
}

const (
	chunkSide  = 512
	chunkBytes = chunkSide * chunkSide * 4
)

const little = `{"name":"bytes","configuration":{"endian":"little"}}`

// codecJobs returns the jobs that decode chunks written by the peer to folder. It fails if
// varve decodes a chunk to other elements than the peer encoded.
func codecJobs(folder string) ([]job, error) {
	elements, err := files(folder, "elements")
	if err != nil {
		return nil, err
	}
	shuffled := little + `,{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}`
	deflated := shuffled + `,{"name":"numcodecs.zlib"}`
	rows := []struct {
		name, chunks, codecs, peer string
		bar                        float64
	}{
		{"unshuffle alone", "shuffle", shuffled, "", 5000},
		{"unshuffle", "shuffle", shuffled, "unshuffle", 1},
		{"shuffle+zlib decode", "shuffle-zlib", deflated, "shuffle+zlib", 1.3},
		{"zstd decode", "zstd", little + `,{"name":"zstd"}`, "zstd", 0.6},
		{"blosc-lz4 decode", "blosc-lz4", little + `,{"name":"numcodecs.blosc"}`, "blosc-lz4", 0.7},
	}
	if libdeflate {
		// The C library only affects deflate, so the other rows would measure the same code again.
		rows = rows[2:3]
		rows[0].name, rows[0].peer, rows[0].bar = "shuffle+zlib, libdeflate", "shuffle+libdeflate", 1
	}
	var jobs []job
	for _, r := range rows {
		stored, err := files(folder, r.chunks)
		if err != nil {
			return nil, err
		}
		pass, err := decodeAll(r.codecs, stored, elements)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		jobs = append(jobs, job{r.name, r.peer, r.bar, "MB/s", float64(len(stored)) * chunkBytes / 1e6, float64(len(stored)), true, pass})
	}
	if libdeflate {
		return jobs, nil
	}
	inner, err := innerChunks(folder, elements)
	if err != nil {
		return nil, err
	}
	messages, err := gribJobs(folder)
	return append(append(jobs, inner), messages...), err
}

// files returns the contents of folder/name.0, folder/name.1, … that the peer wrote.
func files(folder, name string) ([][]byte, error) {
	var all [][]byte
	for i := 0; ; i++ {
		b, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("%s.%d", name, i)))
		if errors.Is(err, fs.ErrNotExist) && i > 0 { // at least one chunk must exist
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
}

// newPipeline returns the pipeline of the JSON codecs, without brackets, for float32 chunks of shape.
func newPipeline(codecs string, shape ...int64) (*codec.Pipeline, error) {
	var specs []codec.Spec
	if err := json.Unmarshal([]byte("["+codecs+"]"), &specs); err != nil {
		return nil, err
	}
	return codec.New(specs, codec.Form{Type: codec.Type{Kind: codec.Float, Size: 4}, Shape: shape})
}

// decodeAll returns a function that decodes every chunk into the same buffer.
func decodeAll(codecs string, stored, elements [][]byte) (func() error, error) {
	p, err := newPipeline(codecs, chunkSide, chunkSide)
	if err != nil {
		return nil, err
	}
	dst := codec.NewElems(p.Form())
	for i, s := range stored {
		if err := p.Decode(dst, s); err != nil {
			return nil, err
		}
		if !bytes.Equal(dst.Fixed, elements[i]) {
			return nil, fmt.Errorf("chunk %d: the decoded elements differ from the peer's", i)
		}
	}
	return func() error {
		for _, s := range stored {
			if err := p.Decode(dst, s); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

const innerSide = 64

// innerChunks returns a job that reads one inner chunk of each shard. The shards were written
// by zarr-python and are held in memory.
func innerChunks(folder string, elements [][]byte) (job, error) {
	const codecs = `{"name":"sharding_indexed","configuration":{"chunk_shape":[1,64,64],"codecs":[` + little + `,{"name":"zstd"}],` +
		`"index_codecs":[` + little + `,{"name":"crc32c"}],"index_location":"end"}}`
	p, err := newPipeline(codecs, 1, chunkSide, chunkSide)
	if err != nil {
		return job{}, err
	}
	var shards []codec.Memory
	for i := range elements {
		b, err := os.ReadFile(filepath.Join(folder, "sharded", "c", fmt.Sprint(i), "0", "0"))
		if err != nil {
			return job{}, err
		}
		shards = append(shards, b)
	}
	region := grid.Region{Origin: []int64{0, innerSide, innerSide}, Shape: []int64{1, innerSide, innerSide}}
	dst := codec.Elems{Fixed: make([]byte, innerSide*innerSide*4)}
	pass := func() error {
		for i, s := range shards {
			if err := p.DecodeRegion(context.Background(), s, region, dst); err != nil {
				return err
			}
			first := elements[i][(innerSide*chunkSide+innerSide)*4:]
			if !bytes.Equal(dst.Fixed[:innerSide*4], first[:innerSide*4]) {
				return fmt.Errorf("shard %d: the elements of the inner chunk differ from the peer's", i)
			}
		}
		return nil
	}
	return job{"inner chunk of a shard", "inner chunk of a shard", 3, "chunks/s", float64(len(shards)), float64(len(shards)), false, pass}, pass()
}
