package hdf5

import (
	"context"
	"errors"

	"varve/readers/source"
)

// Sizes to prefetch for structures whose size is not known yet, in bytes.
const (
	prefetchHeaderSize = 1 << 10
	prefetchNodeSize   = 4 << 10
	prefetchHeapSize   = 256

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
//
// The members of groups among the children are prefetched too, all of one level together. Each group is expanded once, so
// the work is linear in the number of links.
func (w *walk) prefetchHeaders(ctx context.Context, children []pendingLink) {
	if !w.f.shouldPrefetch() {
		return
	}
	for level := 0; level < prefetchLevels && len(children) > 0; level++ {
		children = w.prefetchLevel(ctx, children)
	}
}

const (
	prefetchLevels = 4
	// prefetchAhead limits the members that are prefetched before their group is visited: the cache is small.
	prefetchAhead = 2000
)

// prefetchLevel prefetches the headers of children, and what these have in heaps. It returns the members of groups among
// them that were not expanded before.
func (w *walk) prefetchLevel(ctx context.Context, children []pendingLink) (members []pendingLink) {
	var first, more []source.Range
	for _, p := range children {
		if p.link.kind == linkHard && w.byAddr[p.link.addr] == nil {
			first = w.f.appendRange(first, p.link.addr, prefetchHeaderSize)
		}
	}
	// One header is read in one request anyway.
	if len(first) < 2 || w.f.src.Prefetch(ctx, first) != nil {
		return nil
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
	if w.f.src.Prefetch(ctx, more) != nil {
		return nil
	}
	for _, h := range w.prefetchHeaps(ctx, children) {
		if w.expanded[h.addr] || len(members) >= prefetchAhead {
			continue
		}
		if w.expanded == nil {
			w.expanded = map[uint64]bool{}
		}
		w.expanded[h.addr] = true
		links, err := w.f.links(ctx, h)
		if err != nil {
			continue
		}
		for _, l := range links[:min(len(links), prefetchAhead-len(members))] {
			members = append(members, pendingLink{link: l})
		}
	}
	return members
}

// prefetchHeaps prefetches the attributes and links of children that are stored in heaps: first the headers of the heaps and
// of the indexes of names, then their roots, then the other blocks of the heaps. It returns the headers of the groups.
func (w *walk) prefetchHeaps(ctx context.Context, children []pendingLink) (groups []*header) {
	f := w.f
	type dense struct {
		denseInfo
		record int // kind of the records of the index
	}
	var infos []dense
	heads := f.ranges()
	add := func(info denseInfo, c *cursor, record int) {
		if c.err == nil && info.heap != undefined {
			infos = append(infos, dense{info, record})
			heads.add(info.heap, prefetchHeapSize)
			heads.add(info.names, prefetchHeapSize)
		}
	}
	for _, p := range children {
		if p.link.kind != linkHard || w.byAddr[p.link.addr] != nil {
			continue
		}
		h := &header{}
		if f.readHeaderInto(ctx, p.link.addr, h) != nil {
			continue
		}
		if m, ok := h.find(msgAttributeInfo); ok {
			c := f.newCursor(m.data, m.addr-f.super.base)
			add(readAttributeInfo(c), c, recordAttributeName)
		}
		if m, ok := h.find(msgLinkInfo); ok {
			groups = append(groups, h)
			c := f.newCursor(m.data, m.addr-f.super.base)
			add(readLinkInfo(c), c, recordLinkName)
		}
	}
	if len(infos) < 2 {
		return groups
	}
	if heads.prefetch(ctx) != nil {
		return nil
	}
	var heaps []*fractalHeap
	roots := f.ranges()
	for _, info := range infos {
		if t, err := f.openBTree2(ctx, info.names, info.record); err == nil {
			roots.add(t.root, uint64(t.nodeSize))
		}
		heap, err := f.fractalHeap(ctx, info.heap)
		switch {
		case err != nil:
		case heap.rootRows == 0:
			roots.add(heap.root, max(heap.startSize, heap.rootSize))
		default:
			heaps = append(heaps, heap)
			roots.add(heap.root, uint64(heap.indirectSize(heap.rootRows)))
		}
	}
	if roots.prefetch(ctx) != nil {
		return nil
	}
	blocks := f.ranges()
	for _, heap := range heaps {
		root, err := heap.indirectBlock(ctx, heap.root, heap.rootRows)
		if err != nil {
			continue
		}
		for i, child := range root.children[:min(heap.rootRows, heap.directRows())*heap.width] {
			blocks.add(child.addr, max(heap.rowSize(i/heap.width), child.size))
		}
	}
	if blocks.prefetch(ctx) != nil {
		return nil
	}
	return groups
}

// prefetchList is a list of ranges to prefetch, with a limit of their bytes.
type prefetchList struct {
	f     *File
	list  []source.Range
	bytes uint64
}

// maxPrefetch limits the bytes of a prefetchList. More are read when they are needed.
const maxPrefetch = 4 << 20

func (f *File) ranges() *prefetchList { return &prefetchList{f: f} }

// add adds the range of n bytes at an address, unless it is undefined.
func (p *prefetchList) add(addr, n uint64) {
	if addr != undefined && n <= maxPrefetch-p.bytes {
		p.bytes += n
		p.list = p.f.appendRange(p.list, addr, n)
	}
}

// errPrefetched says that a file has had more prefetched than it can need: it is damaged or hostile.
var errPrefetched = errors.New("enough is prefetched")

func (p *prefetchList) prefetch(ctx context.Context) error {
	if most := 2*p.f.src.Size() + maxPrefetch; p.f.prefetched.Add(int64(p.bytes)) > most {
		return errPrefetched
	}
	return p.f.src.Prefetch(ctx, p.list)
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
	var arrays []*chunkIndex
	for _, o := range w.Objects {
		// Single chunks and implicit indexes have no index structure in the file.
		if o.Dataset != nil && o.Dataset.layout.index != indexSingle && o.Dataset.layout.index != indexImplicit && o.Dataset.Chunk != nil {
			list = w.f.appendRange(list, o.Dataset.layout.addr, prefetchNodeSize)
			if o.Dataset.layout.index == indexExtensibleArray {
				arrays = append(arrays, o.Dataset.index())
			}
		}
	}
	w.f.mu.Lock()
	w.f.indexes, w.f.arrays = list, arrays
	w.f.mu.Unlock()
}

// prefetchIndexes prefetches the roots of all chunk indexes when the first of them is read.
func (f *File) prefetchIndexes(ctx context.Context) {
	f.mu.Lock()
	list, arrays := f.indexes, f.arrays
	// Clear the lists, so that only the first index causes requests.
	f.indexes, f.arrays = nil, nil
	f.mu.Unlock()
	if f.src.Prefetch(ctx, list) == nil && len(arrays) > 1 {
		f.prefetchBlocks(ctx, arrays)
	}
}

// prefetchBlocks prefetches the next levels of extensible arrays, whose headers are in the cache: first all index blocks,
// then the blocks that these list. Errors are ignored here: reading an array meets them again and reports them.
func (f *File) prefetchBlocks(ctx context.Context, arrays []*chunkIndex) {
	heads := make([]*extensibleArray, len(arrays))
	roots := f.ranges()
	for i, x := range arrays {
		if a, err := x.earrayHeader(ctx); err == nil && a.indexBlock != undefined {
			_, _, size := a.indexParts()
			heads[i] = a
			roots.add(a.indexBlock, uint64(size))
		}
	}
	if roots.prefetch(ctx) != nil {
		return
	}
	below := f.ranges()
	for i, x := range arrays {
		a := heads[i]
		if a == nil {
			continue
		}
		_, blocks, supers, err := x.earrayParts(ctx, a)
		if err != nil {
			continue
		}
		for u := range min(a.direct(), a.superBlocks()) {
			for range a.blocks(u) {
				below.add(blocks.address(), a.dataSize(min(a.blockSize(u), maxPrefetch)))
			}
		}
		for supers.left() >= a.offsets {
			below.add(supers.address(), prefetchNodeSize)
		}
	}
	_ = below.prefetch(ctx)
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
