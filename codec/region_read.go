package codec

import (
	"context"
	"fmt"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/fits"
	"varve/grid"
)

// DecodeRegion fills dst with the elements of a region of the stored chunk, in C order of
// the region. It reads and decodes as little as possible:
//
//	sharding_indexed   the index, then the inner chunks that intersect the region, each of
//	                   them in part
//	fits.quantized     the table's rows, then the tiles that intersect the region
//	bytes              the bytes of the region's rows
//	bytes, compressor  everything; of blosc only the blocks that contain the region
//	any other          everything
//
// An array codec before these is no obstacle if it maps regions to regions, as transpose
// and element-wise codecs do. A checksum after them is one: it covers all bytes, so
// reading only some of them would skip the check.
func (p *Pipeline) DecodeRegion(ctx context.Context, r Reader, region grid.Region, dst Elems) error {
	form, err := p.regionForm(region)
	if err != nil {
		return err
	}
	if err := dst.checkSize(form); err != nil {
		return err
	}
	// Nothing to read: an empty region has no rows.
	if region.IsEmpty() {
		return nil
	}
	a := getArena()
	defer a.release()
	d := &regionDecode{r: r, a: a}
	d.add(part{p: p, at: Range{0, r.Size()}, region: region, into: window{dst, region, form.Type.unit()}})
	return d.run(ctx)
}

// regionForm returns the form of a region's elements.
func (p *Pipeline) regionForm(region grid.Region) (Form, error) {
	form := p.Form()
	if _, err := region.Elements(); err != nil {
		return form, fmt.Errorf("region: %w", err)
	}
	if len(region.Shape) != len(region.Origin) || !grid.Whole(form.Shape).Contains(region) {
		return form, fmt.Errorf("region %v is not inside the chunk of shape %v: %w", region, form.Shape, grid.ErrOutOfBounds)
	}
	form.Shape = region.Shape
	return form, nil
}

// part is a region of a stored chunk, or of an inner chunk, that is still to be decoded.
type part struct {
	p      *Pipeline
	at     Range       // position of the stored chunk
	region grid.Region // in the chunk, or in the output of its array codecs
	into   window      // in the same coordinates
	method decodeMethod
	first  int // index of its first range
	count  int // number of its ranges

	tiles []fits.Tile // the tiles of a table, once its rows have been read

	shard  *part // the shard that contains it, if any
	number int64 // its number in the shard
}

// decodeMethod is the method by which a part is decoded.
type decodeMethod uint8

const (
	byWhole decodeMethod = iota // all stored bytes, all elements
	byShard                     // the index, then inner chunks
	byRows                      // the bytes of the rows
	bySpan                      // all stored bytes, of which only the rows are decompressed
	byTiles                     // the rows of the table, then the tiles
	bySpans                     // decompressed spans between access points: see SpanReader
)

// methodFor returns the cheapest method for a region.
func (p *Pipeline) methodFor(region grid.Region) decodeMethod {
	if grid.Whole(p.Form().Shape).Equal(region) || !p.keepsRegions() {
		return byWhole
	}
	if p.Partial() == WholeChunks {
		// Only the innermost codec counts: those after it are decoded completely in any
		// case.
		if _, ok := p.toBytes.(*bytesCodec); ok && decodesSpans(p.bytesCodecs[0]) {
			return bySpan
		}
		return byWhole
	}
	switch p.toBytes.(type) {
	case *sharding:
		return byShard
	case *fitsQuantized:
		return byTiles
	}
	return byRows
}

// keepsRegions reports whether all array codecs map regions to regions.
func (p *Pipeline) keepsRegions() bool {
	for _, c := range p.arrayCodecs {
		if _, ok := c.(regionMapper); !ok {
			return false
		}
	}
	return true
}

// regionDecode is the state of one call of DecodeRegion.
type regionDecode struct {
	r       Reader
	a       *arena
	parts   []part
	ranges  []Range
	pending []pendingArrays
}

// pendingArrays is a region whose array codecs have not been decoded yet.
type pendingArrays struct {
	part
	regions []grid.Region // after each array codec; the chunk's own region first
	encoded Elems
}

// run decodes the parts, and the parts that they turn out to consist of.
func (d *regionDecode) run(ctx context.Context) error {
	// Each round reads one level of all shards with one call of the Reader.
	for len(d.parts) > 0 {
		parts := d.parts
		d.parts, d.ranges = nil, d.ranges[:0]
		for i := range parts {
			if err := d.requestRanges(&parts[i]); err != nil {
				return parts[i].wrap(err)
			}
		}
		got, err := fetch(ctx, d.r, d.ranges)
		if err != nil {
			return err
		}
		for i := range parts {
			// Decoding may take long after the last read, so check for cancellation here
			// too.
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := d.decodePart(&parts[i], got); err != nil {
				return parts[i].wrap(err)
			}
		}
	}
	return d.finish()
}

// finish decodes the array codecs of all regions.
func (d *regionDecode) finish() error {
	for i := len(d.pending) - 1; i >= 0; i-- { // inner chunks first: they were added later
		if err := d.pending[i].run(d.a); err != nil {
			return d.pending[i].wrap(err)
		}
	}
	return nil
}

// wrap adds the inner chunk to an error, at every level.
func (pt *part) wrap(err error) error {
	for ; pt.shard != nil; pt = pt.shard {
		err = pt.shard.p.toBytes.(*sharding).innerError(pt.number, err)
	}
	return err
}

// add adds a part. Unless the whole chunk is decoded, it converts the region to that of
// the array codecs' output, and schedules decoding the array codecs at the end.
func (d *regionDecode) add(pt part) { d.addBy(pt, pt.p.methodFor(pt.region)) }

// addBy is add with a method.
func (d *regionDecode) addBy(pt part, method decodeMethod) {
	p := pt.p
	pt.method = method
	if pt.method != byWhole && len(p.arrayCodecs) > 0 {
		u := pendingArrays{part: pt, regions: p.encodedRegions(pt.region)}
		inner := u.regions[len(p.arrayCodecs)]
		form := Form{p.innermost().Type, inner.Shape, nil}
		u.encoded = d.a.newElems(form)
		d.pending = append(d.pending, u)
		pt.region, pt.into = inner, window{u.encoded, inner, form.Type.unit()}
	}
	d.parts = append(d.parts, pt)
}

// encodedRegions returns the region before and after each array codec.
func (p *Pipeline) encodedRegions(r grid.Region) []grid.Region {
	regions := []grid.Region{r}
	for _, c := range p.arrayCodecs {
		r = c.(regionMapper).encodedRegion(r)
		regions = append(regions, r)
	}
	return regions
}

func (u *pendingArrays) run(a *arena) error {
	src := u.encoded
	for i := len(u.p.arrayCodecs) - 1; i >= 0; i-- {
		form := u.p.forms[i]
		form.Shape = u.regions[i].Shape
		// The last step writes to the caller's window directly if the region is
		// contiguous there.
		out, ok := u.into.slice(u.regions[0])
		if i > 0 || !ok {
			out = a.newElems(form)
		}
		if err := u.p.arrayCodecs[i].Decode(out, src, form); err != nil {
			return u.p.stageError(i, err)
		}
		if i == 0 && !ok {
			return u.into.copyFrom(window{out, u.regions[0], form.Type.unit()}, u.regions[0])
		}
		src = out
	}
	return nil
}

// requestRanges adds the ranges that a part needs next.
func (d *regionDecode) requestRanges(pt *part) error {
	pt.first = len(d.ranges)
	switch pt.method {
	case byShard:
		index, err := pt.p.toBytes.(*sharding).indexRange(pt.at.Length)
		if err != nil {
			return err
		}
		d.ranges = append(d.ranges, Range{pt.at.Offset + index.Offset, index.Length})
	case byRows:
		form := pt.p.innermost()
		if pt.at.Length != int64(form.Bytes()) {
			return corrupt.Errorf("chunk has %d bytes, its %v elements of %v need %d", pt.at.Length, form.Shape, form.Type, form.Bytes())
		}
		d.requestRows(pt, form)
	case byTiles:
		if err := d.requestTiles(pt); err != nil {
			return err
		}
	default:
		d.ranges = append(d.ranges, pt.at)
	}
	pt.count = len(d.ranges) - pt.first
	return nil
}

func (d *regionDecode) requestRows(pt *part, form Form) {
	size := int64(form.Type.Size)
	first := len(d.ranges)
	eachRow(form.Shape, pt.region, func(at, n int64) {
		// Join rows while listing them: a region may have millions of short rows.
		row := Range{pt.at.Offset + at*size, n * size}
		d.ranges = append(d.ranges[:first], appendJoined(d.ranges[first:], row)...)
	})
}

// decodePart decodes a part from the bytes of its ranges.
func (d *regionDecode) decodePart(pt *part, got [][]byte) error {
	stored := got[pt.first : pt.first+pt.count]
	a := getArena()
	defer a.release()
	switch pt.method {
	case byShard:
		return d.addInnerChunks(a, pt, stored[0])
	case byRows:
		return pt.decodeRows(a, d.ranges[pt.first:pt.first+pt.count], stored, pt.at.Offset)
	case bySpan:
		return pt.decodeSpan(a, stored[0])
	case byTiles:
		return d.decodeTiles(pt, stored)
	}
	return pt.decodeWhole(a, stored[0])
}

func (pt *part) decodeWhole(a *arena, stored []byte) error {
	form := pt.p.Form()
	all := grid.Whole(form.Shape)
	if pt.region.Equal(all) {
		if into, ok := pt.into.slice(all); ok {
			return pt.p.Decode(into, stored)
		}
	}
	elems, err := pt.p.wholeBuffer(a, len(stored))
	if err != nil {
		return err
	}
	if err := pt.p.Decode(elems, stored); err != nil {
		return err
	}
	return pt.into.copyFrom(window{elems, all, form.Type.unit()}, pt.region)
}

// addInnerChunks adds the inner chunks that intersect the region.
func (d *regionDecode) addInnerChunks(a *arena, pt *part, stored []byte) error {
	s := pt.p.toBytes.(*sharding)
	index, err := s.decodeIndex(a, stored)
	if err != nil {
		return err
	}
	walk, err := s.innerGrid.WalkRegion(pt.region)
	if err != nil {
		return err
	}
	left := s.innerBudget(pt.at.Length)
	for walk.Next() {
		number, _ := s.innerGrid.Number(walk.Coords)
		at, ok, err := index.entry(number, pt.at.Length)
		if err == nil && !ok {
			err = pt.fill(s.form, walk.Region)
		}
		if err == nil && ok {
			if err := left.spend(at); err != nil {
				return s.innerError(number, err)
			}
			// Index entries are relative to their shard, which may itself be an inner
			// chunk.
			at.Offset += pt.at.Offset
			err = d.addInnerChunk(pt, number, at, walk.Region)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addInnerChunk adds one inner chunk of a shard; box is its region there.
func (d *regionDecode) addInnerChunk(shard *part, number int64, at Range, box grid.Region) error {
	s := shard.p.toBytes.(*sharding)
	p, err := s.checkedPipeline(box.Shape, at.Length)
	if err != nil {
		return s.innerError(number, err)
	}
	child := part{p: p, at: at, region: grid.MakeRegion(box.Rank()), into: shard.into, shard: shard, number: number}
	child.region.Intersect(shard.region, box)
	child.region.Shift(box.Origin)
	child.into.region = shard.into.region.Clone()
	child.into.region.Shift(box.Origin)
	d.add(child)
	return nil
}

// fill sets the intersection of the region and a missing inner chunk to the fill value.
func (pt *part) fill(form Form, box grid.Region) error {
	r := grid.MakeRegion(box.Rank())
	r.Intersect(pt.region, box)
	form.Shape = r.Shape
	if into, ok := pt.into.slice(r); ok {
		into.SetFill(form)
		return nil
	}
	elems := NewElems(form)
	elems.SetFill(form)
	return pt.into.copyFrom(window{elems, r, form.Type.unit()}, r)
}

// decodeRows copies the region's rows from blocks of bytes of the chunk, which begins at
// offset base.
func (pt *part) decodeRows(a *arena, blocks []Range, bytes [][]byte, base int64) error {
	form := pt.p.innermost()
	form.Shape = pt.region.Shape
	out, dense := pt.into.slice(pt.region)
	if !dense {
		out = a.newElems(form)
	}
	shape, size := pt.p.innermost().Shape, int64(form.Type.Size)
	block, to := 0, int64(0)
	eachRow(shape, pt.region, func(at, n int64) {
		from := base + at*size
		for from+n*size > blocks[block].End() {
			block++
		}
		from -= blocks[block].Offset
		to += int64(copy(out.Fixed[to:], bytes[block][from:from+n*size]))
	})
	if err := pt.p.toBytes.(*bytesCodec).decodeInPlace(out.Fixed, form); err != nil || dense {
		return err
	}
	return pt.into.copyFrom(window{out, pt.region, form.Type.unit()}, pt.region)
}

// eachRow calls visit for each contiguous run of a region's elements in a chunk, in
// order, with the position of the first element and the length.
func eachRow(shape []int64, r grid.Region, visit func(at, n int64)) {
	outer, n := len(shape), int64(1) // axes before outer are walked
	for spanned := true; outer > 0 && spanned; {
		outer--
		n *= r.Shape[outer]
		// Axes that the region spans, and the first before them, form one contiguous run.
		spanned = r.Shape[outer] == shape[outer]
	}
	index := make([]int64, outer)
	for {
		at := int64(0)
		for k, length := range shape {
			at = at*length + r.Origin[k]
			if k < outer {
				at += index[k]
			}
		}
		visit(at, n)
		k := outer - 1
		for ; k >= 0; k-- {
			if index[k]++; index[k] < r.Shape[k] {
				break
			}
			index[k] = 0
		}
		if k < 0 {
			return
		}
	}
}
