package serve

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"image/png"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/manifest"
)

var show = flag.String("show", "", "write the pages of the tests to this folder")

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// weather returns a dataset with coordinates, packed numbers, times and names with markup.
func weather(t *testing.T) *fakeData {
	t.Helper()
	d := newFake(t)
	chunks := func(c string) string { return `{"name":"regular","configuration":{"chunk_shape":` + c + `}}` }
	inline := func(int64) manifest.ChunkKind { return manifest.Reencoded }
	d.add(t, "/time", arrayDoc("[8]", chunks("[8]"), "", `{"units":"days since 2010-01-01","calendar":"noleap"}`, `["time"]`), inline)
	d.add(t, "/lat", arrayDoc("[4]", chunks("[4]"), "", `{"units":"degrees_north","long_name":"latitude"}`, `["lat"]`), inline)
	d.add(t, "/t2m", arrayDoc("[8,4,5]", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[3,2,3],4,[2,3]]}}`, "",
		`{"units":"K","long_name":"<script>alert(1)</script>","scale_factor":2.0,"add_offset":100.0,"_FillValue":"AAAAAAAAAEA="}`, `["time","lat","x"]`), turnsOf)
	for i := range d.arrays {
		a := d.arrays[i].(*fakeArray)
		d.snapshot.Arrays = append(d.snapshot.Arrays, manifest.Array{Path: a.path, Chunks: manifest.Counts{Verbatim: 2, Reencoded: 1}})
	}
	return d
}

// TestPages checks the contents of pages, and that programs do not get pages.
func TestPages(t *testing.T) {
	d := weather(t)
	s := start(t, newHandler(t, d))
	cases := map[string][]string{
		"/":             {"a test", `href="/t2m"`, "verbatim", "xr.open_datatree(\"" + s.URL + "\", engine=\"zarr\")"},
		"/g%20h":        {"xr.open_zarr(\"" + s.URL + "/g%20h\")", `href="/g%20h/%C3%BC%20%23%2541:x%3F&amp;"`, "ü #%41:x?&amp;"},
		"/t2m":          {"&lt;script&gt;", "rectilinear", "<svg class=\"mosaic\"", `class="r`, "c/0/0/1", "source ü.bin", "as=svg", "/regular/t2m", `<div class="wrap attr">2</div>`},
		"/t2m/":         {"&lt;script&gt;"},
		"/t2m?listed=3": {"c/1/0/1"},
		"/big?time=3:7": {`value="3:7"`},
	}
	for path, wants := range cases {
		got := ask(t, "GET", s.URL+path, "Accept", browser)
		if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %v", path, got.status, got.header)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(got.body, want) && !strings.Contains(html.UnescapeString(got.body), want) {
				t.Errorf("%s does not contain %q", path, want)
			}
		}
		checkScript(t, path, got)
		if *show != "" {
			name := filepath.Join(*show, url.PathEscape(strings.Trim(path, "/"))+"page.html")
			if err := os.WriteFile(name, []byte(strings.ReplaceAll(got.body, `src="?`, `src="`+s.URL+path+"?")), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if other := ask(t, "GET", s.URL+path, "Accept", "*/*"); other.status != 404 {
			t.Errorf("%s for a program: %d", path, other.status)
		}
	}
	for _, path := range []string{"/nothing", "/t2m/c/0/0/9", "/t2m/x"} {
		if got := ask(t, "GET", s.URL+path, "Accept", browser); got.status != 404 {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := ask(t, "GET", s.URL+"/zarr.json", "Accept", browser); got.header.Get("Content-Type") != "application/json" {
		t.Errorf("zarr.json for a browser is %s", got.header.Get("Content-Type"))
	}
}

// TestOddChunk: one chunk among 400 that is re-encoded is in the bar of its array, which links to the row of the chunk.
func TestOddChunk(t *testing.T) {
	d := newFake(t)
	d.add(t, "/odd", arrayDoc("[400]", `{"name":"regular","configuration":{"chunk_shape":[1]}}`, "", `{}`, `["time"]`), func(n int64) manifest.ChunkKind {
		if n == 287 {
			return manifest.Reencoded
		}
		return manifest.Verbatim
	})
	for i := range d.arrays {
		d.snapshot.Arrays = append(d.snapshot.Arrays, manifest.Array{Path: d.arrays[i].(*fakeArray).path, Chunks: manifest.Counts{Verbatim: 399, Reencoded: 1}})
	}
	s := start(t, newHandler(t, d))
	link := `href="/odd?listed=re-encoded#chunks"`
	if page := ask(t, "GET", s.URL+"/", "Accept", browser).body; !strings.Contains(page, link) || !strings.Contains(page, `<i class="reencoded"`) || !strings.Contains(page, ".bar .reencoded { flex-shrink: 0; min-width: 3px; }") {
		t.Errorf("the bar has no link %s, or no width", link)
	}
	// 400 chunks are in 120 cells, of which one is not the first of its cell.
	if page := ask(t, "GET", s.URL+"/odd", "Accept", browser).body; strings.Count(page, `<rect class="r`) != 1 || !strings.Contains(page, `<a href="?listed=287#chunks"><rect`) ||
		!strings.Contains(page, "399 chunks verbatim, 0 prefix, 1 re-encoded") {
		t.Error("the picture does not show the chunk, or does not lead to it")
	}
	page := ask(t, "GET", s.URL+"/odd?listed=re-encoded", "Accept", browser).body
	_, rows, _ := strings.Cut(page, `<h2 id="chunks">`)
	if at := strings.Index(rows, "c/287<"); at < 0 || strings.Contains(rows, "c/286<") || !strings.Contains(rows[at:], "other codecs") {
		t.Errorf("the list does not begin at the chunk, with its reason: %.600s", rows)
	}
}

// checkScript checks that a page has only its own script and allows no other.
func checkScript(t *testing.T, path string, got answer) {
	t.Helper()
	_, after, _ := strings.Cut(got.body, "<script>")
	script, _, _ := strings.Cut(after, "</script>")
	sum := sha256.Sum256([]byte(script))
	allowed := got.header.Get("Content-Security-Policy")
	if strings.Count(got.body, "<script") != 1 || !strings.Contains(allowed, "default-src 'none'") || strings.Count(allowed, "script-src") != 1 ||
		!strings.Contains(allowed, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';") {
		t.Errorf("%s could run a script in an attribute: %s", path, allowed)
	}
}

// TestWays checks that the code to paste is correct for all names.
func TestWays(t *testing.T) {
	d := newFake(t)
	const name = `a"]; import os; os.system("x") #'; rm -rf ~; '`
	for _, w := range ways("http://h:1/a", node{path: "g/" + name, array: d.arrays[1]}, false) {
		if w.Name != "GDAL" && strings.Contains(w.Value, `a"]`) {
			t.Errorf("%s: a name is not quoted: %s", w.Name, w.Value)
		}
	}
	if got, want := shellQuoted("a'b $c"), `'a'\''b $c'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDates: a slice can be selected by dates of a time coordinate.
func TestDates(t *testing.T) {
	s := newHandler(t, weather(t)).byName[""].plain[inFull].Load()
	a := s.v3.arrays["t2m"].array
	for query, want := range map[string]string{
		"time=2010-01-03": "2 1", "time=2010-01-03T00": "2 1", "time=2010-01-03 00:00:00": "2 1", "time=2010-01": "0 1", "time=3": "3 1",
		"across=time&up=-&time=2010-01-03:2010-01-05": "2 3", "across=time&up=-&time=2010-01:2010-01": "0 8", "across=time&up=-&time=2:4": "2 2",
		"time=2010-02-01": "", "time=2009-12": "", "time=2010-13": "", "lat=2010-01-03": "", "time=2010-01-03T12": "", "across=time&up=-&time=2010-01-05:2010-01-03": "",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		sl, err := s.slice(t.Context(), a, q)
		got := ""
		if err == nil {
			got = fmt.Sprint(sl.region.Origin[0], sl.region.Shape[0])
		}
		if got != want {
			t.Errorf("%s: %q, want %q: %v", query, got, want, err)
		}
	}
}

// TestFaultPages: a browser gets faults as pages, and a program as JSON.
func TestFaultPages(t *testing.T) {
	s := start(t, newHandlerOf(t, &Options{Base: "/a<b", open: fakeOpen(newFake(t))}, "one.varve"))
	got := ask(t, "GET", s.URL+"/a%3Cb/nothing", "Accept", browser)
	if got.status != 404 || !strings.Contains(got.body, "<h1>404 no such key</h1>") || !strings.Contains(got.body, `href="/a%3Cb/"`) || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if got := ask(t, "GET", s.URL+"/a%3Cb/nothing"); got.status != 404 || !strings.HasPrefix(got.body, `{"status":404`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestTreeWays: a group with groups is opened as a tree.
func TestTreeWays(t *testing.T) {
	for tree, want := range map[bool]string{false: `xr.open_zarr("http://h")`, true: `xr.open_datatree("http://h", engine="zarr")`} {
		if got := ways("http://h", node{}, tree)[0].Value; !strings.Contains(got, want) {
			t.Errorf("%v: %s", tree, got)
		}
	}
}

// TestEveryArrayHasAPage requests the pages of arrays of all types, shapes and kinds.
func TestEveryArrayHasAPage(t *testing.T) {
	d := weather(t)
	d.add(t, "/scalar", arrayDoc("[]", `{"name":"regular","configuration":{"chunk_shape":[]}}`, "", `{}`, `[]`), turnsOf)
	d.add(t, "/empty", arrayDoc("[0,3]", `{"name":"regular","configuration":{"chunk_shape":[1,3]}}`, "", `{"a":{"b":[1,null]}}`, `[null,null]`), turnsOf)
	d.add(t, "/many", arrayDoc("[1000000]", `{"name":"regular","configuration":{"chunk_shape":[1]}}`, "", `{}`, `["i"]`), func(int64) manifest.ChunkKind { return manifest.Missing })
	s := start(t, newHandler(t, d))
	for _, a := range d.arrays {
		path := (&url.URL{Path: a.Path()}).EscapedPath()
		got := ask(t, "GET", s.URL+path, "Accept", browser)
		if got.status != 200 || len(got.body) > 1<<20 {
			t.Errorf("%s: %d, %d bytes", path, got.status, len(got.body))
		}
	}
}

// TestIndex checks the page that lists several manifests.
func TestIndex(t *testing.T) {
	opts := &Options{open: fakeOpen(newFake(t))}
	s := start(t, newHandlerOf(t, opts, "/data/one.varve", "/data/two.varve"))
	got := ask(t, "GET", s.URL+"/", "Accept", browser)
	if got.status != 200 || !strings.Contains(got.body, `href="/one/"`) || !strings.Contains(got.body, `href="/two/"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	var list struct{ Manifests []card }
	got = ask(t, "GET", s.URL+"/")
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || len(list.Manifests) != 2 {
		t.Fatalf("%v: %s", err, got.body)
	}
	c := list.Manifests[1]
	if c.Name != "two" || c.Address != "/two/" || c.Arrays == 0 || c.Bytes == 0 || c.Snapshot == "" || len(c.Dimensions) == 0 {
		t.Errorf("%+v", c)
	}
	if picture := ask(t, "GET", s.URL+c.Picture); picture.status != 200 || !strings.Contains(picture.body, "<svg") {
		t.Errorf("%s: %d", c.Picture, picture.status)
	}
	if got := ask(t, "GET", s.URL+"/one/big", "Accept", browser); !strings.Contains(got.body, s.URL+"/one/regular/big") {
		t.Errorf("%d, and the page does not contain the address of the array", got.status)
	}
}

// TestPlots checks the status of requests for plots, and that the pictures can be decoded.
func TestPlots(t *testing.T) {
	d := weather(t)
	s := start(t, newHandler(t, d))
	for query, want := range map[string]int{
		"/t2m?as=png":                200,
		"/t2m?as=svg":                200,
		"/t2m?as=svg&time=3&lat=0:2": 200,
		"/t2m?as=svg&across=time&up=lat&time=1:-1": 200,
		"/t2m?as=svg&across=time&up=-":             200,
		"/t2m?as=svg&across=lat":                   200,
		"/t2m?as=svg&up=x":                         200,
		"/lat?as=png":                              200,
		"/g%20h/%C3%BC%20%23%2541:x%3F&?as=png":    200,
		"/big?as=png&across=x&up=time":             200,
		"/t2m?as=gif":                              400,
		"/t2m?as=svg&time=8":                       400,
		"/t2m?as=svg&time=-9":                      400,
		"/t2m?as=svg&time=1:3":                     400,
		"/t2m?as=svg&time=x":                       400,
		"/t2m?as=svg&lat=3:2":                      400,
		"/t2m?as=svg&across=nothing":               400,
		"/t2m?as=svg&across=lat&up=lat":            400,
		"/nothing?as=png":                          404,
		"/?as=png":                                 404,
	} {
		got := ask(t, "GET", s.URL+query)
		if got.status != want {
			t.Errorf("%s: %d %s, want %d", query, got.status, got.body, want)
		}
		if got.status == 200 {
			checkPicture(t, query, got)
		}
	}
}

// TestLayout checks the chunk layout of an array of 6 chunks along its first axis.
func TestLayout(t *testing.T) {
	d := weather(t)
	s := start(t, newHandler(t, d))
	got := ask(t, "GET", s.URL+"/big?as=layout")
	const want = `{"regular":true,"sharded":false,"declared":[{"chunks":[2,16384]}],"readable":{"levels":[[2,16384]],"elements":true},` +
		`"writable":{"levels":[[2,16384]],"elements":false},"read_chunk_sizes":[[[2,6]],[16384]],"write_chunk_sizes":[[[2,6]],[16384]]}`
	if got.status != 200 || got.body != want || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestPlotCalibrated checks that unsupported packing is not drawn and that the page says why.
func TestPlotCalibrated(t *testing.T) {
	d := weather(t)
	for i := range d.snapshot.Arrays {
		d.snapshot.Arrays[i].Calibrated = d.snapshot.Arrays[i].Path == "/t2m"
	}
	s := start(t, newHandler(t, d))
	if got := ask(t, "GET", s.URL+"/t2m?as=png"); got.status != 501 || !strings.Contains(got.body, "add_offset follows HDF4's") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := ask(t, "GET", s.URL+"/t2m", "Accept", browser); got.status != 200 || strings.Contains(got.body, "as=svg") || !strings.Contains(got.body, "add_offset follows HDF4") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func checkPicture(t *testing.T, query string, got answer) {
	t.Helper()
	if strings.Contains(query, "as=png") {
		if _, err := png.Decode(strings.NewReader(got.body)); err != nil || got.header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %v", query, err)
		}
		return
	}
	for d := xml.NewDecoder(strings.NewReader(got.body)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Errorf("%s: %v", query, err)
			break
		}
	}
	if got.header.Get("Content-Type") != "image/svg+xml" || strings.Contains(got.body, "<script") {
		t.Errorf("%s: %v", query, got.header)
	}
}

// TestPlotValues checks that plots have the decoded elements of the slice for every order of axes.
func TestPlotValues(t *testing.T) {
	d := weather(t)
	h := newHandler(t, d)
	s := h.byName[""].plain[inFull].Load()
	a := d.arrays[len(d.arrays)-1]
	for query, want := range map[string][]float64{
		"time=1&lat=2:4&across=x&up=lat&": {160, 162, 164, 166, 168, 170, 172, 174, 176, 178},
		"time=1&lat=2:4&across=lat&up=x":  {160, 170, 162, 172, 164, 174, 166, 176, 168, 178},
		"across=x&up=-":                   {100, 102, math.NaN(), 106, 108},
		"across=time&up=-&time=0:3":       {100, 140, 180},
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		sl, err := parseSlice(a, q)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.plot(t.Context(), sl)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(p.Values) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", query, p.Values, want)
		}
	}
	sl, err := parseSlice(a, url.Values{"time": {"3"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.plot(t.Context(), sl)
	if err != nil {
		t.Fatal(err)
	}
	if p.Title != "t2m, time = 2010-01-04" || p.Y.Label != "latitude [degrees_north]" || !strings.HasSuffix(p.Unit, "[K]") {
		t.Errorf("%q, %q, %q", p.Title, p.Y.Label, p.Unit)
	}
}

// TestPlotAxes checks that an axis is labelled with the coordinate by which regions are selected, not with
// another array of the same name.
func TestPlotAxes(t *testing.T) {
	d := weather(t)
	one, flat := `{"name":"regular","configuration":{"chunk_shape":[4]}}`, `{"name":"regular","configuration":{"chunk_shape":[4,5]}}`
	inline := func(int64) manifest.ChunkKind { return manifest.Reencoded }
	d.add(t, "/x", arrayDoc("[5]", one, "", `{"units":"km"}`, `["cells"]`), inline)
	d.add(t, "/swath/lat", arrayDoc("[4,5]", flat, "", `{"units":"degrees_north"}`, `["lat","x"]`), inline)
	d.add(t, "/swath/v", arrayDoc("[4,5]", flat, "", `{}`, `["lat","x"]`), inline)
	s := newHandler(t, d).byName[""].plain[inFull].Load()
	for path, want := range map[string]string{"/t2m": "latitude", "/swath/v": "lat"} {
		sl, err := parseSlice(s.v3.arrays[relative(path)], url.Values{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.plot(t.Context(), sl)
		if err != nil {
			t.Fatal(err)
		}
		if p.X.Label != "x" || p.X.At != nil || !strings.HasPrefix(p.Y.Label, want) || (p.Y.At == nil) != (want == "lat") {
			t.Errorf("%s is drawn along %+v and %+v", path, p.X, p.Y)
		}
	}
}
