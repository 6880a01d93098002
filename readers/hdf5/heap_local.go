package hdf5

import (
	"bytes"
	"context"

	"varve/readers"
)

// localHeap holds the names of an old group's members (III.D):
//
//	"HEAP", version, 3 reserved, size, free list, address of the data segment
//	data segment: names with a NUL at the end, padded to 8 bytes
type localHeap struct {
	data []byte
	addr uint64
}

const maxLocalHeap = 256 << 20

func (f *File) readLocalHeap(ctx context.Context, addr uint64) (*localHeap, error) {
	c, err := f.at(ctx, addr, 8+2*f.super.lengths+f.super.offsets)
	if err != nil {
		return nil, err
	}
	c.signature("HEAP")
	c.version("a local heap", 0, 0)
	c.skip(3)
	size, free := c.length(), c.length()
	at := c.address()
	if c.err != nil {
		return nil, c.err
	}
	if size > maxLocalHeap || free != 1 && free != undefined && free >= size {
		c.fail("local heap of %d bytes with a free list at %d", size, free)
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

// checkFreeList follows the list of free blocks: next, size, of lengths' size.
func (f *File) checkFreeList(h *localHeap, free uint64) error {
	for steps := 0; free != 1 && free != undefined; steps++ {
		if free >= uint64(len(h.data)) || steps > len(h.data) {
			return &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("bad free list of a local heap")}
		}
		c := f.over(h.data, h.addr)
		c.pos = int(free)
		next, size := c.length(), c.length()
		if c.err != nil || next == 0 || size > uint64(len(h.data))-free {
			return &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("bad free list of a local heap")}
		}
		free = next
	}
	return nil
}

// text returns the string at an offset in the heap.
func (h *localHeap) text(offset uint64) (string, error) {
	if offset < uint64(len(h.data)) {
		b := h.data[offset:]
		if n := bytes.IndexByte(b, 0); n >= 0 {
			return string(b[:n]), nil
		}
	}
	return "", &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("no string at %d in a local heap of %d bytes", offset, len(h.data))}
}
