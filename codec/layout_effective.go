package codec

import (
	"fmt"

	"varve/grid"
)

// Granularity is the least that can be had on its own, through the whole chain of
// codecs: what is declared may be out of reach behind one of them.
type Granularity struct {
	*Layout
	// Elements says that single elements of the innermost chunks can be had, by their
	// place among the bytes.
	Elements bool
}

// ReadGranularity is what DecodeRegion can read and decode without anything else:
//
//	sharding_indexed     inner chunks, and what can be had of these
//	bytes                elements
//	transpose, …         what is behind it, in the array's axes
//	…, gzip              chunks: a compressor needs everything
//	…, crc32c            chunks: a checksum guards all bytes or none
func ReadGranularity(g *grid.Grid, p *Pipeline) (Granularity, error) {
	declared, err := DeclaredLayout(g, p)
	if err != nil {
		return Granularity{}, err
	}
	inner, elements := p.readable()
	return Granularity{&Layout{declared.Chunks, inner}, elements}, nil
}

// readable returns which levels within a chunk can be read on their own, and whether
// elements of the innermost can.
func (p *Pipeline) readable() (levels *Layout, elements bool) {
	if len(p.bytes) > 0 || !p.keepsRegions() {
		return nil, false
	}
	switch c := p.toBytes.(type) {
	case *bytesCodec:
		return nil, true
	case *sharding:
		inner, elements := c.whole.readable()
		return regularLayout(p.innerShape(c), inner).permute(p.axes()), elements
	}
	return nil, false
}

// WriteGranularity is what can be written without reading and writing anything else,
// which is a chunk of the grid, whatever it is encoded with: chunks are objects, and
// these are replaced whole. EncodeRegion saves encoding the inner chunks of a shard
// that stay as they are, but not reading and writing them.
func WriteGranularity(g *grid.Grid, p *Pipeline) (Granularity, error) {
	declared, err := DeclaredLayout(g, p)
	if err != nil {
		return Granularity{}, err
	}
	return Granularity{Layout: &Layout{Chunks: declared.Chunks}}, nil
}

// CheckGrid reports the first edge of a grid that the sharding of p cannot cut. Every
// chunk of a grid that passes has a pipeline: see WithShape. Where an array codec mixes
// elements before they are cut, such as packbits, WithShape alone can tell.
func (p *Pipeline) CheckGrid(g *grid.Grid) error {
	if g.Rank() != len(p.Form().Shape) {
		return fmt.Errorf("grid has %d axes, the codecs %d", g.Rank(), len(p.Form().Shape))
	}
	s, ok := p.toBytes.(*sharding)
	if !ok || s.clip || !p.keepsRegions() {
		return nil
	}
	if err := g.CheckDivisible(p.innerShape(s)); err != nil {
		return p.at(len(p.arrays), notDivided(err))
	}
	return nil
}
