package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/picture"
	"varve/manifest/report"
	"varve/manifest/store"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// pages is parsed when the first page is asked for, and not by every command.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"bytes": byteSize, "percent": percent, "thousands": report.Thousands, "short": short,
		"style":  func() template.CSS { return template.CSS(pageStyle + picture.Style) },
		"script": func() template.JS { return template.JS(pageScript) },
	}).Parse(pageText))
})

// policy allows a page its own style, pictures and script, and nothing else: whatever an
// attribute says, it does not run.
var policy = func() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}()

// wantsPage reports whether a client is a browser that goes to an address.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// servePage answers with the page of a node, or a plot of it.
func (s *site) servePage(w http.ResponseWriter, r *http.Request, at *address, p string) bool {
	n, ok := s.node(strings.Trim(p, "/"))
	if !ok {
		return false
	}
	w.Header().Set("Vary", "Accept")
	if form := r.URL.Query().Get("as"); form != "" && n.array != nil {
		note(w, kindPlot)
		s.servePlot(w, r, n.array, form)
		return true
	}
	if !wantsPage(r) {
		return false
	}
	note(w, kindPage)
	data := pageOf(s, r, at, n)
	if n.array != nil {
		data.describe(r.Context(), s, n.array, r.URL.Query())
	} else {
		data.summarize(r.Context(), s, n)
	}
	servePageData(w, r, data)
	return true
}

func (s *site) node(p string) (node, bool) {
	for _, n := range s.nodes {
		if n.path == p {
			return n, true
		}
	}
	return node{}, false
}

// servePageData runs the template. Nothing on a page comes from elsewhere.
func servePageData(w http.ResponseWriter, r *http.Request, data any) {
	var b bytes.Buffer
	if err := pages().Execute(&b, data); err != nil {
		fail(w, r, &fault{Status: http.StatusInternalServerError, Kind: "page", Reason: err.Error()})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	serveBytes(w, r, body{b.Bytes(), tagOf("page", b.Bytes())})
}

// page is what the template shows.
type page struct {
	Title, Lead string
	Index       []string // names of manifests, on a page that lists them
	Base        string   // the path that the manifest stands at, with a slash at its end
	Doc         string   // the path of the node's zarr.json
	Crumbs      []link
	Snapshot    *manifest.Snapshot
	Own         string // the snapshot's own address, which never leads to another
	Newer       *link  // the newest snapshot, if the page is of an older one
	Held        string // why the newest is not at this address
	Tiles       []fact
	Dims        []fact
	Coords      []row
	Tree        []row
	Beside      []link
	All         *link // the group, if Beside does not list all of it
	Facts       []fact
	Attrs       []fact
	Array       *arrayPage
	Ways        []fact // to open it, by client
}

type link struct{ Name, Href string }

// row is an array in the list of arrays of a group.
type row struct {
	link
	Depth  int
	Group  bool
	Dims   string
	Type   string
	Bytes  int64
	Chunks int64
	Counts manifest.Counts
	Total  int64
	Inline bool // its values are in the manifest

	Label   string // what the attributes say it is
	Preview string // the first values and the last
	coord   bool
	array   array
}

type fact struct{ Name, Value string }

// arrayPage is what an array has besides.
type arrayPage struct {
	Name     string
	Mosaic   template.HTML // empty for an array that the manifest keeps
	Note     string        // on the mosaic
	Drawable bool
	Why      string
	Plot     template.URL // the query of the plot
	Axes     []axisChoice
	Chunks   []chunkRow
	More     string
	Codecs   []fact
}

type axisChoice struct {
	Name   string
	Length int64
	Value  string
	X, Y   bool
}

type chunkRow struct {
	Key, Ranges, Kind, Source string
	Offset, Size              int64
	Stored                    bool
}

func pageOf(s *site, r *http.Request, at *address, n node) *page {
	p := &page{Base: at.base, Snapshot: s.data.Snapshot()}
	p.tellSnapshots(s, at, n)
	p.Doc = p.Base + escapePath(path.Join(n.path, "zarr.json"))
	p.Title = path.Base("/" + n.path)
	if n.path == "" {
		p.Title = cmp.Or(s.name, "varve")
	}
	p.Crumbs = crumbs(p.Base, s.name, n.path)
	attributes := n.group
	if n.array != nil {
		attributes = n.array.Schema().Attributes
		p.Lead = labelOf(n.array.Schema())
	} else {
		p.Lead = cf.TextIn(attributes, "title")
	}
	for name, raw := range attributes.All() {
		p.Attrs = append(p.Attrs, fact{name, shorten(plainJSON(raw))})
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	p.Ways = ways(scheme+r.Host+strings.TrimSuffix(p.Base, "/"), n)
	return p
}

// tellSnapshots says where the page's snapshot has its own address, and what is newer.
func (p *page) tellSnapshots(s *site, at *address, n node) {
	id := s.data.Snapshot().ID
	p.Own = at.own(id) + escapePath(n.path)
	if o := at.outlook.Load(); o.newest != id {
		p.Newer = &link{short(o.newest), at.own(o.newest)}
		if at.base == at.standing.base {
			p.Held = o.held[inFull]
		}
	}
}

// plainJSON shows a text without its quotes.
func plainJSON(raw []byte) string {
	if text, ok := cf.TextOf(raw); ok {
		return text
	}
	return string(raw)
}

func shorten(s string) string {
	const most = 2000
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

func crumbs(base, name, p string) []link {
	if name == "" {
		name = "/"
	}
	out := []link{{name, base}}
	at := ""
	for part := range strings.SplitSeq(p, "/") {
		if part != "" {
			at = path.Join(at, part)
			out = append(out, link{part, base + escapePath(at)})
		}
	}
	return out
}

func (r *row) fill(a array, spec *manifest.Array) {
	var dims []string
	elements := int64(1)
	for axis, name := range a.Schema().Dims() {
		dims = append(dims, name+": "+report.Thousands(a.Grid().Shape()[axis]))
		elements *= a.Grid().Shape()[axis]
	}
	t := a.Schema().DataType.Type()
	r.Dims, r.Type, r.Bytes, r.Chunks = strings.Join(dims, ", "), a.Schema().DataType.Name(), elements*int64(t.Size), a.Grid().Chunks()
	r.array, r.coord, r.Label = a, cf.IsCoordinate(a), labelOf(a.Schema())
	if spec != nil {
		r.Counts, r.Inline = spec.Chunks, len(spec.Pieces) > 0
	}
	r.Total = r.Counts.Verbatim + r.Counts.Prefix + r.Counts.Reencoded + r.Counts.Missing
}

// spec is what the snapshot says of an array, or nil.
func (s *site) spec(a array) *manifest.Array {
	for i := range s.data.Snapshot().Arrays {
		if spec := &s.data.Snapshot().Arrays[i]; spec.Path == a.Path() {
			return spec
		}
	}
	return nil
}

// choose sets the form of the slice to what the query says.
func (p *arrayPage) choose(a array, query url.Values) {
	sl, err := parseSlice(a, query)
	if err != nil {
		p.Why = err.Error()
		if sl, err = parseSlice(a, url.Values{}); err != nil {
			return
		}
	} else {
		p.Drawable = true
	}
	kept := url.Values{"as": {"svg"}}
	for axis, name := range sl.names {
		choice := axisChoice{Name: name, Length: a.Grid().Shape()[axis], X: axis == sl.x, Y: axis == sl.y, Value: query.Get(name)}
		p.Axes = append(p.Axes, choice)
		if choice.Value != "" {
			kept.Set(name, choice.Value)
		}
	}
	for _, key := range []string{"across", "up"} {
		if v := query.Get(key); v != "" {
			kept.Set(key, v)
		}
	}
	p.Plot = template.URL("?" + kept.Encode())
}

// chunksShown is how many chunks are listed at a time.
const chunksShown = 20

// list shows where chunks lie, from a number on.
func (p *arrayPage) list(ctx context.Context, s *site, a array, from string) {
	first, ok := position(from, 0, a.Grid().Chunks())
	if !ok {
		return
	}
	coords := make([]int64, a.Grid().Rank())
	for n := first; n < min(first+chunksShown, a.Grid().Chunks()); n++ {
		if !a.Grid().Coords(n, coords) {
			return
		}
		loc, err := a.Locate(ctx, coords)
		if err != nil {
			return
		}
		p.Chunks = append(p.Chunks, s.chunkRow(ctx, a, coords, &loc))
	}
	if first+chunksShown < a.Grid().Chunks() {
		p.More = fmt.Sprintf("?listed=%d#chunks", first+chunksShown)
	}
}

func (s *site) chunkRow(ctx context.Context, a array, coords []int64, loc *store.Location) chunkRow {
	row := chunkRow{Key: string(a.Schema().Keys.Append(nil, coords)), Kind: classOf(loc)}
	if c, ok := a.Grid().Chunk(coords); ok {
		var ranges []string
		for axis := range coords {
			ranges = append(ranges, fmt.Sprintf("%d:%d", c.Origin[axis], c.Region.End(axis)))
		}
		row.Ranges = strings.Join(ranges, ", ")
	}
	if isStored(loc) {
		row.Stored, row.Offset, row.Size = true, loc.Offset, loc.Size
		row.Source = s.sourceName(ctx, loc.Source)
	}
	return row
}

// serveIndex lists manifests, for whoever asks for a page.
func (h *Handler) serveIndex(w http.ResponseWriter, r *http.Request) bool {
	if !wantsPage(r) {
		return false
	}
	note(w, kindPage)
	p := &page{Title: "varve", Base: escapePath(h.base)}
	for _, at := range h.places {
		p.Index = append(p.Index, at.name)
	}
	servePageData(w, r, p)
	return true
}

// escape returns a name as a segment of a path.
func escape(name string) string { return url.PathEscape(name) }

func escapePath(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		parts[i] = escape(part)
	}
	return strings.Join(parts, "/")
}

func byteSize(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	f, i := float64(n), 0
	for ; f >= 1000 && i < len(units)-1; i++ {
		f /= 1000
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", f, units[i])
}

func short(id string) string { return id[:min(len(id), 12)] }

func percent(part, total int64) string {
	if total == 0 {
		return "0%"
	}
	// Not all is never said to be all.
	return fmt.Sprintf("%.4g%%", math.Floor(1000*float64(part)/float64(total))/10)
}
