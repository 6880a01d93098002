package icechunk

import (
	"context"
	"strings"

	"varve/readers"
	"varve/readers/icechunk/file"
	"varve/readers/internal/zarrtree"
)

// array holds the positions of an array's manifests.
type array struct {
	id        [8]byte
	manifests []manifestRef
}

// manifestRef is a manifest and the range of chunks that it covers.
type manifestRef struct {
	key      string
	from, to []uint64 // along each axis; to is after the last chunk
}

// covers reports whether a chunk is in the manifest's range.
func (m *manifestRef) covers(index []uint64) bool {
	for k, n := range index {
		if n < m.from[k] || n >= m.to[k] {
			return false
		}
	}
	return true
}

// dataset reads a snapshot.
func (r *repo) dataset(ctx context.Context, id string, c *chunks, keepShards bool) (*readers.Dataset, error) {
	key := "snapshots/" + id
	f, err := readFile(ctx, r.src, key, file.Snapshot)
	if err != nil {
		return nil, err
	}
	c.arrays = map[string]*array{}
	nodes := c.nodes(f)
	if f.Err() != nil {
		return nil, &readers.Error{Source: r.src.MemberName(key), Offset: -1, Err: f.Err()}
	}
	format := "Icechunk 2"
	if r.isV1 {
		format = "Icechunk 1"
	}
	t := &zarrtree.Tree{Source: r.src, Format: format, Index: "manifests", Chunks: c, KeepShards: keepShards}
	return t.Dataset(nodes), ctx.Err()
}

// nodes reads the Snapshot table. The total size of documents is limited, because a small buffer
// can refer to the same document many times.
func (c *chunks) nodes(f *file.Buffer) []zarrtree.Node {
	v := f.Root().Vector(2, 4)
	var out []zarrtree.Node
	// Documents are stored once in real snapshots, so this leaves ample room.
	left := 4 * len(f.Bytes())
	for i := range v.N {
		node := v.Table(i)
		n := zarrtree.Node{Path: strings.TrimPrefix(node.Text(1), "/"), Zarr: node.Bytes(2)}
		if left -= len(n.Zarr) + len(n.Path); left < 0 {
			f.Fail(readers.Corruptf("nodes share documents, whose total size exceeds the limit"))
		}
		if n.Zarr == nil {
			n.Err = readers.Corruptf("node has no document")
		}
		if node.U8(3) == arrayNode {
			c.arrays[n.Path] = readArray(node)
		}
		if f.Err() != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

const arrayNode = 1 // value of the union NodeData

// readArray reads an ArrayNodeData table.
func readArray(node file.Table) *array {
	a := &array{}
	copy(a.id[:], node.Struct(0, 8))
	manifests := node.Inner(4).Vector(2, 4)
	for i := range manifests.N {
		t := manifests.Table(i)
		m := manifestRef{key: "manifests/" + file.Name(t.Struct(0, 12))}
		extents := t.Vector(1, 8)
		// A damaged count must not allocate memory.
		for k := range min(extents.N, maxRank) {
			m.from = append(m.from, extents.U32(2*k))
			m.to = append(m.to, extents.U32(2*k+1))
		}
		if node.Err() != nil {
			break
		}
		a.manifests = append(a.manifests, m)
	}
	return a
}

const maxRank = 1024 // largest rank of an array
