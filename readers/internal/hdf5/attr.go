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

// Attribute is an attribute of an object, as stored in the file.
type Attribute struct {
	Name  string
	Type  *readers.Type
	Space Space
	Shape []uint64
	Order int   // creation order, if the object tracks it
	Err   error // why it cannot be read; then only the fields that were decoded before are set

	data     []byte // as stored
	isHashed bool   // found by the hash of its name, so libhdf5 does not read it when it looks for another one
}

const maxAttributes = 1 << 20

// attributes returns an object's attributes, sorted by name. An attribute that cannot be decoded
// has Err set. The returned error means that the list may be incomplete.
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

// denseAttributes appends attributes that are stored in a fractal heap or in the file's heap of
// shared messages, and that a v2 B-tree of names lists.
func (f *File) denseAttributes(ctx context.Context, h *header, list *[]Attribute) error {
	m, ok := h.find(msgAttributeInfo)
	if !ok {
		return nil
	}
	c := f.newCursor(m.data, m.addr-f.super.base)
	info := readAttributeInfo(c)
	if c.err != nil || info.heap == undefined {
		return c.err
	}
	heap, err := f.fractalHeap(ctx, info.heap)
	if err != nil {
		return err
	}
	const recordSize = 8 + 1 + 4 + 4
	const usual = 12 // libhdf5 stores up to 8 attributes in the object header by default
	// Avoid growing the list one attribute at a time.
	*list = slices.Grow(*list, usual)
	before := len(*list)
	var damage error
	err = f.visitBTree2(ctx, info.names, recordAttributeName, func(r []byte) error {
		if len(r) < recordSize || len(*list) >= maxAttributes {
			return readers.Corruptf("attribute name index: record of %d bytes (want at least %d), or more than %d attributes", len(r), recordSize, maxAttributes)
		}
		// The first 8 bytes are the heap ID of the attribute.
		rc := f.newCursor(r[8:], info.names)
		flags, order := rc.u8(), rc.u32()
		a := f.denseAttribute(ctx, heap, r[:8], flags)
		a.Order, a.isHashed = order, true
		*list = append(*list, a)
		return nil
	}, func(err error) error {
		// libhdf5 still lists the attributes of undamaged nodes: continue, and report the damage at
		// the end.
		if !errors.Is(err, readers.ErrCorrupt) {
			return err
		}
		damage = cmp.Or(damage, err)
		return nil
	})
	if err = cmp.Or(damage, err); err != nil {
		// List a failed attribute for each lost record, so that the number of attributes stays the
		// same.
		lost := f.countLostRecords(ctx, info.names, len(*list)-before)
		*list = append(*list, slices.Repeat([]Attribute{{Err: err}}, lost)...)
	}
	return err
}

// countLostRecords returns how many attributes are missing from a damaged index: the total in its
// header, limited by the number of records that fit in the file, minus those found.
func (f *File) countLostRecords(ctx context.Context, index uint64, found int) int {
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
		c = f.newCursor(b, at)
	}
	if err != nil {
		return Attribute{Err: err}
	}
	return f.readAttribute(ctx, c, true)
}

// readAttribute decodes an attribute message (IV.A.2.m):
//
//	version, flags, sizes of name, datatype and dataspace,
//	character set (version 3), name, datatype, dataspace, value
//
// Version 1 pads name, datatype and dataspace to a multiple of 8 bytes each.
func (f *File) readAttribute(ctx context.Context, c *cursor, checked bool) Attribute {
	var a Attribute
	version := c.version("attribute", 1, 3)
	flags := c.u8()
	if version == 1 {
		// Version 1 has no flags: the byte is reserved and may hold anything.
		flags = 0
	}
	if flags&^3 != 0 {
		c.fail("attribute: flags are %#x (only bits 0 and 1 are defined)", flags)
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
		c.fail("attribute: name %q of %d bytes is not a NUL-terminated string", name.b, nameSize)
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
	// libhdf5 shows nothing of an attribute that it cannot decode.
	if a.Err != nil {
		a.Name, a.Type = "", nil
	}
	return a
}

// attributeParts holds the encoded datatype and dataspace of an attribute.
type attributeParts struct {
	typ, space  *cursor
	flags       int
	hasChecksum bool
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
	if a.Type, err = readType(p.typ, p.hasChecksum); err != nil {
		return err
	}
	s := readDataspace(p.space)
	a.Space, a.Shape = s.kind, s.shape
	return p.space.err
}

// takeData reads the value, whose size must fit in the rest of the message.
func (a *Attribute) takeData(c *cursor) error {
	n := uint64(0)
	if a.Space != Null {
		var ok bool
		if n, ok = product(a.Shape); !ok || n > uint64(c.left())/uint64(a.Type.Size) {
			c.fail("attribute %q: a value of shape %v does not fit in the %d bytes that remain", a.Name, a.Shape, c.left())
			return c.err
		}
	}
	a.data = c.take(int(n) * a.Type.Size)
	return c.err
}
