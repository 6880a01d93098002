package icechunk

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"

	"varve/grid"
	"varve/manifest/internal/change"
)

// ConflictError reports that another writer changed a node that this append would change.
type ConflictError struct {
	Path   string // of the node
	Commit string // the tip of the branch and its message
	Why    string
}

// Error returns the conflict and how to resolve it.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %s since varve's last export (the branch is at %s); export to another folder or branch, or undo that commit", e.Path, e.Why, e.Commit)
}

// merger merges three versions: the tip of the branch, varve's last export on it, and the new export.
type merger struct {
	tip, ours map[string]*node  // nodes by path, of the tip and of varve's last export
	before    map[string]target // the targets of that export, by path
	others    map[string]bool   // paths where that export kept another writer's changes
	changes   *change.Snapshots // nil if there is no earlier export
	most      int64             // maximum number of refs in a manifest
	cuts      map[string]int64  // see Options.ManifestChunks
	ids       *names
	commit    string

	nodes []node
	kept  []string // paths whose changes by another writer are kept
	parts []*part
	log   *transaction
}

func byPath(s *snapshot) map[string]*node {
	out := map[string]*node{}
	if s != nil {
		for i := range s.nodes {
			out[s.nodes[i].path] = &s.nodes[i]
		}
	}
	return out
}

// merge computes the nodes of the next snapshot, the parts to write and the log.
func (m *merger) merge(ctx context.Context, targets []target) error {
	for dim := range m.cuts {
		has := func(t target) bool { return t.array != nil && slices.Contains(dimNames(t.array), dim) }
		if !slices.ContainsFunc(targets, has) {
			return fmt.Errorf("manifests cannot be cut along %s: no array has that dimension", dim)
		}
	}
	wanted := map[string]bool{}
	for _, t := range targets {
		wanted[t.path] = true
		if err := m.target(ctx, t); err != nil {
			return err
		}
	}
	for path, tip := range m.tip {
		if wanted[path] {
			continue
		}
		if err := m.other(path, tip); err != nil {
			return err
		}
	}
	return m.orphans()
}

func (m *merger) conflict(path, why string) error {
	return &ConflictError{Path: path, Commit: m.commit, Why: why}
}

// target merges one node of the new export.
func (m *merger) target(ctx context.Context, t target) error {
	before, wrote := m.before[t.path]
	tip := m.tip[t.path]
	switch {
	case tip == nil && wrote:
		return m.conflict(t.path, "was deleted or moved")
	case tip == nil:
		return m.create(t)
	case !wrote:
		return m.conflict(t.path, "was created by another writer")
	}
	ch, err := m.change(ctx, t, before)
	if err != nil {
		return err
	}
	changed := ch.Kind != change.None || !bytes.Equal(before.doc, t.doc)
	theirs := m.theirs(t.path)
	switch {
	case theirs && changed:
		return m.conflict(t.path, "was changed")
	case changed:
		return m.update(t, *tip, ch)
	case theirs:
		m.kept = append(m.kept, t.path)
	}
	m.nodes = append(m.nodes, *tip)
	return nil
}

// theirs reports whether another writer changed a node that varve wrote.
func (m *merger) theirs(path string) bool {
	tip, ours := m.tip[path], m.ours[path]
	return m.others[path] || ours == nil || tip.id != ours.id || !bytes.Equal(tip.doc, ours.doc) || !tip.array.equal(ours.array)
}

func (m *merger) change(ctx context.Context, t, before target) (change.Change, error) {
	switch {
	case (t.array == nil) != (before.array == nil):
		return change.Change{}, m.conflict(t.path, "would change between a group and an array, which Icechunk does not allow")
	case t.array == nil:
		return change.Change{}, nil
	case m.changes == nil:
		return change.Change{Kind: change.Everything}, nil
	}
	return m.changes.Of(ctx, t.array.spec, t.array.grid)
}

func (m *merger) create(t target) error {
	id, err := m.ids.node()
	if err != nil {
		return err
	}
	n := node{id: id, path: t.path, doc: t.doc}
	if t.array == nil {
		m.log.newGroups = append(m.log.newGroups, id)
	} else {
		m.log.newArrays = append(m.log.newArrays, id)
		n.array = t.array.data()
		m.write(t.array, id, grid.Whole(t.array.grid.Counts()), change.Change{Axis: -1})
	}
	m.nodes = append(m.nodes, n)
	return nil
}

// update changes a node that only varve has written.
func (m *merger) update(t target, n node, ch change.Change) error {
	if !bytes.Equal(n.doc, t.doc) {
		if t.array == nil {
			m.log.updatedGroups = append(m.log.updatedGroups, n.id)
		} else {
			m.log.updatedArrays = append(m.log.updatedArrays, n.id)
		}
	}
	n.doc = t.doc
	if t.array != nil {
		old := n.array.manifests
		n.array = t.array.data()
		n.array.manifests = m.rewrite(t.array, n.id, old, ch)
	}
	m.nodes = append(m.nodes, n)
	return nil
}

// rewrite adds the changed chunks to the parts to write, and returns the manifests that stay. A manifest with
// any changed chunk is replaced as a whole, because Icechunk may use any ref in a manifest, whatever extents
// the snapshot gives.
func (m *merger) rewrite(a *inputArray, id nodeID, old []manifestRef, ch change.Change) []manifestRef {
	box := grid.Whole(a.grid.Counts()).Clone()
	switch ch.Kind {
	case change.None:
		return old
	case change.Everything:
		m.write(a, id, box, change.Change{Axis: -1})
		return nil
	}
	from := m.start(box, old, ch, m.windows(a)[ch.Axis])
	box.Shape[ch.Axis] -= from
	box.Origin[ch.Axis] = from
	m.write(a, id, box, ch)
	return slices.DeleteFunc(slices.Clone(old), func(r manifestRef) bool { return int64(r.extents[ch.Axis].to) > from })
}

// start returns the first chunk, along the axis of a change, that new manifests contain. It is the beginning
// of the first manifest with changed chunks, or of earlier small manifests, so that many appends do not leave
// many manifests. A manifest is replaced only by one that is at least half as large, so each ref is rewritten
// a logarithmic number of times. Manifests of different windows stay apart, and a window that is now complete gets one.
func (m *merger) start(box grid.Region, old []manifestRef, ch change.Change, window int64) int64 {
	from, first := ch.From, int64(0)
	if window > 0 {
		first = from / window * window
		if box.Shape[ch.Axis] >= first+window {
			from = first
		}
	}
	for again := true; again; {
		again = false
		// Moving the start may reach into another manifest, so repeat until none overlaps.
		for _, r := range old {
			e := r.extents[ch.Axis]
			if int64(e.to) > from && int64(e.from) < from {
				from, again = int64(e.from), true
			}
		}
	}
	slab := chunks(box) / max(box.Shape[ch.Axis], 1)
	for {
		last := lastSlab(old, box, ch.Axis, from)
		if last < first || (from-last)*slab > 2*(box.Shape[ch.Axis]-from)*slab || (box.Shape[ch.Axis]-last)*slab > m.most {
			return from
		}
		from = last
	}
}

// lastSlab returns the start, along an axis, of a manifest that ends at end and contains all chunks between,
// or -1.
func lastSlab(old []manifestRef, box grid.Region, axis int, end int64) int64 {
	for _, r := range old {
		whole := int64(r.extents[axis].to) == end
		for k, e := range r.extents {
			whole = whole && (k == axis || e.from == 0 && int64(e.to) == box.Shape[k])
		}
		if whole {
			return int64(r.extents[axis].from)
		}
	}
	return -1
}

// write adds a box of chunks to the parts to write.
func (m *merger) write(a *inputArray, id nodeID, box grid.Region, ch change.Change) {
	if box.IsEmpty() {
		return
	}
	log := newWritten(id, a.grid)
	m.log.chunks = append(m.log.chunks, log)
	windows := m.windows(a)
	isCut := slices.ContainsFunc(windows, func(n int64) bool { return n > 0 })
	for _, w := range cut(box, windows) {
		for _, b := range split(w, m.most) {
			m.parts = append(m.parts, &part{array: a, node: id, box: b, log: log, axis: ch.Axis, fresh: ch.From, alone: isCut})
		}
	}
}

// windows returns the number of chunks after which another manifest begins, for each axis of an array; 0 means never.
func (m *merger) windows(a *inputArray) []int64 {
	sizes := make([]int64, a.grid.Rank())
	for k, dim := range dimNames(a) {
		sizes[k] = m.cuts[dim]
	}
	return sizes
}

// dimNames returns the names of an array's dimensions, without groups.
func dimNames(a *inputArray) (names []string) {
	for _, dim := range a.spec.Dims {
		names = append(names, path.Base(dim))
	}
	return names
}

// other merges a node of the tip that the new export does not have: one of varve is deleted, one of another
// writer stays.
func (m *merger) other(path string, tip *node) error {
	if _, wrote := m.before[path]; !wrote {
		m.nodes = append(m.nodes, *tip)
		return nil
	}
	if m.theirs(path) {
		return m.conflict(path, "was removed from the manifest, but another writer changed it")
	}
	if tip.array == nil {
		m.log.deletedGroups = append(m.log.deletedGroups, tip.id)
	} else {
		m.log.deletedArrays = append(m.log.deletedArrays, tip.id)
	}
	return nil
}

// orphans rejects nodes whose parent group was deleted or became an array.
func (m *merger) orphans() error {
	groups := map[string]bool{"": true}
	for _, n := range m.nodes {
		if n.array == nil {
			groups[n.path] = true
		}
	}
	for _, n := range m.nodes {
		if parent := n.path[:lastSlash(n.path)]; n.path != "/" && !groups[parent] {
			return m.conflict(parent, "contains nodes of another writer, but would be deleted or become an array")
		}
	}
	return nil
}
