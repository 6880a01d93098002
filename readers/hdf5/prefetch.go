package hdf5

import (
	"context"

	"varve/readers/source"
)

// Sizes to prefetch for structures whose size is not known yet, in bytes.
const (
	prefetchHeaderSize = 1 << 10
	prefetchNodeSize   = 4 << 10

	// smallFile is the size up to which a remote file is read almost whole when it is opened.
	smallFile = 256 << 10
)

// shouldPrefetch reports whether prefetching pays: the source is remote and the file is larger than the
// first request.
func (f *File) shouldPrefetch() bool { return f.src.Far() && f.src.Size() > smallFile }

// prefetchHeaders prefetches the object headers of children and the continuation blocks of these headers.
// Many writers store an object header between the data of two variables, so that reading the
// headers one after another would cost one request each. Errors are ignored here: the walk meets
// them again and reports them.
func (w *walk) prefetchHeaders(ctx context.Context, children []pendingLink) {
	if !w.f.shouldPrefetch() {
		return
	}
	var first, more []source.Range
	for _, p := range children {
		if p.link.kind == linkHard && w.byAddr[p.link.addr] == nil {
			first = w.f.appendRange(first, p.link.addr, prefetchHeaderSize)
		}
	}
	// One header is read in one request anyway.
	if len(first) < 2 || w.f.src.Prefetch(ctx, first) != nil {
		return
	}
	for _, p := range children {
		if p.link.kind != linkHard || w.byAddr[p.link.addr] != nil {
			continue
		}
		// The first chunk of the header is in the cache now; it lists the continuation blocks.
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

// appendRange appends the range of n bytes at an address, cut at the end of the file. It appends
// nothing for addresses outside the file.
func (f *File) appendRange(list []source.Range, addr, n uint64) []source.Range {
	off := addr + f.super.base
	if addr == undefined || off < addr || off >= uint64(f.end) {
		return list
	}
	return append(list, source.Range{Offset: int64(off), Length: int64(min(n, uint64(f.end)-off))})
}

// noteIndexes stores the positions of all chunk indexes, because a caller that reads one usually reads
// most of them.
func (w *walk) noteIndexes() {
	if !w.f.shouldPrefetch() {
		return
	}
	var list []source.Range
	for _, o := range w.Objects {
		// Single chunks and implicit indexes have no index structure in the file.
		if o.Dataset != nil && o.Dataset.layout.index != indexSingle && o.Dataset.layout.index != indexImplicit && o.Dataset.Chunk != nil {
			list = w.f.appendRange(list, o.Dataset.layout.addr, prefetchNodeSize)
		}
	}
	w.f.mu.Lock()
	w.f.indexes = list
	w.f.mu.Unlock()
}

// prefetchIndexes prefetches the roots of all chunk indexes when the first of them is read.
func (f *File) prefetchIndexes(ctx context.Context) {
	f.mu.Lock()
	list := f.indexes
	// Clear the list, so that only the first index causes requests.
	f.indexes = nil
	f.mu.Unlock()
	_ = f.src.Prefetch(ctx, list)
}

// prefetchChildren prefetches the n children of a node.
func (t *btree1) prefetchChildren(ctx context.Context, c cursor, n int) {
	if !t.f.shouldPrefetch() {
		return
	}
	var list []source.Range
	for range n {
		c.skip(t.keySize)
		if addr := c.address(); c.err == nil {
			list = t.f.appendRange(list, addr, uint64(max(t.guess, prefetchNodeSize)))
		}
	}
	_ = t.f.src.Prefetch(ctx, list)
}

// prefetchChildren prefetches the children of a node of the given level.
func (t *btree2) prefetchChildren(ctx context.Context, children cursor, level int) {
	if !t.f.shouldPrefetch() {
		return
	}
	below := &t.levels[level-1]
	var list []source.Range
	for children.left() > 0 {
		addr, n := children.address(), children.uint(t.countWidth())
		children.skip(below.allWidth)
		size := btree2NodeOverhead + min(n, below.records)*uint64(t.recordSize)
		// Only a node above the leaves can be read whole: the size of a leaf follows from its
		// number of records.
		if level > 1 {
			size = uint64(t.nodeSize)
		}
		list = t.f.appendRange(list, addr, size)
	}
	_ = t.f.src.Prefetch(ctx, list)
}
