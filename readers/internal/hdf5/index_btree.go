package hdf5

import (
	"cmp"
	"context"
	"encoding/binary"

	"varve/readers"
)

// Lengths in the keys of chunks.
const (
	chunkKeyHead   = 8 // stored size, filter mask
	chunkKeyOffset = 8 // one offset
)

// readBTree1 reads a v1 B-tree of chunks (III.A.1), the index of datasets in files of HDF5 1.8 and
// earlier. A leaf alternates keys and children:
//
//	key    stored size (4 bytes), filter mask (4 bytes)         chunkKeyHead
//	       offset of the chunk in elements, for each dimension  chunkKeyOffset
//	       offset in the element                                chunkKeyOffset
//	child  address of the chunk (size of offsets)
//
// For example, in a dataset of 4-byte elements with chunks of 10 × 20, the second chunk of the
// first row, with 800 bytes and no filter skipped, has the key 20030000 00000000, 0, 20, 0. See
// btree1 for the nodes.
func (x *chunkIndex) readBTree1(ctx context.Context) error {
	rank := len(x.chunk)
	place := newGridPosition(x.chunk)
	t := btree1{f: x.f, kind: nodeChunk, keySize: chunkKeyHead + chunkKeyOffset*(rank+1), check: x.checkKey, guess: usualNode}
	if x.onUnfound != nil {
		t.path = &btree1Path{rank: rank, entry: t.keySize + x.f.super.offsets}
	}
	return t.visitLeaves(ctx, x.addr, func(c *cursor, n int) error {
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
		// In an undamaged index one comparison per node shows that a search finds every chunk.
		all := t.path == nil || t.path.findsAll()
		for b := c.b; n > 0; n, b = n-1, b[entry:] {
			if err := place.update(x.out.ref.Index, b[chunkKeyHead:chunkKeyHead+chunkKeyOffset*rank]); err != nil {
				return &readers.Error{Offset: c.at, Err: err}
			}
			if err := x.checkTail(b); err != nil {
				return &readers.Error{Offset: c.at, Err: err}
			}
			if !all && !t.path.finds((len(c.b)-len(b))/entry) {
				err := readers.Corruptf("v1 B-tree: a search does not find chunk %v, so libhdf5 reads fill values in its place", x.out.ref.Index)
				keep, err := x.onUnfound(&readers.Error{Offset: c.at, Err: err})
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

// gridPosition converts offsets in elements to positions in the chunk grid. Most offsets differ from
// the previous ones by nothing or by one chunk, which avoids a division.
type gridPosition struct {
	chunk, at []uint64
}

func newGridPosition(chunk []uint64) *gridPosition {
	return &gridPosition{chunk: chunk, at: make([]uint64, len(chunk))}
}

// update updates index, the position of the previous chunk, to the position of the chunk with the
// offsets in b.
func (p *gridPosition) update(index []uint64, b []byte) error {
	// Equal lengths let the compiler omit bounds checks in the loop.
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
				return readers.Corruptf("v1 B-tree: a chunk starts at %d in dimension %d, not at a multiple of %d", at, d, n)
			}
		}
		last[d] = at
	}
	return nil
}

// checkKey rejects keys that are not the start of a chunk.
func (x *chunkIndex) checkKey(key []byte) error {
	for d, n := range x.chunk {
		if at := binary.LittleEndian.Uint64(key[chunkKeyHead+chunkKeyOffset*d:]); at%n != 0 {
			return readers.Corruptf("v1 B-tree: a chunk starts at %d in dimension %d, not at a multiple of %d", at, d, n)
		}
	}
	return x.checkTail(key)
}

// checkTail rejects keys that are not the start of an element.
func (x *chunkIndex) checkTail(key []byte) error {
	if at := binary.LittleEndian.Uint64(key[chunkKeyHead+chunkKeyOffset*len(x.chunk):]); at != 0 && at%x.size != 0 {
		return readers.Corruptf("v1 B-tree: a chunk starts at byte %d inside an element of %d bytes", at, x.size)
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

// readBTree2 reads a v2 B-tree of chunks (III.A.2, record types 10 and 11), the index of datasets
// with two or more unlimited dimensions:
//
//	type 10  address (size of offsets), grid position (8 bytes a dimension)
//	type 11  address, stored size (1 to 8 bytes), filter mask (4), grid position
//
// For example, chunk (0, 3) at address 0x1000 without filters is 0010000000000000 0000000000000000
// 0300000000000000.
func (x *chunkIndex) readBTree2(ctx context.Context) error {
	kind, width := recordChunk, 0
	if x.isFiltered {
		kind, width = recordChunkFiltered, x.sizeWidth()
	}
	rank, offsets := len(x.chunk), x.f.super.offsets
	want := offsets + 8*rank
	if x.isFiltered {
		want += width + 4
	}
	count := 0
	return x.f.visitBTree2(ctx, x.addr, kind, func(r []byte) error {
		if len(r) != want {
			return readers.Corruptf("v2 B-tree: record of a chunk has %d bytes (want %d)", len(r), want)
		}
		if count++; count&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		addr, size, mask := littleAddress(r[:offsets]), x.bytes, uint32(0)
		r = r[offsets:]
		if x.isFiltered {
			size, mask = littleSize(r[:width]), binary.LittleEndian.Uint32(r[width:])
			r = r[width+4:]
		}
		// libhdf5 bisects the records, so it does not find records that are out of order.
		if !readPosition(x.out.ref.Index, r) && count > 1 && x.requireReadable {
			return &readers.Error{Offset: int64(x.addr), Err: readers.Corruptf("v2 B-tree: chunk %v is out of order, so libhdf5 does not find it", x.out.ref.Index)}
		}
		return x.out.emit(addr, size, mask)
	}, keepError)
}

// readPosition reads the position of a chunk, and reports whether it is after the previous one.
func readPosition(index []uint64, b []byte) bool {
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
