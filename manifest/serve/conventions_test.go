package serve_test

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"varve/manifest/conventions"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// TestConventions checks that the views in format 3 have the attributes of conventions, and that chunks are still found.
func TestConventions(t *testing.T) {
	dir := buildFiles(t, "demo.varve", months(t)...)
	h, err := serve.New(t.Context(), []string{dir}, &serve.Options{Reload: -1, Store: store.Options{Trusted: true}, Conventions: conventions.Names})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	plain := serveManifests(t, dir)
	for _, view := range []string{"", "/regular", "/core"} {
		for _, name := range []string{"/zarr.json", "/t2m/zarr.json"} {
			if body := string(bodyOf(t, s.URL+view+name)); !strings.Contains(body, `"spatial:transform"`) || !strings.Contains(body, `"proj:code"`) {
				t.Errorf("%s%s: %s", view, name, body)
			}
		}
		chunk := view + "/t2m/c/0/0/0"
		if got, want := bodyOf(t, s.URL+chunk), bodyOf(t, plain+chunk); got == nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d", chunk, len(got), len(want))
		}
	}
	if body := string(bodyOf(t, s.URL+"/v2/t2m/.zattrs")); strings.Contains(body, "spatial") {
		t.Errorf("format 2: %s", body)
	}
}
