package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest/repo"
)

// inJSON returns the JSON that a command prints.
func inJSON[T any](t *testing.T, args ...string) (doc T) {
	t.Helper()
	text, err := runCommand(t, t.Context(), append(args, "--json")...)
	if err == nil {
		err = json.Unmarshal([]byte(text), &doc)
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return doc
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	text, err := runCommand(t, t.Context(), args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return text
}

// TestHistory tags, compares and removes snapshots, and reads old ones.
func TestHistory(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	folder := t.TempDir()
	out := filepath.Join(t.TempDir(), "m.varve")
	copyMonth(t, folder, "2021-01.nc")
	mustRun(t, "build", out, folder, "-m", "the first\nmonth")
	mustRun(t, "tag", out, "v1")
	copyMonth(t, folder, "2021-02.nc")
	mustRun(t, "append", out, filepath.Join(folder, "2021-02.nc"))
	copyMonth(t, folder, "2021-03.nc")
	mustRun(t, "sync", out, folder, "--message", "March")

	history := inJSON[[]historyJSON](t, "history", out)
	var messages []string
	for _, s := range history {
		messages = append(messages, s.Message)
	}
	if want := []string{"March", "append 1 file", "the first\nmonth"}; !slices.Equal(messages, want) {
		t.Errorf("messages are %q, want %q", messages, want)
	}
	if !slices.Equal(history[2].Tags, []string{"v1"}) || len(history[0].Tags) > 0 {
		t.Errorf("tags are %+v", history)
	}
	if text := mustRun(t, "history", out); !strings.Contains(text, `the first\x0amonth  (v1)`) || strings.Count(text, "\n") != 3 {
		t.Errorf("history says\n%s", text)
	}

	_, err := runCommand(t, t.Context(), "tag", out, "v1", history[1].Snapshot[:8])
	if !errors.Is(err, repo.ErrTagExists) {
		t.Errorf("a tag was taken away: %v", err)
	}
	mustRun(t, "tag", out, "v2", history[1].Snapshot[:8])
	want := []tagJSON{{"v1", history[2].Snapshot}, {"v2", history[1].Snapshot}}
	if got := inJSON[[]tagJSON](t, "tag", out); !slices.Equal(got, want) {
		t.Errorf("tags are %v, want %v", got, want)
	}

	changes := inJSON[diffJSON](t, "diff", out, "v1")
	if changes.Old != history[2].Snapshot || changes.New != history[0].Snapshot {
		t.Errorf("compared %s and %s", changes.Old, changes.New)
	}
	added := changes.Sources.Added
	if len(added) != 2 || filepath.Base(added[0]) != "2021-02.nc" || filepath.Base(added[1]) != "2021-03.nc" || len(changes.Sources.Removed) > 0 {
		t.Errorf("sources differ in %+v", changes.Sources)
	}
	var shape *fieldJSON
	for _, n := range changes.Nodes {
		for i, f := range n.Fields {
			if n.Path == "/t2m" && f.Name == "shape" {
				shape = &n.Fields[i]
			}
		}
	}
	if shape == nil || withoutSpace(shape.Old) != "[31,6,8]" || withoutSpace(shape.New) != "[90,6,8]" {
		t.Errorf("changes of t2m: %+v", changes.Nodes)
	}
	if same := inJSON[diffJSON](t, "diff", out, "v1", "v1"); len(same.Nodes)+len(same.Sources.Added) > 0 {
		t.Errorf("a snapshot differs from itself: %+v", same)
	}
	if back := inJSON[diffJSON](t, "diff", out, history[0].Snapshot, "v1"); len(back.Sources.Removed) != 2 {
		t.Errorf("back, sources differ in %+v", back.Sources)
	}

	count := func(args ...string) int {
		return inJSONCount(t, append([]string{"read", out, "t2m", "--stat"}, args...)...)
	}
	if n := count("--snapshot", "v1"); n != 31*48 {
		t.Errorf("v1 has %d elements", n)
	}
	if n := count("--snapshot", history[1].Snapshot[:10]); n != 59*48 {
		t.Errorf("v2 has %d elements", n)
	}
	if text := mustRun(t, "info", out, "--snapshot", "v1"); !strings.Contains(text, "time = 31") {
		t.Errorf("info of v1 says\n%s", text)
	}
	mustRun(t, "export", "zarr", out, filepath.Join(folder, "v1.zarr"), "--snapshot", "v1")
	mustRun(t, "verify", out, "--snapshot", "v1", "--deep")

	before := mustRun(t, "gc", out, "--keep", "1", "--dry-run")
	if !strings.Contains(before, "0 files would be removed") {
		t.Errorf("gc of tagged snapshots would remove\n%s", before)
	}
	mustRun(t, "tag", out, "v2", "--delete")
	mustRun(t, "gc", out, "--keep", "1")
	if left := inJSON[[]historyJSON](t, "history", out); len(left) != 2 || left[1].Snapshot != history[2].Snapshot {
		t.Errorf("gc left %+v", left)
	}
	if n := count("--snapshot", "v1"); n != 31*48 {
		t.Errorf("after gc, v1 has %d elements", n)
	}
	mustRun(t, "restore", out, "v1")
	if n := count(); n != 31*48 {
		t.Errorf("after restore, there are %d elements", n)
	}
	if text := mustRun(t, "tag", out, "v1", "--delete"); !strings.Contains(text, "v1") {
		t.Error(text)
	}
	if text := mustRun(t, "tag", out); !strings.Contains(text, "no tags") {
		t.Errorf("tag lists %q", text)
	}
	for _, bad := range [][]string{{"tag", out, "--delete"}, {"tag", out, "--force"}, {"tag", out, "v1", "v1", "--delete"}} {
		if _, err := runCommand(t, t.Context(), bad...); !isUsage(err) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// inJSONCount returns the number of elements that read --stat counts.
func inJSONCount(t *testing.T, args ...string) int {
	t.Helper()
	var doc struct{ Count int }
	text := mustRun(t, args...)
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return doc.Count
}

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

func withoutSpace(value json.RawMessage) string {
	return strings.Join(strings.Fields(string(value)), "")
}
