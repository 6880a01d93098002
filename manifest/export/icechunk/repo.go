package icechunk

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"time"

	"varve/readers/icechunk/file"
)

// repoInfo is the table Repo in the file "repo", the only file that changes.
type repoInfo struct {
	tags, branches []ref
	deletedTags    []string
	snapshots      []snapshotInfo
	status         status
	metadata       []item
	updates        []update // newest first
	before         string   // the backup file that has older updates
	config         []byte
	enabled        []uint16 // feature flags
	disabled       []uint16
	extra          []byte
}

// ref is a branch or tag.
type ref struct {
	name     string
	snapshot objectID
}

// snapshotInfo is a repository's entry for a snapshot. Files identify parents by their position in the sorted
// list; here they are ids, because insertions change positions.
type snapshotInfo struct {
	id        objectID
	parent    objectID
	root      bool // without a parent
	flushedAt uint64
	message   string
	metadata  []item
	pruned    []byte // ids of expired ancestors
}

type status struct {
	availability uint8
	setAt        uint64
	reason       string
}

// item is a named FlexBuffers value.
type item struct {
	name  string
	value []byte
}

// update is an entry in the log of operations. backup names a copy of the repo file from before the
// operation; the newest entry has none.
type update struct {
	kind   uint8
	body   fields
	at     uint64
	backup string
}

// Members of the union UpdateType.
const (
	initialized   = 1
	configChanged = 3
	newCommit     = 10
)

// read decodes the table Repo.
func (r *repoInfo) read(f *file.Buffer) error {
	t := f.Root()
	t.Known("Repo", 13)
	if version := t.U8(0); version != formatVersion && f.Err() == nil {
		return newerf("format version %d is not supported for writing (only %d)", version, formatVersion)
	}
	r.readSnapshots(t)
	r.tags, r.branches = r.refs(t.Vector(1, 4)), r.refs(t.Vector(2, 4))
	deleted := t.Vector(3, 4)
	for i := range deleted.N {
		r.deletedTags = append(r.deletedTags, deleted.Text(i))
	}
	s := t.Inner(5)
	s.Known("RepoStatus", 3)
	r.status = status{s.U8(0), s.U64(1), s.Text(2)}
	r.metadata = items(t.Vector(6, 4))
	t.Vector(7, 4).Each(func(t file.Table) { r.updates = append(r.updates, readUpdate(t)) })
	r.before, r.config = t.Text(8), t.Bytes(9)
	r.enabled, r.disabled, r.extra = t.U16s(10), t.U16s(11), t.Bytes(12)
	return f.Err()
}

func (r *repoInfo) readSnapshots(repo file.Table) {
	var parents []int32
	repo.Vector(4, 4).Each(func(t file.Table) {
		t.Known("SnapshotInfo", 6)
		s := snapshotInfo{id: objectAt(t, 0), flushedAt: t.U64(2), message: t.Text(3), metadata: items(t.Vector(4, 4)), pruned: t.Structs(5, 12)}
		parents = append(parents, int32(t.U32(1)))
		r.snapshots = append(r.snapshots, s)
	})
	for i, p := range parents {
		if p >= int32(len(parents)) {
			repo.Fail(corruptf("snapshot %v: invalid parent %d of %d", r.snapshots[i].id, p, len(parents)))
		}
		if r.snapshots[i].root = p < 0; p >= 0 && repo.Err() == nil {
			r.snapshots[i].parent = r.snapshots[p].id
		}
	}
}

func (r *repoInfo) refs(v file.Vector) (out []ref) {
	v.Each(func(t file.Table) {
		at := t.U32(1)
		if int(at) >= len(r.snapshots) {
			t.Fail(corruptf("%.80q refers to snapshot %d of %d", t.Text(0), at, len(r.snapshots)))
		}
		if t.Err() == nil {
			out = append(out, ref{t.Text(0), r.snapshots[at].id})
		}
	})
	return out
}

func items(v file.Vector) (out []item) {
	v.Each(func(t file.Table) {
		t.Known("MetadataItem", 2)
		out = append(out, item{t.Text(0), bytes.Clone(t.Bytes(1))})
	})
	return out
}

// updateFields describes the fields of each table in the union UpdateType, so that copies are complete: s is
// a string, i an id of 12 bytes, b one byte, h two bytes, t a status.
var updateFields = [...]string{1: "", 2: "bb", 3: "", 4: "", 5: "s", 6: "si", 7: "s", 8: "si", 9: "si", 10: "si", 11: "sii", 12: "i", 13: "", 14: "", 15: "hbb", 16: "t"}

func readUpdate(t file.Table) update {
	t.Known("Update", 4)
	u := update{kind: t.U8(0), at: t.U64(2), backup: t.Text(3)}
	if int(u.kind) >= len(updateFields) || u.kind == 0 {
		t.Fail(newerf("update of unknown type %d (known: 1 to %d)", u.kind, len(updateFields)-1))
		return u
	}
	body, form := t.Inner(1), updateFields[u.kind]
	body.Known("an update", len(form))
	u.body = fields{}
	for i, c := range form {
		u.body = append(u.body, readField(body, i, c))
	}
	return u
}

func readField(t file.Table, i int, form rune) value {
	if !t.Has(i) {
		return nil
	}
	switch form {
	case 's':
		return text(t.Text(i))
	case 'i':
		return structure(bytes.Clone(t.Struct(i, 12)))
	case 'b':
		return u8(t.U8(i))
	case 'h':
		return u16(t.U16(i))
	}
	s := t.Inner(i)
	return status{s.U8(0), s.U64(1), s.Text(2)}.fields()
}

func (s status) fields() fields {
	f := fields{u8(s.availability), u64(s.setAt), nil}
	if s.reason != "" {
		f[2] = text(s.reason)
	}
	return f
}

// encode returns the buffer of the table Repo.
func (r *repoInfo) encode() ([]byte, error) {
	number := map[objectID]u32{}
	for i, s := range r.snapshots {
		number[s.id] = u32(i)
	}
	var snapshots, updates tables
	for _, s := range r.snapshots {
		parent, ok := number[s.parent]
		if s.root {
			parent = ^u32(0) // -1
		} else if !ok {
			return nil, corruptf("snapshot %v: its parent %v does not exist", s.id, s.parent)
		}
		snapshots = append(snapshots, s.fields(parent))
	}
	for _, u := range r.updates {
		f := fields{u8(u.kind), u.body, u64(u.at), nil}
		if u.backup != "" {
			f[3] = text(u.backup)
		}
		updates = append(updates, f)
	}
	f := fields{u8(formatVersion), refList(r.tags, number), refList(r.branches, number), texts(r.deletedTags), snapshots,
		r.status.fields(), itemTables(r.metadata), updates, nil, orNone(r.config, bytesOf(r.config)),
		orNone(r.enabled, flags(r.enabled)), orNone(r.disabled, flags(r.disabled)), orNone(r.extra, bytesOf(r.extra))}
	if r.before != "" {
		f[8] = text(r.before)
	}
	return build(f), nil
}

func (s *snapshotInfo) fields(parent u32) fields {
	f := fields{structure(s.id[:]), parent, u64(s.flushedAt), text(s.message), itemTables(s.metadata), nil}
	if len(s.pruned) > 0 {
		f[5] = packed{n: len(s.pruned) / 12, data: s.pruned}
	}
	return f
}

func refList(refs []ref, number map[objectID]u32) (out tables) {
	for _, r := range refs {
		out = append(out, fields{text(r.name), number[r.snapshot]})
	}
	return out
}

func itemTables(items []item) (out tables) {
	for _, i := range items {
		out = append(out, fields{text(i.name), bytesOf(i.value)})
	}
	return out
}

// find returns the entry of a snapshot, or nil.
func (r *repoInfo) find(id objectID) *snapshotInfo {
	i := sort.Search(len(r.snapshots), func(i int) bool { return slices.Compare(r.snapshots[i].id[:], id[:]) >= 0 })
	if i == len(r.snapshots) || r.snapshots[i].id != id {
		return nil
	}
	return &r.snapshots[i]
}

// branch returns the tip of a branch.
func (r *repoInfo) branch(name string) (objectID, error) {
	for _, b := range r.branches {
		if b.name == name {
			return b.snapshot, nil
		}
	}
	return objectID{}, fmt.Errorf("branch %q does not exist", name)
}

// commit adds a snapshot to a branch. s.flushedAt must be later than all times in the repository.
func (r *repoInfo) commit(s snapshotInfo, branch string) {
	r.insert(s)
	for i := range r.branches {
		if r.branches[i].name == branch {
			r.branches[i].snapshot = s.id
		}
	}
	r.log(update{kind: newCommit, body: fields{text(branch), structure(s.id[:])}, at: s.flushedAt})
}

func (r *repoInfo) insert(s snapshotInfo) {
	i := sort.Search(len(r.snapshots), func(i int) bool { return slices.Compare(r.snapshots[i].id[:], s.id[:]) >= 0 })
	r.snapshots = slices.Insert(r.snapshots, i, s)
}

// updatesKept is the number of updates in the file, Icechunk's default. Older ones are in the backup of the
// last.
const updatesKept = 1000

func (r *repoInfo) log(u update) {
	r.updates = slices.Insert(r.updates, 0, u)
	for i := updatesKept; i < len(r.updates); i++ {
		if backup := r.updates[i].backup; backup != "" {
			r.before, r.updates = backup, r.updates[:i]
			return
		}
	}
}

// backup records the name of the copy of the file from before the newest update.
func (r *repoInfo) backup(name string) {
	if len(r.updates) > 1 {
		r.updates[1].backup = name
	}
}

// now returns the time in microseconds, or a later one if the repository already has that time: times must
// increase, whatever the clock says.
func (r *repoInfo) now(clock time.Time) uint64 {
	at := uint64(clock.UnixMicro())
	if len(r.updates) > 0 {
		at = max(at, r.updates[0].at+1)
	}
	return at
}
