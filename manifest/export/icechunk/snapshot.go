package icechunk

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"varve/readers/icechunk/file"
)

// snapshot is the table Snapshot: all nodes of one version of the hierarchy.
type snapshot struct {
	id        objectID
	nodes     []node // sorted by path
	flushedAt uint64
	message   string
	metadata  []item
	manifests []manifestInfo // sorted by id
	extra     []byte
}

// node is an array or group.
type node struct {
	id    nodeID
	path  string
	doc   []byte // zarr.json
	array *arrayData
	extra []byte
}

// arrayData is a snapshot's description of an array, in addition to its document.
type arrayData struct {
	shape     []dimension
	names     []dimensionName
	named     bool // whether the array has dimension names
	manifests []manifestRef
}

type dimension struct {
	length uint64
	chunks uint32
}

type dimensionName struct {
	name  string
	named bool
}

// manifestRef is a manifest with the extents of an array's chunks in it. Extents of one array must not
// overlap: Icechunk reads only the first manifest that could contain a chunk.
type manifestRef struct {
	id      objectID
	extents []extent
}

// extent is a range of chunks along one axis, excluding to.
type extent struct{ from, to uint32 }

// manifestInfo is a snapshot's entry for a manifest file.
type manifestInfo struct {
	id    objectID
	size  uint64
	refs  uint32
	extra []byte
}

const (
	arrayNode = 1 // members of the union NodeData
	groupNode = 2
)

// read decodes the table Snapshot.
func (s *snapshot) read(f *file.Buffer) error {
	t := f.Root()
	t.Known("Snapshot", 9)
	s.id, s.flushedAt, s.message = objectAt(t, 0), t.U64(3), t.Text(4)
	s.metadata, s.extra = items(t.Vector(5, 4)), t.Bytes(8)
	t.Vector(2, 4).Each(func(t file.Table) { s.nodes = append(s.nodes, readNode(t)) })
	t.Vector(7, 4).Each(func(t file.Table) {
		t.Known("ManifestFileInfoV2", 4)
		s.manifests = append(s.manifests, manifestInfo{objectAt(t, 0), t.U64(1), t.U32(2), t.Bytes(3)})
	})
	if t.Vector(6, 24).N > 0 && f.Err() == nil {
		return newerf("the snapshot was written by Icechunk 1; only Icechunk can append to it")
	}
	return f.Err()
}

func readNode(t file.Table) node {
	t.Known("NodeSnapshot", 6)
	n := node{id: nodeAt(t, 0), path: t.Text(1), doc: bytes.Clone(t.Bytes(2)), extra: bytes.Clone(t.Bytes(5))}
	if t.U8(3) != arrayNode {
		return n
	}
	d := t.Inner(4)
	d.Known("ArrayNodeData", 4)
	n.array = &arrayData{}
	names := d.Vector(1, 4)
	n.array.named = names.There
	names.Each(func(t file.Table) {
		n.array.names = append(n.array.names, dimensionName{t.Text(0), t.Has(0)})
	})
	d.Vector(2, 4).Each(func(t file.Table) { n.array.manifests = append(n.array.manifests, readManifestRef(t)) })
	d.Vector(3, 4).Each(func(t file.Table) {
		n.array.shape = append(n.array.shape, dimension{t.U64(0), t.U32(1)})
	})
	return n
}

func readManifestRef(t file.Table) manifestRef {
	t.Known("ManifestRef", 2)
	m := manifestRef{id: objectAt(t, 0)}
	v := t.Vector(1, 8)
	for i := range v.N {
		m.extents = append(m.extents, extent{uint32(v.U32(2 * i)), uint32(v.U32(2*i + 1))})
	}
	return m
}

// encode returns the buffer of the table Snapshot.
func (s *snapshot) encode() []byte {
	// Icechunk finds nodes and manifests by binary search.
	slices.SortFunc(s.nodes, func(a, b node) int { return strings.Compare(a.path, b.path) })
	slices.SortFunc(s.manifests, func(a, b manifestInfo) int { return slices.Compare(a.id[:], b.id[:]) })
	nodes, manifests := tables{}, tables{}
	for i := range s.nodes {
		nodes = append(nodes, s.nodes[i].fields())
	}
	for i := range s.manifests {
		m := &s.manifests[i]
		manifests = append(manifests, fields{structure(m.id[:]), u64(m.size), u32(m.refs), orNone(m.extra, bytesOf(m.extra))})
	}
	return build(fields{structure(s.id[:]), nil, nodes, u64(s.flushedAt), text(s.message), itemTables(s.metadata),
		packed{}, manifests, orNone(s.extra, bytesOf(s.extra))})
}

func (n *node) fields() fields {
	kind, data := u8(groupNode), fields{}
	if n.array != nil {
		kind, data = arrayNode, n.array.fields()
	}
	return fields{structure(n.id[:]), text(n.path), bytesOf(n.doc), kind, data, orNone(n.extra, bytesOf(n.extra))}
}

func (a *arrayData) fields() fields {
	names, manifests, shape := tables{}, tables{}, tables{}
	for _, n := range a.names {
		f := fields{nil}
		if n.named {
			f[0] = text(n.name)
		}
		names = append(names, f)
	}
	for _, m := range a.manifests {
		extents := packed{n: len(m.extents)}
		for _, e := range m.extents {
			extents.data = binary.LittleEndian.AppendUint32(extents.data, e.from)
			extents.data = binary.LittleEndian.AppendUint32(extents.data, e.to)
		}
		manifests = append(manifests, fields{structure(m.id[:]), extents})
	}
	for _, d := range a.shape {
		shape = append(shape, fields{u64(d.length), u32(d.chunks)})
	}
	f := fields{packed{}, nil, manifests, shape}
	if a.named {
		f[1] = names
	}
	return f
}

// equal reports whether two versions of an array have the same shape and manifests.
func (a *arrayData) equal(b *arrayData) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	return a == nil || slices.Equal(a.shape, b.shape) && slices.EqualFunc(a.manifests, b.manifests, manifestRef.equal)
}

func (m manifestRef) equal(o manifestRef) bool {
	return m.id == o.id && slices.Equal(m.extents, o.extents)
}
