package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"varve/manifest/serve"
	"varve/manifest/store"
)

// TestSTAC follows a catalog to the collections of manifests. Each is made once, after a failure again.
func TestSTAC(t *testing.T) {
	files := months(t)
	dirs := []string{buildFiles(t, "east.varve", files...), buildFiles(t, "west 2.varve", files[:1]...)}
	var made atomic.Int32
	opts := &serve.Options{Reload: -1, Base: "/data", Store: store.Options{Trusted: true}, STAC: func(_ context.Context, w io.Writer, s *store.Store, id, address string) error {
		if made.Add(1) == 1 {
			return errors.New("not yet")
		}
		_, err := fmt.Fprintf(w, `{"type":"Collection","id":%q,"sources":%d,"assets":{"data":{"href":%q}}}`, id, s.Snapshot().Sources, address)
		return err
	}}
	h, err := serve.New(t.Context(), dirs, opts)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer func() {
		server.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	read := func(url string, to any) int {
		t.Helper()
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusOK {
			if err := json.Unmarshal(text, to); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
		}
		return resp.StatusCode
	}
	var catalog struct {
		Type  string
		Links []struct{ Rel, Href, Title string }
	}
	root := server.URL + "/data/"
	if status := read(server.URL+"/data/catalog.json", &catalog); status != http.StatusOK || catalog.Type != "Catalog" || len(catalog.Links) != 3 {
		t.Fatalf("%d, %+v", status, catalog)
	}
	type collection struct {
		ID      string
		Sources int
		Assets  map[string]struct{ Href string }
	}
	for i, want := range []struct {
		name, href string
		sources    int
	}{{"east", "./east/stac.json", 3}, {"west 2", "./west%202/stac.json", 1}} {
		link := catalog.Links[1+i]
		if link.Rel != "child" || link.Title != want.name || link.Href != want.href {
			t.Errorf("%+v", link)
		}
		link.Href = root + strings.TrimPrefix(link.Href, "./")
		var c collection
		if i == 0 {
			if status := read(link.Href, &c); status != http.StatusBadGateway {
				t.Errorf("a failure: %d", status)
			}
		}
		for range 2 {
			if status := read(link.Href, &c); status != http.StatusOK || c.ID != want.name || c.Sources != want.sources || c.Assets["data"].Href != "./" {
				t.Errorf("%s: %d, %+v", link.Href, status, c)
			}
		}
	}
	if made.Load() != 3 {
		t.Errorf("collections were made %d times", made.Load())
	}
}
