package hdf5

import (
	"context"
	"slices"

	"varve/readers"
)

// globalHeap is one collection of objects of varying lengths (III.E):
//
//	"GCOL", version, 3 reserved, size of the collection
//	objects: index, reference count, 4 reserved, size, data padded to 8
//
// Index 0 is the free space at the end, whose size is that of its header too. Both headers are padded to 8 bytes too, which shows
// where lengths are of 4.
type globalHeap struct {
	data    []byte
	addr    uint64
	objects []globalObject // by index
}

type globalObject struct {
	index      int
	start, end int // of the data in the collection
}

const (
	minGlobalHeap  = 4096
	maxGlobalHeap  = 1 << 30
	heldGlobalHeap = 16 << 20
)

// globalHeap returns the collection at an address.
func (f *File) globalHeap(ctx context.Context, addr uint64) (*globalHeap, error) {
	f.mu.Lock()
	h := f.heaps[addr]
	f.mu.Unlock()
	if h != nil {
		return h, nil
	}
	c, err := f.at(ctx, addr, 8+f.super.lengths)
	if err != nil {
		return nil, err
	}
	c.signature("GCOL")
	c.version("a global heap", 1, 1)
	c.skip(3)
	size := c.length()
	head := (8 + f.super.lengths + 7) &^ 7
	if c.err == nil && (size < minGlobalHeap || size > maxGlobalHeap) {
		c.fail("global heap of %d bytes", size)
	}
	if c.err != nil {
		return nil, c.err
	}
	whole, err := f.at(ctx, addr, int(size))
	if err != nil {
		return nil, err
	}
	h = &globalHeap{data: whole.b, addr: addr}
	whole.pos = head
	if err := h.read(whole); err != nil {
		return nil, err
	}
	f.hold(h)
	return h, nil
}

func (f *File) hold(h *globalHeap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held += len(h.data); f.held > heldGlobalHeap {
		clear(f.heaps)
		f.held = len(h.data)
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
				c.fail("free space of a global heap is of %d bytes, not %d", size, free)
			}
			break
		}
		if size > uint64(c.left()) {
			c.fail("object %d of a global heap is of %d bytes, %d are left", index, size, c.left())
			return c.err
		}
		h.objects = append(h.objects, globalObject{index, c.pos, c.pos + int(size)})
		c.skip(min((int(size)+7)&^7, c.left()))
	}
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
		return nil, &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("global heap at address %d has no object %d", h.addr, index)}
	}
	if i+1 < len(h.objects) && h.objects[i+1].index == index {
		return nil, &readers.Error{Offset: int64(h.addr), Err: readers.Corruptf("global heap at address %d has two objects %d", h.addr, index)}
	}
	o := h.objects[i]
	return h.data[o.start:o.end:o.end], nil
}

// heapObject returns an object of the global heap.
func (f *File) heapObject(ctx context.Context, addr uint64, index int) ([]byte, error) {
	h, err := f.globalHeap(ctx, addr)
	if err != nil {
		return nil, err
	}
	return h.object(index)
}
