package codec

import (
	"context"
	"fmt"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/fits"
	"varve/grid"
)

// DecodeRegion fills dst with the elements of a region of the stored chunk, in C order
// of the region, and reads and decodes no more than it must:
//
//	sharding_indexed   the index, then the inner chunks that the region meets, each of
//	                   them likewise in part
//	fits.quantized     the table's rows, then the tiles that the region meets
//	bytes              the bytes of the region's rows
//	bytes, compressor  everything; of blosc only the blocks that the region is in
//	anything else      everything
//
// An array codec in front is no hindrance if a region is a region behind it: so for
// transpose and for codecs that change each element on its own. A checksum behind is
// one: it guards all bytes or none, so that reading some of them would mean to trust
// them unseen.
func (p *Pipeline) DecodeRegion(ctx context.Context, r Reader, region grid.Region, dst Elems) error {
	form, err := p.regionForm(region)
	if err != nil {
		return err
	}
	if err := dst.holds(form); err != nil {
		return err
	}
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

// part is a region of a stored chunk, or of an inner one, that is still to be decoded.
type part struct {
	p      *Pipeline
	at     Range       // where the chunk is stored
	region grid.Region // of the chunk, or of what its array codecs make of it
	into   window      // in the same coordinates
	way    way
	wants  int // the first range it asked for
	asked  int // how many

	tiles []fits.Tile // of a table of tiles, once its rows are known

	of     *part // the shard it is in
	number int64 // its place there
}

// way is how a part is decoded.
type way uint8

const (
	decodeWhole way = iota // all stored bytes, all elements
	decodeShard            // the index
	decodeRows             // the bytes of the rows
	decodeSpan             // all stored bytes, and of what they decode to the rows
	decodeTiles            // the rows of the table, then the tiles
)

func (p *Pipeline) wayFor(region grid.Region) way {
	if grid.Whole(p.Form().Shape).Equal(region) || !p.keepsRegions() {
		return decodeWhole
	}
	switch p.toBytes.(type) {
	case *sharding:
		if len(p.bytes) == 0 {
			return decodeShard
		}
	case *fitsQuantized:
		if len(p.bytes) == 0 {
			return decodeTiles
		}
	case *bytesCodec:
		if len(p.bytes) == 0 {
			return decodeRows
		}
		if decodesSpans(p.bytes[0]) {
			return decodeSpan
		}
	}
	return decodeWhole
}

// keepsRegions reports whether a region is a region behind the array codecs too.
func (p *Pipeline) keepsRegions() bool {
	for _, c := range p.arrays {
		if _, ok := c.(regional); !ok {
			return false
		}
	}
	return true
}

// regionDecode is one call of DecodeRegion.
type regionDecode struct {
	r     Reader
	a     *arena
	parts []part
	wants []Range
	undo  []undo
}

// undo is a region whose array codecs are still to be undone.
type undo struct {
	part
	regions []grid.Region // behind each array codec, the chunk's own first
	encoded Elems
}

// run decodes the parts, and the parts that they turn out to be made of.
func (d *regionDecode) run(ctx context.Context) error {
	for len(d.parts) > 0 {
		parts := d.parts
		d.parts, d.wants = nil, d.wants[:0]
		for i := range parts {
			if err := d.ask(&parts[i]); err != nil {
				return parts[i].wrap(err)
			}
		}
		got, err := fetch(ctx, d.r, d.wants)
		if err != nil {
			return err
		}
		for i := range parts {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := d.deliver(&parts[i], got); err != nil {
				return parts[i].wrap(err)
			}
		}
	}
	for i := len(d.undo) - 1; i >= 0; i-- { // those of inner chunks came later
		if err := d.undo[i].run(d.a); err != nil {
			return d.undo[i].wrap(err)
		}
	}
	return nil
}

// wrap says which inner chunk an error is from.
func (pt *part) wrap(err error) error {
	for ; pt.of != nil; pt = pt.of {
		err = pt.of.p.toBytes.(*sharding).inInner(pt.number, err)
	}
	return err
}

// add takes a part in. Unless all of the chunk is decoded, the region is translated to
// what lies behind its array codecs, and these are undone in the end.
func (d *regionDecode) add(pt part) {
	p := pt.p
	pt.way = p.wayFor(pt.region)
	if pt.way != decodeWhole && len(p.arrays) > 0 {
		u := undo{part: pt, regions: p.encodedRegions(pt.region)}
		inner := u.regions[len(p.arrays)]
		form := Form{p.innermost().Type, inner.Shape, nil}
		u.encoded = d.a.elems(form)
		d.undo = append(d.undo, u)
		pt.region, pt.into = inner, window{u.encoded, inner, form.Type.unit()}
	}
	d.parts = append(d.parts, pt)
}

// encodedRegions follows a region through the array codecs.
func (p *Pipeline) encodedRegions(r grid.Region) []grid.Region {
	regions := []grid.Region{r}
	for _, c := range p.arrays {
		r = c.(regional).encodedRegion(r)
		regions = append(regions, r)
	}
	return regions
}

func (u *undo) run(a *arena) error {
	src := u.encoded
	for i := len(u.p.arrays) - 1; i >= 0; i-- {
		form := u.p.forms[i]
		form.Shape = u.regions[i].Shape
		out, ok := u.into.slice(u.regions[0])
		if i > 0 || !ok {
			out = a.elems(form)
		}
		if err := u.p.arrays[i].Decode(out, src, form); err != nil {
			return u.p.at(i, err)
		}
		if i == 0 && !ok {
			return u.into.put(window{out, u.regions[0], form.Type.unit()}, u.regions[0])
		}
		src = out
	}
	return nil
}

// ask lists the ranges that a part needs next.
func (d *regionDecode) ask(pt *part) error {
	pt.wants = len(d.wants)
	switch pt.way {
	case decodeShard:
		index, err := pt.p.toBytes.(*sharding).indexRange(pt.at.Length)
		if err != nil {
			return err
		}
		d.wants = append(d.wants, Range{pt.at.Offset + index.Offset, index.Length})
	case decodeRows:
		form := pt.p.innermost()
		if pt.at.Length != int64(form.Bytes()) {
			return corrupt.Errorf("chunk has %d bytes, its %v elements of %v need %d", pt.at.Length, form.Shape, form.Type, form.Bytes())
		}
		d.askRows(pt, form)
	case decodeTiles:
		if err := d.askTiles(pt); err != nil {
			return err
		}
	default:
		d.wants = append(d.wants, pt.at)
	}
	pt.asked = len(d.wants) - pt.wants
	return nil
}

func (d *regionDecode) askRows(pt *part, form Form) {
	size := int64(form.Type.Size)
	first := len(d.wants)
	eachRow(form.Shape, pt.region, func(at, n int64) {
		row := Range{pt.at.Offset + at*size, n * size}
		d.wants = append(d.wants[:first], join(d.wants[first:], row)...)
	})
}

// deliver decodes a part from the bytes it asked for.
func (d *regionDecode) deliver(pt *part, got [][]byte) error {
	mine := got[pt.wants : pt.wants+pt.asked]
	a := getArena()
	defer a.release()
	switch pt.way {
	case decodeShard:
		return d.shard(a, pt, mine[0])
	case decodeRows:
		return pt.rows(a, d.wants[pt.wants:pt.wants+pt.asked], mine, pt.at.Offset)
	case decodeSpan:
		return pt.span(a, mine[0])
	case decodeTiles:
		return d.deliverTiles(pt, mine)
	}
	return pt.whole(a, mine[0])
}

func (pt *part) whole(a *arena, stored []byte) error {
	form := pt.p.Form()
	all := grid.Whole(form.Shape)
	if pt.region.Equal(all) {
		if into, ok := pt.into.slice(all); ok {
			return pt.p.Decode(into, stored)
		}
	}
	elems, err := pt.p.wholeRoom(a, len(stored))
	if err != nil {
		return err
	}
	if err := pt.p.Decode(elems, stored); err != nil {
		return err
	}
	return pt.into.put(window{elems, all, form.Type.unit()}, pt.region)
}

// shard adds the inner chunks that the region meets.
func (d *regionDecode) shard(a *arena, pt *part, stored []byte) error {
	s := pt.p.toBytes.(*sharding)
	index, err := s.decodeIndex(a, stored)
	if err != nil {
		return err
	}
	walk, err := s.cut.WalkRegion(pt.region)
	if err != nil {
		return err
	}
	left := s.allowance(pt.at.Length)
	for walk.Next() {
		number, _ := s.cut.Number(walk.Coords)
		at, ok, err := index.entry(number, pt.at.Length)
		if err == nil && !ok {
			err = pt.fill(s.form, walk.Region)
		}
		if err == nil && ok {
			if err := left.take(at); err != nil {
				return s.inInner(number, err)
			}
			at.Offset += pt.at.Offset
			err = d.inner(pt, number, at, walk.Region)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inner adds one inner chunk of a shard, which has a box there.
func (d *regionDecode) inner(shard *part, number int64, at Range, box grid.Region) error {
	s := shard.p.toBytes.(*sharding)
	p, err := s.pipelineOf(box.Shape, at.Length)
	if err != nil {
		return s.inInner(number, err)
	}
	child := part{p: p, at: at, region: grid.MakeRegion(box.Rank()), into: shard.into, of: shard, number: number}
	child.region.Intersect(shard.region, box)
	child.region.Shift(box.Origin)
	child.into.region = shard.into.region.Clone()
	child.into.region.Shift(box.Origin)
	d.add(child)
	return nil
}

// fill puts the fill value where the region meets an inner chunk that is not stored.
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
	return pt.into.put(window{elems, r, form.Type.unit()}, r)
}

// rows takes the region's rows out of blocks of bytes of the chunk, which begins at
// offset base.
func (pt *part) rows(a *arena, blocks []Range, bytes [][]byte, base int64) error {
	form := pt.p.innermost()
	form.Shape = pt.region.Shape
	out, dense := pt.into.slice(pt.region)
	if !dense {
		out = a.elems(form)
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
	return pt.into.put(window{out, pt.region, form.Type.unit()}, pt.region)
}

// eachRow visits the runs in which the elements of a region lie in a chunk, in order,
// as the place of their first element and their length.
func eachRow(shape []int64, r grid.Region, visit func(at, n int64)) {
	outer, n := len(shape), int64(1) // axes before outer are walked
	for spanned := true; outer > 0 && spanned; {
		outer--
		n *= r.Shape[outer]
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
