package netcdffile

import (
	"context"
)

// index is the version 1 B-tree of a variable's chunks. Nodes of one level follow one another, the leaves first.
//
//	node  "TREE" 1 level u8 used u16  left u64 right u64  key child key child … key
//	key   size u32 mask u32 offset u64 per axis, 0 u64
type index struct {
	area   *area
	counts []int64 // of chunks, along each axis
	shape  []int64 // of a chunk
	tail   int     // axes that chunks are not divided along
	begin  int64
	levels []int64 // the number of nodes of each level
}

const nodeHeader = 24

func newIndex(a *area, counts, shape []int64, tail int) *index {
	x := &index{area: a, counts: counts, shape: shape, tail: tail}
	for n := a.count; n > 0; {
		n = (n + window - 1) / window
		if x.levels = append(x.levels, n); n == 1 {
			break
		}
	}
	return x
}

func (x *index) keySize() int64  { return 8 + 8*int64(len(x.counts)+x.tail+1) }
func (x *index) nodeSize() int64 { return nodeHeader + (window+1)*x.keySize() + window*8 }

func (x *index) size() (n int64) {
	for _, nodes := range x.levels {
		n += nodes * x.nodeSize()
	}
	return n
}

// address returns the address of a node.
func (x *index) address(level int, node int64) uint64 {
	if node < 0 || node >= x.levels[level] {
		return undefined
	}
	for _, nodes := range x.levels[:level] {
		node += nodes
	}
	return uint64(x.begin + node*x.nodeSize())
}

// root returns the address of the root.
func (x *index) root() uint64 {
	if len(x.levels) == 0 {
		return undefined
	}
	return x.address(len(x.levels)-1, 0)
}

// read fills b with the bytes at an offset in the index.
func (x *index) read(ctx context.Context, b []byte, off int64) error {
	size := x.nodeSize()
	for len(b) > 0 {
		level, node := 0, off/size
		for node >= x.levels[level] {
			node -= x.levels[level]
			level++
		}
		made, err := x.node(ctx, level, node)
		if err != nil {
			return err
		}
		within := off % size
		clear(b[:min(int64(len(b)), size-within)])
		if within < int64(len(made)) {
			copy(b, made[within:])
		}
		n := min(int64(len(b)), size-within)
		b, off = b[n:], off+n
	}
	return nil
}

// node makes a node.
func (x *index) node(ctx context.Context, level int, node int64) ([]byte, error) {
	var list []chunk
	p := &packer{}
	p.text("TREE")
	p.u8(1, byte(level))
	p.u16(0)
	p.u64(x.address(level, node-1))
	p.u64(x.address(level, node+1))
	used := uint16(0)
	// reach is the number of chunks below a child.
	reach := int64(1)
	for range level {
		reach *= window
	}
	first := node * window * reach
	if level == 0 {
		var err error
		if list, err = x.area.chunks.window(ctx, first); err != nil {
			return nil, err
		}
		at := x.area.addresses(first, list)
		for i := range list {
			if list[i].size > 0 {
				x.key(p, &list[i], first+int64(i))
				p.u64(uint64(at[i]))
				used++
			}
		}
		// A node must have a child: that of a window without stored chunks is a chunk that is not stored.
		if used == 0 {
			x.key(p, &chunk{}, first)
			p.u64(undefined)
			used++
		}
	} else {
		for child := node * window; child < min((node+1)*window, x.levels[level-1]); child++ {
			x.key(p, &chunk{}, child*reach)
			p.u64(x.address(level-1, child))
			used++
		}
	}
	x.key(p, &chunk{}, min(first+window*reach, x.area.count))
	p.b[6], p.b[7] = byte(used), byte(used>>8)
	return p.b, nil
}

// key appends the key of a chunk, or the one after the last chunk.
func (x *index) key(p *packer, c *chunk, number int64) {
	p.u32(uint32(c.size))
	p.u32(c.mask)
	offset := make([]int64, len(x.counts))
	for k := len(x.counts) - 1; k >= 0; k-- {
		n := x.counts[k]
		if k == 0 {
			offset[k] = number * x.shape[k]
			break
		}
		offset[k] = number % n * x.shape[k]
		number /= n
	}
	for _, o := range offset {
		p.u64(uint64(o))
	}
	for range x.tail + 1 {
		p.u64(0)
	}
}
