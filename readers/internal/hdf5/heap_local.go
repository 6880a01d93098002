package hdf5

import (
	"bytes"
	"context"

	"varve/readers"
)

// localHeap holds the names of an old group's members (III.D):
//
//	0   "HEAP", version 0 (1 byte), reserved (3)
//	8   size of the data segment (size of lengths)
//	    offset of the first free block (size of lengths)
//	    address of the data segment (size of offsets)
//
// The data segment holds NUL-terminated names, padded to a multiple of 8 bytes. For example, a
// group with the member "x" has an empty name at 0, "x" at 8 and a free block at 16. A free list
// offset of 1 means that there is no free block.
type localHeap struct {
	data []byte
	addr uint64
}

const maxLocalHeap = 256 << 20

func (f *File) readLocalHeap(ctx context.Context, addr uint64) (*localHeap, error) {
	c, err := f.cursorAt(ctx, addr, 8+2*f.super.lengths+f.super.offsets)
	if err != nil {
		return nil, err
	}
	c.signature("HEAP")
	c.version("local heap", 0, 0)
	c.skip(3)
	size, free := c.length(), c.length()
	at := c.address()
	if c.err != nil {
		return nil, c.err
	}
	if size > maxLocalHeap || free != 1 && free != undefined && free >= size {
		c.fail("local heap: size %d with a free list at %d is out of range", size, free)
		return nil, c.err
	}
	h := &localHeap{addr: at}
	if size == 0 {
		return h, nil
	}
	if h.data, err = f.view(ctx, at, int(size)); err != nil {
		return nil, err
	}
	return h, f.checkFreeList(h, free)
}

// checkFreeList follows the list of free blocks, as libhdf5 does when it opens the heap. A free
// block holds the offset of the next one and its own size, each of the size of lengths.
func (f *File) checkFreeList(h *localHeap, free uint64) error {
	for steps := 0; free != 1 && free != undefined; steps++ {
		if free >= uint64(len(h.data)) || steps > len(h.data) {
			return &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("local heap: free list is damaged")}
		}
		c := f.newCursor(h.data, h.addr)
		c.pos = int(free)
		next, size := c.length(), c.length()
		if c.err != nil || next == 0 || size > uint64(len(h.data))-free {
			return &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("local heap: free list is damaged")}
		}
		free = next
	}
	return nil
}

// text returns the NUL-terminated string at an offset in the heap.
func (h *localHeap) text(offset uint64) (string, error) {
	if offset < uint64(len(h.data)) {
		b := h.data[offset:]
		if n := bytes.IndexByte(b, 0); n >= 0 {
			return string(b[:n]), nil
		}
	}
	return "", &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("local heap: no string at offset %d of %d bytes", offset, len(h.data))}
}
