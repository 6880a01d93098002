package serve

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/store"
	"varve/zarrjson"
)

// TestDocuments checks the documents of all groups and arrays, and the consolidated metadata.
func TestDocuments(t *testing.T) {
	d := newFake(t)
	s := start(t, newHandler(t, d))
	root := ask(t, "GET", s.URL+"/zarr.json")
	if root.status != 200 || root.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v", root.status, root.header)
	}
	group, err := zarrjson.ParseGroup([]byte(root.body))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, m := range group.Consolidated.Members {
		paths = append(paths, m.Path)
		key := (&url.URL{Path: "/" + m.Path + "/zarr.json"}).EscapedPath()
		got := ask(t, "GET", s.URL+key)
		if got.status != 200 {
			t.Errorf("%s: %d", key, got.status)
		}
		if m.Array == nil {
			continue
		}
		want, err := m.Array.Encode(zarrjson.Indented)
		if err != nil {
			t.Fatal(err)
		}
		if got.body != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", key, got.body, want)
		}
	}
	if got, want := fmt.Sprint(paths), "[big g h rect small "+oddName[1:]+"]"; got != want {
		t.Errorf("members: got %s, want %s", got, want)
	}
	sub, err := zarrjson.ParseGroup([]byte(ask(t, "GET", s.URL+"/g%20h/zarr.json").body))
	if err != nil || len(sub.Consolidated.Members) != 1 || sub.Consolidated.Members[0].Path != "ü #%41:x?&" {
		t.Errorf("the group's own members are %+v, %v", sub.Consolidated, err)
	}
}

// TestListed checks that paths that clients would confuse if they do not escape them are in no list, but are
// served to clients that escape them.
func TestListed(t *testing.T) {
	d := newFake(t)
	names := map[string]bool{"a\tb": false, "a\nb": false, "a\rb": false, "a%20b": false, "a b": true, "b%20a": true, "a?b": true, "a#b": true, "100%": true, "%zz": true,
		"%41": true, "e%2d%zz": true, "%2f": false, "%2F": false, "c%2bd%": false, "c+d%": true}
	for name := range names {
		d.add(t, "/odd/"+name, regularDoc("[2,2]", "[2,2]"), turnsOf)
	}
	s := start(t, newHandler(t, d))
	lists := ask(t, "GET", s.URL+"/zarr.json").body + ask(t, "GET", s.URL+"/odd/zarr.json").body + ask(t, "GET", s.URL+"/v2/.zmetadata").body +
		ask(t, "GET", s.URL+"/regular/zarr.json").body
	for name, listed := range names {
		for _, key := range []string{"odd/" + name, name, "odd/" + name + "/.zarray"} {
			quoted, _ := json.Marshal(key)
			if strings.Contains(lists, string(quoted)+":") != listed {
				t.Errorf("%s: listed is %v, want %v", quoted, !listed, listed)
			}
		}
		if got := ask(t, "GET", s.URL+(&url.URL{Path: "/odd/" + name + "/c/0/0"}).EscapedPath()); got.status != 200 {
			t.Errorf("%q: %d", name, got.status)
		}
	}
}

// TestNamesInURLs checks that a client that does not escape a percent sign in a name, and so requests A
// instead of %41, gets the array. An array that really has that name takes precedence.
func TestNamesInURLs(t *testing.T) {
	d := newFake(t)
	for _, name := range []string{"/odd/%41", "/é%2d%zz/x%20y", "/%42", "/B"} {
		d.add(t, name, regularDoc("[2,2]", "[2,2]"), turnsOf)
	}
	s := start(t, newHandler(t, d))
	chunk := func(of string) string { return ask(t, "GET", s.URL+of+"/c/0/0").body }
	for asked, name := range map[string]string{
		"/odd/A": "/odd/%2541", "/odd/%41": "/odd/%2541", "/%C3%A9-%25zz/x%20y": "/%C3%A9%252d%25zz/x%2520y", "/%42": "/B",
	} {
		if got := ask(t, "GET", s.URL+asked+"/c/0/0"); got.status != 200 || got.body != chunk(name) {
			t.Errorf("%s: %d", asked, got.status)
		}
		for _, doc := range []string{asked + "/zarr.json", "/regular" + asked + "/zarr.json", "/v2" + asked + "/.zarray"} {
			if got := ask(t, "GET", s.URL+doc); got.status != 200 {
				t.Errorf("%s: %d", doc, got.status)
			}
		}
	}
}

// TestChunks checks that every chunk of every array has the bytes of its elements or is 404.
func TestChunks(t *testing.T) {
	d := newFake(t)
	s := start(t, newHandler(t, d))
	for _, m := range d.arrays {
		a := m.(*fakeArray)
		coords := make([]int64, a.grid.Rank())
		for range 2 { // the second time from the open file, if there is one
			for n := range a.grid.Chunks() {
				a.grid.Coords(n, coords)
				key := string(a.schema.Keys.Append([]byte(a.path+"/"), coords))
				address := s.URL + (&url.URL{Path: key}).EscapedPath()
				got := ask(t, "GET", address)
				c, _ := a.grid.Chunk(coords)
				want := string(a.bytes(c.Origin, c.Codec))
				if a.kinds(n) == manifest.Missing {
					if got.status != 404 || !strings.Contains(got.body, "all fill") {
						t.Errorf("%s: %d %s", key, got.status, got.body)
					}
					continue
				}
				if got.status != 200 || got.body != want {
					t.Errorf("%s: %d, %d bytes, want %d", key, got.status, len(got.body), len(want))
				}
				head := ask(t, "HEAD", address)
				if head.status != 200 || head.body != "" || head.header.Get("Content-Length") != fmt.Sprint(len(want)) || head.header.Get("ETag") != got.header.Get("ETag") {
					t.Errorf("HEAD %s: %d %v", key, head.status, head.header)
				}
				if cached := ask(t, "GET", address, "If-None-Match", `"x", W/`+got.header.Get("ETag")); cached.status != 304 || cached.body != "" {
					t.Errorf("%s with its tag: %d", key, cached.status)
				}
				tag := got.header.Get("ETag")
				if same := ask(t, "GET", address, "If-Match", `"x", `+tag); same.status != 200 || same.body != want {
					t.Errorf("%s with If-Match for its tag: %d", key, same.status)
				}
				for _, method := range []string{"GET", "HEAD"} {
					for _, other := range []string{`"x"`, "W/" + tag} {
						if got := ask(t, method, address, "If-Match", other, "If-None-Match", tag, "Range", "bytes=0-0"); got.status != 412 || got.header.Get("ETag") != "" {
							t.Errorf("%s %s with If-Match for the tag %s: %d %v", method, key, other, got.status, got.header)
						}
					}
				}
			}
		}
	}
}

// TestSendsFiles checks that the store does not read large chunks of local files.
func TestSendsFiles(t *testing.T) {
	d := newFake(t)
	s := start(t, newHandler(t, d))
	for range 5 {
		if got := ask(t, "GET", s.URL+"/big/c/0/0"); got.status != 200 {
			t.Fatal(got)
		}
	}
	if n := d.reads.Load(); n != 0 {
		t.Errorf("the store read %d times", n)
	}
}

// TestDots checks that an array with ".." in its name is not served and does not affect others.
func TestDots(t *testing.T) {
	d := newFake(t)
	d.add(t, "/..", regularDoc("[2,2]", "[2,2]"), turnsOf)
	d.add(t, "/g h/...", regularDoc("[2,2]", "[2,2]"), turnsOf)
	d.add(t, `/g h/a\b`, regularDoc("[2,2]", "[2,2]"), turnsOf)
	s := start(t, newHandler(t, d))
	for key, want := range map[string]int{"/zarr.json": 200, "/small/c/0/0": 200, "/regular/zarr.json": 200, "/v2/.zmetadata": 200,
		"/%2e%2e/zarr.json": 404, "/%2e%2e/c/0/0": 404, "/g%20h/.../zarr.json": 404, "/g%20h/a%5Cb/zarr.json": 404} {
		if got := ask(t, "GET", s.URL+key); got.status != want || strings.Contains(got.body, `".`+`."`) {
			t.Errorf("%s: %d, want %d: %s", key, got.status, want, got.body)
		}
	}
}

// TestNames checks which keys exist, for names that must be escaped and for invalid keys.
func TestNames(t *testing.T) {
	s := start(t, newHandler(t, newFake(t)))
	for path, want := range map[string]int{
		"/g%20h/%C3%BC%20%23%2541%3Ax%3F&/zarr.json": 200,
		"/g%20h/%C3%BC%20%23%2541:x%3F%26/zarr.json": 200,
		"/g%20h/%C3%BC%20%23%2541:x%3F%26/c/0/0":     200,
		"/g%20h/%C3%BC%20%23A:x%3F%26/zarr.json":     200, // for a client that decodes %41 to A
		"/big/c/0/0/":                                404,
		"/big/c/00/0":                                404,
		"/big/c/0":                                   404,
		"/big/c/6/0":                                 404,
		"/big/c/-1/0":                                404,
		"/big/0.0":                                   404,
		"/big/c/0/0/../1":                            404,
		"/../zarr.json":                              404,
		"//zarr.json":                                404,
		"/big/.zarray":                               404,
		"/.zgroup":                                   404,
		"/nothing":                                   404,
		"/nothing/c/0/0":                             404,
		"/":                                          404,
		"/healthz":                                   200,
		"/metrics":                                   200,
	} {
		got := ask(t, "GET", s.URL+path)
		if got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
		if got.status == 404 && !json.Valid([]byte(got.body)) {
			t.Errorf("%s: %q is not JSON", path, got.body)
		}
	}
}

// TestUnescapedPercent checks names with an unescaped percent sign, as fsspec and others send them.
func TestUnescapedPercent(t *testing.T) {
	d := newFake(t)
	d.add(t, "/p%20q", regularDoc("[2,2]", "[2,2]"), turnsOf)
	s := start(t, newHandler(t, d))
	for _, path := range []string{"/p%20q/zarr.json", "/p%2520q/zarr.json"} {
		if got := ask(t, "GET", s.URL+path); got.status != 200 {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// TestUnescapedMarks checks keys with an unescaped question mark, which the server restores, and keys that end at
// an unescaped #. These must not be 404, because clients would replace them by fill values.
func TestUnescapedMarks(t *testing.T) {
	d := newFake(t)
	for _, name := range []string{"/p?q r", "/#refs#/0", "/g/a#b", "/g/c?d#e", "/g/%41%20#f"} {
		d.add(t, name, regularDoc("[2,2]", "[2,2]"), turnsOf)
	}
	s := start(t, newHandler(t, d))
	for path, want := range map[string]int{
		"/p?q%20r/zarr.json": 200, "/p?q%20r/c/0/0": 200, "/p%3Fq%20r/c/0/0": 200, "/regular/p?q%20r/c/0/0": 200,
		"/%23refs%23/0/c/0/0": 200, "/g/a%23b/c/0/0": 200, "/g/c%3Fd%23e/zarr.json": 200,
		"/": 400, "/g/a": 400, "/g/c?d": 400, "/v2/": 400, "/v2/g/a": 400, "/regular/g/a": 400,
		"/g/A%20": 400, "/g/%41%20": 400,
		"/p": 404, "/p?q": 404, "/g": 404, "/g/": 404, "/g/c": 404, "/g/a/c/0/0": 404,
	} {
		if got := ask(t, "GET", s.URL+path); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	if got := ask(t, "GET", s.URL+"/", "Accept", "text/html"); got.status != 200 {
		t.Errorf("the page: %d", got.status)
	}
}

// TestRanges checks the answers to Range and If-Range headers.
func TestRanges(t *testing.T) {
	d := newFake(t)
	s := start(t, newHandler(t, d))
	for _, key := range []string{"/big/c/0/0", "/big/c/0/0", "/big/c/1/0", "/zarr.json"} {
		whole := ask(t, "GET", s.URL+key)
		n := len(whole.body)
		etag := whole.header.Get("ETag")
		cases := []struct {
			header   string
			status   int
			from, to int
		}{
			{"bytes=0-0", 206, 0, 1},
			{"bytes=10-19", 206, 10, 20},
			{"bytes=10-", 206, 10, n},
			{"bytes=-4", 206, n - 4, n},
			{"bytes=-99999999999999999999", 206, 0, n},
			{"bytes=5-99999999999999999999", 206, 5, n},
			{fmt.Sprintf("bytes=%d-%d", n-1, n-1), 206, n - 1, n},
			{fmt.Sprintf("bytes=%d-", n), 416, 0, 0},
			{"bytes=-0", 416, 0, 0},
			{"bytes=9-3", 200, 0, n},
			{"bytes=a-b", 200, 0, n},
			{"bytes=0-1,5-6", 200, 0, n},
			{"rows=0-1", 200, 0, n},
			{"bytes=", 200, 0, n},
			{"bytes=+1-2", 200, 0, n},
		}
		for _, c := range cases {
			got := ask(t, "GET", s.URL+key, "Range", c.header, "Accept-Encoding", "gzip")
			if got.status != c.status {
				t.Errorf("%s %s: %d, want %d", key, c.header, got.status, c.status)
				continue
			}
			switch c.status {
			case 416:
				if got.header.Get("Content-Range") != fmt.Sprintf("bytes */%d", n) {
					t.Errorf("%s %s: %v", key, c.header, got.header)
				}
				continue
			case 206:
				if want := fmt.Sprintf("bytes %d-%d/%d", c.from, c.to-1, n); got.header.Get("Content-Range") != want {
					t.Errorf("%s %s: %v, want %s", key, c.header, got.header, want)
				}
			}
			if got.body != whole.body[c.from:c.to] {
				t.Errorf("%s %s: %d wrong bytes", key, c.header, len(got.body))
			}
			if head := ask(t, "HEAD", s.URL+key, "Range", c.header); head.status != got.status || head.header.Get("Content-Length") != fmt.Sprint(c.to-c.from) {
				t.Errorf("HEAD %s %s: %d %v", key, c.header, head.status, head.header)
			}
		}
		if got := ask(t, "GET", s.URL+key, "Range", "bytes=0-1", "If-Range", etag); got.status != 206 {
			t.Errorf("%s with If-Range for this version: %d", key, got.status)
		}
		if got := ask(t, "GET", s.URL+key, "Range", "bytes=0-1", "If-Range", `"old"`); got.status != 200 || got.body != whole.body {
			t.Errorf("%s with If-Range for an older version: %d", key, got.status)
		}
	}
}

// TestGzip checks that documents are compressed if the client accepts it, and that chunks are not.
func TestGzip(t *testing.T) {
	s := start(t, newHandler(t, newFake(t)))
	plain := ask(t, "GET", s.URL+"/zarr.json")
	for header, want := range map[string]string{
		"gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "gzip; q=0.0": "", "br": "", "": "", "gzip;q=0.1": "gzip",
	} {
		got := ask(t, "GET", s.URL+"/zarr.json", "Accept-Encoding", header)
		if got.header.Get("Content-Encoding") != want {
			t.Errorf("Accept-Encoding %q: got %q", header, got.header.Get("Content-Encoding"))
		}
		text := got.body
		if want == "gzip" {
			if got.header.Get("ETag") == plain.header.Get("ETag") {
				t.Errorf("the compressed document has the entity tag of the plain one")
			}
			z, err := gzip.NewReader(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		if text != plain.body {
			t.Errorf("Accept-Encoding %q: the document differs", header)
		}
	}
	if got := ask(t, "GET", s.URL+"/big/c/0/0", "Accept-Encoding", "gzip"); got.header.Get("Content-Encoding") != "" {
		t.Error("a chunk was compressed again")
	}
}

// TestMethodsAndOrigins checks that only reading methods are allowed, and that pages of any origin may read.
func TestMethodsAndOrigins(t *testing.T) {
	s := start(t, newHandler(t, newFake(t)))
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		if got := ask(t, method, s.URL+"/zarr.json"); got.status != 405 || got.header.Get("Allow") == "" {
			t.Errorf("%s: %d %v", method, got.status, got.header)
		}
	}
	preflight := ask(t, "OPTIONS", s.URL+"/big/c/0/0", "Origin", "https://example.org", "Access-Control-Request-Headers", "range")
	if preflight.status != 204 || !strings.Contains(preflight.header.Get("Access-Control-Allow-Headers"), "Range") {
		t.Errorf("%d %v", preflight.status, preflight.header)
	}
	for _, path := range []string{"/zarr.json", "/big/c/0/0", "/big/c/2/0", "/nothing"} {
		got := ask(t, "GET", s.URL+path, "Origin", "https://example.org")
		if got.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(got.header.Get("Access-Control-Expose-Headers"), "ETag") {
			t.Errorf("%s: %v", path, got.header)
		}
	}
}

// TestV2 checks the keys and chunks of the hierarchy in Zarr format 2.
func TestV2(t *testing.T) {
	d := newFake(t)
	s := start(t, newHandler(t, d))
	for path, want := range map[string]int{
		"/v2/.zgroup": 200, "/v2/.zattrs": 200, "/v2/.zmetadata": 200, "/v2/.zarray": 404, "/v2/zarr.json": 404,
		"/v2/big/.zarray": 200, "/v2/big/.zattrs": 200, "/v2/big/.zgroup": 404, "/v2/big/zarr.json": 404,
		"/v2/rect/.zarray": 404, "/v2/rect/0.0": 404,
		"/v2/g%20h/.zgroup": 200, "/v2/big/0.0": 200, "/v2/big/1.0": 200, "/v2/big/c/0/0": 404, "/v2/big/9.0": 404,
	} {
		if got := ask(t, "GET", s.URL+path); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	all, err := zarrjson.ParseV2Consolidated([]byte(ask(t, "GET", s.URL+"/v2/.zmetadata").body))
	if err != nil || len(all.Nodes) != 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, n := range []string{"0", "1"} {
		if v3, v2 := ask(t, "GET", s.URL+"/small/c/"+n+"/0"), ask(t, "GET", s.URL+"/v2/small/"+n+".0"); v3.body != v2.body {
			t.Errorf("chunk %s differs", n)
		}
	}
	// Without a mask, format 2 has no fill value here, so an omitted chunk would read as zeros instead of
	// NaN.
	missing := ask(t, "GET", s.URL+"/v2/small/2.0")
	if want := strings.Repeat("\x00\x00\xc0\x7f", 6); missing.status != 200 || missing.body != want {
		t.Errorf("a missing chunk: %d %q", missing.status, missing.body)
	}
}

// TestRegular checks the grids and chunks of the hierarchy in which all grids are regular.
func TestRegular(t *testing.T) {
	d := newFake(t)
	s := start(t, newHandler(t, d))
	group, err := zarrjson.ParseGroup([]byte(ask(t, "GET", s.URL+"/regular/zarr.json").body))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range group.Consolidated.Members {
		if m.Array != nil && m.Array.ChunkGrid.Name != zarrjson.Regular {
			t.Errorf("%s is %s", m.Path, m.Array.ChunkGrid.Name)
		}
	}
	doc, err := zarrjson.ParseArray([]byte(ask(t, "GET", s.URL+"/regular/rect/zarr.json").body))
	if err != nil {
		t.Fatal(err)
	}
	g, err := doc.Grid()
	if err != nil {
		t.Fatal(err)
	}
	if shape, _ := g.ChunkShape(); fmt.Sprint(shape) != "[2 4]" {
		t.Fatalf("chunks are %d", shape)
	}
	rect := d.arrays[2].(*fakeArray)
	for n := range int64(4) {
		got := ask(t, "GET", fmt.Sprintf("%s/regular/rect/c/%d/0", s.URL, n))
		if want := string(rect.bytes([]int64{2 * n, 0}, []int64{2, 4})); got.status != 200 || got.body != want {
			t.Errorf("chunk %d: %d, %d bytes", n, got.status, len(got.body))
		}
	}
	if a, b := ask(t, "GET", s.URL+"/regular/big/c/0/0"), ask(t, "GET", s.URL+"/big/c/0/0"); a.body != b.body || a.status != 200 {
		t.Error("a chunk of an array with a regular grid differs")
	}
}

// TestRegularBorder checks that elements beyond the array's end are fill values, and that a chunk that covers only
// missing chunks is missing.
func TestRegularBorder(t *testing.T) {
	d := newFake(t)
	a := d.add(t, "/r2", rectilinearDoc("[7,3]", "[[3,3,1],[2,1]]"), func(n int64) manifest.ChunkKind {
		if n >= 4 {
			return manifest.Missing
		}
		return manifest.Reencoded
	})
	s := start(t, newHandler(t, d))
	got := ask(t, "GET", s.URL+"/regular/r2/c/0/1")
	if want := string(a.bytes([]int64{0, 2}, []int64{3, 2})); got.status != 200 || got.body != want {
		t.Errorf("border: %d %q, want %q", got.status, got.body, want)
	}
	if got := ask(t, "GET", s.URL+"/regular/r2/c/2/0"); got.status != 404 {
		t.Errorf("a chunk that covers only missing chunks: %d", got.status)
	}
}

// TestSeveralManifests checks the addresses of several manifests.
func TestSeveralManifests(t *testing.T) {
	one, two := newFake(t), &fakeData{}
	opts := &Options{open: func(_ context.Context, dir string, _ *store.Options) (dataset, error) {
		if strings.Contains(dir, "one") {
			return one, nil
		}
		return two, nil
	}}
	s := start(t, newHandlerOf(t, opts, "/data/one.varve", "/data/two x.varve"))
	for path, want := range map[string]int{
		"/one/zarr.json": 200, "/one/big/c/0/0": 200, "/one/v2/.zgroup": 200, "/one/regular/zarr.json": 200,
		"/two%20x/zarr.json": 200, "/two%20x/big/zarr.json": 404, "/zarr.json": 404, "/three/zarr.json": 404,
		"/one": 301, "/two%20x": 301, "/healthz": 200,
	} {
		got := ask(t, "GET", s.URL+path)
		if got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
		if got.status == 301 && got.header.Get("Location") != path+"/" {
			t.Errorf("%s redirects to %s", path, got.header.Get("Location"))
		}
	}
	if _, err := New(t.Context(), []string{"/a/x.varve", "/b/x.varve"}, opts); err == nil || !strings.Contains(err.Error(), "/b/x.varve") {
		t.Errorf("two manifests with the same name: %v", err)
	}
}

// TestNodesWin checks that an array with the name of a hierarchy is served, and that the hierarchy is too.
func TestNodesWin(t *testing.T) {
	d := newFake(t)
	d.add(t, "/v2", regularDoc("[2,2]", "[2,2]"), turnsOf)
	s := start(t, newHandler(t, d))
	for _, path := range []string{"/v2/zarr.json", "/v2/c/0/0", "/v2/.zmetadata", "/v2/big/.zarray"} {
		if got := ask(t, "GET", s.URL+path); got.status != 200 {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// TestMetrics checks that /metrics counts requests by kind and status.
func TestMetrics(t *testing.T) {
	s := start(t, newHandler(t, newFake(t)))
	for _, path := range []string{"/big/c/0/0", "/big/c/0/0", "/big/c/1/0", "/big/c/2/0", "/zarr.json"} {
		ask(t, "GET", s.URL+path)
	}
	lines := []string{
		`varve_http_requests_total{code="200",kind="verbatim"} 2`,
		`varve_http_requests_total{code="200",kind="re-encoded"} 1`,
		`varve_http_requests_total{code="404",kind="missing"} 1`,
		`varve_http_sent_bytes_total{kind="verbatim"} 262144`,
		`varve_arrays{manifest="a.varve"} 4`,
		`varve_http_requests_in_flight 1`,
	}
	// A request is counted after its answer is sent, so the client may be ahead of the count.
	var left []string
	for range 250 {
		text := ask(t, "GET", s.URL+"/metrics").body
		left = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(text, line+"\n") })
		if len(left) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the metrics lack the lines %q", left)
}
