package planner

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/tiling"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// This file makes headers and files for tests, without reading any file.

var (
	float32s = codec.Type{Kind: codec.Float, Size: 4}
	float64s = codec.Type{Kind: codec.Float, Size: 8}
	int16s   = codec.Type{Kind: codec.Int, Size: 2}
	int32s   = codec.Type{Kind: codec.Int, Size: 4}
	int64s   = codec.Type{Kind: codec.Int, Size: 8}
	stringsT = codec.Type{Kind: codec.String}
)

// maker makes the headers and files of one archive. Equal headers are shared, as after a scan.
type maker struct {
	shared *manifest.Shared
	values map[string]*manifest.Values
	files  []*manifest.File
}

func newMaker() *maker {
	return &maker{shared: manifest.NewShared(), values: map[string]*manifest.Values{}}
}

// wanted describes a variable of a file.
type wanted struct {
	v      manifest.Variable
	values *manifest.Values
}

func little() codec.Spec {
	return codec.Spec{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}
}

// cube makes a chunked and compressed variable.
func cube(name string, dims string, shape, chunks []int64) wanted {
	v := manifest.Variable{Path: "/" + name, Shape: shape, Type: float32s}
	for _, d := range strings.Fields(dims) {
		v.Dims = append(v.Dims, "/"+d)
	}
	v.Storage = manifest.Storage{Layout: manifest.Chunked, Chunks: chunks, Filters: 1,
		Codecs: []codec.Spec{little(), {Name: "numcodecs.zlib", Config: json.RawMessage(`{"level":4}`)}}}
	return wanted{v: v}
}

// bare makes a contiguous variable, or one with a stride between records.
func bare(name, dims string, shape []int64, stride int64) wanted {
	w := cube(name, dims, shape, nil)
	w.v.Storage = manifest.Storage{Layout: manifest.Strided, Chunks: shape, Codecs: []codec.Spec{little()}, Stride: stride}
	return w
}

func textAttribute(name, text string) manifest.Attribute {
	return manifest.Attribute{Name: name, Type: stringsT, Texts: []string{text}, Scalar: true}
}

func (w wanted) with(attributes ...string) wanted {
	for i := 0; i < len(attributes); i += 2 {
		w.v.Attributes = append(w.v.Attributes[:len(w.v.Attributes):len(w.v.Attributes)], textAttribute(attributes[i], attributes[i+1]))
	}
	return w
}

// coords makes a numeric variable with values.
func coords(name, dims string, t codec.Type, numbers ...float64) wanted {
	w := cube(name, dims, []int64{int64(len(numbers))}, []int64{max(int64(len(numbers)), 1)})
	w.v.Type = t
	w.values = &manifest.Values{Data: []byte{}}
	for _, x := range numbers {
		switch {
		case t.Kind == codec.Int && t.Size == 2:
			w.values.Data = binary.LittleEndian.AppendUint16(w.values.Data, uint16(int16(x)))
		case t.Kind == codec.Int && t.Size == 4:
			w.values.Data = binary.LittleEndian.AppendUint32(w.values.Data, uint32(int32(x)))
		case t.Kind == codec.Int:
			w.values.Data = binary.LittleEndian.AppendUint64(w.values.Data, uint64(int64(x)))
		case t.Size == 4:
			w.values.Data = binary.LittleEndian.AppendUint32(w.values.Data, math.Float32bits(float32(x)))
		default:
			w.values.Data = binary.LittleEndian.AppendUint64(w.values.Data, math.Float64bits(x))
		}
	}
	return w
}

// scalar makes a variable with one number.
func scalar(name string, number float64) wanted {
	w := coords(name, name, float64s, number)
	w.v.Dims, w.v.Shape, w.v.Storage.Chunks = nil, nil, nil
	return w
}

func lines(from, n, step float64) (out []float64) {
	for i := range int(n) {
		out = append(out, from+float64(i)*step)
	}
	return out
}

// days makes a coordinate time in days since 1990.
func days(from, n int) wanted {
	return coords("time", "time", int32s, lines(float64(from), float64(n), 1)...).with("units", "days since 1990-01-01", "standard_name", "time")
}

func words(name, dims string, list ...string) wanted {
	w := cube(name, dims, []int64{int64(len(list))}, []int64{int64(len(list))})
	w.v.Type = stringsT
	w.v.Storage = manifest.Storage{Layout: manifest.Valued}
	w.values = &manifest.Values{}
	for _, s := range list {
		w.values.Texts = append(w.values.Texts, []byte(s))
	}
	return w
}

// file adds a file with the dimensions of its variables. "time" is unlimited.
func (m *maker) file(name string, vars ...wanted) *manifest.File {
	h := &manifest.Header{}
	seen := map[string]bool{}
	f := &manifest.File{Source: manifest.Source{URL: "/archive/" + name}, Groups: manifest.NewFileGroups(&manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/"}}})}
	for _, w := range vars {
		h.Variables = append(h.Variables, &w.v)
		for k, d := range w.v.Dims {
			if !seen[d] {
				seen[d] = true
				h.Dimensions = append(h.Dimensions, manifest.Dimension{Path: d, Length: w.v.Shape[k], Unlimited: d == "/time"})
			}
		}
		f.Values = append(f.Values, m.intern(w.values))
	}
	h.SetID()
	f.Header = m.shared.Header(h, nil)
	m.files = append(m.files, f)
	return f
}

// change gives a file another header.
func (m *maker) change(f *manifest.File, change func(h *manifest.Header)) {
	h := *f.Header.Expand()
	h.Dimensions, h.Variables = slices.Clone(h.Dimensions), slices.Clone(h.Variables)
	for i, v := range h.Variables {
		h.Variables[i] = new(*v)
	}
	change(&h)
	h.SetID()
	f.Header = m.shared.Header(&h, nil)
}

func (m *maker) intern(v *manifest.Values) *manifest.Values {
	if v == nil {
		return nil
	}
	v.SetID()
	if known := m.values[v.ID]; known != nil {
		return known
	}
	m.values[v.ID] = v
	return v
}

func lat() wanted { return coords("lat", "lat", float32s, -10, 0, 10).with("units", "degrees_north") }
func lon() wanted {
	return coords("lon", "lon", float32s, 0, 90, 180, 270).with("units", "degrees_east")
}

// day adds a file with n days of a field.
func (m *maker) day(name string, from, n int, more ...wanted) *manifest.File {
	return m.file(name, append([]wanted{days(from, n), lat(), lon(), cube("t", "time lat lon", []int64{int64(n), 3, 4}, []int64{int64(n), 3, 4})}, more...)...)
}

// mentions reports whether an error contains all these names, values and numbers.
func mentions(err error, words ...string) bool {
	return err != nil && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(err.Error(), word) })
}

// asked is a source of values that knows none. It keeps the first requests.
type asked struct{ requests []Request }

var errAsked = errors.New("values are requested")

func (a *asked) Get(_ context.Context, requests []Request) ([]*manifest.Values, error) {
	a.requests = requests
	return nil, errAsked
}

// askedNew returns a plan, or the first values that New requests.
func askedNew(files []*manifest.File, opts *plan.Options) (*Plan, []Request, error) {
	var a asked
	p, err := New(context.Background(), files, opts, &a)
	if errors.Is(err, errAsked) {
		return nil, a.requests, nil
	}
	return p, nil, err
}

// snapshotOf returns a snapshot of the first n files.
func snapshotOf(p *Plan, n int) *manifest.Snapshot {
	made := &manifest.Snapshot{Varve: manifest.Version, State: p.State, Arrays: p.Arrays, Groups: p.Groups}
	// An append has the snapshot as it was stored.
	data, err := made.Encode()
	if err != nil {
		panic(err)
	}
	stored, err := manifest.DecodeSnapshot(data)
	if err != nil {
		panic(err)
	}
	stored.Tables = []manifest.Table{{Kind: manifest.Sources, Rows: int64(n)}}
	return stored
}

// extended returns the snapshot with an extension by more files.
func extended(old *manifest.Snapshot, x *Extension, more int) *manifest.Snapshot {
	return snapshotOf(&Plan{State: x.State, Arrays: x.Arrays, Groups: old.Groups}, int(old.Rows(manifest.Sources))+more)
}

// askedExtend extends a snapshot of the first files by the files that follow. It returns the extension, or the first
// values that Extend requests. The indices of requests count from the first new file, so those of old files are
// negative.
func askedExtend(old *manifest.Snapshot, all []*manifest.File, opts *plan.Options) (*Extension, []Request, error) {
	files := all[old.Rows(manifest.Sources):]
	rows, _, err := Samples(old, files)
	if err != nil {
		return nil, nil, err
	}
	var samples []*manifest.File
	for _, row := range rows {
		samples = append(samples, all[row])
	}
	var a asked
	x, _, err := Extend(context.Background(), old, samples, files, opts, &a)
	if errors.Is(err, errAsked) {
		for i := range a.requests {
			a.requests[i].File -= len(samples)
		}
		return nil, a.requests, nil
	}
	return x, nil, err
}

// recorder keeps an example of each finding for the documentation.
var recorder reporttest.Recorder

// TestMain checks, after all tests, the examples of findings in the documentation, and that every remedy helped.
func TestMain(m *testing.M) {
	code := recorder.Main(m, "../../report/text/examples/plan.txt")
	if len(failed) > 0 {
		fmt.Fprintf(os.Stderr, "remedies that do not help:\n%s\n", strings.Join(failed, "\n"))
		code = 1
	}
	os.Exit(code)
}

// newPlan calls New, tries the remedies of a refusal, and records the findings.
func newPlan(files []*manifest.File, opts *plan.Options) (*Plan, []Request, error) {
	p, needs, err := triedPlan(files, opts)
	var refused *plan.Error
	switch {
	case errors.As(err, &refused):
		recorder.Add(refused.Findings)
	case p != nil:
		recorder.Add(p.Report.Findings)
	}
	return p, needs, err
}

// triedPlan is like newPlan, but records nothing.
func triedPlan(files []*manifest.File, opts *plan.Options) (*Plan, []Request, error) {
	p, needs, err := askedNew(files, opts)
	var refused *plan.Error
	if errors.As(err, &refused) {
		tryRemedies(files, opts, refused)
	}
	return p, needs, err
}

// planAnswered calls newPlan until it requests no more values. It answers requests with values that differ between
// files.
func planAnswered(files []*manifest.File, opts *plan.Options) (*Plan, error) {
	for {
		p, requests, err := newPlan(files, opts)
		if len(requests) == 0 {
			return p, err
		}
		for _, r := range requests {
			answerDifferent(files, r)
		}
	}
}

// answerDifferent answers a request with values that differ between files.
func answerDifferent(files []*manifest.File, r Request) {
	f := files[r.File]
	v := f.Header.Variable(r.Variable)
	values := &manifest.Values{Data: bytes.Repeat([]byte{byte(r.File + 1)}, int(coord.ElementsOf(v))*v.Type.Size)}
	values.SetID()
	for len(f.Values) < f.Header.Len() {
		f.Values = append(f.Values, nil)
	}
	f.Values[r.Variable] = values
}

// planned returns the plan of the maker's files. The test fails if there is none.
func planned(t testing.TB, m *maker, opts *plan.Options) *Plan {
	t.Helper()
	p, needs, err := newPlan(m.files, opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(needs) > 0 {
		t.Fatalf("the plan requests %v", needs)
	}
	checkPlan(t, m.files, p)
	return p
}

// checkPlan checks the invariants of plans.
func checkPlan(t testing.TB, files []*manifest.File, p *Plan) {
	t.Helper()
	placements := map[string]*manifest.Placement{}
	for i := range p.Placements {
		placements[p.Placements[i].ID] = &p.Placements[i]
	}
	for _, a := range p.Arrays {
		if err := a.Schema.Validate(); err != nil {
			t.Errorf("%s: %v", a.Path, err)
		}
		if _, err := a.Schema.Grid(); err != nil {
			t.Errorf("%s: %v", a.Path, err)
		}
		if len(a.Dims) != len(a.Schema.Shape) {
			t.Errorf("%s: dims %v, shape %v", a.Path, a.Dims, a.Schema.Shape)
		}
		empty := slices.Contains(a.Schema.Shape, 0)
		if !empty && (a.Placement == "") == (a.Pieces == nil) {
			t.Errorf("%s: placement %q, %d pieces", a.Path, a.Placement, len(a.Pieces))
		}
		if a.Placement != "" && placements[a.Placement] == nil {
			t.Errorf("%s: no placement %q", a.Path, a.Placement)
		}
	}
	for _, w := range p.Placements {
		for _, tile := range w.Tiles {
			if len(tile.Origin) != len(w.Dims) || len(tile.Start) != len(w.Dims) || len(tile.Shape) != len(w.Dims) || tile.File >= len(files) {
				t.Fatalf("%s: tile %+v", w.ID, tile)
			}
			for k := range tile.Shape {
				if !tile.IsValid(k) {
					t.Errorf("%s: tile %+v", w.ID, tile)
				}
			}
		}
		if pairs := tiling.Overlapping(tiling.SortByOrigin(append([]manifest.Tile(nil), w.Tiles...))); len(pairs) > 0 {
			t.Errorf("%s: tiles overlap: %v", w.ID, pairs)
		}
	}
}

func arrayOf(t testing.TB, p *Plan, path string) *manifest.Array {
	t.Helper()
	for i := range p.Arrays {
		if p.Arrays[i].Path == path {
			return &p.Arrays[i]
		}
	}
	t.Fatalf("no array %s", path)
	return nil
}

// tilesOf lists the tiles of an array as "file@origin+shape", with "~start" for a part of a file.
func tilesOf(t testing.TB, files []*manifest.File, p *Plan, path string) string {
	t.Helper()
	a := arrayOf(t, p, path)
	for _, w := range p.Placements {
		if w.ID != a.Placement {
			continue
		}
		var out []string
		for _, tile := range w.Tiles {
			s := fmt.Sprintf("%s@%s+%s", strings.TrimPrefix(files[tile.File].URL, "/archive/"), ints(tile.Origin), ints(tile.Shape))
			for _, n := range tile.Start {
				if n != 0 {
					s += "~" + ints(tile.Start)
					break
				}
			}
			out = append(out, s)
		}
		return strings.Join(out, " ")
	}
	return ""
}

func ints(list []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
}

// gridText formats a chunk grid: a number for each regular axis, and runs for others.
func gridText(a *manifest.Array) string {
	var axes []string
	for _, s := range a.Schema.ChunkGrid.Sizes {
		if n, ok := s.RegularSize(); ok {
			axes = append(axes, fmt.Sprint(n))
			continue
		}
		var runs []string
		for _, r := range s.Runs() {
			text := fmt.Sprint(r.Data)
			if r.Count > 1 {
				text += fmt.Sprint("x", r.Count)
			}
			runs = append(runs, text)
		}
		axes = append(axes, "["+strings.Join(runs, " ")+"]")
	}
	return strings.Join(axes, " ")
}

// refusals returns the findings of a refused plan.
func refusals(t testing.TB, err error) []report.Finding {
	t.Helper()
	var refused *plan.Error
	if !errors.As(err, &refused) {
		t.Fatalf("not refused: %v", err)
	}
	return refused.Findings
}

// findingOf returns the only finding with a code.
func findingOf(t testing.TB, r *report.Report, code report.Code) report.Finding {
	t.Helper()
	var found []report.Finding
	for _, f := range r.Findings {
		if f.Code == code {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d findings of code %s in %+v", len(found), code, r.Findings)
	}
	return found[0]
}
