package serve

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"varve/manifest/store"
)

var links = regexp.MustCompile(`(?:href|src)="([^"?#]+)"`)

// TestBase checks that a Handler that is mounted below a path puts all its links below that path.
func TestBase(t *testing.T) {
	for _, c := range []struct{ base, at string }{{"", ""}, {"/archive", "/archive"}, {"a b/ü%41/", "/a%20b/%C3%BC%2541"}} {
		for _, dirs := range [][]string{{"one.varve"}, {"one.varve", "two x.varve"}} {
			d := weather(t)
			h := newHandlerOf(t, &Options{Base: c.base, open: func(context.Context, string, *store.Options) (dataset, error) { return d, nil }}, dirs...)
			s := start(t, h)
			named := ""
			if len(dirs) > 1 {
				named = "/one"
			}
			for key, want := range map[string]int{
				c.at + "/healthz": 200, c.at + "/metrics": 200, c.at + named + "/zarr.json": 200, c.at + named + "/big/c/0/0": 200,
				c.at + named + "/@newest": 307, "/elsewhere": 404, c.at + named + "/t2m": 404,
			} {
				if got := ask(t, "GET", s.URL+key); got.status != want {
					t.Errorf("%s: %d, want %d: %s", key, got.status, want, got.body)
				}
			}
			if c.at != "" {
				if got := ask(t, "GET", s.URL+named+"/zarr.json"); got.status != 404 {
					t.Errorf("outside of %s: %d", c.at, got.status)
				}
			}
			if got := ask(t, "GET", s.URL+c.at+named+"/@newest").header.Get("Location"); !strings.HasPrefix(got, c.at+named+"/@") {
				t.Errorf("%s%s/@newest redirects to %s", c.at, named, got)
			}
			if got := ask(t, "GET", s.URL+c.at, "Accept", browser); got.status != 200 {
				t.Errorf("%s without its final slash: %d", c.base, got.status)
			}
			checkLinks(t, s.URL, c.at, named)
		}
	}
}

// checkLinks follows all links on the pages of a manifest.
func checkLinks(t *testing.T, server, at, named string) {
	t.Helper()
	for _, page := range []string{at + "/", at + named + "/", at + named + "/t2m"} {
		body := ask(t, "GET", server+page, "Accept", browser).body
		found := links.FindAllStringSubmatch(body, -1)
		if len(found) == 0 {
			t.Errorf("%s has no links: %s", page, body)
		}
		for _, link := range found {
			to := html.UnescapeString(link[1])
			if !strings.HasPrefix(to, at+"/") {
				t.Errorf("%s has a link to %s", page, to)
			} else if got := ask(t, "GET", server+to, "Accept", browser); got.status != http.StatusOK {
				t.Errorf("%s has a link to %s, which returns %d", page, to, got.status)
			}
		}
		if strings.Contains(body, "open_zarr") && !strings.Contains(html.UnescapeString(body), server+at+named) {
			t.Errorf("%s shows clients another address", page)
		}
	}
}
