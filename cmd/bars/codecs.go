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

// job is varve's side of a row with a peer.
type job struct {
	name   string
	peer   string  // the peer's job; "" for none
	bar    float64 // in units where there is no peer, else as a multiple of the peer's
	unit   string
	amount float64 // of units in one pass
	chunks float64 // decoded in one pass
	whole  bool    // whole chunks are decoded, which must not allocate
	pass   func() error
}

const (
	chunkSide  = 512
	chunkBytes = chunkSide * chunkSide * 4
)

const little = `{"name":"bytes","configuration":{"endian":"little"}}`

// codecJobs prepares a job for every row, and proves that varve decodes its chunks to
// the elements that the peer encoded.
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
	return append(jobs, inner), err
}

// files reads the chunks that the peer wrote under a name.
func files(folder, name string) ([][]byte, error) {
	var all [][]byte
	for i := 0; ; i++ {
		b, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("%s.%d", name, i)))
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
}

func pipeline(codecs string, shape ...int64) (*codec.Pipeline, error) {
	var specs []codec.Spec
	if err := json.Unmarshal([]byte("["+codecs+"]"), &specs); err != nil {
		return nil, err
	}
	return codec.New(specs, codec.Form{Type: codec.Type{Kind: codec.Float, Size: 4}, Shape: shape})
}

// decodeAll returns a pass that decodes every chunk into the same buffer.
func decodeAll(codecs string, stored, elements [][]byte) (func() error, error) {
	p, err := pipeline(codecs, chunkSide, chunkSide)
	if err != nil {
		return nil, err
	}
	dst := codec.NewElems(p.Form())
	for i, s := range stored {
		if err := p.Decode(dst, s); err != nil {
			return nil, err
		}
		if !bytes.Equal(dst.Fixed, elements[i]) {
			return nil, fmt.Errorf("chunk %d decodes to other elements than the peer encoded", i)
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

// innerChunks returns a job that reads one inner chunk out of each shard in memory. The
// documents are zarr-python's own.
func innerChunks(folder string, elements [][]byte) (job, error) {
	const codecs = `{"name":"sharding_indexed","configuration":{"chunk_shape":[1,64,64],"codecs":[` + little + `,{"name":"zstd"}],` +
		`"index_codecs":[` + little + `,{"name":"crc32c"}],"index_location":"end"}}`
	p, err := pipeline(codecs, 1, chunkSide, chunkSide)
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
				return fmt.Errorf("shard %d: the inner chunk holds other elements", i)
			}
		}
		return nil
	}
	return job{"inner chunk of a shard", "inner chunk of a shard", 3, "chunks/s", float64(len(shards)), float64(len(shards)), false, pass}, pass()
}
