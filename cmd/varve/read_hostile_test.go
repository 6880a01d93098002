package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// TestOthersManifests checks that another user's manifest reads nothing without permission.
func TestOthersManifests(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("VARVE_ALLOW", "")
	out := seaArchive(t)
	folder := filepath.Dir(out)
	name := filepath.Join(folder, "sea.nc")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // now somebody else
	read := func(what string, want int, args ...string) {
		t.Helper()
		got, code, err := run(t, append([]string{"read", out, "sst", "--stat"}, args...)...)
		if code != want {
			t.Errorf("%s: exit code %d, want %d: %v", what, code, want, err)
		}
		if want == exitForbidden && (err == nil || !strings.Contains(err.Error(), folder) || strings.Contains(got, "count")) {
			t.Errorf("%s: it says %v and %s", what, err, got)
		}
	}
	read("nothing", exitForbidden)
	read("the beginning of a name", exitForbidden, "--allow", folder[:len(folder)-1])
	read("another folder", exitForbidden, "--allow", "/etc")
	read("a server", exitForbidden, "--allow", "http://169.254.169.254/")
	read("the folder", exitDone, "--allow", folder)
	t.Setenv("VARVE_ALLOW", "/etc "+folder)
	read("the environment", exitDone)
	t.Setenv("VARVE_ALLOW", "")
	if _, code, err := run(t, "verify", out); code != exitForbidden {
		t.Errorf("verify: exit code %d: %v", code, err)
	}
	checkNotServed(t, out)

	away := filepath.Join(t.TempDir(), "sea.nc")
	if err := errors.Join(os.Rename(name, away), os.Symlink(away, name)); err != nil {
		t.Fatal(err)
	}
	read("a link that leads out of the folder", exitForbidden, "--allow", folder)
	read("the link and where it leads", exitDone, "--allow", folder, "--allow", filepath.Dir(away))
}

// checkNotServed holds that a server tells clients no more.
func checkNotServed(t *testing.T, out string) {
	t.Helper()
	h, err := serve.New(t.Context(), []string{out}, &serve.Options{Reload: -1, Store: store.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := httptest.NewServer(h)
	defer s.Close()
	resp, err := http.Get(s.URL + "/sst/c/0/0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusForbidden || err != nil {
		t.Errorf("served: %d %s", resp.StatusCode, body)
	}
}

// TestHostileReferences: a file of references reaches only files in its own folder, as a manifest does, even if
// the user builds a manifest from it.
func TestHostileReferences(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("secret", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{secret, "file://" + secret, up, "link", link, "http://169.254.169.254/latest", "http://[fe80::1]/", "/proc/self/environ"} {
		refs := `{"version":1,"refs":{".zgroup":"{\"zarr_format\":2}","v/.zarray":"{\"shape\":[1000],\"chunks\":[1000],\"dtype\":\"|u1\",\"compressor\":null,` +
			`\"filters\":null,\"fill_value\":0,\"order\":\"C\",\"zarr_format\":2}","v/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"x\"]}","v/0":["` + target + `",0,1000]}}`
		name, out := filepath.Join(dir, "k.json"), filepath.Join(t.TempDir(), "k.varve")
		if err := os.WriteFile(name, []byte(refs), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, code, _ := run(t, "build", out, name); code != exitDone {
			continue
		}
		if got, code, _ := run(t, "read", out, "v"); code == exitDone {
			t.Errorf("%s: read %.60q", target, got)
		}
	}
}

// TestServedHostile: counts that contradict one another are written as they are.
func TestServedHostile(t *testing.T) {
	a := &manifest.Array{Placement: "time", Chunks: manifest.Counts{Missing: 2, Patched: 3}}
	if got := served(a); got != "2 missing of 2 chunks" {
		t.Error(got)
	}
	a.Chunks.Missing = 0
	if got := served(a); got != "no chunks" {
		t.Error(got)
	}
}
