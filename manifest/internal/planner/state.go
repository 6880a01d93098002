package planner

import (
	"encoding/json"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/newdim"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// state is what an append has to know about the files of earlier plans. It holds a few lines for each template of
// headers, and nothing for each file, so that an append costs the same for ten files and for a million.
type state struct {
	Dim    string // the dimension along which files are concatenated
	Length int64
	ByName bool        `json:",omitempty"` // the names of files decide their order
	Step   newdim.Kind `json:",omitempty"` // the kind of the values that texts give to files along a new dimension
	// LastText is the greatest text of all files if texts place them. A file of greater texts follows all files, and has
	// no text that another file has.
	LastText []byte `json:",omitempty"`
	// Across lists the other dimensions of a mosaic. Of each cell that its files make along them, the last file is a sample.
	Across  []string `json:",omitempty"`
	Samples []sample
	// Tails holds the elements of short last pieces, which the next append joins to its own.
	Tails map[string][]byte `json:",omitempty"`
}

// sample is a file of an earlier plan that represents files with its template: the last of them along the dimension,
// one that differs from it in an attribute, or the first file of the archive. Everything else that a plan of all files
// decides follows from the samples and from the schemas of the arrays.
type sample struct {
	Row    int    // in the table of sources
	Header string // its ID
	Files  int64  // the number of files that it represents
	Start  int64  // along the dimension
	// Across holds where it starts along the other dimensions of a mosaic.
	Across []int64 `json:",omitempty"`
}

// Limits of a state. With more samples, planning again is cheaper than a large state.
const (
	mostSamples = 256
	mostTail    = 1 << 8
)

// keepsShards reports whether chunks of an array are shards.
func (p *declaration) keepsShards() bool {
	return slices.ContainsFunc(p.out.Arrays, func(a manifest.Array) bool { return a.Schema != nil && codec.HasShards(a.Schema.Codecs) })
}

// keepState returns the state for Extend, or the reason why new files could change decisions about old files.
func (p *declaration) keepState() (*state, report.Replan) {
	f, o := p.arrangement.flow(), p.env.opts
	switch {
	case o.Padded || p.keepsShards() || len(o.NewDims) > 1 || slices.ContainsFunc(o.NewDims, isList) || len(p.out.Inexact)+len(o.Exact)+len(o.Repack) > 0:
		return nil, report.ReplanOption
	case slices.ContainsFunc(p.alignment.dimOrder, func(at string) bool { return p.alignment.dims[at].isReordered() }):
		return nil, report.ReplanReordered
	case f == nil || !p.isUniform(f):
		return nil, report.ReplanPlacement
	case slices.ContainsFunc(p.arrangement.arrays, isRepeatedText):
		return nil, report.ReplanTexts
	case p.alignment.hasVariants():
		return nil, report.ReplanVariants
	}
	d := f.along
	s := &state{Dim: d.path, Length: d.length, ByName: d.by == byNames, Step: p.alignment.stepKind, Samples: p.samples(f), Tails: map[string][]byte{}}
	for _, other := range f.across {
		s.Across = append(s.Across, other.path)
	}
	if d.nature == coord.Text && d.by == byValues {
		last := p.env.earlier.lastText()
		for _, c := range d.order {
			last = max(last, slices.Max(c.Texts()))
		}
		s.LastText = []byte(last)
	}
	if len(s.Samples) > mostSamples && len(f.across) > 0 {
		return nil, report.ReplanPlacement
	}
	if len(s.Samples) > mostSamples {
		return nil, report.ReplanManyHeaders
	}
	values := map[string]*manifest.Values{}
	for _, v := range p.out.Values {
		values[v.ID] = v
	}
	for i := range p.out.Arrays {
		s.keepTail(&p.out.Arrays[i], func(id string) *manifest.Values { return values[id] })
	}
	return s, ""
}

// isList reports whether an option has a value for each file, which is then no option for other files.
func isList(n plan.NewDim) bool { return n.Values != nil }

// isRepeatedText reports whether an array broadcasts texts, whose size depends on all files.
func isRepeatedText(a *array) bool {
	return a.broadcast && slices.ContainsFunc(a.members, func(m member) bool { return m.v.Type.Varies() })
}

// hasVariants reports whether the files have several coordinates along a dimension that should be equal, so that
// it depends on the number of files which is declared.
func (p *alignment) hasVariants() bool {
	return p.env.opts.Coords != plan.CoordsFirst && slices.ContainsFunc(p.dimOrder, func(at string) bool {
		return p.dims[at].role == fixed && len(p.dims[at].live()) > 1
	})
}

// flow says along which dimensions the files of an archive are placed.
type flow struct {
	along  *dim   // the first dimension of all arrays that have it: new files follow all others along it
	across []*dim // the other dimensions of a mosaic: in each layer along the first one, files cover all of them
}

// flow returns the dimensions along which files are placed. It returns nil if nothing shows that new files come after
// all old ones along one of them.
func (p *arrangement) flow() *flow {
	f, most := &flow{}, 0
	for _, w := range p.placeOrder {
		if len(w.dims) > most {
			f.along, most = w.dims[0], len(w.dims)
		}
	}
	if f.along == nil || !f.along.hasEnd() || len(p.survey.hidden) > 0 || p.survey.includedSpare || len(p.survey.beside) > 0 {
		return nil
	}
	for _, w := range p.placeOrder {
		// With gaps, a new file may belong between old ones.
		if w.cut || w.holes || w.shared != nil || slices.Index(w.dims, f.along) > 0 {
			return nil
		}
		for _, d := range w.dims {
			if d != f.along && !slices.Contains(f.across, d) {
				f.across = append(f.across, d)
			}
		}
	}
	// No array may have a new dimension, if all of them are equal in all files.
	if slices.ContainsFunc(p.alignment.made, func(d *dim) bool { return d != f.along }) {
		return nil
	}
	if len(f.across) > 0 && !p.isLattice(f) {
		return nil
	}
	return f
}

// isLattice reports whether the files of a mosaic have equal or disjoint coordinates along each of its dimensions, so that
// they make cells.
func (p *arrangement) isLattice(f *flow) bool {
	// An array of all dimensions without gaps shows that there is a file in each cell.
	if !slices.ContainsFunc(p.placeOrder, func(w *placing) bool { return len(w.dims) == 1+len(f.across) }) {
		return false
	}
	for _, d := range append([]*dim{f.along}, f.across...) {
		if d.by != byValues || d.large || d.nature == coord.Text || slices.ContainsFunc(d.of, func(n int32) bool { return n < 0 }) {
			return false
		}
		end := int64(0)
		for _, c := range d.order {
			// Earlier files that are no samples leave gaps along the first dimension.
			if c.Start < end || c.Start > end && (p.env.earlier == nil || d != f.along) {
				return false
			}
			end = c.Start + c.Len
		}
	}
	return true
}

// isUniform reports whether the members of each array of a mosaic have chunks of equal lengths along the dimensions across,
// so that the edges of chunks there do not depend on the number of files.
func (p *declaration) isUniform(f *flow) bool {
	if len(f.across) == 0 {
		return true
	}
	for _, a := range p.arrangement.arrays {
		if a.where == nil || a.pieces || len(a.where.dims) < 2 {
			continue
		}
		i := slices.IndexFunc(p.out.Arrays, func(out manifest.Array) bool { return out.Path == a.path })
		if i < 0 {
			return false
		}
		g, err := p.out.Arrays[i].Schema.Grid()
		if err != nil {
			return false
		}
		members := a.all()
		c := &cutting{p: p.survey, a: a, members: members, element: elementSize(members), shape: p.out.Arrays[i].Schema.Shape}
		c.takeGrid(g)
		for k := range c.shape {
			if c.placedAt(k) < 0 || a.dimAt(k) == f.along.path {
				continue
			}
			for m := range members {
				if members[m].v.Storage.Edges != nil || c.chunkAlong(k, &members[m]) != c.chunkAlong(k, &members[0]) {
					return false
				}
			}
		}
	}
	return true
}

// hasEnd reports whether files are placed along a dimension in an order that shows which new files follow all others.
func (d *dim) hasEnd() bool {
	switch d.by {
	case byValues:
		// Files of texts stay in one piece each if no text is repeated.
		if d.nature == coord.Text {
			return !d.large && d.labels(d.order)
		}
		// Unordered values have no end after which a new file could start.
		return d.nature != 0 && !slices.ContainsFunc(d.order, func(c *coord.Coord) bool { return c.Direction == 2 })
	case byNames:
		return d.coord == "" && !d.abreast
	case byOption:
		return true // each value is one position, in increasing order
	}
	return false
}

// samples returns the samples of all files, in the order of their rows: of each template the last file and its
// witnesses, the last file of each cell of a mosaic, and the first file of the archive. The last file represents all files
// that are no samples.
func (p *declaration) samples(f *flow) (list []sample) {
	first := p.arrangement.inRank()[0]
	cells := p.lastOfCells(f)
	for _, t := range p.templates() {
		last := t.last[len(t.last)-1]
		chosen := p.survey.witnesses(t)
		for _, file := range append(cells, first) {
			if slices.Contains(t.classes, p.survey.classOf[file]) && file != last && !slices.Contains(chosen, file) {
				chosen = append(chosen, file)
			}
		}
		for _, file := range chosen {
			list = append(list, p.sampleOf(file, 1, f))
		}
		list = append(list, p.sampleOf(last, t.files-int64(len(chosen)), f))
	}
	slices.SortFunc(list, func(a, b sample) int { return a.Row - b.Row })
	return list
}

// lastOfCells returns the last file of each cell of a mosaic, or nothing for other archives. With too many cells, it
// returns some of them.
func (p *declaration) lastOfCells(f *flow) (files []int32) {
	if len(f.across) == 0 {
		return nil
	}
	cells := map[string]int{} // index into files
	for file := range int32(len(p.env.files)) {
		key := fmt.Sprint(f.startsAcross(file))
		start, _, _ := f.along.starts(file)
		if i, ok := cells[key]; !ok {
			cells[key] = len(files)
			files = append(files, file)
		} else if last, _, _ := f.along.starts(files[i]); start > last {
			files[i] = file
		}
		if len(files) > mostSamples {
			break // keepState refuses so many samples
		}
	}
	return files
}

// startsAcross returns where a file starts along the other dimensions of a mosaic.
func (f *flow) startsAcross(file int32) (starts []int64) {
	for _, d := range f.across {
		start, _, _ := d.starts(file)
		starts = append(starts, start)
	}
	return starts
}

func (p *declaration) sampleOf(file int32, files int64, f *flow) sample {
	start, _, _ := f.along.starts(file)
	return sample{Row: p.env.earlier.row(file), Header: p.env.files[file].Header.ID, Files: files, Start: start, Across: f.startsAcross(file)}
}

// keepTail stores the elements of an array's last piece if it is short, so that the next append can join its own to
// them. Otherwise a manifest that grows by one step a day would have one piece for each day.
func (s *state) keepTail(a *manifest.Array, values func(id string) *manifest.Values) {
	// The last piece has changed, so an older tail must not be joined to it.
	delete(s.Tails, a.Path)
	if len(a.Pieces) == 0 || len(a.Dims) == 0 || a.Dims[0] != s.Dim {
		return
	}
	if v := values(a.Pieces[len(a.Pieces)-1].Values); v != nil && v.Texts == nil && len(v.Data) <= mostTail {
		s.Tails[a.Path] = v.Data
	}
}

// stateOf returns the state of a snapshot. It has no samples if the snapshot has no state.
func stateOf(old *manifest.Snapshot) (s state, err error) {
	if len(old.State) == 0 || string(old.State) == "null" {
		return s, nil
	}
	if err := json.Unmarshal(old.State, &s); err != nil {
		return s, fmt.Errorf("the state of the plan: %w", err)
	}
	return s, nil
}

// IsOrderedByName reports whether the names of a snapshot's files decide their order, as far as its state says.
func IsOrderedByName(old *manifest.Snapshot) (bool, error) {
	s, err := stateOf(old)
	return s.ByName, err
}

// Samples returns the rows of the old files that Extend requires to plan new files, or the reason why all files have
// to be planned again.
func Samples(old *manifest.Snapshot, files []*manifest.File) (rows []int64, why report.Replan, err error) {
	s, err := stateOf(old)
	switch {
	case err != nil:
		return nil, "", err
	case len(s.Samples) == 0:
		return nil, report.ReplanNoState, nil
	case slices.ContainsFunc(files, func(f *manifest.File) bool { return f.Hidden || len(f.Parts) > 0 }):
		return nil, report.ReplanOtherFiles, nil
	}
	for _, sample := range s.Samples {
		rows = append(rows, int64(sample.Row))
	}
	return rows, "", nil
}

// hasNewTemplate reports whether a file has a template that no sample has.
func hasNewTemplate(samples, files []*manifest.File) bool {
	known, seen, keys := map[templateKey]bool{}, map[*manifest.FileHeader]bool{}, &templateKeys{}
	for _, f := range samples {
		if !seen[f.Header] {
			seen[f.Header], known[keys.of(f.Header.Expand())] = true, true
		}
	}
	return slices.ContainsFunc(files, func(f *manifest.File) bool {
		if seen[f.Header] {
			return false
		}
		seen[f.Header] = true
		return !known[keys.of(f.Header.Expand())]
	})
}
