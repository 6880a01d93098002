package icechunk

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/grid"
	"varve/readers/icechunk/file"
)

func sampleRepo() *repoInfo {
	first, second := objectID{2}, objectID{1}
	return &repoInfo{
		tags:        []ref{{"v1", first}},
		branches:    []ref{{"main", second}, {"other", first}},
		deletedTags: []string{"gone", "lost"},
		snapshots: []snapshotInfo{
			{id: second, parent: first, flushedAt: 20, message: "two", metadata: []item{{"varve", []byte{1, 2}}}, pruned: bytes.Repeat([]byte{7}, 24)},
			{id: first, root: true, flushedAt: 10, message: rootMessage},
		},
		status:   status{availability: 1, setAt: 5, reason: "moving"},
		metadata: []item{{"owner", []byte{3}}},
		updates: []update{
			{kind: newCommit, body: fields{text("main"), structure(second[:])}, at: 20},
			{kind: 16, body: fields{status{1, 5, "moving"}.fields()}, at: 15, backup: "repo.2"},
			{kind: 15, body: fields{u16(300), u8(1), nil}, at: 12, backup: "repo.1"},
			{kind: initialized, body: fields{}, at: 10, backup: "repo.0"},
		},
		before:   "repo.x",
		config:   []byte{0, 0, 1},
		enabled:  []uint16{1, 500},
		disabled: []uint16{},
		extra:    []byte("extra"),
	}
}

func sampleSnapshot() *snapshot {
	return &snapshot{
		id: objectID{9},
		nodes: []node{
			{id: nodeID{1}, path: "/", doc: []byte("{}")},
			{id: nodeID{2}, path: "/a", doc: []byte(`{"a":1}`), extra: []byte{1}, array: &arrayData{
				shape:     []dimension{{1 << 40, 7}, {3, 1}},
				names:     []dimensionName{{"t", true}, {}},
				named:     true,
				manifests: []manifestRef{{objectID{5}, []extent{{0, 7}, {0, 1}}}},
			}},
			{id: nodeID{3}, path: "/scalar", doc: []byte("{}"), array: &arrayData{manifests: []manifestRef{{id: objectID{5}}}}},
		},
		flushedAt: 77,
		message:   "snapshot",
		metadata:  []item{{"k", []byte{0}}},
		manifests: []manifestInfo{{id: objectID{5}, size: 1 << 33, refs: 8, extra: []byte{2}}},
		extra:     []byte{3},
	}
}

// TestRepoRoundTrip encodes every field of a repository and decodes it.
func TestRepoRoundTrip(t *testing.T) {
	want := sampleRepo()
	b, err := want.encode()
	if err != nil {
		t.Fatal(err)
	}
	got := &repoInfo{}
	if err := got.read(file.NewBuffer(b)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	want.snapshots[0].parent = objectID{77}
	if _, err := want.encode(); err == nil {
		t.Error("a missing parent was encoded")
	}
}

func TestSnapshotRoundTrip(t *testing.T) {
	want := sampleSnapshot()
	got := &snapshot{}
	if err := got.read(file.NewBuffer(want.encode())); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestCommitShifts inserts a snapshot between others and checks all references to them.
func TestCommitShifts(t *testing.T) {
	r := sampleRepo()
	id := objectID{1, 5}
	r.commit(snapshotInfo{id: id, parent: objectID{1}, flushedAt: r.now(fixed), message: "three"}, "main")
	r.backup("repo.3")
	b, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	got := &repoInfo{}
	if err := got.read(file.NewBuffer(b)); err != nil {
		t.Fatal(err)
	}
	if tip, err := got.branch("main"); err != nil || tip != id {
		t.Errorf("main is at %v, %v", tip, err)
	}
	if other, err := got.branch("other"); err != nil || other != (objectID{2}) || got.tags[0].snapshot != other {
		t.Errorf("other is at %v, %v; the tag at %v", other, err, got.tags[0].snapshot)
	}
	if s := got.find(objectID{1}); s == nil || s.parent != (objectID{2}) {
		t.Errorf("the parent of the second is %+v", s)
	}
	if u := got.updates; u[0].backup != "" || u[1].backup != "repo.3" || u[0].at <= u[1].at {
		t.Errorf("updates %+v", u[:2])
	}
}

func TestUpdatesOverflow(t *testing.T) {
	r := &repoInfo{}
	for i := range updatesKept + 3 {
		r.log(update{kind: initialized, body: fields{}, at: uint64(i)})
		r.backup("b")
	}
	if len(r.updates) != updatesKept || r.before != "b" {
		t.Errorf("%d updates, and before them %q", len(r.updates), r.before)
	}
}

// FuzzRepo and FuzzSnapshot decode arbitrary buffers.
func FuzzRepo(f *testing.F) {
	b, err := sampleRepo().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &repoInfo{}
		if r.read(file.NewBuffer(b)) == nil {
			_, _ = r.encode()
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	f.Add(sampleSnapshot().encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &snapshot{}
		if s.read(file.NewBuffer(b)) == nil && len(b) < 1<<12 {
			_ = s.encode()
		}
	})
}

// TestManifestReadsBack decodes the buffer of a manifest field by field.
func TestManifestReadsBack(t *testing.T) {
	tail := &tail{}
	where := tail.put([]byte("file:///a"))
	a, b := &arrayRefs{}, &arrayRefs{}
	a.reset(nodeID{1}, 2, 4)
	putVirtual(a.next(modified, []int64{0, 1}), sourceRecord{modified, where, 99}, 10, 20)
	a.next(dropped, []int64{1, 0})
	a.n--
	putVirtual(a.next(tagged, []int64{1, 1}), sourceRecord{tagged, where, tail.put([]byte(`"etag"`))}, 30, 40)
	b.reset(nodeID{2}, 0, 1)
	b.next(dropped, nil)
	putInline(b.set(0, inlined), tail.put([]byte("bytes")))
	buffer, err := encodeManifest(nil, objectID{8}, []*arrayRefs{a, b}, tail.data)
	if err != nil {
		t.Fatal(err)
	}
	f := file.NewBuffer(buffer)
	root := f.Root()
	if objectAt(root, 0) != (objectID{8}) || !root.Has(3) || root.U8(3) != 0 {
		t.Errorf("id %v, compression %d", objectAt(root, 0), root.U8(3))
	}
	arrays := root.Vector(1, 4)
	refs := arrays.Table(0).Vector(1, 4)
	if arrays.N != 2 || nodeAt(arrays.Table(0), 0) != (nodeID{1}) || nodeAt(arrays.Table(1), 0) != (nodeID{2}) || refs.N != 2 {
		t.Fatalf("%d arrays, %d refs", arrays.N, refs.N)
	}
	r := refs.Table(0)
	if index := r.Vector(0, 4); index.N != 2 || index.U32(1) != 1 || r.U64(2) != 10 || r.U64(3) != 20 || r.Text(5) != "file:///a" || r.U32(7) != 99 || r.Has(6) {
		t.Errorf("first ref: %d %d %q %d", r.U64(2), r.U64(3), r.Text(5), r.U32(7))
	}
	if r := refs.Table(1); r.Text(6) != `"etag"` || r.U64(2) != 30 || r.Text(5) != "file:///a" || r.Has(7) {
		t.Errorf("second ref: %q %d", r.Text(6), r.U64(2))
	}
	if r := arrays.Table(1).Vector(1, 4).Table(0); r.Text(1) != "bytes" || r.Vector(0, 4).N != 0 || r.Has(5) {
		t.Errorf("inline ref: %q", r.Text(1))
	}
	if f.Err() != nil {
		t.Error(f.Err())
	}
}

// TestSplit checks, for random boxes, that the parts are disjoint, complete, sorted and not too large.
func TestSplit(t *testing.T) {
	seed := soak.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		box := grid.MakeRegion(random.IntN(4))
		for k := range box.Shape {
			box.Origin[k], box.Shape[k] = random.Int64N(5), 1+random.Int64N(6)
		}
		most := 1 + random.Int64N(40)
		seen, last := map[string]bool{}, []int64(nil)
		for _, part := range split(box, most) {
			if n := chunks(part); n > most {
				t.Fatalf("seed %d: %v in parts of %d: %v has %d", seed, box, most, part, n)
			}
			if last != nil && slices.Compare(last, part.Origin) >= 0 {
				t.Fatalf("seed %d: %v after %v", seed, part.Origin, last)
			}
			last = slices.Clone(part.Origin)
			eachIndex(part, func(index []int64) { seen[string(appendIndex(nil, index))] = true })
		}
		if int64(len(seen)) != chunks(box) {
			t.Fatalf("seed %d: %v in parts of %d: %d of %d chunks", seed, box, most, len(seen), chunks(box))
		}
	}
}

func appendIndex(b []byte, index []int64) []byte {
	for _, i := range index {
		b = append(b, byte(i))
	}
	return b
}

func eachIndex(r grid.Region, do func([]int64)) {
	part := r.Clone()
	for k := range part.Shape {
		part.Shape[k] = 1
	}
	for more := true; more; more = advance(part, r, r.Rank()) {
		do(part.Origin)
	}
}

func TestBase32(t *testing.T) {
	if got := firstSnapshot.String(); got != "1CECHNKREP0F1RSTCMT0" {
		t.Errorf("got %s", got)
	}
}
