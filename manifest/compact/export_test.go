package compact

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"varve/manifest/export/kerchunk"
	"varve/manifest/ingest"
)

// TestExport exports kerchunk references to compacted chunks, and builds a manifest from them.
func TestExport(t *testing.T) {
	a := drifting(t, 0, 2, 4, 9)
	a.compact(Options{})
	refs := filepath.Join(a.dir, "refs.json")
	result, err := kerchunk.Write(t.Context(), a.open(), refs, &kerchunk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Patched != 0 || result.Refs != a.counts().Patched {
		t.Errorf("%+v", result)
	}
	text, err := os.ReadFile(refs)
	if err != nil || !bytes.Contains(text, []byte("/a.varve/patches/chunks-")) {
		t.Errorf("no reference to a file of compacted chunks in %s (%v)", text, err)
	}
	b := *a
	b.out = filepath.Join(a.dir, "b.varve")
	b.opts = ingest.Options{Allow: []string{a.dir}}
	b.build(refs)
	b.check(0, 9)
}

// TestExportRemote checks that references to sources on a server do not name a local file: the export contains the
// compacted chunks inline.
func TestExportRemote(t *testing.T) {
	a := newArchive(t)
	var names []string
	server := httptest.NewServer(http.FileServer(http.Dir(a.dir)))
	defer server.Close()
	for _, name := range a.drift(0, 2, 4, 9) {
		names = append(names, server.URL+"/"+filepath.Base(name))
	}
	a.build(names...)
	a.compact(Options{})
	a.check(0, 9)
	refs := filepath.Join(a.dir, "refs.json")
	result, err := kerchunk.Write(t.Context(), a.open(), refs, &kerchunk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(refs)
	if err != nil || bytes.Contains(text, []byte(a.out)) || result.Inline < a.counts().Patched {
		t.Errorf("%+v: %s (%v)", result, text, err)
	}
}
