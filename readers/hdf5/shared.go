package hdf5

import (
	"context"

	"varve/readers"
)

// Where a shared message is (IV.A.2, "shared message").
const (
	sharedInHeap    = 1 // in a fractal heap of the file's shared message table
	sharedCommitted = 2 // in the header of a named datatype
	sharedElsewhere = 3
)

// sharedRef says where a shared message is.
type sharedRef struct {
	heapID []byte
	addr   uint64 // of an object header
}

func readSharedRef(c *cursor) sharedRef {
	version := c.version("a shared message", 1, 3)
	kind := c.u8()
	switch {
	case version == 1:
		c.skip(6 + c.lengths)
		return sharedRef{addr: c.address()}
	case kind == sharedInHeap:
		return sharedRef{heapID: c.take(8), addr: undefined}
	case version == 3 && kind != sharedCommitted && kind != sharedElsewhere:
		c.fail("a shared message is of type %d", kind)
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
		c.fail("the object at address %d has no message of type %#x to share", ref.addr, kind)
		return nil, c.err
	}
	if m.flags&flagShared != 0 {
		c.fail("the message that the object at address %d shares is itself shared", ref.addr)
		return nil, c.err
	}
	return f.over(m.data, m.addr-f.super.base), nil
}

// sharedIndex is one index of the shared message table (IV.A.2.p): which messages stand
// in which heap. What finds equal messages, a list or a B-tree, is of use to writers only.
type sharedIndex struct {
	types int // bit i: messages of type i
	heap  uint64
}

func (f *File) readSharedTable(ctx context.Context, c *cursor) error {
	c.version("the shared message table", 0, 0)
	addr, n := c.address(), c.u8()
	if c.err != nil {
		return c.err
	}
	if n == 0 || n > 8 {
		c.fail("the shared message table has %d indexes, not 1 to 8", n)
		return c.err
	}
	entry := 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2*f.super.offsets
	t, err := f.at(ctx, addr, 4+n*entry+4)
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
	t.checksum("the shared message table")
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
		return f.over(b, at), nil
	}
	return nil, readers.Corruptf("no shared message table for messages of type %#x", kind)
}
