package hdf5

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"varve/readers"
)

const maxLinks = 1 << 24

// links returns the members of the group with the given header, by name. What could be
// read before an error is returned with it.
func (f *File) links(ctx context.Context, h *header) ([]link, error) {
	list, err := f.unsortedLinks(ctx, h)
	slices.SortStableFunc(list, func(a, b link) int { return strings.Compare(a.name, b.name) })
	return list, err
}

func (f *File) unsortedLinks(ctx context.Context, h *header) ([]link, error) {
	if m, ok := h.find(msgLinkInfo); ok {
		c := f.over(m.data, m.addr-f.super.base)
		info := readLinkInfo(c)
		if c.err != nil {
			return nil, c.err
		}
		if info.heap != undefined {
			return f.denseLinks(ctx, info)
		}
		return f.linkMessages(h)
	}
	if m, ok := h.find(msgSymbolTable); ok {
		c := f.over(m.data, m.addr-f.super.base)
		tree, heap := c.address(), c.address()
		if c.err != nil {
			return nil, c.err
		}
		return f.symbolTable(ctx, tree, heap)
	}
	return nil, nil
}

// isGroup reports whether a header is a group's.
func (h *header) isGroup() bool {
	_, old := h.find(msgSymbolTable)
	_, info := h.find(msgLinkInfo)
	return old || info
}

func (f *File) linkMessages(h *header) ([]link, error) {
	var list []link
	for _, m := range h.messages {
		if m.kind != msgLink {
			continue
		}
		c := f.over(m.data, m.addr-f.super.base)
		l := readLink(c)
		if c.err != nil {
			return list, c.err
		}
		list = append(list, l)
	}
	return list, nil
}

// denseLinks reads links from a fractal heap, in the order of the hash of their names.
func (f *File) denseLinks(ctx context.Context, info denseInfo) ([]link, error) {
	heap, err := f.fractalHeap(ctx, info.heap)
	if err != nil {
		return nil, err
	}
	var list []link
	const hashSize = 4
	err = f.btree2(ctx, info.names, recordLinkName, func(r []byte) error {
		if len(list) >= maxLinks || len(r) < hashSize {
			return readers.Corruptf("group has too many links")
		}
		b, at, err := heap.object(ctx, r[hashSize:])
		if err != nil {
			return err
		}
		c := f.over(b, at)
		l := readLink(c)
		list = append(list, l)
		return c.err
	})
	return list, err
}

// symbolTable reads an old group: a v1 B-tree over symbol table nodes (III.B):
//
//	"SNOD", version, reserved, number
//	entries: name's offset in the heap, header's address, cache type, reserved, scratch
//
// libhdf5 writes the first as a length, where the specification says an address.
func (f *File) symbolTable(ctx context.Context, tree, heapAddr uint64) ([]link, error) {
	heap, err := f.readLocalHeap(ctx, heapAddr)
	if err != nil {
		return nil, err
	}
	var list []link
	t := btree1{f: f, kind: nodeGroup, keySize: f.super.lengths}
	seen := map[uint64]struct{}{}
	err = t.leaves(ctx, tree, func(c *cursor, n int) error {
		for range n {
			c.skip(f.super.lengths)
			addr := c.address()
			if _, again := seen[addr]; again || c.err != nil {
				c.fail("a symbol table node is met twice")
				return c.err
			}
			seen[addr] = struct{}{}
			if list, err = f.symbolNode(ctx, addr, heap, list); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

func (f *File) symbolNode(ctx context.Context, addr uint64, heap *localHeap, list []link) ([]link, error) {
	c, err := f.at(ctx, addr, 8)
	if err != nil {
		return list, err
	}
	c.signature("SNOD")
	c.version("a symbol table node", 1, 1)
	c.skip(1)
	n := c.u16()
	if c.err != nil {
		return list, c.err
	}
	entry := f.super.lengths + f.super.offsets + 24
	if c, err = f.at(ctx, addr+8, n*entry); err != nil {
		return list, err
	}
	for range n {
		l, err := symbolEntry(c, heap)
		if err != nil {
			return list, err
		}
		list = append(list, l)
	}
	return list, nil
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
	if cached == softLink {
		l.kind = linkSoft
		l.path, err = heap.text(uint64(binary.LittleEndian.Uint32(scratch)))
	}
	return l, err
}
