package hdf5

import (
	"context"

	"varve/readers"
)

// Locations of a shared message (IV.A.2, "shared message").
const (
	sharedInHeap    = 1 // in a fractal heap of the file's shared message table
	sharedCommitted = 2 // in the header of a named datatype
	sharedElsewhere = 3
)

// sharedRef is the location of a shared message.
type sharedRef struct {
	heapID []byte // in a heap of the shared message table; nil: at addr
	addr   uint64 // of an object header
}

func readSharedRef(c *cursor) sharedRef {
	version := c.version("shared message", 1, 3)
	kind := c.u8()
	switch {
	case version == 1:
		c.skip(6 + c.lengths)
		return sharedRef{addr: c.address()}
	case kind == sharedInHeap:
		return sharedRef{heapID: c.take(8), addr: undefined}
	case version == 3 && kind != sharedCommitted && kind != sharedElsewhere:
		c.fail("shared message: type is %d (want 1 to 3)", kind)
	}
	return sharedRef{addr: c.address()}
}

// readShared returns a cursor over the content of a shared message of the given type.
func (f *File) readShared(ctx context.Context, kind int, c *cursor) (*cursor, error) {
	ref := readSharedRef(c)
	if c.err != nil {
		return nil, c.err
	}
	if ref.heapID != nil {
		return f.readSharedHeap(ctx, kind, ref.heapID)
	}
	h, err := f.readHeader(ctx, ref.addr)
	if err != nil {
		return nil, err
	}
	m, ok := h.find(kind)
	if !ok {
		c.fail("shared message: the object at address %d has no message of type %#x", ref.addr, kind)
		return nil, c.err
	}
	// A shared message must be stored at its target: chains could be endless.
	if m.flags&flagShared != 0 {
		c.fail("shared message: the message in the object at address %d is shared itself", ref.addr)
		return nil, c.err
	}
	return f.newCursor(m.data, m.addr-f.super.base), nil
}

// sharedIndex is one index of the shared message table (IV.A.2.p): the message types that one heap
// holds. The list or B-tree of equal messages serves writers only, so it is not read.
//
//	table "SMTB", indexes, checksum (4)
//	index version (1), index type (1), message types (2), minimum size (4),
//	      list cutoff (2), B-tree cutoff (2), messages (2), address of the index,
//	      address of the heap
type sharedIndex struct {
	types int // bit i: messages of type i
	heap  uint64
}

func (f *File) readSharedTable(ctx context.Context, c *cursor) error {
	c.version("shared message table", 0, 0)
	addr, n := c.address(), c.u8()
	if c.err != nil {
		return c.err
	}
	if n == 0 || n > 8 {
		c.fail("shared message table: %d indexes (want 1 to 8)", n)
		return c.err
	}
	entry := 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2*f.super.offsets
	t, err := f.cursorAt(ctx, addr, 4+n*entry+4)
	if err != nil {
		return err
	}
	t.signature("SMTB")
	for range n {
		t.skip(2)
		types := t.u16()
		t.skip(4 + 2 + 2 + 2)
		t.address()
		f.sohm = append(f.sohm, sharedIndex{types: types, heap: t.address()})
	}
	t.checksum("shared message table")
	return t.err
}

func (f *File) readSharedHeap(ctx context.Context, kind int, id []byte) (*cursor, error) {
	for _, x := range f.sohm {
		if x.types>>kind&1 == 0 || x.heap == undefined {
			continue
		}
		heap, err := f.fractalHeap(ctx, x.heap)
		if err != nil {
			return nil, err
		}
		b, at, err := heap.object(ctx, id)
		if err != nil {
			return nil, err
		}
		return f.newCursor(b, at), nil
	}
	return nil, readers.Corruptf("shared message table: no heap for messages of type %#x", kind)
}
