package icechunk

import (
	"context"
	"strings"

	"varve/readers"
	"varve/readers/icechunk/file"
	"varve/readers/internal/zarrtree"
)

// array is what a snapshot says of where the chunks of an array are.
type array struct {
	id        [8]byte
	manifests []manifestRef
}

// manifestRef is a manifest with the chunks that it is about.
type manifestRef struct {
	key      string
	from, to []uint64 // of each axis; to is behind the last
}

// covers reports whether a chunk is one that the manifest is about.
func (m *manifestRef) covers(index []uint64) bool {
	for k, n := range index {
		if n < m.from[k] || n >= m.to[k] {
			return false
		}
	}
	return true
}

// dataset reads a snapshot.
func (r *repo) dataset(ctx context.Context, id string, reach []string) (*readers.Dataset, error) {
	key := "snapshots/" + id
	f, err := readFile(ctx, r.src, key, file.Snapshot)
	if err != nil {
		return nil, err
	}
	c := &chunks{src: r.src, reach: reach, arrays: map[string]*array{}}
	nodes := c.nodes(f)
	if f.Err() != nil {
		return nil, &readers.Error{Source: r.src.MemberName(key), Offset: -1, Err: f.Err()}
	}
	format := "Icechunk 2"
	if r.v1 {
		format = "Icechunk 1"
	}
	t := &zarrtree.Tree{Source: r.src, Format: format, Index: "manifests", Chunks: c}
	return t.Dataset(nodes), ctx.Err()
}

// nodes reads the table Snapshot. Documents are counted, as a small buffer can hold the
// same one many times.
func (c *chunks) nodes(f *file.Buffer) []zarrtree.Node {
	v := f.Root().Vector(2, 4)
	var out []zarrtree.Node
	left := 4 * len(f.Bytes())
	for i := range v.N {
		node := v.Table(i)
		n := zarrtree.Node{Path: strings.TrimPrefix(node.Text(1), "/"), Zarr: node.Bytes(2)}
		if left -= len(n.Zarr) + len(n.Path); left < 0 {
			f.Fail(readers.Corruptf("nodes share documents"))
		}
		if n.Zarr == nil {
			n.Err = readers.Corruptf("a node without a document")
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

const arrayNode = 1 // in the union NodeData

// readArray reads an ArrayNodeData.
func readArray(node file.Table) *array {
	a := &array{}
	copy(a.id[:], node.Struct(0, 8))
	manifests := node.Inner(4).Vector(2, 4)
	for i := range manifests.N {
		t := manifests.Table(i)
		m := manifestRef{key: "manifests/" + file.Name(t.Struct(0, 12))}
		extents := t.Vector(1, 8)
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

const maxRank = 1024 // of an array whose extents are of use
