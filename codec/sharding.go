package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"varve/codec/internal/corrupt"
	"varve/grid"
)

// sharding cuts a chunk, the shard, into inner chunks that are encoded on their own
// and stored behind one another, with an index that says where each one is.
//
// Specification: Zarr v3, codecs/sharding-indexed, version 1.0.
//
//	{"name": "sharding_indexed", "configuration": {
//	  "chunk_shape": [32, 32],
//	  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
//	  "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
//	  "index_location": "end"}}
//
// A shard of 2 × 2 inner chunks, 68 bytes of index at its end:
//
//	┌─────────────┬─────┬─────────────┬─────────────────────────────────────────┬────────┐
//	│ chunk (0,0) │ gap │ chunk (1,1) │ (0,0)  │ (0,1)   │ (1,0)   │ (1,1)      │ crc32c │
//	│             │     │             │ off,n  │ −1, −1  │ −1, −1  │ off,n      │        │
//	└─────────────┴─────┴─────────────┴─────────────────────────────────────────┴────────┘
//	                                    uint64 offset and length of each, C order
//
// Offsets count from the start of the shard. Offset and length 2^64−1 mark an inner
// chunk that is not stored and holds the fill value; one that would hold nothing else
// is not written. Between inner chunks there may be gaps, and they may share bytes.
// They are written in Morton order, as zarr-python does, so that the same elements
// always make the same shard. The index has an entry for every inner chunk, even one
// past the array's edge.
//
// Version 1.0 wants inner chunks to divide the shard. Version 1.1 (zarr-specs, pull
// request 370) cuts off those that straddle its edge, and a chunk that is cut off is
// encoded in the shape that is left. The metadata looks the same and other readers
// refuse it, so it must be asked for: see WithClipping.
type sharding struct {
	chunkShape  []int64
	codecs      []Spec
	indexCodecs []Spec
	atStart     bool // where the index is
	clip        bool

	// What follows is set by bound, for shards of one form.

	form      Form
	box       grid.Region
	cut       *grid.Grid // the inner chunks
	index     *Pipeline  // of the index
	indexSize int
	whole     *Pipeline // of an inner chunk that is not cut off
	clipped   *clippedPipelines
	places    *sync.Pool // of *place
}

// maxShardDepth bounds how deep shards may nest: each level parses the rest again.
const maxShardDepth = 16

// WithClipping returns the codecs with every sharding_indexed read and written as
// version 1.1: inner chunks need not divide the shard.
func WithClipping(specs []Spec) []Spec {
	specs = slices.Clone(specs)
	for i := range specs {
		specs[i].Clip = true
	}
	return specs
}

func newSharding(c *config, in Form) (Codec, error) {
	s := &sharding{chunkShape: c.integers64("chunk_shape"), clip: c.clip}
	s.codecs = c.specs("codecs")
	s.indexCodecs = c.specs("index_codecs")
	c.notNull("index_location")
	s.atStart = c.choice("index_location", 1, "start", "end") == 0
	if len(s.chunkShape) != len(in.Shape) {
		c.fail("chunk_shape", "%v has %d dimensions, the chunk %d", s.chunkShape, len(s.chunkShape), len(in.Shape))
	}
	if c.depth >= maxShardDepth {
		return nil, fmt.Errorf("codec %q: more than %d shards inside one another: %w", c.codec, maxShardDepth, errors.ErrUnsupported)
	}
	return s, c.err
}

// integers64 reads a list of positive integers.
func (c *config) integers64(field string) []int64 {
	var list []int64
	for _, n := range c.integers(field, 1) {
		list = append(list, int64(n))
	}
	return list
}

// specs reads a list of codecs that stand within the codec.
func (c *config) specs(field string) []Spec {
	raw := c.take(field)
	if raw == nil {
		c.fail(field, "missing; want a list of codecs")
		return nil
	}
	var list []Spec
	if err := json.Unmarshal(raw, &list); err != nil {
		c.fail(field, "%v", err)
	}
	for i := range list {
		list[i].Clip, list[i].depth = c.clip, c.depth+1
	}
	return list
}

// bound implements shaped. What does not depend on the shard's shape is kept.
func (s *sharding) bound(in Form) (ArrayToBytes, error) {
	b := *s
	b.form, b.box = in, grid.Whole(in.Shape)
	var err error
	if b.cut, err = s.cutInto(in.Shape); err != nil {
		return nil, err
	}
	if b.whole == nil {
		if b.whole, err = New(s.codecs, Form{in.Type, s.chunkShape, in.Fill}); err != nil {
			return nil, fmt.Errorf("codecs: %w", err)
		}
	}
	if err := b.bindIndex(); err != nil {
		return nil, fmt.Errorf("index_codecs: %w", err)
	}
	b.clipped = &clippedPipelines{whole: b.whole}
	rank := len(in.Shape)
	b.places = &sync.Pool{New: func() any {
		return &place{coords: make([]int64, rank), region: grid.MakeRegion(rank)}
	}}
	return &b, nil
}

// cutInto returns the grid of inner chunks of a shard.
func (s *sharding) cutInto(shard []int64) (*grid.Grid, error) {
	if s.clip {
		return grid.InnerClipped(shard, s.chunkShape)
	}
	cut, err := grid.Inner(shard, s.chunkShape)
	if err != nil {
		return nil, notDivided(err)
	}
	return cut, nil
}

func notDivided(err error) error {
	return fmt.Errorf("chunk_shape: %w; version 1.0 of sharding wants it to, and WithClipping takes it as version 1.1", err)
}

// bindIndex makes the pipeline of the index, whose size must follow from its shape.
func (s *sharding) bindIndex() error {
	shape := append(slices.Clone(s.cut.Counts()), 2)
	var err error
	if s.index != nil {
		s.index, err = s.index.WithShape(shape)
	} else {
		s.index, err = New(s.indexCodecs, Form{Type: Type{Kind: Uint, Size: 8}, Shape: shape})
	}
	if err != nil {
		return err
	}
	size, fixed := s.index.EncodedSize()
	if !fixed {
		return fmt.Errorf("[%s] encode to a size that depends on the bytes, so that the index could not be found; "+
			"use \"bytes\" and checksums only", s.index.names())
	}
	s.indexSize = size
	return nil
}

// Accepts implements ArrayToBytes.
func (s *sharding) Accepts(in Form) error {
	_, err := s.bound(in)
	return err
}

func (s *sharding) EncodedSize(Form) (int, bool) { return 0, false }

func (s *sharding) DecodeKey() string {
	at := "end"
	if s.atStart {
		at = "start"
	}
	return fmt.Sprintf("sharding%v{%s}{%s}%s fill %s", s.chunkShape, s.whole.decodeKey(), s.index.decodeKey(), at, s.form.fillKey())
}

func (s *sharding) cannotEncode() error { return s.whole.CanEncode() }

func (s *sharding) loses() bool { return s.whole.Exact() != nil }

// clients implements configured. Nobody else reads version 1.1 yet.
func (s *sharding) clients() Client {
	for k, n := range s.chunkShape {
		if s.form.Shape[k]%n != 0 {
			return NoClient
		}
	}
	return max(s.whole.Clients(), s.index.Clients())
}

// place is where one inner chunk is in its shard.
type place struct {
	number int64
	coords []int64
	region grid.Region
}

// moveTo puts p on the inner chunk of a number.
func (p *place) moveTo(s *sharding, number int64) {
	p.number = number
	s.cut.Coords(number, p.coords)
	for k, c := range p.coords {
		p.region.Origin[k] = c * s.chunkShape[k]
		p.region.Shape[k] = min(s.chunkShape[k], s.form.Shape[k]-p.region.Origin[k])
	}
}

// inInner says which inner chunk an error is from.
func (s *sharding) inInner(number int64, err error) error {
	coords := make([]int64, s.cut.Rank())
	s.cut.Coords(number, coords)
	return fmt.Errorf("inner chunk %v: %w", coords, err)
}

// pipelineOf returns the pipeline of an inner chunk that has a shape and is stored in
// a number of bytes. Where these follow from the shape no others are even looked at:
// an index may name all of the shard for each of its inner chunks.
func (s *sharding) pipelineOf(shape []int64, stored int64) (*Pipeline, error) {
	p, err := s.pipeline(shape)
	if err != nil {
		return nil, err
	}
	if size, ok := p.EncodedSize(); ok && int64(size) != stored {
		return nil, corrupt.Errorf("stored in %d bytes, %v elements of %v take %d", stored, shape, s.form.Type, size)
	}
	return p, nil
}

// pipeline returns the pipeline of an inner chunk that has a shape.
func (s *sharding) pipeline(shape []int64) (*Pipeline, error) {
	if slices.Equal(shape, s.chunkShape) {
		return s.whole, nil
	}
	return s.clipped.get(shape)
}

// clippedPipelines are the pipelines of inner chunks that are cut off. There are
// 2^rank shapes of them, so each is made when it is first met.
type clippedPipelines struct {
	whole *Pipeline
	mu    sync.Mutex
	made  []*Pipeline
}

// maxClippedKept bounds the pipelines kept; any further are made again each time.
const maxClippedKept = 64

func (c *clippedPipelines) get(shape []int64) (*Pipeline, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.made {
		if slices.Equal(p.Form().Shape, shape) {
			return p, nil
		}
	}
	p, err := c.whole.WithShape(shape)
	if err == nil && len(c.made) < maxClippedKept {
		c.made = append(c.made, p)
	}
	return p, err
}
