package serve

import (
	"bytes"
	"context"
	_ "embed" // the page
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"

	"varve/manifest"
	"varve/manifest/picture"
	"varve/manifest/store"
	"varve/zarrjson"
)

//go:embed page.html
var pageText string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"bytes": byteSize, "percent": percent, "style": func() template.CSS { return picture.Style },
}).Parse(pageText))

// wantsPage reports whether a client is a browser that goes to an address.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// servePage answers with the page of a node, or a plot of it.
func (s *site) servePage(w http.ResponseWriter, r *http.Request, p string) bool {
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
	data := pageOf(s, r, n)
	if n.array != nil {
		data.describe(r.Context(), s, n.array, r.URL.Query())
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

// servePageData runs the template. Nothing on a page comes from elsewhere, and no script runs.
func servePageData(w http.ResponseWriter, r *http.Request, data any) {
	var b bytes.Buffer
	if err := pages.Execute(&b, data); err != nil {
		fail(w, r, &fault{Status: http.StatusInternalServerError, Kind: "page", Reason: err.Error()})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	serveBytes(w, r, body{b.Bytes(), tagOf("page", b.Bytes())})
}

// servePlot draws a slice, when it is its turn.
func (s *site) servePlot(w http.ResponseWriter, r *http.Request, a array, form string) {
	sl, err := parseSlice(a, r.URL.Query())
	if err == nil && form != "svg" && form != "png" {
		err = badSlice("as=%.20q is neither svg nor png", form)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	etag := tagOf("plot", []byte(s.data.Snapshot().ID), []byte(a.Path()), []byte(r.URL.RawQuery))
	if unchanged(w, r, etag) {
		return
	}
	if !s.rebuilds.take(r.Context()) {
		refuse(w, r, errBusy)
		return
	}
	defer s.rebuilds.give()
	p, err := s.plot(r.Context(), sl)
	if err != nil {
		fail(w, r, err)
		return
	}
	var b bytes.Buffer
	draw, media := p.SVG, "image/svg+xml"
	if form == "png" {
		draw, media = p.PNG, "image/png"
	}
	if err := draw(&b); err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
	serveBytes(w, r, body{b.Bytes(), etag})
}

// page is what the template shows.
type page struct {
	Title    string
	Index    []string // names of manifests, on a page that lists them
	Base     string   // the path that the manifest stands at, with a slash at its end
	URL      string   // the same for other programs, without
	Path     string
	Crumbs   []link
	Snapshot *manifest.Snapshot
	Tree     []row
	Facts    []fact
	Attrs    []fact
	Array    *arrayPage
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
	Here   bool
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
	Regular  bool
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

func pageOf(s *site, r *http.Request, n node) *page {
	p := &page{Base: "/", Path: "/" + n.path, Snapshot: s.data.Snapshot()}
	if s.name != "" {
		p.Base = "/" + escape(s.name) + "/"
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	p.URL = scheme + r.Host + strings.TrimSuffix(p.Base, "/")
	p.Title = strings.Trim(s.name+" "+n.path, " ")
	if p.Title == "" {
		p.Title = "varve"
	}
	p.Crumbs = crumbs(p.Base, s.name, n.path)
	p.Tree = s.tree(p.Base, n)
	attributes := n.group
	if n.array != nil {
		attributes = n.array.Face().Attributes
	}
	for name, raw := range attributes.All() {
		p.Attrs = append(p.Attrs, fact{name, shorten(plainJSON(raw))})
	}
	return p
}

// plainJSON shows a text without its quotes.
func plainJSON(raw []byte) string {
	a := zarrjson.Attributes{}
	if a.Set("x", raw) != nil || len(raw) < 2 || raw[0] != '"' {
		return string(raw)
	}
	face := zarrjson.Array{Attributes: a}
	return text(&face, "x")
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

// tree lists what is in a group, or in that of an array.
func (s *site) tree(base string, at node) []row {
	group := at.path
	if at.array != nil {
		group = parentOf(at.path)
	}
	specs := map[string]*manifest.Array{}
	for i := range s.data.Snapshot().Arrays {
		a := &s.data.Snapshot().Arrays[i]
		specs[relative(a.Path)] = a
	}
	var rows []row
	for _, n := range s.nodes {
		below, ok := strings.CutPrefix(n.path, group)
		if group != "" {
			ok = ok && strings.HasPrefix(below, "/")
			below = strings.TrimPrefix(below, "/")
		}
		if !ok || below == "" {
			continue
		}
		r := row{link: link{path.Base(n.path), base + escapePath(n.path)}, Depth: strings.Count(below, "/"), Group: n.array == nil, Here: n.path == at.path}
		if n.array != nil {
			r.fill(n.array, specs[n.path])
		}
		rows = append(rows, r)
	}
	return rows
}

func (r *row) fill(a array, spec *manifest.Array) {
	var dims []string
	elements := int64(1)
	for axis, name := range dimensionNames(a) {
		dims = append(dims, fmt.Sprintf("%s: %d", name, a.Grid().Shape()[axis]))
		elements *= a.Grid().Shape()[axis]
	}
	t := a.Face().DataType.Type()
	r.Dims, r.Type, r.Bytes, r.Chunks = strings.Join(dims, ", "), a.Face().DataType.Name(), elements*int64(t.Size), a.Grid().Chunks()
	if spec != nil {
		r.Counts, r.Inline = spec.Chunks, len(spec.Pieces) > 0
	}
	r.Total = r.Counts.Verbatim + r.Counts.Prefix + r.Counts.Rebuilt + r.Counts.Missing
}

// describe adds what is known of an array.
func (p *page) describe(ctx context.Context, s *site, a array, query url.Values) {
	face := a.Face()
	gridJSON, codecJSON := wireOf(face)
	p.Facts = []fact{
		{"data type", string(face.DataType.JSON())},
		{"shape", fmt.Sprint(face.Shape)},
		{"chunks", fmt.Sprintf("%d of a %s grid", a.Grid().Chunks(), face.ChunkGrid.Name)},
		{"chunk grid", shorten(gridJSON)},
		{"codecs", shorten(codecJSON)},
	}
	if fill, err := face.DataType.FillJSON(face.Fill); err == nil {
		p.Facts = append(p.Facts, fact{"fill value", shorten(string(fill))})
	}
	ap := &arrayPage{Name: relative(a.Path()), Regular: face.ChunkGrid.Name == zarrjson.Regular}
	if spec := s.spec(a); spec == nil || len(spec.Pieces) == 0 {
		ap.Mosaic, ap.Note = s.mosaic(ctx, a)
	}
	p.Array = ap
	ap.choose(a, query)
	ap.list(ctx, s, a, query.Get("listed"))
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

// wireOf returns the grid and the codecs as zarr.json has them.
func wireOf(face *zarrjson.Array) (chunkGrid, codecs string) {
	doc, err := face.Encode(zarrjson.Compact)
	if err != nil {
		return err.Error(), ""
	}
	a, err := zarrjson.ParseAttributes(doc)
	if err != nil {
		return err.Error(), ""
	}
	g, _ := a.Get("chunk_grid")
	c, _ := a.Get("codecs")
	return string(g), string(c)
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
	row := chunkRow{Key: string(a.Face().Keys.Append(nil, coords)), Kind: classOf(loc)}
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
	p := &page{Title: "varve", Base: "/"}
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

func percent(part, total int64) string {
	if total == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.4g%%", 100*float64(part)/float64(total))
}
