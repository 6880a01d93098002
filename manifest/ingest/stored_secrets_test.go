package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/relocate"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/store"
	"varve/manifest/verify"
	"varve/readers/source"
)

// TestStoredSecrets changes a manifest of an older varve, which stored parameters of URLs that may be secrets. Each command
// names them, without their values. relocate to the same place writes the names without them.
func TestStoredSecrets(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	for i := range 4 {
		writeNetCDF(t, dir, i)
	}
	var mu sync.Mutex
	var asked []string // locked by mu
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.RawQuery)
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	url := func(i int, query string) string { return fmt.Sprintf("%s/part%d.nc%s", server.URL, i, query) }
	const secret = "?time=2021&token=CANARY"
	out := filepath.Join(t.TempDir(), "out")
	how := func(names ...string) *Options { return &Options{Sources: Sources{Names: names}} }
	build := how(url(0, secret), url(1, secret))
	build.Plan.KeepQuery = []string{"token"}
	if _, err := Build(t.Context(), out, build); err != nil {
		t.Fatal(err)
	}
	forgetKept(t, out)
	noted := func(what string, r *report.Report) {
		t.Helper()
		i := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Code == report.QueryStored })
		if i < 0 || !slices.Equal(r.Findings[i].Args["parameters"].([]string), []string{"token"}) || len(r.Findings[i].Remedies) == 0 {
			t.Errorf("%s: %+v", what, r.Findings)
		}
		if text := fmt.Sprintf("%+v", r.Findings); strings.Contains(text, "CANARY") {
			t.Errorf("%s: the finding has the secret: %s", what, text)
		}
	}
	appended, err := Append(t.Context(), out, how(url(2, "")))
	if err != nil {
		t.Fatal(err)
	}
	noted("append", appended.Report)
	refreshed, err := Refresh(t.Context(), out, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	noted("refresh", refreshed.Report)
	synced, err := Sync(t.Context(), out, how(url(0, secret), url(1, secret), url(2, ""), url(3, "")))
	if err != nil || len(synced.Removed) != 2 || slices.ContainsFunc(synced.Report.Findings, func(f report.Finding) bool { return f.Code == report.QueryStored }) {
		t.Errorf("sync: got %+v, %v; want the two sources under other names", synced, err)
	}
	restored, err := Build(t.Context(), out, &Options{Sources: build.Sources, Plan: build.Plan, Force: true})
	if err != nil || restored.Snapshot == nil {
		t.Fatal(err)
	}
	forgetKept(t, out)
	checked := func() *verify.Result {
		t.Helper()
		s, err := store.Open(t.Context(), out, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, err := verify.Verify(t.Context(), s, nil)
		if err = errors.Join(err, r.Err()); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := checked(); !slices.Equal(r.Secrets, []string{"token"}) {
		t.Errorf("verify: %q", r.Secrets)
	}
	mu.Lock()
	asked = nil
	mu.Unlock()
	opener := source.NewOpener(nil)
	defer opener.Close()
	if _, err := relocate.Relocate(t.Context(), out, &relocate.Options{Moves: []relocate.Move{{From: server.URL, To: server.URL + "/"}}, Opener: opener}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	if slices.ContainsFunc(asked, func(query string) bool { return query != "time=2021" }) {
		t.Errorf("relocate asked with %q", asked)
	}
	mu.Unlock()
	if r := checked(); len(r.Secrets) > 0 {
		t.Errorf("verify after relocate: %q", r.Secrets)
	}
}

// forgetKept publishes a snapshot that does not say that the user chose to store parameters, as an older varve did.
func forgetKept(t *testing.T, out string) {
	t.Helper()
	r, err := repo.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	id, err := r.Current(t.Context())
	var snap *manifest.Snapshot
	if err == nil {
		snap, err = r.Load(t.Context(), id)
	}
	var built plan.Options
	if err == nil {
		err = json.Unmarshal(snap.Options, &built)
	}
	built.KeepQuery = nil
	if err == nil {
		snap.Options, err = json.Marshal(built)
	}
	if err == nil {
		err = r.Publish(t.Context(), snap, id)
	}
	if err != nil {
		t.Fatal(err)
	}
}
