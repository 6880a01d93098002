package hdf5

import (
	"cmp"
	"context"
	"encoding/binary"

	"varve/readers"
)

// readBTree1 reads a v1 B-tree of chunks, whose keys are the stored size, the filter mask
// and the offset of the chunk in elements, with one more for the element itself.
func (x *chunkIndex) readBTree1(ctx context.Context) error {
	rank := len(x.chunk)
	place := newGridPlace(x.chunk)
	t := btree1{f: x.f, kind: nodeChunk, keySize: 8 + 8*(rank+1), check: x.checkKey, guess: usualNode}
	if x.unfound != nil {
		t.path = &btree1Path{rank: rank, entry: t.keySize + x.f.super.offsets}
	}
	return t.leaves(ctx, x.addr, func(c *cursor, n int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.spend(uint64(n)); err != nil {
			return err
		}
		if n > 0 {
			if err := x.checkKey(c.b[len(c.b)-t.keySize:]); err != nil {
				return &readers.Error{Offset: c.at, Err: err}
			}
		}
		entry := t.keySize + c.offsets
		all := t.path == nil || t.path.findsAll()
		for b := c.b; n > 0; n, b = n-1, b[entry:] {
			if err := place.read(x.out.ref.Index, b[8:8+8*rank]); err != nil {
				return &readers.Error{Offset: c.at, Err: err}
			}
			if err := x.checkTail(b); err != nil {
				return &readers.Error{Offset: c.at, Err: err}
			}
			if !all && !t.path.finds((len(c.b)-len(b))/entry) {
				err := readers.Corruptf("chunk %v is not where a search of the B-tree looks: libhdf5 reads fill values in its place", x.out.ref.Index)
				keep, err := x.unfound(&readers.Error{Offset: c.at, Err: err})
				if err != nil {
					return err
				}
				if !keep {
					continue
				}
			}
			addr := littleAddress(b[t.keySize:entry])
			size, mask := uint64(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint32(b[4:])
			if err := x.out.emit(addr, size, mask); err != nil {
				return err
			}
		}
		return nil
	})
}

// gridPlace turns offsets in elements into places in the grid. Most differ from the one
// before by nothing or one chunk, which saves dividing.
type gridPlace struct {
	chunk, at []uint64
}

func newGridPlace(chunk []uint64) *gridPlace {
	return &gridPlace{chunk: chunk, at: make([]uint64, len(chunk))}
}

// read turns the place of the chunk before into that of the chunk that begins at the
// offsets in b.
func (p *gridPlace) read(index []uint64, b []byte) error {
	// Lengths are made equal so that the loop needs no bounds checks.
	last, chunk := p.at[:len(index)], p.chunk[:len(index)]
	for d := range index {
		at := binary.LittleEndian.Uint64(b)
		b = b[8:]
		if at == last[d] {
			continue
		}
		if n := chunk[d]; at == last[d]+n {
			index[d]++
		} else {
			index[d] = at / n
			if index[d]*n != at {
				return readers.Corruptf("a chunk begins at %d of dimension %d, chunks are of %d", at, d, n)
			}
		}
		last[d] = at
	}
	return nil
}

// checkKey refuses keys that are not the beginning of a chunk.
func (x *chunkIndex) checkKey(key []byte) error {
	for d, n := range x.chunk {
		if at := binary.LittleEndian.Uint64(key[8+8*d:]); at%n != 0 {
			return readers.Corruptf("a chunk begins at %d of dimension %d, chunks are of %d", at, d, n)
		}
	}
	return x.checkTail(key)
}

// checkTail refuses keys that are not the beginning of an element.
func (x *chunkIndex) checkTail(key []byte) error {
	if at := binary.LittleEndian.Uint64(key[8+8*len(x.chunk):]); at != 0 && at%x.size != 0 {
		return readers.Corruptf("a chunk begins at byte %d of an element, which has %d", at, x.size)
	}
	return nil
}

// littleAddress reads an address of any size.
func littleAddress(b []byte) uint64 {
	if len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	if v == 1<<(8*len(b))-1 {
		return undefined
	}
	return v
}

// readBTree2 reads a v2 B-tree of chunks, whose records are the address, the size and the
// mask if there are filters, and the place in the grid.
func (x *chunkIndex) readBTree2(ctx context.Context) error {
	kind, width := recordChunk, 0
	if x.filtered {
		kind, width = recordChunkFiltered, x.sizeWidth()
	}
	rank, offsets := len(x.chunk), x.f.super.offsets
	want := offsets + 8*rank
	if x.filtered {
		want += width + 4
	}
	count := 0
	return x.f.btree2(ctx, x.addr, kind, func(r []byte) error {
		if len(r) != want {
			return readers.Corruptf("record of a chunk is of %d bytes, not %d", len(r), want)
		}
		if count++; count&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		addr, size, mask := littleAddress(r[:offsets]), x.bytes, uint32(0)
		r = r[offsets:]
		if x.filtered {
			size, mask = littleSize(r[:width]), binary.LittleEndian.Uint32(r[width:])
			r = r[width+4:]
		}
		if !advance(x.out.ref.Index, r) && count > 1 && x.findable {
			return &readers.Error{Offset: int64(x.addr), Err: readers.Corruptf("chunk %v comes too late in a v2 B-tree: libhdf5 would not find it", x.out.ref.Index)}
		}
		return x.out.emit(addr, size, mask)
	}, none)
}

// advance reads the place of a chunk, and reports whether it comes after the one before.
func advance(index []uint64, b []byte) bool {
	order := 0
	for d, before := range index {
		index[d] = binary.LittleEndian.Uint64(b[8*d:])
		if order == 0 {
			order = cmp.Compare(index[d], before)
		}
	}
	return order > 0
}

func littleSize(b []byte) uint64 {
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}
