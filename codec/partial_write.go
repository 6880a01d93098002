package codec

import (
	"varve/grid"
)

// EncodeRegion appends the stored form of a chunk of which a region is replaced by src,
// in C order of the region. What is stored now is old, nil for nothing, which is all
// fill value.
//
// Of a shard only the inner chunks that the region meets are encoded again, the others'
// bytes are copied as they are. Every other chunk is decoded, changed and encoded.
//
// It appends nothing if every element is the fill value, bit for bit, since such a
// chunk need not be stored. Encode would write it all the same.
func (p *Pipeline) EncodeRegion(dst, old []byte, region grid.Region, src Elems) ([]byte, error) {
	form, err := p.regionForm(region)
	if err == nil {
		err = src.holds(form)
	}
	if err == nil {
		err = p.CanEncode()
	}
	if err != nil {
		return dst, err
	}
	if old == nil && form.IsFill(src) {
		return dst, nil
	}
	a := getArena()
	defer a.release()
	if _, ok := p.toBytes.(*sharding); ok && len(p.bytes) == 0 && p.keepsRegions() {
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
		if err := all.put(window{src, region, form.Type.unit()}, region); err != nil {
			return dst, err
		}
	}
	if form.IsFill(all.Elems) {
		return dst, nil
	}
	return p.Encode(dst, all.Elems)
}

// oldElems returns the elements of a chunk as it is stored, or the fill value.
func (p *Pipeline) oldElems(a *arena, old []byte) (Elems, error) {
	if old == nil {
		if err := p.Form().CheckSize(); err != nil {
			return Elems{}, err
		}
		elems := a.elems(p.Form())
		elems.SetFill(p.Form())
		return elems, nil
	}
	elems, err := p.wholeRoom(a, len(old))
	if err != nil {
		return Elems{}, err
	}
	return elems, p.Decode(elems, old)
}

// shardEdit is a shard of which a region is being replaced.
type shardEdit struct {
	s     *sharding
	old   []byte
	index shardIndex // of old, if there is an old
	from  window     // the region's elements, in the shard's coordinates
	w     *shardWriter
	room  scratch
}

func (p *Pipeline) encodeShard(a *arena, dst, old []byte, region grid.Region, src Elems) ([]byte, error) {
	s := p.toBytes.(*sharding)
	from, err := p.encodeArrays(a, region, src)
	if err != nil {
		return dst, err
	}
	e := &shardEdit{s: s, old: old, from: from, room: scratch{a: a}}
	if old != nil {
		e.index, err = s.findIndex(a, old)
	} else {
		err = s.index.Form().CheckSize()
	}
	if err != nil {
		return dst, p.at(len(p.arrays), err)
	}
	if few, err := e.keepsLittle(); err != nil {
		return dst, p.at(len(p.arrays), err)
	} else if !few {
		return p.encodeAgain(a, dst, old, region, src)
	}
	e.w = s.newWriter(a, dst)
	if err := s.inMortonOrder(e.visit); err != nil {
		return dst, p.at(len(p.arrays), err)
	}
	if e.w.empty {
		return dst, nil
	}
	out, err := e.w.finish()
	return out, p.at(len(p.arrays), err)
}

// encodeArrays takes a region through the array codecs.
func (p *Pipeline) encodeArrays(a *arena, region grid.Region, src Elems) (window, error) {
	regions := p.encodedRegions(region)
	for i, c := range p.arrays {
		in, out := p.forms[i], p.forms[i+1]
		in.Shape, out.Shape = regions[i].Shape, regions[i+1].Shape
		elems := a.elems(out)
		if err := c.Encode(elems, src, in); err != nil {
			return window{}, p.at(i, err)
		}
		src = elems
	}
	return window{src, regions[len(p.arrays)], p.innermost().Type.unit()}, nil
}

// keepsLittle reports whether the inner chunks to be copied are no longer than the
// shard they are in. Where they share bytes they may be, without any bound.
func (e *shardEdit) keepsLittle() (bool, error) {
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

// stored returns the bytes of an inner chunk, nil if it is not stored.
func (e *shardEdit) stored(number int64) []byte {
	if e.index == nil {
		return nil
	}
	at, ok, err := e.index.entry(number, int64(len(e.old)))
	if !ok || err != nil { // keepsLittle has seen every entry
		return nil
	}
	return e.old[at.Offset:at.End()]
}

func (e *shardEdit) visit(at *place) error {
	old := e.stored(at.number)
	hit := grid.MakeRegion(at.region.Rank())
	if !hit.Intersect(e.from.region, at.region) {
		return e.w.add(at.number, func(out []byte) ([]byte, error) { return append(out, old...), nil })
	}
	p, err := e.s.pipeline(at.region.Shape)
	if err != nil {
		return err
	}
	form := p.Form()
	form.Shape = hit.Shape
	elems, err := e.from.take(hit, &e.room, form)
	if err != nil {
		return err
	}
	hit.Shift(at.region.Origin)
	return e.w.add(at.number, func(out []byte) ([]byte, error) { return p.EncodeRegion(out, old, hit, elems) })
}
