package repo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/internal/home"
)

// publishOn publishes a snapshot that was created at a time.
func publishOn(t *testing.T, r *Repository, created time.Time, table string) *manifest.Snapshot {
	t.Helper()
	own, err := writeTable(t.Context(), r, manifest.Refs, table)
	if err != nil {
		t.Fatal(err)
	}
	parent, err := r.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	snap := &manifest.Snapshot{Message: table, Created: created, Tables: []manifest.Table{own}}
	if err := r.Publish(t.Context(), snap, parent); err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestTags(t *testing.T) { everywhere(t, testTags) }

func testTags(t *testing.T, h *homes) {
	r := h.repository(t)
	var all []*manifest.Snapshot
	for i := range 4 {
		all = append(all, mustPublish(t, r, fmt.Sprint("own ", i)))
	}
	tag := func(name string, of *manifest.Snapshot, replace bool) error {
		return r.Tag(t.Context(), name, of.ID, replace)
	}
	if err := errors.Join(tag("v1", all[0], false), tag("v2", all[1], false), tag("v1", all[0], false)); err != nil {
		t.Fatal(err)
	}
	if err := tag("v1", all[2], false); !errors.Is(err, ErrTagExists) {
		t.Errorf("a tag was given twice: %v", err)
	}
	for _, bad := range []string{"", "abc", "0123456789abcdef", "a/b", "-v1", "v 1", string(make([]byte, 101))} {
		if err := tag(bad, all[0], true); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("the tag %q: %v", bad, err)
		}
	}
	if err := tag("v3", &manifest.Snapshot{ID: home.VersionOf([]byte("no"))}, false); !isMissing(err) {
		t.Errorf("a tag of a missing snapshot: %v", err)
	}
	if err := errors.Join(tag("v2", all[2], true), r.Untag(t.Context(), "v2"), tag("v2", all[1], false)); err != nil {
		t.Fatal(err)
	}
	if err := r.Untag(t.Context(), "v9"); !errors.Is(err, ErrNoTag) {
		t.Error(err)
	}

	// Tags stay when a snapshot is published, and when gc removes others.
	last := mustPublish(t, r, "last")
	for range 2 {
		if _, err := r.GC(t.Context(), &GCOptions{Keep: 1}); err != nil {
			t.Fatal(err)
		}
		if got, want := messages(t, reopen(t, r)), []string{last.Message, all[1].Message, all[0].Message}; !slices.Equal(got, want) {
			t.Errorf("history is %q, want %q", got, want)
		}
	}
	tags, err := reopen(t, r).Tags(t.Context())
	if want := map[string]string{"v1": all[0].ID, "v2": all[1].ID}; err != nil || !maps.Equal(tags, want) {
		t.Errorf("tags are %v, want %v: %v", tags, want, err)
	}
	if id, err := r.Find(t.Context(), "v1"); err != nil || id != all[0].ID {
		t.Errorf("found %s: %v", id, err)
	}
	for snap, err := range r.History(t.Context()) {
		if err := errors.Join(err, r.Check(t.Context(), snap)); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(r.Untag(t.Context(), "v1"), r.Untag(t.Context(), "v2")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.GC(t.Context(), &GCOptions{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if got := messages(t, r); len(got) != 1 {
		t.Errorf("history is %q", got)
	}
}

// TestTagsAtTheSameTime checks that no tag is lost when several processes tag and publish.
func TestTagsAtTheSameTime(t *testing.T) { everywhere(t, testTagsAtTheSameTime) }

func testTagsAtTheSameTime(t *testing.T, h *homes) {
	r := h.repository(t)
	first := mustPublish(t, r, "first")
	done := make(chan error)
	const many = 4
	for i := range many {
		own := reopen(t, r)
		go func() { done <- own.Tag(t.Context(), fmt.Sprint("v", i), first.ID, false) }()
	}
	mustPublish(t, reopen(t, r), "second") // a tag that is made meanwhile is no conflict
	for range many {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if tags, err := r.Tags(t.Context()); err != nil || len(tags) != many {
		t.Errorf("tags are %v: %v", tags, err)
	}
}

// TestGCKeepsDays checks that gc keeps one snapshot a day, also again and after more snapshots.
func TestGCKeepsDays(t *testing.T) { everywhere(t, testGCKeepsDays) }

func testGCKeepsDays(t *testing.T, h *homes) {
	r := h.repository(t)
	day := time.Date(2024, 2, 27, 20, 0, 0, 0, time.UTC)
	var want []string
	for i := range 12 { // 3 a day
		snap := publishOn(t, r, day.AddDate(0, 0, i/3).Add(time.Duration(i%3)*time.Hour), fmt.Sprint("own ", i))
		if i%3 == 2 || i == 10 {
			want = append([]string{snap.Message}, want...)
		}
	}
	opts := GCOptions{Keep: 2, Daily: 3}
	want = want[:4] // the two newest, of the last day, and one of each of the two days before
	listed, err := r.GC(t.Context(), &GCOptions{Keep: 2, Daily: 3, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := messages(t, r); len(got) != 12 {
		t.Errorf("a dry run left %q", got)
	}
	for n := range 2 {
		done, err := r.GC(t.Context(), &opts)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 && !slices.Equal(done.Files, listed.Files) {
			t.Errorf("removed %q, but the dry run listed %q", done.Files, listed.Files)
		}
		if got := messages(t, reopen(t, r)); !slices.Equal(got, want) {
			t.Errorf("history is %q, want %q", got, want)
		}
	}
	next := publishOn(t, r, day.AddDate(0, 0, 7), "next")
	if _, err := r.GC(t.Context(), &opts); err != nil {
		t.Fatal(err)
	}
	want = append([]string{next.Message}, want[0], want[2])
	if got := messages(t, r); !slices.Equal(got, want) {
		t.Errorf("history is %q, want %q", got, want)
	}
	for snap, err := range r.History(t.Context()) {
		if err := errors.Join(err, r.Check(t.Context(), snap)); err != nil {
			t.Error(err)
		}
	}
}
