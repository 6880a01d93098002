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

// sharding divides a chunk, the shard, into inner chunks. They are encoded independently
// and stored one after another, with an index of their positions.
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
// Offsets count from the start of the shard. An offset and length of 2^64−1 mark an inner
// chunk that is not stored and has the fill value; an inner chunk of fill values only is
// not written. There may be gaps between inner chunks, and they may share bytes. varve
// writes them in Morton order, as zarr-python does, so that equal elements always make
// equal shards. The index has an entry for every inner chunk, even one past the array's
// end.
//
// Version 1.0 requires inner chunks to divide the shard. Version 1.1 (zarr-specs, pull
// request 370) clips those that cross its end, and encodes a clipped one in the remaining
// shape. The configuration is the same and other readers refuse it, so the caller must ask
// for it: see WithClipping.
type sharding struct {
	chunkShape   []int64
	codecs       []Spec
	indexCodecs  []Spec
	isIndexFirst bool
	allowsClip   bool

	// The fields below are set by bind, for shards of one form.

	form        Form
	box         grid.Region
	innerGrid   *grid.Grid
	index       *Pipeline // the pipeline of the index
	indexSize   int
	wholeInner  *Pipeline // the pipeline of an inner chunk that is not clipped
	clipped     *clippedPipelines
	innerChunks *sync.Pool // a pool of *innerChunk
}

// maxShardDepth is the deepest nesting of shards: each level parses the remaining ones
// again.
const maxShardDepth = 16

// WithClipping returns the codecs with every sharding_indexed read and written as version
// 1.1: inner chunks need not divide the shard.
func WithClipping(specs []Spec) []Spec {
	specs = slices.Clone(specs)
	for i := range specs {
		specs[i].Clip = specs[i].IsSharding()
	}
	return specs
}

// HasClipping reports whether any of the codecs is from WithClipping.
func HasClipping(specs []Spec) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool { return s.Clip })
}

func newSharding(c *config, in Form) (Codec, error) {
	s := &sharding{chunkShape: c.integers64("chunk_shape"), allowsClip: c.allowsClip}
	s.codecs = c.specs("codecs")
	s.indexCodecs = c.specs("index_codecs")
	c.refuseNull("index_location")
	s.isIndexFirst = c.choice("index_location", 1, "start", "end") == 0
	if len(s.chunkShape) != len(in.Shape) {
		c.fail("chunk_shape", "%v has %d dimensions, the chunk %d", s.chunkShape, len(s.chunkShape), len(in.Shape))
	}
	if c.depth >= maxShardDepth {
		return nil, fmt.Errorf("codec %q: shards are nested deeper than %d: %w", c.codec, maxShardDepth, errors.ErrUnsupported)
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

// specs reads the list of codecs inside a codec.
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
		list[i].Clip, list[i].depth = c.allowsClip, c.depth+1
	}
	return list
}

// bind implements formBinder. It reuses everything that does not depend on the shard's
// shape.
func (s *sharding) bind(in Form) (ArrayToBytes, error) {
	b := *s
	b.form, b.box = in, grid.Whole(in.Shape)
	var err error
	if b.innerGrid, err = s.makeInnerGrid(in.Shape); err != nil {
		return nil, err
	}
	if b.wholeInner == nil {
		if b.wholeInner, err = New(s.codecs, Form{in.Type, s.chunkShape, in.Fill}); err != nil {
			return nil, fmt.Errorf("codecs: %w", err)
		}
	}
	if err := b.bindIndex(); err != nil {
		return nil, fmt.Errorf("index_codecs: %w", err)
	}
	b.clipped = &clippedPipelines{whole: b.wholeInner}
	rank := len(in.Shape)
	b.innerChunks = &sync.Pool{New: func() any {
		return &innerChunk{coords: make([]int64, rank), region: grid.MakeRegion(rank)}
	}}
	return &b, nil
}

// makeInnerGrid returns the grid of inner chunks of a shard.
func (s *sharding) makeInnerGrid(shard []int64) (*grid.Grid, error) {
	if s.allowsClip {
		return grid.InnerClipped(shard, s.chunkShape)
	}
	cut, err := grid.Inner(shard, s.chunkShape)
	if err != nil {
		return nil, divisibilityError(err)
	}
	return cut, nil
}

// divisibilityError explains that inner chunks must divide the shard.
func divisibilityError(err error) error {
	return fmt.Errorf("chunk_shape: %w, as version 1.0 of sharding requires; WithClipping allows it as version 1.1", err)
}

// bindIndex makes the pipeline of the index. Its encoded size must be fixed, since a
// reader has to find the index in the shard.
func (s *sharding) bindIndex() error {
	shape := append(slices.Clone(s.innerGrid.Counts()), 2)
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
		return fmt.Errorf("[%s]: the encoded size depends on the bytes, so readers could not find the index; "+
			"use \"bytes\" and checksums only", s.index.names())
	}
	s.indexSize = size
	return nil
}

// Accepts implements ArrayToBytes.
func (s *sharding) Accepts(in Form) error {
	_, err := s.bind(in)
	return err
}

func (s *sharding) EncodedSize(Form) (int, bool) { return 0, false }

func (s *sharding) DecodeKey() string {
	at := "end"
	if s.isIndexFirst {
		at = "start"
	}
	return fmt.Sprintf("sharding%v{%s}{%s}%s fill %s", s.chunkShape, s.wholeInner.decodeKey(), s.index.decodeKey(), at, s.form.fillKey())
}

func (s *sharding) cannotEncode() error { return s.wholeInner.CanEncode() }

func (s *sharding) isLossy() bool { return s.wholeInner.CheckExact() != nil }

// clients implements clientReporter. No other reader supports version 1.1 yet.
func (s *sharding) clients() Client {
	for k, n := range s.chunkShape {
		// A remainder needs version 1.1.
		if s.form.Shape[k]%n != 0 {
			return NoClient
		}
	}
	return max(s.wholeInner.Clients(), s.index.Clients())
}

// innerChunk is the position of one inner chunk in its shard.
type innerChunk struct {
	number int64
	coords []int64
	region grid.Region
}

// moveTo sets p to the inner chunk with the given number.
func (p *innerChunk) moveTo(s *sharding, number int64) {
	p.number = number
	s.innerGrid.Coords(number, p.coords)
	for k, c := range p.coords {
		p.region.Origin[k] = c * s.chunkShape[k]
		p.region.Shape[k] = min(s.chunkShape[k], s.form.Shape[k]-p.region.Origin[k])
	}
}

// innerError adds the coordinates of the inner chunk to an error.
func (s *sharding) innerError(number int64, err error) error {
	coords := make([]int64, s.innerGrid.Rank())
	s.innerGrid.Coords(number, coords)
	return fmt.Errorf("inner chunk %v: %w", coords, err)
}

// checkedPipeline returns the pipeline of an inner chunk of the given shape. If its
// encoded size is fixed, it returns an error for any other stored size, before the bytes
// are read: an index may name the whole shard for each of its inner chunks.
func (s *sharding) checkedPipeline(shape []int64, stored int64) (*Pipeline, error) {
	p, err := s.pipeline(shape)
	if err != nil {
		return nil, err
	}
	if size, ok := p.EncodedSize(); ok && int64(size) != stored {
		return nil, corrupt.Errorf("stored in %d bytes, %v elements of %v take %d", stored, shape, s.form.Type, size)
	}
	return p, nil
}

// pipeline returns the pipeline of an inner chunk of the given shape.
func (s *sharding) pipeline(shape []int64) (*Pipeline, error) {
	if slices.Equal(shape, s.chunkShape) {
		return s.wholeInner, nil
	}
	return s.clipped.get(shape)
}

// clippedPipelines are the pipelines of clipped inner chunks. There are up to 2^rank
// shapes, so each pipeline is made when it is first needed.
type clippedPipelines struct {
	whole     *Pipeline
	mu        sync.Mutex
	pipelines []*Pipeline
}

// maxClippedPipelines is the number of pipelines kept; others are made again each time.
const maxClippedPipelines = 64

func (c *clippedPipelines) get(shape []int64) (*Pipeline, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A linear search: there are at most maxClippedPipelines.
	for _, p := range c.pipelines {
		if slices.Equal(p.Form().Shape, shape) {
			return p, nil
		}
	}
	p, err := c.whole.WithShape(shape)
	if err == nil && len(c.pipelines) < maxClippedPipelines {
		c.pipelines = append(c.pipelines, p)
	}
	return p, err
}
