package planner

import (
	"encoding/json"
	"fmt"
	"slices"

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
	Samples  []sample
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
}

// Limits of a state. With more samples, planning again is cheaper than a large state.
const (
	mostSamples = 256
	mostTail    = 1 << 8
)

// keepState returns the state for Extend, or the reason why new files could change decisions about old files.
func (p *declaration) keepState() (*state, report.Replan) {
	d, o := p.arrangement.onlyFlow(), p.env.opts
	switch {
	case o.Padded || o.KeepShards || len(o.NewDims) > 1 || slices.ContainsFunc(o.NewDims, isList) || len(p.out.Inexact)+len(o.Exact)+len(o.Repack) > 0:
		return nil, report.ReplanOption
	case d == nil:
		return nil, report.ReplanPlacement
	case slices.ContainsFunc(p.arrangement.arrays, isRepeatedText):
		return nil, report.ReplanTexts
	case p.alignment.hasVariants():
		return nil, report.ReplanVariants
	}
	s := &state{Dim: d.path, Length: d.length, ByName: d.by == byNames, Step: p.alignment.stepKind, Samples: p.samples(d), Tails: map[string][]byte{}}
	if d.nature == coord.Text && d.by == byValues {
		last := p.env.earlier.lastText()
		for _, c := range d.order {
			last = max(last, slices.Max(c.Texts()))
		}
		s.LastText = []byte(last)
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

// onlyFlow returns the dimension along which files are placed. It returns nil if there are several
// such dimensions, or if new files cannot be told to follow all others along it.
func (p *arrangement) onlyFlow() *dim {
	var only *dim
	for _, w := range p.placeOrder {
		if len(w.dims) == 0 {
			continue
		}
		// With two dimensions, or with gaps, a new file may belong between old ones.
		if len(w.dims) > 1 || w.cut || w.holes || w.shared != nil || only != nil && w.dims[0] != only {
			return nil
		}
		only = w.dims[0]
	}
	if only == nil || !only.hasEnd() || len(p.survey.hidden) > 0 || p.survey.includedSpare || len(p.survey.beside) > 0 {
		return nil
	}
	// No array may have a new dimension, if all of them are equal in all files.
	if slices.ContainsFunc(p.alignment.made, func(d *dim) bool { return d != only }) {
		return nil
	}
	return only
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
// witnesses, and the first file of the archive. The last file represents all files that are no samples.
func (p *declaration) samples(d *dim) (list []sample) {
	first := p.arrangement.inRank()[0]
	for _, t := range p.templates() {
		last := t.last[len(t.last)-1]
		chosen := p.survey.witnesses(t)
		if slices.Contains(t.classes, p.survey.classOf[first]) && first != last && !slices.Contains(chosen, first) {
			chosen = append(chosen, first)
		}
		for _, f := range chosen {
			list = append(list, p.sampleOf(f, 1, d))
		}
		list = append(list, p.sampleOf(last, t.files-int64(len(chosen)), d))
	}
	slices.SortFunc(list, func(a, b sample) int { return a.Row - b.Row })
	return list
}

func (p *declaration) sampleOf(file int32, files int64, d *dim) sample {
	start, _, _ := d.starts(file)
	return sample{Row: p.env.earlier.row(file), Header: p.env.files[file].Header.ID, Files: files, Start: start}
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
