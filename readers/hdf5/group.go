package hdf5

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"varve/readers"
)

const maxLinks = 1 << 24

// linkList collects the members of a group. What is damaged leaves out no more than it says.
type linkList struct {
	links []link
	lost  error // of the first member that is not among links
}

// lose keeps the error of what is damaged, and returns any other: then there is no more to be read.
func (l *linkList) lose(err error) error {
	if err != nil && !errors.Is(err, readers.ErrCorrupt) {
		return err
	}
	if l.lost == nil {
		l.lost = err
	}
	return nil
}

// add adds a member, or what is known of it: if that is no name, it is lost.
func (l *linkList) add(m link, err error) error {
	if err == nil {
		l.links = append(l.links, m)
		return nil
	}
	if m.name == "" || !errors.Is(err, readers.ErrCorrupt) {
		return l.lose(err)
	}
	l.links = append(l.links, link{name: m.name, kind: linkDamaged, order: m.order, addr: undefined, err: err})
	return nil
}

// links returns the members of the group with the given header, by name. What could be read of a
// damaged list is returned with the error. A member with a name of which the rest is damaged has an
// error of its own.
func (f *File) links(ctx context.Context, h *header) ([]link, error) {
	var l linkList
	err := l.lose(f.readLinks(ctx, h, &l))
	if err == nil {
		err = l.lost
	}
	slices.SortStableFunc(l.links, func(a, b link) int { return strings.Compare(a.name, b.name) })
	return l.links, err
}

func (f *File) readLinks(ctx context.Context, h *header, l *linkList) error {
	if m, ok := h.find(msgLinkInfo); ok {
		c := f.over(m.data, m.addr-f.super.base)
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
		c := f.over(m.data, m.addr-f.super.base)
		tree, heap := c.address(), c.address()
		if c.err != nil {
			return c.err
		}
		return f.symbolTable(ctx, tree, heap, l)
	}
	return nil
}

// isGroup reports whether a header is a group's.
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
		c := f.over(m.data, m.addr-f.super.base)
		one := readLink(c)
		if err := l.add(one, c.err); err != nil {
			return err
		}
	}
	return nil
}

// denseLinks reads links from a fractal heap, in the order of the hash of their names.
func (f *File) denseLinks(ctx context.Context, info denseInfo, l *linkList) error {
	heap, err := f.fractalHeap(ctx, info.heap)
	if err != nil {
		return err
	}
	const hashSize = 4
	return f.btree2(ctx, info.names, recordLinkName, func(r []byte) error {
		if len(l.links) >= maxLinks || len(r) < hashSize {
			return readers.Corruptf("group has too many links")
		}
		b, at, err := heap.object(ctx, r[hashSize:])
		if err != nil {
			return l.lose(err)
		}
		c := f.over(b, at)
		one := readLink(c)
		if hash := binary.LittleEndian.Uint32(r); hash != lookup3([]byte(one.name)) {
			c.fail("link %q is found by the number %08x, which is that of another name", one.name, hash)
		}
		return l.add(one, c.err)
	}, l.lose)
}

// symbolTable reads an old group: a v1 B-tree over symbol table nodes (III.B):
//
//	"SNOD", version, reserved, number
//	entries: name's offset in the heap, header's address, cache type, reserved, scratch
//
// libhdf5 writes the first as a length, where the specification says an address.
func (f *File) symbolTable(ctx context.Context, tree, heapAddr uint64, l *linkList) error {
	heap, err := f.readLocalHeap(ctx, heapAddr)
	if err != nil {
		return err
	}
	t := btree1{f: f, kind: nodeGroup, keySize: f.super.lengths, lose: l.lose}
	seen := map[uint64]struct{}{}
	return t.leaves(ctx, tree, func(c *cursor, n int) error {
		for range n {
			c.skip(f.super.lengths)
			addr := c.address()
			if _, again := seen[addr]; again || c.err != nil {
				c.fail("a symbol table node is met twice")
				return c.err
			}
			seen[addr] = struct{}{}
			if err := l.lose(f.symbolNode(ctx, addr, heap, l)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *File) symbolNode(ctx context.Context, addr uint64, heap *localHeap, l *linkList) error {
	c, err := f.at(ctx, addr, 8)
	if err != nil {
		return err
	}
	c.signature("SNOD")
	c.version("a symbol table node", 1, 1)
	c.skip(1)
	n := c.u16()
	if c.err != nil {
		return c.err
	}
	entry := f.super.lengths + f.super.offsets + 24
	if c, err = f.at(ctx, addr+8, n*entry); err != nil {
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
		c.fail("a member of a group has no name")
		return l, c.err
	}
	const softLink = 2
	if cached > softLink {
		c.fail("type of a symbol table's entry is %d, not from 0 to 2", cached)
		return l, c.err
	}
	if cached == softLink {
		l.kind = linkSoft
		l.path, err = heap.text(uint64(binary.LittleEndian.Uint32(scratch)))
	}
	return l, err
}
