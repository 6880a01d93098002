package planner

import (
	"slices"
	"strconv"

	"varve/manifest/internal/cf"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/internal/planner/internal/schema"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// Repacked is a variable of a file whose values are packed with another scale or offset, and may be rounded.
type Repacked struct {
	Array    string
	File     int // index into the files given to New
	Variable int // index into the variables of the file's header
	Convert  *convert.Conversion
	Lossy    bool // the change may be of any size
}

// repackOf returns the scale_factor that the options choose for an array, or 0.
func (p *env) repackOf(a *array) (scale float64) {
	for _, r := range p.opts.Repack {
		if naming.Matches([]string{r.Array}, a.path) {
			scale = r.Scale
		}
	}
	return scale
}

// checkRepack returns an error for a scale_factor that no file has, and for an array that has a type of
// the user's, too.
func (p *survey) checkRepack() error {
	for _, r := range p.env.opts.Repack {
		var scales []string
		found := false
		for _, c := range p.classes {
			for i := range c.vars {
				x := &c.vars[i]
				if !naming.Matches([]string{r.Array}, x.path) {
					continue
				}
				if slices.ContainsFunc(p.env.opts.Schemas, func(o plan.Override) bool { return o.Type != "" && naming.Matches([]string{o.Array}, x.path) }) {
					return optionError(report.Repack, r.String(), "the type of "+x.path[1:]+" is chosen, too")
				}
				packing, err := cf.PackingOf(x.v)
				if err != nil {
					continue // the schema refuses it
				}
				found = found || schema.SameScale(packing, r.Scale)
				own, _ := packing.Affine()
				if text := strconv.FormatFloat(own, 'g', 7, 64); !slices.Contains(scales, text) {
					scales = append(scales, text)
				}
			}
		}
		switch {
		case found || p.dropsAll(r.Array):
		case len(scales) == 0:
			return optionError(report.Repack, r.String(), "no array has this name"+p.whichThere())
		default:
			return optionError(report.Repack, r.String(), "no file has this scale_factor"+listed(scales))
		}
	}
	return nil
}

// addRepacked lists the variables of an array that are packed again.
func (p *declaration) addRepacked(a *array, f *declared, conversions []*convert.Conversion) {
	all := a.all()
	if conversions == nil {
		return // nothing is repacked
	}
	for _, s := range f.files {
		if !conversions[s.member].Repacks() {
			continue
		}
		for _, file := range s.files {
			p.out.Repacked = append(p.out.Repacked, Repacked{a.path, int(file), all[s.of].at, conversions[s.member], naming.Matches(p.env.opts.RepackLossy, a.path)})
		}
	}
}
