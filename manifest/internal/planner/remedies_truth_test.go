package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	located "varve/manifest/internal/mosaic"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/plantest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// mostSteps bounds the remedies that are applied one after the other until files can be combined.
const mostSteps = 8

// TestRemediesKeepCoordinates applies each remedy of each finding and of each wrong option in the cases of testdata, and then the first remedy
// of each further refusal, until the files are combined. Then the cells of each file have the coordinates that the file gives them, and
// all of its values in the file's units, apart from what the remedies say they change.
func TestRemediesKeepCoordinates(t *testing.T) {
	tried, combined, apart, compared, values, cells := 0, 0, 0, 0, 0, int64(0)
	followed := reporttest.Followed{}
	for name, c := range allCases(t) {
		p, err := c.planWith(c.Options, c.Files)
		findings, wrong := findingsIn(p, err)
		for i := range findings {
			f := &findings[i]
			if len(f.Remedies) == 0 && f.Effect == report.Refused && f.By.Option != report.Strict && !c.Options.Strict {
				t.Errorf("%s: %s %s has no remedy", name, f.Code, f.Array+f.Dim)
			}
			for _, r := range f.Remedies {
				p, files, opts, path, says := c.follow(f, &r, wrong)
				if tried++; says != "" {
					t.Errorf("%s: %s of %s %s%v: %s", name, reasonText(&r), f.Code, f.Dim, f.Arrays, says)
				}
				if p == nil {
					continue
				}
				combined++
				for i := range path {
					followed.Add(&path[i])
				}
				check := func(p *Plan, files []*manifest.File) {
					n, moved := movedCells(files, p)
					compared += n
					if len(moved) > 0 {
						t.Errorf("%s: %v of %s %s moves cells (%+v): %s", name, path, f.Code, f.Array+f.Dim, opts.Coords, strings.Join(moved, "; "))
					}
					permitted := changesOf(path, &opts, p)
					n, wrong := changedValues(files, p, &permitted)
					values += n
					all, lost := changedCells(t, files, p, &permitted)
					cells += all
					if wrong = append(wrong, lost...); len(wrong) > 0 {
						t.Errorf("%s: %s of %s %s changes values: %s", name, reasonText(&r), f.Code, f.Array+f.Dim, strings.Join(wrong, "; "))
					}
				}
				check(p, files)
				if r.Option == report.Separate {
					odd := slices.DeleteFunc(slices.Clone(c.Files), func(x *manifest.File) bool { return slices.Contains(files, x) })
					if q, err := c.planWith(c.Options, odd); err == nil { // the other files may be of several kinds
						apart++
						check(q, odd)
					}
				}
			}
		}
	}
	t.Logf("tried %d remedies: %d lead to a plan, %d to two, with %d coordinates of files, %d variables in the manifest and %d cells", tried, combined, apart, compared, values, cells)
	if combined < 200 || apart < 20 || compared < 100 || values < 100 || cells < 1000 {
		t.Error("too few remedies were compared")
	}
	followed.Check(t, "../../report/reporttest/testdata/followed", "planner")
}

// findingsIn returns the findings of a plan or a refusal, or the remedies of an option that is wrong.
func findingsIn(p *Plan, err error) (findings []report.Finding, wrong report.Setting) {
	var refused *plan.Error
	var option *plan.OptionError
	switch {
	case errors.As(err, &refused):
		return refused.Findings, wrong
	case errors.As(err, &option):
		return []report.Finding{{Effect: report.Noted, Remedies: option.Remedies}}, option.Setting
	case err == nil:
		return p.Report.Findings, wrong
	}
	return nil, wrong
}

// planWith plans files, and answers requests for values.
func (c *planCase) planWith(opts plan.Options, files []*manifest.File) (*Plan, error) {
	for {
		p, requests, err := askedNew(files, &opts)
		if len(requests) == 0 {
			return p, err
		}
		for _, r := range requests {
			f := files[r.File]
			at := slices.Index(c.Files, f)
			if values := c.OnRequest[plantest.Place{File: at, Variable: r.Variable}]; values != nil {
				f.Values[r.Variable] = values
				continue
			}
			answerDifferent(files, r)
		}
	}
}

// follow applies a remedy, and then the first remedy of each further refusal. It returns the plan and the remedies, or nil if a remedy needs
// another scan, or leaves only one file. says is not empty if a refusal has no remedy that helps.
func (c *planCase) follow(f *report.Finding, r *report.Remedy, wrong report.Setting) (p *Plan, files []*manifest.File, opts plan.Options, path []report.Remedy, says string) {
	files, opts = c.Files, c.Options
	if r.Option != report.Rename && r.Option != report.Drop { // these make room for the option, and the others replace it
		without(&opts, wrong)
	}
	for range mostSteps {
		r = completed(f, r, files)
		path = append(path, *r)
		switch r.Option {
		case report.LeaveOut, report.Separate:
			odd := slices.Collect(f.Files.All())
			if len(odd) >= len(files) {
				odd = odd[1:]
			}
			files = slices.DeleteFunc(slices.Clone(files), func(x *manifest.File) bool { return slices.Contains(odd, x.URL) })
			if len(files) == len(c.Files) || len(files) == 0 {
				return nil, nil, opts, path, ""
			}
		default:
			for _, s := range append([]report.Setting{r.Setting}, r.With...) {
				if err := plantest.SetOption(&opts, string(s.Option), s.Value); err != nil {
					return nil, nil, opts, path, "" // an option of a scan
				}
			}
		}
		made, err := c.planWith(opts, files)
		var refused *plan.Error
		var wrong *plan.OptionError
		switch {
		case err == nil:
			return made, files, opts, path, ""
		case errors.As(err, &wrong):
			if r.Option == report.LeaveOut || r.Option == report.Separate {
				return nil, nil, opts, path, "" // an option may not apply to the remaining files
			}
			return nil, nil, opts, path, fmt.Sprintf("%v: %v", path, err)
		case !errors.As(err, &refused):
			return nil, nil, opts, path, fmt.Sprintf("%v: %v", path, err)
		}
		f, r = &refused.Findings[0], nil
		for i := range f.Remedies {
			isNext := func(r report.Remedy) bool { return reasonText(&r) == reasonText(completed(f, &f.Remedies[i], files)) }
			if next := &f.Remedies[i]; !slices.ContainsFunc(path, isNext) || next.Option == report.LeaveOut || next.Option == report.Separate {
				r = next
				break
			}
		}
		if r == nil {
			return nil, nil, opts, path, fmt.Sprintf("%v: no way out of %v", path, err)
		}
	}
	return nil, nil, opts, path, fmt.Sprintf("refused after %v", path)
}

// without takes back a setting for which another value is advised.
func without(opts *plan.Options, s report.Setting) {
	name, _, _ := strings.Cut(s.Value, "=")
	switch s.Option {
	case report.Concat:
		opts.Concat = slices.DeleteFunc(slices.Clone(opts.Concat), func(x string) bool { return x == s.Value })
	case report.Vars:
		opts.Vars = slices.DeleteFunc(slices.Clone(opts.Vars), func(x string) bool { return x == s.Value })
	case report.Drop:
		opts.Drop = slices.DeleteFunc(slices.Clone(opts.Drop), func(x string) bool { return x == s.Value })
	case report.NewDim:
		opts.NewDims = slices.DeleteFunc(slices.Clone(opts.NewDims), func(d plan.NewDim) bool { return d.Name == name })
	}
}

// completed returns a remedy with words in place of those in capitals, as the user of a case would choose them: the names of files are
// the values of a new dimension, and the last file decides about chunks.
func completed(f *report.Finding, r *report.Remedy, files []*manifest.File) *report.Remedy {
	out := *r
	if !r.Incomplete {
		return &out
	}
	switch r.Option {
	case report.CodecFrom:
		out.Value = files[len(files)-1].URL
	case report.ChunkEdges:
		array, _, _ := strings.Cut(r.Value, ":")
		out.Value = r.Value
		for _, x := range files {
			if v := variableOf(x, "/"+array); v != nil {
				out.Value = array + ":" + strings.TrimPrefix(v.Dims[0], "/") + "=1"
			}
		}
	case report.Group:
		groups, _ := f.Args["groups"].([]report.GroupDataset)
		out.Value = groups[0].Group
	default:
		out.Value = strings.NewReplacer("NAME=PATTERN", `file=([^/]+)$`, "=PATTERN", `=([^/]+)$`, "=NAME", "=other name").Replace(r.Value)
	}
	return &out
}

// permission is what remedies say that they change.
type permission struct {
	ofOthers  map[string]bool // arrays with values of another file
	tolerance float64         // coordinates differ by at most this
	rounding  float64         // data differ by at most this
	numbers   bool            // numbers stay the same, whatever their units are
}

// changesOf returns what remedies say that they change in a plan.
func changesOf(path []report.Remedy, opts *plan.Options, p *Plan) (out permission) {
	out = permission{ofOthers: map[string]bool{}, tolerance: opts.Tolerance}
	for _, r := range path {
		switch r.Consequence {
		case report.KeepsNumbers, report.NoUnits:
			out.numbers = true
		case report.RoundsToScale:
			for _, x := range opts.Repack {
				out.rounding = max(out.rounding, x.Scale/2)
			}
		}
	}
	for _, f := range p.Report.Findings {
		switch {
		case f.By.Option == report.Coords:
			for _, at := range append(f.Arrays, f.Array) {
				out.ofOthers[at] = true
			}
		case f.Code == report.Overlapping && opts.Overlap != "":
			dims, _ := f.Args["dims"].([]string)
			for _, a := range p.Arrays {
				if !slices.Contains(a.Dims, a.Path) && slices.ContainsFunc(a.Dims, func(d string) bool { return slices.Contains(dims, report.Base(d)) }) {
					out.ofOthers[a.Path] = true
				}
			}
		}
	}
	return out
}

// changedValues compares the arrays that are stored in a manifest with the values of the files at the same positions. n is the number of
// comparisons.
func changedValues(files []*manifest.File, p *Plan, permitted *permission) (n int, changed []string) {
	known := valuesByID(p.Values)
	for i := range p.Arrays {
		a := &p.Arrays[i]
		if a.Placement != "" || permitted.ofOthers[a.Path] {
			continue
		}
		have := labelsOfPieces(a, known)
		if have == nil {
			continue
		}
		for k, f := range files {
			own := ownCoordinate(f, a.Path)
			if own == nil || own.Nature != have.nature {
				continue
			}
			keys, err := own.Keys(own.Nature, nil)
			at, ok := positions(p, a, k, len(keys))
			if err != nil || !ok {
				continue
			}
			n++
			for j, to := range at {
				if d := math.Abs(coord.Distance(keys[min(j, len(keys)-1)], have.keys[to], have.nature)); d > max(1e-5, permitted.tolerance) {
					changed = append(changed, fmt.Sprintf("%s of %s: value %d differs by %g", a.Path, report.Base(f.URL), j, d))
					break
				}
			}
		}
	}
	return n, changed
}

// positions returns the positions in an array of the values of a file, if the array has at most one dimension along which files are placed,
// its first one. A single value is repeated.
func positions(p *Plan, a *manifest.Array, file, values int) (at []int, ok bool) {
	all := int64(1)
	for _, n := range a.Schema.Shape {
		all *= n
	}
	for _, w := range p.Placements {
		for k, d := range w.Dims {
			i := slices.Index(a.Dims, d)
			if i < 0 {
				continue
			}
			if i > 0 || len(a.Dims) > 1 {
				return nil, false
			}
			for _, t := range w.Tiles {
				if t.File == file && t.Start[k] == 0 && (values == 1 || int64(values) == t.Shape[k]) {
					for j := range t.Shape[k] {
						at = append(at, int(t.Origin[k]+j))
					}
					return at, true
				}
			}
			return nil, false
		}
	}
	for j := range all {
		at = append(at, int(j))
	}
	return at, int64(values) == all
}

// labelsOfPieces returns the numbers or times of an array that is stored in the manifest, or nil.
func labelsOfPieces(a *manifest.Array, known map[string]*manifest.Values) *labels {
	v := schemaVariable(a)
	m, err := coord.NewMeaning(v)
	if err != nil || m.Nature == coord.Text {
		return nil
	}
	of := &coord.Coord{Meaning: m, Values: &manifest.Values{}}
	for _, piece := range a.Pieces {
		if known[piece.Values] == nil {
			return nil
		}
		of.Values.Data = append(of.Values.Data, known[piece.Values].Data...)
	}
	if int64(len(of.Values.Data)) != coord.ElementsOf(v)*int64(v.Type.Size) {
		return nil
	}
	out := &labels{nature: m.Nature}
	if out.keys, err = of.Keys(of.Nature, nil); err != nil {
		return nil
	}
	return out
}

// schemaVariable returns the meaning of an array's elements as a variable.
func schemaVariable(a *manifest.Array) *manifest.Variable {
	v := &manifest.Variable{Path: a.Path, Type: a.Schema.DataType.Type(), Shape: a.Schema.Shape}
	for _, name := range []string{"units", "calendar", "standard_name"} {
		var text string
		if b, ok := a.Schema.Attributes.Get(name); ok && json.Unmarshal(b, &text) == nil {
			v.Attributes = append(v.Attributes, textAttribute(name, text))
		}
	}
	return v
}

// changedCells reads all cells that files provide: each element of a file is in one cell, and has the same value in the same units. It
// returns the number of elements.
func changedCells(t *testing.T, files []*manifest.File, p *Plan, permitted *permission) (n int64, changed []string) {
	isOverlap := slices.ContainsFunc(p.Report.Findings, func(f report.Finding) bool { return f.Code == report.Overlapping || f.Code == report.Joined })
	for i := range p.Arrays {
		a := &p.Arrays[i]
		at := slices.IndexFunc(p.Placements, func(w manifest.Placement) bool { return w.ID == a.Placement })
		if at < 0 {
			continue
		}
		layout, err := located.Arrange(&p.Placements[at])
		if err != nil {
			t.Fatal(err)
		}
		m, err := located.New(a, layout, allStored(files))
		if err != nil {
			t.Fatal(err)
		}
		read, of, seen := map[int64]int64{}, map[int64]int64{}, map[*located.Fit]bool{}
		for part, err := range m.Parts(t.Context(), grid.Whole(a.Schema.Shape)) {
			if err != nil {
				t.Fatal(err)
			}
			file, count := m.File(part.Tile), int64(1)
			for _, s := range part.Within.Shape {
				count *= s
			}
			read[file] += count
			of[file] = coord.ElementsOf(part.Fit.Variable)
			if !seen[part.Fit] {
				seen[part.Fit] = true
				if says := changedNumber(part.Fit, a, permitted); says != "" {
					changed = append(changed, fmt.Sprintf("%s of %s: %s", a.Path, report.Base(files[file].URL), says))
				}
			}
		}
		for file, count := range read {
			if n += count; count < of[file] && !isOverlap {
				changed = append(changed, fmt.Sprintf("%s of %s: %d of %d elements are in a cell", a.Path, report.Base(files[file].URL), count, of[file]))
			}
		}
		for k, f := range files {
			if v := variableOf(f, a.Path); v != nil && read[int64(k)] == 0 && coord.ElementsOf(v) > 0 && v.Storage.Layout != manifest.Nothing && v.Storage.Layout != manifest.Parted && len(p.Placements[at].Dims) > 0 && !isOverlap {
				changed = append(changed, fmt.Sprintf("%s of %s is in no cell", a.Path, report.Base(f.URL)))
			}
		}
	}
	return n, changed
}

func variableOf(f *manifest.File, path string) *manifest.Variable {
	for i := range f.Header.Len() {
		if v := f.Header.Variable(i); v.Path == path {
			return v
		}
	}
	return nil
}

// changedNumber converts a few numbers as a file stores them, and describes the first that means another number then.
func changedNumber(fit *located.Fit, a *manifest.Array, permitted *permission) string {
	from, to := fit.Variable.Type, a.Schema.DataType.Type()
	if !cf.IsNumber(from) || !cf.IsNumber(to) {
		return ""
	}
	own, err := cf.PackingOf(fit.Variable)
	declared := schemaVariable(a)
	for _, name := range []string{"scale_factor", "add_offset"} {
		var x float64
		if b, ok := a.Schema.Attributes.Get(name); ok && json.Unmarshal(b, &x) == nil {
			declared.Attributes = append(declared.Attributes, numberAttribute(name, x))
		}
	}
	packing, declaredErr := cf.PackingOf(declared)
	if err != nil || declaredErr != nil {
		return ""
	}
	units := cf.Linear{Times: 1, Over: 1}
	was, hasOwn := cf.Text(fit.Variable.Attributes, "units")
	is, hasUnits := cf.Text(declared.Attributes, "units")
	if hasOwn && hasUnits && was != is && !permitted.numbers {
		if l, ok := cf.LinearUnits(was, is); ok {
			units = l
		}
	}
	if _, isTime, _ := cf.UnitsOf(fit.Variable); isTime {
		return ""
	}
	for _, x := range []float64{0, 1, 5, 100} {
		src, dst := codec.NewElems(codec.Form{Type: from, Shape: []int64{1}}), codec.NewElems(codec.Form{Type: to, Shape: []int64{1}})
		copy(src.Fixed, plantest.ElementOf(from, x))
		if err := fit.Conversion.Apply(dst, src); err != nil {
			return err.Error()
		}
		want, got := units.Apply(own.Unpack(from, src.Fixed)), packing.Unpack(to, dst.Fixed)
		if d := math.Abs(want - got); d > permitted.rounding+1e-5*max(1, math.Abs(want)) {
			return fmt.Sprintf("%g %s becomes %g %s (want %g)", own.Unpack(from, src.Fixed), was, got, is, want)
		}
	}
	return ""
}

// movedCells compares the coordinates of a plan with the coordinates of its files. It describes differences of more than a tenth of a
// cell. n is the number of comparisons.
func movedCells(files []*manifest.File, p *Plan) (n int, moved []string) {
	placements := map[string]*manifest.Placement{}
	for i := range p.Placements {
		placements[p.Placements[i].ID] = &p.Placements[i]
	}
	for i := range p.Arrays {
		a := &p.Arrays[i]
		labels := labelsOf(files, p, a, placements)
		if labels == nil {
			continue
		}
		seen := map[string]bool{}
		for j := range p.Arrays {
			b := &p.Arrays[j]
			w := placements[b.Placement]
			if w == nil {
				continue
			}
			for _, tile := range w.Tiles {
				at, ok := boxOf(a, b, w, &tile)
				own := ownCoordinate(files[tile.File], a.Path)
				if key := fmt.Sprint(tile.File, at); !ok || own == nil || own.Nature != labels.nature || seen[key] {
					continue
				} else {
					seen[key] = true
				}
				n++
				if says := labels.compare(own, at); says != "" {
					moved = append(moved, fmt.Sprintf("%s of %s: %s", a.Path, report.Base(files[tile.File].URL), says))
				}
			}
		}
	}
	return n, moved
}

// labels are the values of a coordinate in a plan.
type labels struct {
	nature coord.Nature
	keys   []coord.Key
	cell   float64 // the least size of a cell: the largest distance from a neighbour along any dimension
}

// box is the part of a coordinate's only dimension that a tile has, or all of it.
type box struct{ origin, start, length int64 }

// boxOf returns where a tile of array b is along the dimension of a coordinate a, or false if b does not have that dimension. Coordinates
// with several dimensions have to be whole.
func boxOf(a, b *manifest.Array, w *manifest.Placement, tile *manifest.Tile) (box, bool) {
	for _, d := range a.Dims {
		if !slices.Contains(b.Dims, d) {
			return box{}, false
		}
	}
	if len(a.Dims) != 1 {
		return box{length: -1}, !slices.ContainsFunc(w.Dims, func(d string) bool { return slices.Contains(a.Dims, d) })
	}
	if k := slices.Index(w.Dims, a.Dims[0]); k >= 0 {
		return box{tile.Origin[k], tile.Start[k], tile.Shape[k]}, true
	}
	return box{length: -1}, true
}

// labelsOf returns the values of an array that is a coordinate of numbers or times: of its own dimension, or of places. It is nil for any
// other array, and if the plan has no values.
func labelsOf(files []*manifest.File, p *Plan, a *manifest.Array, placements map[string]*manifest.Placement) *labels {
	v := schemaVariable(a)
	isDim := len(a.Dims) == 1 && a.Dims[0] == a.Path
	if !isDim && (len(a.Dims) < 2 || !isHorizontal(v)) {
		return nil
	}
	c, err := coord.NewMeaning(v)
	if err != nil || c.Nature == coord.Text {
		return nil
	}
	of := &coord.Coord{Meaning: c}
	switch w := placements[a.Placement]; {
	case a.Placement == "":
		known := valuesByID(p.Values)
		of.Values = &manifest.Values{}
		for _, piece := range a.Pieces {
			if known[piece.Values] == nil {
				return nil
			}
			of.Values.Data = append(of.Values.Data, known[piece.Values].Data...)
		}
	case w == nil || len(w.Tiles) != 1:
		return nil
	default:
		if of = ownCoordinate(files[w.Tiles[0].File], a.Path); of == nil || coord.ElementsOf(of.Variable) != coord.ElementsOf(v) {
			return nil
		}
	}
	if int64(len(of.Values.Data)) != coord.ElementsOf(of.Variable)*int64(of.Variable.Type.Size) {
		return nil
	}
	out := &labels{nature: of.Nature, cell: math.Inf(1)}
	if out.keys, err = of.Keys(of.Nature, nil); err != nil {
		return nil
	}
	for i := range out.keys {
		size, stride := 0.0, len(out.keys)
		for _, n := range of.Variable.Shape {
			block := stride
			stride /= int(n)
			if i%block >= stride {
				size = max(size, math.Abs(coord.Distance(out.keys[i-stride], out.keys[i], out.nature)))
			}
			if i%block < block-stride {
				size = max(size, math.Abs(coord.Distance(out.keys[i+stride], out.keys[i], out.nature)))
			}
		}
		if size > 0 {
			out.cell = min(out.cell, size)
		}
	}
	return out
}

// ownCoordinate returns the values that a file has for a variable, or nil if they are not known as numbers.
func ownCoordinate(f *manifest.File, path string) *coord.Coord {
	for i := range f.Header.Len() {
		v := f.Header.Variable(i)
		if v.Path != path || i >= len(f.Values) || f.Values[i] == nil || f.Values[i].Summary != nil || f.Values[i].Data == nil {
			continue
		}
		m, err := coord.NewMeaning(v)
		if err == nil && m.Nature != coord.Text {
			return &coord.Coord{Meaning: m, Values: f.Values[i]}
		}
	}
	return nil
}

// compare describes the first value of a file that differs from the labels of its cells.
func (l *labels) compare(own *coord.Coord, at box) string {
	keys, err := own.Keys(own.Nature, nil)
	if err != nil {
		return ""
	}
	if at.length < 0 {
		at.length = int64(len(keys))
	}
	for i := range at.length {
		from, to := at.start+i, at.origin+i
		if at.start < 0 { // the tile is read backwards
			from = -1 - at.start - i
		}
		if from >= int64(len(keys)) || to >= int64(len(l.keys)) {
			return ""
		}
		d := math.Abs(coord.Distance(keys[from], l.keys[to], l.nature))
		if cf.RoleOfVariable(own.Variable) == cf.LongitudeRole {
			d = math.Abs(math.Remainder(d, 360))
		}
		if d > l.cell/10 || math.IsInf(l.cell, 1) && d > 0 {
			return fmt.Sprintf("value %d differs by %g, where cells are %g apart", from, d, l.cell)
		}
	}
	return ""
}
