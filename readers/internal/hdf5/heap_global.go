package hdf5

import (
	"context"
	"slices"

	"varve/readers"
)

// globalHeap is one collection of the global heap, which holds elements of varying length (III.E):
//
//	0   "GCOL", version 1 (1 byte), reserved (3)
//	8   size of the collection (size of lengths)
//	16  objects: index (2), reference count (2), reserved (4), size (size of lengths),
//	    data, padded to a multiple of 8 bytes
//
// Index 0 is the free space at the end; its size includes its own header. If lengths have 4 bytes,
// both headers are padded to 16 bytes. For example, the string "abc" is index 1, count 1, size 3,
// the three bytes and five bytes of padding.
type globalHeap struct {
	data    []byte
	addr    uint64
	objects []globalObject // sorted by index
}

type globalObject struct {
	index      int
	start, end int // of the data in the collection
}

const (
	minGlobalHeap  = 4096
	maxGlobalHeap  = 1 << 30
	maxCachedHeaps = 16 << 20
)

// globalHeap returns the collection at an address, from the cache if it was read already.
func (f *File) globalHeap(ctx context.Context, addr uint64) (*globalHeap, error) {
	f.mu.Lock()
	h := f.heaps[addr]
	f.mu.Unlock()
	if h != nil {
		return h, nil
	}
	c, err := f.cursorAt(ctx, addr, 8+f.super.lengths)
	if err != nil {
		return nil, err
	}
	c.signature("GCOL")
	c.version("global heap", 1, 1)
	c.skip(3)
	size := c.length()
	head := (8 + f.super.lengths + 7) &^ 7
	if c.err == nil && (size < minGlobalHeap || size > maxGlobalHeap) {
		c.fail("global heap: collection of %d bytes (want %d to %d)", size, minGlobalHeap, maxGlobalHeap)
	}
	if c.err != nil {
		return nil, c.err
	}
	whole, err := f.cursorAt(ctx, addr, int(size))
	if err != nil {
		return nil, err
	}
	h = &globalHeap{data: whole.b, addr: addr}
	whole.pos = head
	if err := h.read(whole); err != nil {
		return nil, err
	}
	f.cacheHeap(h)
	return h, nil
}

func (f *File) cacheHeap(h *globalHeap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.heapBytes += len(h.data); f.heapBytes > maxCachedHeaps {
		clear(f.heaps)
		f.heapBytes = len(h.data)
	}
	f.heaps[h.addr] = h
}

func (h *globalHeap) read(c *cursor) error {
	prefix := (8 + c.lengths + 7) &^ 7
	for c.left() >= prefix {
		index := c.u16()
		c.skip(6)
		size := c.length()
		c.skip(prefix - 8 - c.lengths)
		if index == 0 {
			if free := uint64(prefix + c.left()); size != free {
				c.fail("global heap: free space of %d bytes (want %d)", size, free)
			}
			break
		}
		if size > uint64(c.left()) {
			c.fail("global heap: object %d has %d bytes, but only %d remain", index, size, c.left())
			return c.err
		}
		h.objects = append(h.objects, globalObject{index, c.pos, c.pos + int(size)})
		// The last object need not be padded.
		c.skip(min((int(size)+7)&^7, c.left()))
	}
	// Writers reuse free indexes, so the order in the file is arbitrary.
	byIndex := func(a, b globalObject) int { return a.index - b.index }
	if !slices.IsSortedFunc(h.objects, byIndex) {
		slices.SortStableFunc(h.objects, byIndex)
	}
	return c.err
}

// object returns the object with an index.
func (h *globalHeap) object(index int) ([]byte, error) {
	i, ok := slices.BinarySearchFunc(h.objects, index, func(o globalObject, want int) int { return o.index - want })
	if !ok {
		return nil, &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("global heap at address %d: no object %d", h.addr, index)}
	}
	if i+1 < len(h.objects) && h.objects[i+1].index == index {
		return nil, &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("global heap at address %d: two objects %d", h.addr, index)}
	}
	o := h.objects[i]
	return h.data[o.start:o.end:o.end], nil
}

// heapObject returns an object of the global heap by the address of its collection and its index.
func (f *File) heapObject(ctx context.Context, addr uint64, index int) ([]byte, error) {
	h, err := f.globalHeap(ctx, addr)
	if err != nil {
		return nil, err
	}
	return h.object(index)
}
