package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/picture"
	"varve/manifest/report"
	"varve/manifest/report/text"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// pages parses the template on first use, because other commands do not need it.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"bytes": byteSize, "percent": percent, "thousands": report.Thousands, "short": short,
		"style":  func() template.CSS { return template.CSS(pageStyle + picture.Style) },
		"script": func() template.JS { return template.JS(pageScript) },
	}).Parse(pageText))
})

// policy allows a page only its own style, pictures and script, so that scripts in attributes of a file do not run.
var policy = func() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}()

const pageType = "text/html; charset=utf-8"

// wantsPage reports whether the client asks for HTML, as browsers do.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// servePage answers with the page or a plot of a node; false if there is none.
func (s *site) servePage(w http.ResponseWriter, r *http.Request, at *address, origin, p string) bool {
	n, ok := s.node(strings.Trim(p, "/"))
	if !ok {
		return false
	}
	w.Header().Set("Vary", "Accept")
	if form := r.URL.Query().Get("as"); form != "" && n.array != nil {
		if form == "layout" {
			s.serveLayout(w, r, n.array)
			return true
		}
		note(w, kindPlot)
		s.servePlot(w, r, n.array, form)
		return true
	}
	if !wantsPage(r) {
		return false
	}
	note(w, kindPage)
	data := pageOf(s, at, origin, n)
	if n.array != nil {
		data.describe(r.Context(), s, n.array, r.URL.Query())
	} else {
		data.summarize(r.Context(), s, n)
	}
	data.Subset = s.subsetForm(r.Context(), n)
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

// servePageData executes the template. Pages load nothing from other servers.
func servePageData(w http.ResponseWriter, r *http.Request, data any) {
	var b bytes.Buffer
	if err := pages().Execute(&b, data); err != nil {
		fail(w, r, &fault{Status: http.StatusInternalServerError, Kind: "page", Reason: err.Error()})
		return
	}
	h := w.Header()
	h.Set("Content-Type", pageType)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	serveBytes(w, r, body{b.Bytes(), tagOf("page", b.Bytes())})
}

// page is the data of the template.
type page struct {
	Title, Lead string
	Cards       []card // the manifests, in the catalogue
	IsFault     bool   // whether it is about a fault
	Base        string // the path of the manifest, with a final slash
	Doc         string // the path of the node's zarr.json
	Crumbs      []link
	Snapshot    *manifest.Snapshot
	Own         string // the snapshot's own, permanent address
	Newer       *link  // the newest snapshot, if the page shows an older one
	Held        string // why the newest snapshot is not at this address
	Tiles       []fact
	Dims        []fact
	Coords      []row
	Tree        []row
	Beside      []link
	All         *link // link to the group, if Beside omits some of its arrays
	Facts       []fact
	Attrs       []fact
	Array       *arrayPage
	Ways        []fact // code to open it, by client
	DAP         *dapPage
	Subset      *subsetForm
}

type link struct{ Name, Href string }

// row is an array in the list of a group.
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
	Inline bool // the values are stored in the manifest

	Label   string // long_name and units
	Preview string // the first and last values
	coord   bool
	array   array
}

type fact struct{ Name, Value string }

// arrayPage is the part of a page that only arrays have.
type arrayPage struct {
	Name     string
	Mosaic   template.HTML // empty for an array whose values are in the manifest
	Note     string        // a note about the mosaic
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
	Ends   string // its first and last time
	X, Y   bool
}

type chunkRow struct {
	Key, Ranges, Kind, Source string
	Why                       string // the reasons for which it is re-encoded
	Offset, Size              int64
	Stored                    bool
}

func pageOf(s *site, at *address, origin string, n node) *page {
	p := &page{Base: at.base, Snapshot: s.data.Snapshot()}
	p.addSnapshots(s, at, n)
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
		value := plainJSON(raw)
		if n.array != nil && name == fillName {
			value = fillText(value)
		}
		p.Attrs = append(p.Attrs, fact{name, shorten(value)})
	}
	p.Ways = ways(origin+strings.TrimSuffix(p.Base, "/"), n, n.array == nil && s.hasGroups(n.path))
	return p
}

// addSnapshots adds the permanent address of the snapshot, and a link to a newer one.
func (p *page) addSnapshots(s *site, at *address, n node) {
	id := s.data.Snapshot().ID
	p.Own = at.own(id) + escapePath(n.path)
	if o := at.outlook.Load(); o.newest != id {
		p.Newer = &link{short(o.newest), at.own(o.newest)}
		if at.base == at.mount.base {
			p.Held = o.held[inFull]
		}
	}
}

// hasGroups reports whether there are groups below a group.
func (s *site) hasGroups(group string) bool {
	return slices.ContainsFunc(s.nodes, func(n node) bool { return n.array == nil && n.path != group && isBelow(n.path, group) })
}

func isBelow(p, group string) bool { return group == "" || strings.HasPrefix(p, group+"/") }

// fillName is the attribute in which xarray stores the fill value: floating-point numbers as the base64 of a float64,
// because JSON has no NaN.
const fillName = "_FillValue"

// fillText returns a fill value in words.
func fillText(text string) string {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != 8 {
		return text
	}
	return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64)
}

// plainJSON returns a JSON string without its quotes, and other JSON unchanged.
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

// spec returns the snapshot's entry for an array, or nil.
func (s *site) spec(a array) *manifest.Array {
	for i := range s.data.Snapshot().Arrays {
		if spec := &s.data.Snapshot().Arrays[i]; spec.Path == a.Path() {
			return spec
		}
	}
	return nil
}

// choose fills the form that selects the slice to draw, from the query.
func (p *arrayPage) choose(ctx context.Context, s *site, a array, query url.Values) {
	sl, err := s.slice(ctx, a, query)
	if err != nil {
		p.Why = err.Error()
		// The page should still show a form when the query is invalid.
		if sl, err = parseSlice(a, url.Values{}); err != nil {
			return
		}
	} else {
		p.Drawable = true
	}
	plotQuery := url.Values{"as": {"svg"}}
	for axis, name := range sl.names {
		choice := axisChoice{Name: name, Length: a.Grid().Shape()[axis], X: axis == sl.x, Y: axis == sl.y, Value: query.Get(name)}
		if c := s.coordinate(a, name); c != nil && momentNames(c) != nil {
			if first, last := s.ends(ctx, c); first != "" {
				choice.Ends = first + " to " + last
			}
		}
		p.Axes = append(p.Axes, choice)
		if choice.Value != "" {
			plotQuery.Set(name, choice.Value)
		}
	}
	for _, key := range []string{"across", "up"} {
		if v := query.Get(key); v != "" {
			plotQuery.Set(key, v)
		}
	}
	p.Plot = template.URL("?" + plotQuery.Encode())
}

// chunksShown is the largest number of chunks that a page lists.
const chunksShown = 20

// originsShown is the largest number of sources that are listed for a chunk.
const originsShown = 4

// firstReencoded is the value of the parameter "listed" that begins the list at the first re-encoded chunk.
const firstReencoded = "re-encoded"

// findReencoded returns the number of the first re-encoded chunk. It stops after mosaicTime, and then returns 0.
func findReencoded(ctx context.Context, a array) int64 {
	ctx, cancel := context.WithTimeout(ctx, mosaicTime)
	defer cancel()
	coords := make([]int64, a.Grid().Rank())
	for n := range a.Grid().Chunks() {
		if ctx.Err() != nil || !a.Grid().Coords(n, coords) {
			break
		}
		if loc, err := a.Locate(ctx, coords); err != nil || loc.Kind == manifest.Reencoded {
			return n
		}
	}
	return 0
}

// list adds the locations of chunks, starting at a chunk number.
func (p *arrayPage) list(ctx context.Context, s *site, a array, from string) {
	if from == firstReencoded {
		from = strconv.FormatInt(findReencoded(ctx, a), 10)
	}
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

func (s *site) chunkRow(ctx context.Context, a array, coords []int64, loc *manifest.Location) chunkRow {
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
		return row
	}
	if reasons, err := a.Why(ctx, coords); err == nil {
		words := make([]string, len(reasons))
		for i, r := range reasons {
			words[i] = text.Reason(r)
		}
		row.Why = strings.Join(words, ", ")
	}
	rows, err := a.Origins(ctx, coords)
	if err != nil {
		return row // the kind is right without them
	}
	var names []string
	for i, n := range rows {
		if i == originsShown {
			names = append(names, fmt.Sprintf("and %d more", len(rows)-i))
			break
		}
		names = append(names, s.sourceName(ctx, n))
	}
	row.Source = strings.Join(names, ", ")
	return row
}

// escape escapes a name as one segment of a URL path.
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

// short returns the digits of a snapshot's id that pages and log lines show.
func short(id string) string { return id[:min(len(id), 12)] }

func percent(part, total int64) string {
	if total == 0 {
		return "0%"
	}
	// Rounded down, so that 99.96 % is not shown as 100 %.
	return fmt.Sprintf("%.4g%%", math.Floor(1000*float64(part)/float64(total))/10)
}
