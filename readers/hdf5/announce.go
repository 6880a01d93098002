package hdf5

import (
	"context"

	"varve/readers/source"
)

// What is read of a structure whose size is not known yet.
const (
	announcedHeader = 1 << 10
	announcedNode   = 4 << 10

	smallFile = 256 << 10
)

// announces reports whether it pays to tell the source what is read next. The beginning of a
// file comes with opening it.
func (f *File) announces() bool { return f.src.Far() && f.src.Size() > smallFile }

// announce tells a source that is far away which object headers are read next, and what
// these go on with. In files whose variables were written in turn they lie apart, with the
// data of one between its header and the next; one after another they would cost a request
// each. What cannot be read is found out about, and said, when it is read.
func (w *walk) announce(ctx context.Context, children []pending) {
	if !w.f.announces() {
		return
	}
	var first, more []source.Range
	for _, p := range children {
		if p.link.kind == linkHard && w.byAddr[p.link.addr] == nil {
			first = w.f.appendRange(first, p.link.addr, announcedHeader)
		}
	}
	if len(first) < 2 || w.f.src.Prefetch(ctx, first) != nil {
		return
	}
	for _, p := range children {
		if p.link.kind != linkHard || w.byAddr[p.link.addr] != nil {
			continue
		}
		h, err := w.f.readFirstChunk(ctx, p.link.addr)
		if err != nil {
			continue
		}
		for _, s := range h.cont {
			more = w.f.appendRange(more, s.addr, s.size)
		}
	}
	_ = w.f.src.Prefetch(ctx, more)
}

// appendRange adds the bytes at an address to a list of ranges, as far as there are any.
func (f *File) appendRange(list []source.Range, addr, n uint64) []source.Range {
	off := addr + f.super.base
	if addr == undefined || off < addr || off >= uint64(f.end) {
		return list
	}
	return append(list, source.Range{Offset: int64(off), Length: int64(min(n, uint64(f.end)-off))})
}

// noteIndexes remembers where chunk indexes begin. Whoever reads one reads most.
func (w *walk) noteIndexes() {
	if !w.f.announces() {
		return
	}
	var list []source.Range
	for _, o := range w.Objects {
		if o.Dataset != nil && o.Dataset.layout.index != indexSingle && o.Dataset.layout.index != indexImplicit && o.Dataset.Chunk != nil {
			list = w.f.appendRange(list, o.Dataset.layout.addr, announcedNode)
		}
	}
	w.f.mu.Lock()
	w.f.indexes = list
	w.f.mu.Unlock()
}

// announceIndexes tells the source of all chunk indexes when the first of them is read.
func (f *File) announceIndexes(ctx context.Context) {
	f.mu.Lock()
	list := f.indexes
	f.indexes = nil
	f.mu.Unlock()
	_ = f.src.Prefetch(ctx, list)
}

// announce tells the source of a node's children.
func (t *btree1) announce(ctx context.Context, c cursor, n int) {
	if !t.f.announces() {
		return
	}
	var list []source.Range
	for range n {
		c.skip(t.keySize)
		if addr := c.address(); c.err == nil {
			list = t.f.appendRange(list, addr, uint64(max(t.guess, announcedNode)))
		}
	}
	_ = t.f.src.Prefetch(ctx, list)
}

// announce tells the source of a node's children.
func (t *btree2) announce(ctx context.Context, children cursor, level int) {
	if !t.f.announces() {
		return
	}
	below := &t.levels[level-1]
	var list []source.Range
	for children.left() > 0 {
		addr, n := children.address(), children.uint(t.countWidth())
		children.skip(below.allWidth)
		size := btree2NodeOverhead + min(n, below.records)*uint64(t.recordSize)
		if level > 1 {
			size = uint64(t.nodeSize)
		}
		list = t.f.appendRange(list, addr, size)
	}
	_ = t.f.src.Prefetch(ctx, list)
}
