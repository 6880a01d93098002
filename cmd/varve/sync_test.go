package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/ingest"
)

// runCommand calls a command and returns what it printed.
func runCommand(t *testing.T, ctx context.Context, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return out.String(), err
}

// synced is the result of sync, refresh and remove as JSON, without folders of files.
type synced struct {
	Snapshot                 string
	Sources                  int64
	Added, Replaced, Removed []string
}

func syncedBy(t *testing.T, args ...string) synced {
	t.Helper()
	text, err := runCommand(t, t.Context(), append(args, "--json")...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	var s synced
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, list := range [][]string{s.Added, s.Replaced, s.Removed} {
		for i := range list {
			list[i] = filepath.Base(list[i])
		}
	}
	return s
}

// copyMonth copies a file of the demo.
func copyMonth(t *testing.T, folder, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../fixtures/demo", name))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSync follows a folder through an added, a replaced and a removed file.
func TestSync(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	folder := t.TempDir()
	out := filepath.Join(t.TempDir(), "m.varve")
	copyMonth(t, folder, "2021-01.nc")
	if text, err := runCommand(t, t.Context(), "build", out, folder); err != nil {
		t.Fatal(err, text)
	}
	copyMonth(t, folder, "2021-02.nc")
	if s := syncedBy(t, "sync", out, folder); !slices.Equal(s.Added, []string{"2021-02.nc"}) || s.Sources != 2 || len(s.Replaced)+len(s.Removed) != 0 {
		t.Errorf("a new file: %+v", s)
	}
	if err := os.Remove(filepath.Join(folder, "2021-01.nc")); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(folder, "2021-02.nc"), later, later); err != nil {
		t.Fatal(err)
	}
	copyMonth(t, folder, "2021-03.nc")
	s := syncedBy(t, "sync", out, folder, "--max-delete", "50")
	if !slices.Equal(s.Added, []string{"2021-03.nc"}) || !slices.Equal(s.Replaced, []string{"2021-02.nc"}) || !slices.Equal(s.Removed, []string{"2021-01.nc"}) || s.Sources != 2 {
		t.Errorf("all changes: %+v", s)
	}
	if again := syncedBy(t, "sync", out, folder); again.Snapshot != s.Snapshot {
		t.Errorf("no change: %+v", again)
	}
	if again := syncedBy(t, "refresh", out); again.Snapshot != s.Snapshot {
		t.Errorf("nothing to refresh: %+v", again)
	}
	if text, err := runCommand(t, t.Context(), "verify", out, "--deep"); err != nil {
		t.Error(err, text)
	}
}

// TestSyncMaxDelete: sync stops before it removes more files than --max-delete allows, and writes nothing.
func TestSyncMaxDelete(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	folder := t.TempDir()
	out := filepath.Join(t.TempDir(), "m.varve")
	months := []string{"2021-01.nc", "2021-02.nc", "2021-03.nc"}
	for _, name := range months {
		copyMonth(t, folder, name)
	}
	if text, err := runCommand(t, t.Context(), "build", out, folder); err != nil {
		t.Fatal(err, text)
	}
	before := syncedBy(t, "sync", out, folder)
	if err := os.Remove(filepath.Join(folder, months[0])); err != nil {
		t.Fatal(err)
	}
	// 1 of 3 is 33.3 %.
	for _, args := range [][]string{nil, {"--max-delete", "33"}, {"--max-delete", "0"}} {
		text, err := runCommand(t, t.Context(), append([]string{"sync", out, folder}, args...)...)
		var many *ingest.MaxDeleteError
		if !errors.As(err, &many) || many.Removed != 1 || many.Of != 3 || exitCode(err, false) != exitConflict || !strings.Contains(errorText(err), "--max-delete 34") {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
	}
	if s := syncedBy(t, "refresh", out, filepath.Join(folder, months[2])); s.Snapshot != before.Snapshot {
		t.Errorf("the refused sync made the snapshot %s", s.Snapshot)
	}
	if s := syncedBy(t, "sync", out, folder, "--max-delete", "34"); !slices.Equal(s.Removed, months[:1]) || s.Sources != 2 {
		t.Errorf("with 34 %%: %+v", s)
	}
	if err := os.Remove(filepath.Join(folder, months[1])); err != nil {
		t.Fatal(err)
	}
	if s := syncedBy(t, "sync", out, folder, "--max-delete", "50"); s.Sources != 1 {
		t.Errorf("1 of 2 with 50 %%: %+v", s)
	}
}

// TestRemove removes files by date, by glob, and after they were deleted.
func TestRemove(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	folder := t.TempDir()
	out := filepath.Join(t.TempDir(), "m.varve")
	for _, name := range []string{"2021-01.nc", "2021-02.nc", "2021-03.nc"} {
		copyMonth(t, folder, name)
	}
	if text, err := runCommand(t, t.Context(), "build", out, folder); err != nil {
		t.Fatal(err, text)
	}
	for between, want := range map[string]int{"2021-01-02,2021-02": 0, "2021-02,2021-02-28": 0, "2020,2021-01-31": 0, "2021-03-01T00:00:01,2022": 0} {
		if s := syncedBy(t, "remove", out, "--between", between); len(s.Removed) != want {
			t.Errorf("between %s: %+v", between, s)
		}
	}
	other := filepath.Join(t.TempDir(), "m.varve")
	if text, err := runCommand(t, t.Context(), "build", other, folder); err != nil {
		t.Fatal(err, text)
	}
	if s := syncedBy(t, "remove", other, "--between", "2021-02,2021-03"); !slices.Equal(s.Removed, []string{"2021-02.nc"}) || s.Sources != 2 {
		t.Errorf("between two dates: %+v", s)
	}
	if s := syncedBy(t, "remove", out, "--before", "2021-01-31T23:59"); !slices.Equal(s.Removed, []string{"2021-01.nc"}) {
		t.Errorf("before a date: %+v", s)
	}
	if s := syncedBy(t, "remove", out, "--before", "2021-02-28"); len(s.Removed) != 0 {
		t.Errorf("a file with the date: %+v", s)
	}
	for _, args := range [][]string{
		{"remove", out}, {"remove", out, "--between", "2021"}, {"remove", out, "--between", "2021-03,2021-02"}, {"remove", out, "--between", "2021-02,2021-03", "--before", "2021"}, {"remove", out, folder, "--before", "2021"}, {"remove", out, "--before", "yesterday"}, {"remove", out, folder}, {"remove", out, filepath.Join(folder, "2021-01.nc")},
	} {
		if text, err := runCommand(t, t.Context(), args...); err == nil {
			t.Errorf("%v: no error: %s", args, text)
		}
	}
	if err := os.Remove(filepath.Join(folder, "2021-02.nc")); err != nil {
		t.Fatal(err)
	}
	if s := syncedBy(t, "remove", out, filepath.Join(folder, "*-02.nc")); !slices.Equal(s.Removed, []string{"2021-02.nc"}) || s.Sources != 1 {
		t.Errorf("by glob: %+v", s)
	}
	if text, err := runCommand(t, t.Context(), "read", out, "time", "--isel", "time=0"); err != nil || !strings.Contains(text, "2021-03-01") {
		t.Error(err, text)
	}
}

// TestSyncWatch adds a file while sync watches the folder, after a failure. Being stopped is no error.
func TestSyncWatch(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	folder := t.TempDir()
	out := filepath.Join(t.TempDir(), "m.varve")
	copyMonth(t, folder, "2021-01.nc")
	if text, err := runCommand(t, t.Context(), "build", out, folder); err != nil {
		t.Fatal(err, text)
	}
	broken := filepath.Join(folder, "2021-02.nc")
	if err := os.WriteFile(broken, []byte("half a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := runCommand(t, ctx, "sync", out, folder, "--watch", "20ms", "--quiet")
		ended <- err
	}()
	time.Sleep(100 * time.Millisecond)
	copyMonth(t, folder, "2021-02.nc")
	waitForSources(t, out, 2)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRemoveSigned checks that remove finds a source by a URL with secrets, which the manifest does not have.
func TestRemoveSigned(t *testing.T) {
	for _, c := range []struct {
		name string
		urls []string
		gone []bool
	}{
		{"https://h/a.nc?token=S", []string{"https://h/a.nc", "https://h/b.nc", "https://h/a.nc/c"}, []bool{true, false, false}},
		{"https://h/get?id=1&token=S", []string{"https://h/get?id=1", "https://h/get?id=2", "https://h/get?id=11"}, []bool{true, false, false}},
		{"https://h/get?id=1&token=S", []string{"https://h/get?token=S&id=1", "https://h/get?id=1&token=S"}, []bool{false, true}},
		{"https://h/a.zip?token=S", []string{"https://h/a.zip|zip:x.nc", "https://h/b.nc"}, []bool{true, false}},
	} {
		var files []*manifest.File
		for _, u := range c.urls {
			files = append(files, &manifest.File{Source: manifest.Source{URL: u}})
		}
		if gone, err := namedFiles([]string{c.name})(files); err != nil || !slices.Equal(gone, c.gone) {
			t.Errorf("%s of %q: got %v, %v; want %v", c.name, c.urls, gone, err, c.gone)
		}
	}
}
