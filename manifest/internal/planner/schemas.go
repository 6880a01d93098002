package planner

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/internal/planner/internal/schema"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/zarrjson"
)

// declaration holds a plan while its schemas are decided.
type declaration struct {
	env         *env
	survey      *survey
	alignment   *alignment
	arrangement *arrangement
	common      schema.Common    // shared by all arrays, so that equal parts are stored once
	ids         map[string]int64 // the last number in use for each placement name
	firsts      map[int32]int32  // the file of each class with the lowest rank, once it was asked for
	calibrated  bool             // some files are of a format whose add_offset differs from CF packing
	out         *Plan
}

// declare decides the schema of each array, then its chunk grid and placement.
func declare(arrangement *arrangement) (*Plan, error) {
	arrangement = arrangement.clone()
	p := &declaration{env: arrangement.env, survey: arrangement.survey, alignment: arrangement.alignment, arrangement: arrangement,
		ids: map[string]int64{}, firsts: map[int32]int32{}, out: &Plan{Flip: arrangement.alignment.flipped}}
	if err := p.schemas(); err != nil {
		return nil, err
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	p.alignment.noteLongitudes()
	p.addChunkLengths()
	if err := p.curate(); err != nil {
		return nil, err
	}
	p.out.Compared = slices.Collect(maps.Keys(p.env.compared))
	return p.out, nil
}

// schemas decides the schema of each array, then its chunk grid and placement.
func (p *declaration) schemas() error {
	var questions []question
	for _, a := range p.arrangement.arrays {
		if p.arrangement.decidePieces(a); a.pieces {
			questions = append(questions, func() ([]want, error) { return p.arrangement.piecesWanted(a) })
		}
	}
	if err := p.env.settle(questions...); err != nil {
		return err
	}
	for _, d := range p.alignment.made {
		if !p.survey.anyHas(d.path) {
			p.arrangement.arrays = append(p.arrangement.arrays, p.survey.madeArray(d))
		}
	}
	// Schemas of a refused plan are never used, and deciding them takes most of the time.
	if len(p.env.report.Refused()) > 0 {
		return nil
	}
	p.calibrated = slices.ContainsFunc(p.env.files, isCalibrated)
	slices.SortFunc(p.arrangement.arrays, func(a, b *array) int { return strings.Compare(a.path, b.path) })
	p.out.Arrays, p.out.Conversions = slices.Grow(p.out.Arrays, len(p.arrangement.arrays)), make(convert.Known, len(p.arrangement.arrays))
	// Schemas are decided in parallel, but declared in the order of the arrays: declaring adds
	// findings and numbers placements, and both must not depend on timing.
	declared := func() error { return nil }
	for arrays := range p.survey.inGroups(p.arrangement.arrays) {
		declare := p.decideAll(arrays)
		if err := declared(); err != nil {
			return err
		}
		declared = declare
	}
	return declared()
}

// Limits of a group of arrays whose schemas are decided while the group before it is declared. They bound memory, and
// are large enough to keep all cores busy. If each file has its own header, an array has a member for each file.
const (
	decidedAtOnce        = 64
	membersDecidedAtOnce = 1 << 16
)

// mostMembers returns an upper limit for the number of members from which the schema of an array is decided.
func (p *survey) mostMembers(a *array) int {
	n := len(a.members)
	for _, m := range a.members {
		if c := p.classes[m.class]; c.varies(m.at) {
			n += len(c.files) - 1
		}
	}
	return n
}

// inGroups yields the arrays in groups.
func (p *survey) inGroups(arrays []*array) iter.Seq[[]*array] {
	return func(yield func([]*array) bool) {
		for len(arrays) > 0 {
			n, members := 1, p.mostMembers(arrays[0])
			for n < min(len(arrays), decidedAtOnce) && members+p.mostMembers(arrays[n]) <= membersDecidedAtOnce {
				members += p.mostMembers(arrays[n])
				n++
			}
			if !yield(arrays[:n]) {
				return
			}
			arrays = arrays[n:]
		}
	}
}

// decideAll starts workers that decide the schemas of arrays, which takes most of the time of a
// plan. The returned function waits for them and declares the arrays in order.
func (p *declaration) decideAll(arrays []*array) (declare func() error) {
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

// decided holds the inputs and the result of schema.Decide for one array.
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

// declared holds the members from which an array's schema is decided. Members of the array with
// equal variables are merged, because an archive may have a million members and one variable.
type declared struct {
	members []schema.Member
	firsts  []int32       // for each of members, its first file
	files   []memberFiles // sorted by members of the array
}

// memberFiles are files of one member of an array whose variables are equal.
type memberFiles struct {
	of     int32 // index of the member of the array
	member int32 // index in declared.members
	files  []int32
}

// trueForAllFiles reports for each of n members of the array whether something is true for all of its files.
func (f *declared) trueForAllFiles(n int, is []bool) []bool {
	all := slices.Repeat([]bool{true}, n)
	for _, s := range f.files {
		all[s.of] = all[s.of] && is[s.member]
	}
	return all
}

// firstMemberOf returns the index in members of the first files of a member of the array.
func (f *declared) firstMemberOf(of int) int32 {
	i, _ := slices.BinarySearchFunc(f.files, int32(of), func(s memberFiles, of int32) int { return int(s.of - of) })
	return f.files[i].member
}

// declare completes the schema of an array with its chunk grid, and adds the array to the plan. It
// also stores the values of an array in the manifest if they belong there.
func (p *declaration) declare(a *array, d *decided) error {
	if d.err != nil {
		return d.err
	}
	f, got := d.declared, d.schema
	for _, finding := range d.findings {
		p.alignment.schemaFinding(a, finding)
	}
	// A finding has refused the array.
	if got == nil {
		return nil
	}
	kept := f.trueForAllFiles(len(a.members)+len(a.parts), got.Kept)
	out := manifest.Array{Path: a.path, Reading: got.Reading, Dims: a.allDims(), AttributeTypes: got.AttributeTypes}
	out.Calibrated = p.calibrated && p.noteCalibrated(a, got)
	shape := p.alignment.shapeOf(a)
	out.Schema = &zarrjson.Array{Shape: shape, DataType: got.DataType, Fill: got.Fill, Codecs: got.Codecs, Attributes: got.Attributes,
		DimensionNames: dimensionNames(out.Dims)}
	p.alignment.dropRanges(a, &out.Schema.Attributes)
	p.alignment.noteUnwritten(a)
	p.addRepacked(a, f, got.Conversions)
	if a.pieces {
		return p.declarePieces(a, out)
	}
	if a.parted() {
		if err := p.survey.fillOfParts(a, f, &out); err != nil {
			return err
		}
	}
	out.Schema.ChunkGrid, out.CodecSizes = p.survey.gridOf(a, shape, kept)
	g, err := out.Schema.Grid()
	if err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	clipShards(out.Schema, g)
	p.noteChunks(a, out.Schema, kept)
	p.survey.sourcePaths(a, &out)
	out.Placement = p.placementOf(a)
	for k, conversion := range got.Conversions {
		// Only variables that many files share are known by their pointers.
		if m := &f.members[k]; m.Own == nil {
			p.out.Conversions.Add(m.Variable, out.Schema, conversion)
		}
	}
	p.out.Arrays = append(p.out.Arrays, out)
	if got.Inexact {
		p.out.Inexact = append(p.out.Inexact, a.path)
	}
	return nil
}

// clipShards lets a schema clip the inner chunks of shards (version 1.1 of sharding) if they do not divide each chunk of
// the grid. Otherwise such a chunk could not be encoded.
func clipShards(schema *zarrjson.Array, g *grid.Grid) {
	if !slices.ContainsFunc(schema.Codecs, func(s codec.Spec) bool { return s.IsSharding() }) {
		return // making the codecs to see that would take a fifth of the time of an append
	}
	fits := func(codecs []codec.Spec) bool {
		shape := make([]int64, g.Rank())
		for k := range shape {
			shape[k], _ = g.Dim(k).CodecSize(0)
		}
		p, err := codec.New(codecs, schema.Form(shape))
		return err == nil && p.CheckGrid(g) == nil
	}
	if fits(schema.Codecs) {
		return
	}
	if clipped := codec.WithClipping(schema.Codecs); fits(clipped) {
		schema.Codecs = clipped
	}
}

// schemaFinding adds a finding about a schema. Values in the manifest are converted once, at build
// time, so findings about codecs and re-encoding do not apply to them.
func (p *alignment) schemaFinding(a *array, f report.Finding) {
	if a.pieces && f.Effect != report.Refused {
		switch f.Code {
		case report.CodecsDiffer, report.CodecSettings, report.CodecsUnsupported, report.CodecsInexact, report.CodecFromUnusable, report.ChunksDiffer:
			return
		// The fill value of a complete array is never read, so a disagreement about it has no
		// effect.
		case report.FillDiffers, report.MissingDiffers, report.FillChosen, report.FillNeedsType, report.FillAmbiguous, report.FillTime:
			if !p.gaps(a) {
				return
			}
		}
		if f.Effect == report.Reencoded {
			f.Effect = report.Noted
		}
	}
	p.env.find(f)
}

// membersFor merges the files of an array whose variables are equal except for their lengths.
func (p *declaration) membersFor(a *array) *declared {
	f := &declared{}
	byVariable, byKey := map[*manifest.Variable]int{}, map[[sha256.Size]byte]int{}
	all := a.all()
	f.files = make([]memberFiles, 0, len(all))
	for i := range all {
		m := &all[i]
		asInClass := p.survey.newNames(m.class, p.survey.meaningOf(a, m))
		for files := range p.survey.variants(m.class, m.at) {
			v := p.survey.withAttributesOf(m.class, m.at, asInClass, files[0])
			k, ok := byVariable[v] // headers share equal variables
			if !ok {
				var key [sha256.Size]byte
				// A single member needs no key, and keys are expensive to compute.
				if len(all) > 1 || v != asInClass {
					key = schemaKey(v)
				}
				if k, ok = byKey[key]; !ok {
					k = len(f.members)
					byKey[key] = k
					f.members = append(f.members, schema.Member{Variable: asInClass, Own: attributesUnlike(v, asInClass)})
					f.firsts = append(f.firsts, -1)
				}
				if v == asInClass {
					byVariable[v] = k
				}
			}
			f.files = append(f.files, memberFiles{int32(i), int32(k), files})
			weight := p.weightOf(m.class, files)
			f.members[k].Files += weight
			f.members[k].Bytes += weight * coord.ElementsOf(m.v) * int64(max(m.v.Type.Size, 1))
			first := p.firstOf(m.class, files)
			if f.firsts[k] < 0 || p.arrangement.rank[first] < p.arrangement.rank[f.firsts[k]] {
				f.firsts[k] = first
			}
		}
	}
	for k := range f.members {
		f.members[k].First = p.env.files[f.firsts[k]].URL
	}
	f.sort(p.arrangement.rank)
	return f
}

// attributesUnlike returns the attributes of a variable with other values than those of another variable, which has
// attributes with the same names.
func attributesUnlike(v, other *manifest.Variable) (list []manifest.Attribute) {
	if v == other {
		return nil
	}
	for i := range v.Attributes {
		if !coord.SameAttribute(&v.Attributes[i], &other.Attributes[i]) {
			list = append(list, v.Attributes[i])
		}
	}
	return slices.Clip(list)
}

// namesOf returns the files of some members of f.
func (p *arrangement) namesOf(f *declared, members []int) report.Files {
	wanted := make([]bool, len(f.members))
	for _, k := range members {
		wanted[k] = true
	}
	var files []int32
	for _, s := range f.files {
		if wanted[s.member] {
			files = append(files, s.files...)
		}
	}
	return p.env.fileSet(files)
}

// weightOf returns the number of files of a class that some of its files are, or represent.
func (p *declaration) weightOf(class int32, files []int32) int64 {
	if len(files) == len(p.survey.classes[class].files) {
		return p.survey.classes[class].weight()
	}
	n := int64(len(files))
	for _, f := range files {
		n += p.env.earlier.others(f)
	}
	return n
}

// firstOf returns the file with the lowest rank among some files of a class.
func (p *declaration) firstOf(class int32, files []int32) int32 {
	if len(files) < len(p.survey.classes[class].files) {
		return p.arrangement.firstOf(files)
	}
	first, ok := p.firsts[class]
	if !ok {
		first = p.arrangement.firstOf(files)
		p.firsts[class] = first
	}
	return first
}

// sort orders members by the rank of their first files, which makes the plan independent of the
// order of the input.
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
	for i := range f.files {
		f.files[i].member = int32(at[f.files[i].member])
	}
	f.members, f.firsts = members, firsts
}

// meaningOf returns the variable of a member. Bounds of times get the units of their parent if
// their values are converted, or if no array names them as its bounds.
func (p *survey) meaningOf(a *array, m *member) *manifest.Variable {
	if !a.pieces && !a.orphan || m.v.Path == "" {
		return m.v
	}
	if c := p.classes[m.class]; m.at < len(c.header.Variables) && c.header.Variables[m.at] == m.inFile().v {
		return m.as(c.meaning(m.at))
	}
	return m.v
}

// schemaKey returns a key that is equal for variables that differ only in path and lengths.
func schemaKey(v *manifest.Variable) [sha256.Size]byte {
	bare := *v
	bare.Path, bare.Shape = "", make([]int64, len(v.Shape))
	bare.Storage.Chunks, bare.Storage.Edges, bare.Storage.DataSizes, bare.Storage.Stride = nil, nil, nil, 0
	return bare.Sum()
}

func (p *declaration) schemaOptions(a *array, f *declared) (schema.Options, error) {
	opts := schema.Options{Array: a.path, Gaps: p.alignment.gaps(a), Common: &p.common, Names: func(members []int) report.Files { return p.arrangement.namesOf(f, members) }}
	for _, role := range cf.BoundsRoles {
		if p.arrangement.bounds(a, role) != "" {
			opts.Keep = append(opts.Keep, role)
		}
	}
	if p.env.opts.Coords == plan.CoordsFirst && a.where == nil {
		opts.Keep = append(opts.Keep, cf.UnitsName) // the values are those of the first file
	}
	for _, o := range p.env.opts.Schemas {
		if o.Type == "" || !naming.Matches([]string{o.Array}, a.path) {
			continue
		}
		t, err := typeNamed(o.Type)
		if err != nil {
			return opts, err
		}
		opts.Type = t
	}
	opts.Texts = opts.Gaps && len(a.dims) > 0 && p.survey.isTextLength(p.alignment.dims[a.dims[len(a.dims)-1]])
	opts.Repack, opts.Units = p.env.repackOf(a), p.env.opts.Units
	if units, ok := p.env.opts.UnitsOf[a.path]; ok && !p.alignment.isCoordinate(a) { // coordinates of dimensions are never converted
		opts.PublishedUnits = &units
	}
	opts.CodecFrom = p.survey.codecFrom(a, f)
	opts.Exact = slices.Contains(p.env.opts.Exact, a.path)
	if a.pieces {
		var err error
		opts.Reference, err = p.arrangement.referenceOf(a)
		if opts.Reference == nil && opts.Type.Kind == 0 {
			opts.Type = p.alignment.wideTime(a)
		}
		return opts, err
	}
	return opts, nil
}

// wideTime returns the 64-bit type of the times of a dimension that grows, or the zero value for other
// arrays. A file with other units may be appended, whose times need 64 bits, and then no client has to
// learn another type.
func (p *alignment) wideTime(a *array) (wide codec.Type) {
	if !p.isAxis(a) || a.where == nil || p.dims[a.dims[0]].nature != coord.Instant {
		return wide
	}
	for _, m := range a.members {
		packing, err := cf.PackingOf(m.v)
		if err != nil || packing.Scaled() || !packing.Type.Equal(m.v.Type) || m.v.Type.Size == 8 || !cf.IsNumber(m.v.Type) {
			return codec.Type{}
		}
		kind := m.v.Type.Kind
		if kind == codec.Uint {
			kind = codec.Int
		}
		if wide.Kind != 0 && wide.Kind != kind {
			return codec.Type{}
		}
		wide = codec.Type{Kind: kind, Size: 8}
	}
	return wide
}

// gaps reports whether some positions of an array are in no file, so that readers get the fill value.
// If files are placed, each narrow file leaves a gap. Otherwise, one file of full width leaves none.
func (p *alignment) gaps(a *array) bool {
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
	// The widest file provides the values, so one file of full width leaves no gap.
	if a.where == nil {
		return !slices.ContainsFunc(a.members, func(m member) bool { return !isNarrow(m) })
	}
	return slices.ContainsFunc(a.members, isNarrow)
}

// codecFrom returns 1 plus the index, in f.members, of the file whose codecs the user wants, or 0.
func (p *survey) codecFrom(a *array, f *declared) int {
	i, file := p.chosen(a)
	if i < 0 {
		return 0
	}
	at := slices.IndexFunc(f.files, func(s memberFiles) bool { return int(s.of) == i && slices.Contains(s.files, file) })
	return int(f.files[at].member) + 1
}

// chosen returns the index of the member whose codecs and chunks the user wants, and the file, or -1.
func (p *survey) chosen(a *array) (member int, file int32) {
	if p.env.opts.CodecFrom == "" {
		return -1, -1
	}
	for i, m := range a.members {
		for _, n := range p.classes[m.class].files {
			if isFile(p.env.files[n], p.env.opts.CodecFrom) {
				return i, n
			}
		}
	}
	return -1, -1
}

func typeNamed(name string) (codec.Type, error) {
	t, err := zarrjson.ParseDataType([]byte(`"` + name + `"`))
	return t.Type(), err
}

// shapeOf returns the shape of an array, new dimensions included.
func (p *alignment) shapeOf(a *array) []int64 {
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

// sourcePaths records the paths that the variable and its dimensions have in the files, so that a
// reader of the manifest finds them there.
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

// placementOf returns the ID of an array's placement. An array that is equal in all files is read
// from one of them.
func (p *declaration) placementOf(a *array) string {
	if a.where == nil {
		first := p.arrangement.fileUsed(a)
		// Large coordinates differ between files within the tolerance, so the file must be one that
		// has the chosen values.
		if p.alignment.isAxis(a) && p.alignment.dims[a.dims[0]].large {
			d := p.alignment.dims[a.dims[0]]
			first = p.arrangement.firstOf(d.filesOf(p.arrangement.fixedCoord(d)))
		}
		key := "first " + p.env.files[first].URL
		w := p.arrangement.placings[key]
		if w == nil {
			w = &placing{tiles: []manifest.Tile{{File: int(first)}}}
			p.arrangement.placings[key] = w
			p.arrangement.placeOrder = append(p.arrangement.placeOrder, w)
		}
		a.where = w
	}
	a.where.used = true
	return p.placementID(a.where)
}
