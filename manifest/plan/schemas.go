package plan

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/convert"
	"varve/manifest/internal/cf"
	"varve/manifest/plan/internal/schema"
	"varve/manifest/report"
	"varve/zarrjson"
)

// schemas decides what each array declares.
func (p *planner) schemas() error {
	for _, a := range p.arrays {
		if err := p.decidePieces(a); err != nil {
			return err
		}
	}
	for _, d := range p.made {
		if !p.anyHas(d.path) {
			p.arrays = append(p.arrays, p.madeArray(d))
		}
	}
	if len(p.needs) > 0 || len(p.report.Refused()) > 0 {
		return nil
	}
	p.calibrated = slices.ContainsFunc(p.files, isCalibrated)
	slices.SortFunc(p.arrays, func(a, b *array) int { return strings.Compare(a.path, b.path) })
	p.out.Arrays, p.out.Conversions = slices.Grow(p.out.Arrays, len(p.arrays)), make(convert.Known, len(p.arrays))
	declared := func() error { return nil }
	for arrays := range slices.Chunk(p.arrays, decidedAtOnce) {
		declare := p.decideAll(arrays)
		if err := declared(); err != nil {
			return err
		}
		declared = declare
	}
	return declared()
}

// decidedAtOnce is how many arrays' schemas are decided while as many before them are declared.
const decidedAtOnce = 64

// decideAll has all cores decide the schemas of arrays, which takes most of the time. What it
// returns waits for that, and declares the arrays in their order.
func (p *planner) decideAll(arrays []*array) (declare func() error) {
	decided := make([]decided, len(arrays))
	for i, a := range arrays {
		d := &decided[i]
		d.declared = p.membersFor(a)
		d.opts, d.err = p.schemaOptions(a, d.declared)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(arrays)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(decided) {
					return
				}
				decided[i].decide()
			}
		})
	}
	return func() error {
		workers.Wait()
		for i, a := range arrays {
			if err := p.declare(a, &decided[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// decided is a schema that was decided.
type decided struct {
	*declared
	opts     schema.Options
	schema   *schema.Schema
	findings []report.Finding
	err      error
}

func (d *decided) decide() {
	if d.err == nil {
		d.schema, d.findings, d.err = schema.Decide(d.members, d.opts)
	}
}

// declared is the members of an array as a schema is decided from them: those that are alike are
// one.
type declared struct {
	members []schema.Member
	of      []int   // the member of each of the array's members
	classes []int32 // the class of each of the array's members
	firsts  []int32 // the first file of each member
}

// declare declares an array of a schema and decides its chunks, and collects its values if they
// are to be kept.
func (p *planner) declare(a *array, d *decided) error {
	if d.err != nil {
		return d.err
	}
	f, got := d.declared, d.schema
	for _, finding := range d.findings {
		p.schemaFinding(a, finding)
	}
	if got == nil {
		return nil
	}
	kept := make([]bool, len(f.of))
	for i, k := range f.of {
		kept[i] = got.Kept[k]
	}
	out := manifest.Array{Path: a.path, Reading: got.Reading, Dims: a.allDims()}
	out.Calibrated = p.calibrated && p.noteCalibrated(a, got)
	shape := p.shapeOf(a)
	out.Schema = &zarrjson.Array{Shape: shape, DataType: got.DataType, Fill: got.Fill, Codecs: got.Codecs, Attributes: got.Attributes,
		DimensionNames: dimensionNames(out.Dims)}
	p.noteUnwritten(a)
	if a.pieces {
		return p.declarePieces(a, out, f)
	}
	if a.parted() {
		if err := p.fillOfParts(a, f, &out); err != nil {
			return err
		}
	}
	out.Schema.ChunkGrid = p.gridOf(a, shape, kept)
	if _, err := out.Schema.Grid(); err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	p.noteChunks(a, out.Schema, kept)
	p.sourcePaths(a, &out)
	out.Placement = p.placementOf(a)
	for k, m := range f.members {
		p.out.Conversions.Add(m.Variable, out.Schema, got.Conversions[k])
	}
	p.out.Arrays = append(p.out.Arrays, out)
	if got.Inexact {
		p.out.Inexact = append(p.out.Inexact, a.path)
	}
	return nil
}

// faceFinding adds what the schema has to say. What is kept in the manifest is not re-encoded.
func (p *directions) schemaFinding(a *array, f report.Finding) {
	if a.pieces && f.Effect != report.Refused {
		switch f.Code {
		case report.CodecsDiffer, report.CodecSettings, report.CodecsUnsupported, report.CodecsInexact, report.CodecFromUnusable, report.ChunksDiffer:
			return
		case report.FillDiffers, report.MissingDiffers, report.FillChosen, report.FillNeedsType, report.FillAmbiguous, report.FillTime:
			if !p.gaps(a) {
				return
			}
		}
		if f.Effect == report.Reencoded {
			f.Effect = report.Noted
		}
	}
	p.find(f)
}

// membersFor joins the classes whose variables are alike but for their lengths.
func (p *layout) membersFor(a *array) *declared {
	f := &declared{}
	byVariable, byKey := map[*manifest.Variable]int{}, map[string]int{}
	all := a.all()
	for _, m := range all {
		v := p.newNames(m.class, p.meaningOf(a, &m))
		k, ok := byVariable[v] // which headers have in common
		if !ok {
			key := ""
			if len(all) > 1 {
				key = schemaKey(v)
			}
			if k, ok = byKey[key]; !ok {
				k = len(f.members)
				byKey[key] = k
				f.members = append(f.members, schema.Member{Variable: v})
				f.firsts = append(f.firsts, -1)
			}
			byVariable[v] = k
		}
		f.of, f.classes = append(f.of, k), append(f.classes, m.class)
		files := p.classes[m.class].files
		f.members[k].Files += int64(len(files))
		f.members[k].Bytes += int64(len(files)) * elementsOf(m.v) * int64(max(m.v.Type.Size, 1))
		first := p.firstOfClass(m.class)
		if f.firsts[k] < 0 || p.rank[first] < p.rank[f.firsts[k]] {
			f.firsts[k] = first
		}
	}
	for k := range f.members {
		f.members[k].First = p.files[f.firsts[k]].URL
	}
	f.sort(p.rank)
	return f
}

// namesOf returns the files of some members of what is declared.
func (p *layout) namesOf(f *declared, members []int) report.Files {
	wanted := make([]bool, len(f.members))
	for _, k := range members {
		wanted[k] = true
	}
	var files []int32
	for i, k := range f.of {
		if wanted[k] {
			files = append(files, p.classes[f.classes[i]].files...)
		}
	}
	return p.fileSet(files)
}

// firstOfClass returns the file of a class that comes first.
func (p *layout) firstOfClass(class int32) int32 {
	c := p.classes[class]
	if !c.ranked {
		c.first, c.ranked = c.files[0], true
		for _, f := range c.files {
			if p.rank[f] < p.rank[c.first] {
				c.first = f
			}
		}
	}
	return c.first
}

// sort puts members in the order of their first files.
func (f *declared) sort(rank []int32) {
	order := make([]int, len(f.members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(rank[f.firsts[a]]) - int(rank[f.firsts[b]]) })
	at := make([]int, len(order))
	members, firsts := make([]schema.Member, len(order)), make([]int32, len(order))
	for i, k := range order {
		at[k], members[i], firsts[i] = i, f.members[k], f.firsts[k]
	}
	for i, k := range f.of {
		f.of[i] = at[k]
	}
	f.members, f.firsts = members, firsts
}

// meaningOf is the variable of a member; bounds of times have the units of what they bound if
// they are to be told anew, or if no array says that they are bounds.
func (p *survey) meaningOf(a *array, m *member) *manifest.Variable {
	if !a.pieces && !a.orphan || m.v.Path == "" {
		return m.v
	}
	if c := p.classes[m.class]; m.at < len(c.header.Variables) && c.header.Variables[m.at] == m.inFile().v {
		return m.as(c.meaning(m.at))
	}
	return m.v
}

// faceKey is what members have in common that are alike but for their lengths.
func schemaKey(v *manifest.Variable) string {
	bare := *v
	bare.Path, bare.Shape = "", make([]int64, len(v.Shape))
	bare.Storage.Chunks, bare.Storage.Edges, bare.Storage.Stride = nil, nil, 0
	h := manifest.Header{Variables: []*manifest.Variable{&bare}}
	return string(h.AppendKey(nil))
}

func (p *planner) schemaOptions(a *array, f *declared) (schema.Options, error) {
	opts := schema.Options{Array: a.path, Gaps: p.gaps(a), Common: &p.common, Names: func(members []int) report.Files { return p.namesOf(f, members) }}
	for _, role := range cf.BoundsRoles {
		if p.bounds(a, role) != "" {
			opts.Keep = append(opts.Keep, role)
		}
	}
	for _, o := range p.opts.Schemas {
		if o.Type == "" || !matches([]string{o.Array}, a.path) {
			continue
		}
		t, err := typeNamed(o.Type)
		if err != nil {
			return opts, err
		}
		opts.Type = t
	}
	opts.CodecFrom = p.codecFrom(a, f)
	opts.Exact = slices.Contains(p.opts.Exact, a.path)
	if a.pieces {
		var err error
		opts.Reference, err = p.referenceOf(a)
		return opts, err
	}
	return opts, nil
}

// gaps reports whether some of an array is in no file: where files are placed each has to be as
// wide as the array, else one of them.
func (p *directions) gaps(a *array) bool {
	if a.where != nil && a.where.holes {
		return true
	}
	shape := p.shapeOf(a)
	isNarrow := func(m member) bool {
		for k, axis := range m.axes {
			if p.dims[a.dims[k]].role == fixed && m.v.Shape[axis] < shape[len(a.made)+k] {
				return true
			}
		}
		return false
	}
	if a.where == nil {
		return !slices.ContainsFunc(a.members, func(m member) bool { return !isNarrow(m) })
	}
	return slices.ContainsFunc(a.members, isNarrow)
}

// codecFrom is 1 more than the member of the file that a user names.
func (p *survey) codecFrom(a *array, f *declared) int {
	if i := p.chosen(a); i >= 0 {
		return f.of[i] + 1
	}
	return 0
}

// chosen is the place among the members of the one of the file whose codecs and chunks the user
// wants, or -1.
func (p *survey) chosen(a *array) int {
	if p.opts.CodecFrom == "" {
		return -1
	}
	for i, m := range a.members {
		for _, n := range p.classes[m.class].files {
			if isFile(p.files[n], p.opts.CodecFrom) {
				return i
			}
		}
	}
	return -1
}

func typeNamed(name string) (codec.Type, error) {
	t, err := zarrjson.ParseDataType([]byte(`"` + name + `"`))
	return t.Type(), err
}

// shapeOf is the shape of an array.
func (p *directions) shapeOf(a *array) []int64 {
	shape := make([]int64, 0, len(a.made)+len(a.dims))
	for _, at := range a.allDims() {
		shape = append(shape, p.dims[at].length)
	}
	return shape
}

func dimensionNames(dims []string) []zarrjson.DimensionName {
	out := make([]zarrjson.DimensionName, len(dims))
	for i, d := range dims {
		out[i] = zarrjson.DimensionName{Name: report.Base(d), Named: true}
	}
	return out
}

// sourcePaths sets the paths that a variable and its dimensions have in the files.
func (p *survey) sourcePaths(a *array, out *manifest.Array) {
	unnamed, otherwise := make([]string, len(out.Dims)), false
	for _, m := range a.all() {
		if !slices.Contains(out.Variables, m.v.Path) {
			out.Variables = append(out.Variables, m.v.Path)
		}
		x := m.inFile()
		for k, d := range x.dims {
			same := x.v.Dims[k] == d
			switch {
			case p.classes[m.class].unnamed[x.v.Dims[k]]:
				unnamed[k], otherwise = d, otherwise || !same
			case !same:
				if out.Renamed == nil {
					out.Renamed = map[string]string{}
				}
				out.Renamed[x.v.Dims[k]] = d
			}
		}
	}
	slices.Sort(out.Variables)
	if otherwise {
		out.Unnamed = unnamed
	}
}

// placementOf is the id of an array's placement. One that is alike in all files is in the one
// that counts.
func (p *planner) placementOf(a *array) string {
	if a.where == nil {
		first := p.counting(a)
		if p.isAxis(a) && p.dims[a.dims[0]].large {
			d := p.dims[a.dims[0]]
			first = p.firstOf(d.filesOf(p.fixedCoord(d)))
		}
		key := "first " + p.files[first].URL
		w := p.placings[key]
		if w == nil {
			w = &placing{tiles: []manifest.Tile{{File: int(first)}}}
			p.placings[key] = w
			p.placeOrder = append(p.placeOrder, w)
		}
		a.where = w
	}
	a.where.used = true
	return p.placementID(a.where)
}
