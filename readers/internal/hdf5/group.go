package hdf5

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"varve/readers"
	"varve/readers/lookup3"
)

const maxLinks = 1 << 24

// linkList collects the members of a group. Damage leaves out only the members that it affects.
type linkList struct {
	links  []link
	damage error // first error of a member that is not in links
}

// skipDamage records an error of damage and returns nil, so that reading continues. It returns every
// other error.
func (l *linkList) skipDamage(err error) error {
	if err != nil && !errors.Is(err, readers.ErrCorrupt) {
		return err
	}
	if l.damage == nil {
		l.damage = err
	}
	return nil
}

// add appends a member. If err is not nil and the name is known, it appends a damaged link;
// otherwise the member is lost.
func (l *linkList) add(m link, err error) error {
	if err == nil {
		l.links = append(l.links, m)
		return nil
	}
	if m.name == "" || !errors.Is(err, readers.ErrCorrupt) {
		return l.skipDamage(err)
	}
	l.links = append(l.links, link{name: m.name, kind: linkDamaged, order: m.order, addr: undefined, err: err})
	return nil
}

// links returns the members of the group with the given header, sorted by name. If the list is
// damaged, it returns the readable members and the error. A member whose name is readable, but not
// the rest, has an error of its own.
func (f *File) links(ctx context.Context, h *header) ([]link, error) {
	var l linkList
	err := l.skipDamage(f.readLinks(ctx, h, &l))
	if err == nil {
		err = l.damage
	}
	slices.SortStableFunc(l.links, func(a, b link) int { return strings.Compare(a.name, b.name) })
	return l.links, err
}

func (f *File) readLinks(ctx context.Context, h *header, l *linkList) error {
	if m, ok := h.find(msgLinkInfo); ok {
		c := f.newCursor(m.data, m.addr-f.super.base)
		info := readLinkInfo(c)
		if c.err != nil {
			return c.err
		}
		if info.heap != undefined {
			return f.denseLinks(ctx, info, l)
		}
		return f.linkMessages(h, l)
	}
	if m, ok := h.find(msgSymbolTable); ok {
		c := f.newCursor(m.data, m.addr-f.super.base)
		tree, heap := c.address(), c.address()
		if c.err != nil {
			return c.err
		}
		return f.symbolTable(ctx, tree, heap, l)
	}
	return nil
}

// isGroup reports whether a header belongs to a group.
func (h *header) isGroup() bool {
	_, old := h.find(msgSymbolTable)
	_, info := h.find(msgLinkInfo)
	return old || info
}

func (f *File) linkMessages(h *header, l *linkList) error {
	for _, m := range h.messages {
		if m.kind != msgLink {
			continue
		}
		c := f.newCursor(m.data, m.addr-f.super.base)
		one := readLink(c)
		if err := l.add(one, c.err); err != nil {
			return err
		}
	}
	return nil
}

// denseLinks reads links from a fractal heap, in the order of the hashes of their names.
func (f *File) denseLinks(ctx context.Context, info denseInfo, l *linkList) error {
	heap, err := f.fractalHeap(ctx, info.heap)
	if err != nil {
		return err
	}
	const hashSize = 4
	return f.visitBTree2(ctx, info.names, recordLinkName, func(r []byte) error {
		if len(l.links) >= maxLinks || len(r) < hashSize {
			return readers.Corruptf("group: more than %d links, or a record of %d bytes", maxLinks, len(r))
		}
		b, at, err := heap.object(ctx, r[hashSize:])
		if err != nil {
			return l.skipDamage(err)
		}
		c := f.newCursor(b, at)
		one := readLink(c)
		// libhdf5 looks a link up by this hash. With a wrong hash it never finds the link.
		if hash := binary.LittleEndian.Uint32(r); hash != lookup3.Sum([]byte(one.name)) {
			c.fail("link %q: hash %08x in the index belongs to another name", one.name, hash)
		}
		return l.add(one, c.err)
	}, l.skipDamage)
}

// symbolTable reads an old group: a v1 B-tree over symbol table nodes (III.B):
//
//	0   "SNOD"
//	4   version 1 (1 byte), reserved (1 byte), number of entries (2 bytes)
//	8   entries: offset of the name in the local heap (size of lengths),
//	    address of the object header, cache type (4), reserved (4), scratch pad (16)
//
// The specification gives the name's offset the size of addresses; libhdf5 writes the size of
// lengths. For a soft link (cache type 2), the scratch pad begins with the offset of the target
// path in the heap.
func (f *File) symbolTable(ctx context.Context, tree, heapAddr uint64, l *linkList) error {
	heap, err := f.readLocalHeap(ctx, heapAddr)
	if err != nil {
		return err
	}
	t := btree1{f: f, kind: nodeGroup, keySize: f.super.lengths, skipDamage: l.skipDamage}
	seen := map[uint64]struct{}{}
	return t.visitLeaves(ctx, tree, func(c *cursor, n int) error {
		for range n {
			// The keys only serve searches by name.
			c.skip(f.super.lengths)
			addr := c.address()
			if _, again := seen[addr]; again || c.err != nil {
				c.fail("symbol table node at address %d has two parents", addr)
				return c.err
			}
			seen[addr] = struct{}{}
			if err := l.skipDamage(f.symbolNode(ctx, addr, heap, l)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *File) symbolNode(ctx context.Context, addr uint64, heap *localHeap, l *linkList) error {
	c, err := f.cursorAt(ctx, addr, 8)
	if err != nil {
		return err
	}
	c.signature("SNOD")
	c.version("symbol table node", 1, 1)
	c.skip(1)
	n := c.u16()
	if c.err != nil {
		return c.err
	}
	entry := f.super.lengths + f.super.offsets + 24
	if c, err = f.cursorAt(ctx, addr+8, n*entry); err != nil {
		return err
	}
	for range n {
		one := c.sub(entry)
		if err := l.add(symbolEntry(&one, heap)); err != nil {
			return err
		}
	}
	return nil
}

func symbolEntry(c *cursor, heap *localHeap) (link, error) {
	name, addr := c.length(), c.address()
	cached := c.u32()
	c.skip(4)
	scratch := c.take(16)
	if c.err != nil {
		return link{}, c.err
	}
	l := link{addr: addr, order: -1}
	var err error
	if l.name, err = heap.text(name); err != nil {
		return l, err
	}
	if l.name == "" {
		c.fail("symbol table entry has no name")
		return l, c.err
	}
	const softLink = 2
	if cached > softLink {
		c.fail("symbol table entry: cache type is %d (want 0 to 2)", cached)
		return l, c.err
	}
	if cached == softLink {
		l.kind = linkSoft
		l.path, err = heap.text(uint64(binary.LittleEndian.Uint32(scratch)))
	}
	return l, err
}
