package ingest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"varve/manifest/store"
	"varve/manifest/verify"
	"varve/readers/source"
)

// TestRedirected checks that a manifest of files behind a redirect, or with dots in their URLs, can be read after the
// build without permission, and that a later redirect to a third place is refused with the place to allow.
func TestRedirected(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	files := http.FileServer(http.Dir("../../fixtures/netcdf3"))
	// The two servers have different names, so that the second is another host.
	final := httptest.NewServer(http.StripPrefix("/deep", files))
	defer final.Close()
	third := httptest.NewServer(files)
	defer third.Close()
	to := final.URL + "/deep"
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to+r.URL.Path+"?signature=secret", http.StatusFound)
	}))
	defer first.Close()
	for _, name := range []string{first.URL + "/classic.nc", final.URL + "/x/.././deep/./classic.nc"} {
		to = final.URL + "/deep"
		out := filepath.Join(t.TempDir(), "out")
		if _, err := Build(t.Context(), out, &Options{Sources: Sources{Names: []string{name}}}); err != nil {
			t.Fatal(err)
		}
		check := func() error {
			t.Helper()
			s, err := store.Open(t.Context(), out, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			result, err := verify.Verify(t.Context(), s, &verify.Options{Deep: true})
			if err != nil {
				t.Fatal(err)
			}
			return result.Err()
		}
		if err := check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		to = third.URL
		if name != first.URL+"/classic.nc" {
			continue
		}
		err := check()
		var refused *store.ForbiddenError
		if !errors.As(err, &refused) || !refused.IsOwn || refused.Allow[0] != third.URL+"/" || !errors.Is(err, source.ErrForbidden) {
			t.Fatalf("a redirect to a third server: got %v", err)
		}
		if _, err := Refresh(t.Context(), out, nil); !errors.Is(err, source.ErrForbidden) {
			t.Errorf("refresh: got %v", err)
		}
		if _, err := Refresh(t.Context(), out, &Options{Allow: refused.Allow[:1]}); err != nil {
			t.Errorf("refresh with permission: %v", err)
		}
		if _, err := store.Trust(t.Context(), out, &store.TrustOptions{Places: refused.Allow[:1]}); err != nil {
			t.Fatal(err)
		}
		if err := check(); err != nil {
			t.Errorf("after the advice: %v", err)
		}
	}
}
