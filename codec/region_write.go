package codec

import (
	"varve/grid"
)

// EncodeRegion appends the stored form of a chunk after replacing a region by src, in C
// order of the region. Old is the current stored form; nil means that nothing is stored
// and all elements have the fill value.
//
// In a shard, only the inner chunks that intersect the region are encoded again; the
// bytes of the others are copied. Any other chunk is decoded, changed and encoded.
//
// It appends nothing if every element equals the fill value bit for bit, since such a
// chunk need not be stored. Encode would write it.
func (p *Pipeline) EncodeRegion(dst, old []byte, region grid.Region, src Elems) ([]byte, error) {
	form, err := p.regionForm(region)
	if err == nil {
		err = src.checkSize(form)
	}
	if err == nil {
		err = p.CanEncode()
	}
	if err != nil {
		return dst, err
	}
	// Nothing is stored and nothing changes, so do not even look at the codecs.
	if old == nil && form.IsFill(src) {
		return dst, nil
	}
	a := getArena()
	defer a.release()
	if _, ok := p.toBytes.(*sharding); ok && len(p.bytesCodecs) == 0 && p.keepsRegions() {
		return p.encodeShard(a, dst, old, region, src)
	}
	return p.encodeAgain(a, dst, old, region, src)
}

// encodeAgain decodes a chunk, changes the region and encodes it.
func (p *Pipeline) encodeAgain(a *arena, dst, old []byte, region grid.Region, src Elems) ([]byte, error) {
	form := p.Form()
	all := windowOf(src, form)
	if !all.region.Equal(region) {
		var err error
		if all.Elems, err = p.oldElems(a, old); err != nil {
			return dst, err
		}
		if err := all.copyFrom(window{src, region, form.Type.unit()}, region); err != nil {
			return dst, err
		}
	}
	if form.IsFill(all.Elems) {
		return dst, nil
	}
	return p.Encode(dst, all.Elems)
}

// oldElems returns the elements of the stored chunk, or the fill value if there is none.
func (p *Pipeline) oldElems(a *arena, old []byte) (Elems, error) {
	if old == nil {
		if err := p.Form().CheckSize(); err != nil {
			return Elems{}, err
		}
		elems := a.newElems(p.Form())
		elems.SetFill(p.Form())
		return elems, nil
	}
	elems, err := p.wholeBuffer(a, len(old))
	if err != nil {
		return Elems{}, err
	}
	return elems, p.Decode(elems, old)
}

// shardEdit is the replacement of a region of a shard.
type shardEdit struct {
	s     *sharding
	old   []byte
	index shardIndex // the index of old, if old is not nil
	src   window     // the region's elements, in the shard's coordinates
	w     *shardWriter
	room  scratch
}

func (p *Pipeline) encodeShard(a *arena, dst, old []byte, region grid.Region, src Elems) ([]byte, error) {
	s := p.toBytes.(*sharding)
	from, err := p.encodeArrays(a, region, src)
	if err != nil {
		return dst, err
	}
	e := &shardEdit{s: s, old: old, src: from, room: scratch{a: a}}
	if old != nil {
		e.index, err = s.findIndex(a, old)
	} else {
		err = s.index.Form().CheckSize()
	}
	if err != nil {
		return dst, p.stageError(len(p.arrayCodecs), err)
	}
	if few, err := e.fitsInShard(); err != nil {
		return dst, p.stageError(len(p.arrayCodecs), err)
	} else if !few {
		return p.encodeAgain(a, dst, old, region, src)
	}
	e.w = s.newWriter(a, dst)
	if err := s.inMortonOrder(e.visit); err != nil {
		return dst, p.stageError(len(p.arrayCodecs), err)
	}
	if e.w.isEmpty {
		return dst, nil
	}
	out, err := e.w.finish()
	return out, p.stageError(len(p.arrayCodecs), err)
}

// encodeArrays encodes a region with the array codecs.
func (p *Pipeline) encodeArrays(a *arena, region grid.Region, src Elems) (window, error) {
	regions := p.encodedRegions(region)
	for i, c := range p.arrayCodecs {
		in, out := p.forms[i], p.forms[i+1]
		in.Shape, out.Shape = regions[i].Shape, regions[i+1].Shape
		elems := a.newElems(out)
		if err := c.Encode(elems, src, in); err != nil {
			return window{}, p.stageError(i, err)
		}
		src = elems
	}
	return window{src, regions[len(p.arrayCodecs)], p.innermost().Type.unit()}, nil
}

// fitsInShard reports whether the inner chunks together are at most as long as the shard.
// If they share bytes, they may be longer without limit, and copying would multiply them.
func (e *shardEdit) fitsInShard() (bool, error) {
	left := int64(len(e.old))
	for i := range int64(len(e.index) / entryBytes) {
		at, _, err := e.index.entry(i, int64(len(e.old)))
		if err != nil {
			return false, err
		}
		left -= at.Length
		if left < 0 {
			return false, nil
		}
	}
	return true, nil
}

// stored returns the bytes of an inner chunk, or nil if it is not stored.
func (e *shardEdit) stored(number int64) []byte {
	if e.index == nil {
		return nil
	}
	at, ok, err := e.index.entry(number, int64(len(e.old)))
	if !ok || err != nil { // fitsInShard has checked every entry
		return nil
	}
	return e.old[at.Offset:at.End()]
}

func (e *shardEdit) visit(at *innerChunk) error {
	old := e.stored(at.number)
	overlap := grid.MakeRegion(at.region.Rank())
	if !overlap.Intersect(e.src.region, at.region) {
		// Copy the stored bytes of an inner chunk outside the region, without decoding
		// them.
		return e.w.add(at.number, func(out []byte) ([]byte, error) { return append(out, old...), nil })
	}
	p, err := e.s.pipeline(at.region.Shape)
	if err != nil {
		return err
	}
	form := p.Form()
	form.Shape = overlap.Shape
	elems, err := e.src.extract(overlap, &e.room, form)
	if err != nil {
		return err
	}
	overlap.Shift(at.region.Origin)
	return e.w.add(at.number, func(out []byte) ([]byte, error) { return p.EncodeRegion(out, old, overlap, elems) })
}
