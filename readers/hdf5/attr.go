package hdf5

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"varve/readers"
)

// Attribute is an attribute of an object as the file has it.
type Attribute struct {
	Name  string
	Type  *readers.Type
	Space Space
	Shape []uint64
	Order int   // of creation, where the object tracks it
	Err   error // why it cannot be read; then only what was decoded before is set

	data   []byte // as stored
	hashed bool   // it is looked for by the hash of its name, and not read to find another
}

const maxAttributes = 1 << 20

// attributes returns an object's attributes by name. Those that cannot be decoded carry an
// error each; the error that is returned is about the list.
func (f *File) attributes(ctx context.Context, h *header) ([]Attribute, error) {
	n := 0
	for i := range h.messages {
		if h.messages[i].kind == msgAttribute {
			n++
		}
	}
	list := make([]Attribute, 0, n)
	for _, m := range h.messages {
		if m.kind == msgAttribute {
			a := f.attributeMessage(ctx, m, h.version > 1)
			a.Order = m.order
			list = append(list, a)
		}
	}
	err := f.denseAttributes(ctx, h, &list)
	slices.SortStableFunc(list, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

func (f *File) attributeMessage(ctx context.Context, m message, checked bool) Attribute {
	c, err := f.cursorOf(ctx, m)
	if err != nil {
		return Attribute{Err: err}
	}
	return f.readAttribute(ctx, &c, checked)
}

// denseAttributes reads attributes from a fractal heap, or from the file's heap of shared
// messages.
func (f *File) denseAttributes(ctx context.Context, h *header, list *[]Attribute) error {
	m, ok := h.find(msgAttributeInfo)
	if !ok {
		return nil
	}
	c := f.over(m.data, m.addr-f.super.base)
	info := readAttributeInfo(c)
	if c.err != nil || info.heap == undefined {
		return c.err
	}
	heap, err := f.fractalHeap(ctx, info.heap)
	if err != nil {
		return err
	}
	const recordSize = 8 + 1 + 4 + 4
	const usual = 12 // fewer are not stored so
	*list = slices.Grow(*list, usual)
	before := len(*list)
	var damage error
	err = f.btree2(ctx, info.names, recordAttributeName, func(r []byte) error {
		if len(r) < recordSize || len(*list) >= maxAttributes {
			return readers.Corruptf("record of an attribute is of %d bytes, not %d", len(r), recordSize)
		}
		rc := f.over(r[8:], info.names)
		flags, order := rc.u8(), rc.u32()
		a := f.denseAttribute(ctx, heap, r[:8], flags)
		a.Order, a.hashed = order, true
		*list = append(*list, a)
		return nil
	}, func(err error) error {
		if !errors.Is(err, readers.ErrCorrupt) {
			return err
		}
		damage = cmp.Or(damage, err)
		return nil
	})
	if err = cmp.Or(damage, err); err != nil {
		lost := f.recordsLost(ctx, info.names, len(*list)-before)
		*list = append(*list, slices.Repeat([]Attribute{{Err: err}}, lost)...)
	}
	return err
}

// recordsLost is how many attributes a damaged index names no more: how many there are stands
// in its header, as far as the file has room for so many.
func (f *File) recordsLost(ctx context.Context, index uint64, found int) int {
	t, err := f.openBTree2(ctx, index, recordAttributeName)
	if err != nil {
		return 0
	}
	room := uint64(f.src.Size()) / uint64(t.recordSize)
	return max(int(min(t.total, maxAttributes, room))-found, 0)
}

func (f *File) denseAttribute(ctx context.Context, heap *fractalHeap, id []byte, flags int) Attribute {
	var c *cursor
	var err error
	if flags&flagShared != 0 {
		c, err = f.readSharedHeap(ctx, msgAttribute, id)
	} else {
		var b []byte
		var at uint64
		b, at, err = heap.object(ctx, id)
		c = f.over(b, at)
	}
	if err != nil {
		return Attribute{Err: err}
	}
	return f.readAttribute(ctx, c, true)
}

// readAttribute decodes an attribute message (IV.A.2.m):
//
//	version, flags, sizes of name, datatype and dataspace, character set from version 3 on,
//	name, datatype, dataspace, value
//
// Version 1 pads the three to 8 bytes.
func (f *File) readAttribute(ctx context.Context, c *cursor, checked bool) Attribute {
	var a Attribute
	version := c.version("an attribute", 1, 3)
	flags := c.u8()
	if version == 1 {
		flags = 0
	}
	if flags&^3 != 0 {
		c.fail("flags of an attribute are %#x", flags)
	}
	nameSize, typeSize, spaceSize := c.u16(), c.u16(), c.u16()
	if version >= 3 {
		c.skip(1)
	}
	padded := func(n int) cursor {
		sub := c.sub(n)
		if version == 1 {
			c.skip(-n & 7)
		}
		return sub
	}
	name := padded(nameSize)
	if c.err == nil && (nameSize < 2 || bytes.IndexByte(name.b[:nameSize-1], 0) >= 0) {
		c.fail("name of an attribute is %q in %d bytes", name.b, nameSize)
	}
	if c.err != nil {
		a.Err = c.err
		return a
	}
	a.Name = string(name.b[:nameSize-1])
	typ, space := padded(typeSize), padded(spaceSize)
	if a.Err = f.attributeParts(ctx, &a, attributeParts{&typ, &space, flags, checked}); a.Err == nil {
		a.Err = a.takeData(c)
	}
	if a.Err != nil {
		a.Name, a.Type = "", nil
	}
	return a
}

// attributeParts are where an attribute's type and shape stand.
type attributeParts struct {
	typ, space *cursor
	flags      int
	checked    bool
}

func (f *File) attributeParts(ctx context.Context, a *Attribute, p attributeParts) error {
	var err error
	if p.flags&1 != 0 {
		if p.typ, err = f.readShared(ctx, msgDatatype, p.typ); err != nil {
			return err
		}
	}
	if p.flags&2 != 0 {
		if p.space, err = f.readShared(ctx, msgDataspace, p.space); err != nil {
			return err
		}
	}
	if a.Type, err = readType(p.typ, p.checked); err != nil {
		return err
	}
	s := readDataspace(p.space)
	a.Space, a.Shape = s.kind, s.shape
	return p.space.err
}

// takeData takes the value, whose size must fit.
func (a *Attribute) takeData(c *cursor) error {
	n := uint64(0)
	if a.Space != Null {
		var ok bool
		if n, ok = product(a.Shape); !ok || n > uint64(c.left())/uint64(a.Type.Size) {
			c.fail("attribute %q has a value of shape %v, %d bytes are left", a.Name, a.Shape, c.left())
			return c.err
		}
	}
	a.data = c.take(int(n) * a.Type.Size)
	return c.err
}
