package codec

import (
	"fmt"

	"varve/grid"
)

// Granularity is the smallest unit that can be read or written alone, given all codecs:
// inner chunks of a shard that is compressed as a whole, for example, cannot.
type Granularity struct {
	*Layout
	// Elements reports that single elements of the innermost chunks can be read, by their
	// byte position.
	Elements bool
}

// ReadGranularity returns the units that DecodeRegion can read and decode alone:
//
//	sharding_indexed     inner chunks, and the units of their codecs
//	bytes                elements
//	transpose, …         the units of the codecs after it, in the array's axes
//	…, gzip              chunks: a compressor needs all bytes
//	…, crc32c            chunks: a checksum covers all bytes
func ReadGranularity(g *grid.Grid, p *Pipeline) (Granularity, error) {
	declared, err := DeclaredLayout(g, p)
	if err != nil {
		return Granularity{}, err
	}
	inner, elements := p.readableLevels()
	return Granularity{&Layout{Chunks: declared.Chunks, Inner: inner}, elements}, nil
}

// readableLevels returns the levels within a chunk that can be read alone, and whether
// single elements of the innermost can.
func (p *Pipeline) readableLevels() (levels *Layout, elements bool) {
	if len(p.bytesCodecs) > 0 || !p.keepsRegions() {
		return nil, false
	}
	switch c := p.toBytes.(type) {
	case *bytesCodec:
		return nil, true
	case *sharding:
		inner, elements := c.wholeInner.readableLevels()
		return regularLayout(p.innerShape(c), inner).permute(p.axes()), elements
	}
	return nil, false
}

// WriteGranularity returns the units that can be written alone: always chunks of the
// grid, since a chunk is an object, which is replaced as a whole. EncodeRegion does not
// re-encode unchanged inner chunks of a shard, but it reads and writes them.
func WriteGranularity(g *grid.Grid, p *Pipeline) (Granularity, error) {
	declared, err := DeclaredLayout(g, p)
	if err != nil {
		return Granularity{}, err
	}
	return Granularity{Layout: &Layout{Chunks: declared.Chunks}}, nil
}

// CheckGrid returns an error for the first edge of a grid that the inner chunks of p do
// not divide. WithShape succeeds for every chunk of a grid that passes, unless an array
// codec mixes elements before the sharding, such as packbits: then only WithShape
// detects the error.
func (p *Pipeline) CheckGrid(g *grid.Grid) error {
	if g.Rank() != len(p.Form().Shape) {
		return fmt.Errorf("grid has %d axes, the codecs %d", g.Rank(), len(p.Form().Shape))
	}
	s, ok := p.toBytes.(*sharding)
	if !ok || s.allowsClip || !p.keepsRegions() {
		return nil
	}
	if err := g.CheckDivisible(p.innerShape(s)); err != nil {
		return p.stageError(len(p.arrayCodecs), divisibilityError(err))
	}
	return nil
}
