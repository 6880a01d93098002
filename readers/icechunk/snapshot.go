package icechunk

import (
	"context"
	"strings"

	"varve/readers"
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
func (r *Repo) dataset(ctx context.Context, id string, reach []string) (*readers.Dataset, error) {
	key := "snapshots/" + id
	f, err := readFile(ctx, r.src, key, snapshotFile)
	if err != nil {
		return nil, err
	}
	c := &chunks{src: r.src, reach: reach, arrays: map[string]*array{}}
	nodes := c.nodes(f)
	if f.err != nil {
		return nil, &readers.Error{Source: r.src.MemberName(key), Offset: -1, Err: f.err}
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
func (c *chunks) nodes(f *flat) []zarrtree.Node {
	v := f.root().vector(2, 4)
	var out []zarrtree.Node
	left := 4 * len(f.data)
	for i := range v.n {
		node := v.table(i)
		n := zarrtree.Node{Path: strings.TrimPrefix(string(node.bytes(1)), "/"), Zarr: node.bytes(2)}
		if left -= len(n.Zarr) + len(n.Path); left < 0 && f.err == nil {
			f.err = readers.Corruptf("nodes share documents")
		}
		if n.Zarr == nil {
			n.Err = readers.Corruptf("a node without a document")
		}
		if node.u8(3, 0) == arrayNode {
			c.arrays[n.Path] = readArray(node)
		}
		if f.err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

const arrayNode = 1 // in the union NodeData

// readArray reads an ArrayNodeData.
func readArray(node table) *array {
	a := &array{}
	copy(a.id[:], node.structure(0, 8))
	manifests := node.inner(4).vector(2, 4)
	for i := range manifests.n {
		t := manifests.table(i)
		m := manifestRef{key: "manifests/" + encode32(t.structure(0, 12))}
		extents := t.vector(1, 8)
		for k := range min(extents.n, maxRank) {
			m.from = append(m.from, extents.u32(2*k))
			m.to = append(m.to, extents.u32(2*k+1))
		}
		if node.f.err != nil {
			break
		}
		a.manifests = append(a.manifests, m)
	}
	return a
}

const maxRank = 1024 // of an array whose extents are of use
