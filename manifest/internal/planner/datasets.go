package planner

import (
	"path"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/report"
)

// noteDatasets reports that arrays of GRIB messages are in several groups. A GRIB file has no groups: its reader makes them for
// messages that share no dataset, so users who open the root find no arrays.
func (p *declaration) noteDatasets() {
	ofMessages := map[string]bool{} // paths of arrays
	for _, a := range p.arrangement.arrays {
		if slices.ContainsFunc(a.members, func(m member) bool { return isOfMessages(m.v) }) {
			ofMessages[a.path] = true
		}
	}
	groups := map[string]*report.GroupDataset{}
	for i := range p.out.Arrays {
		a := &p.out.Arrays[i]
		if !ofMessages[a.Path] {
			continue
		}
		at := path.Dir(a.Path)
		g := groups[at]
		if g == nil {
			g = &report.GroupDataset{Group: at}
			groups[at] = g
		}
		g.Arrays = append(g.Arrays, path.Base(a.Path))
		for axis, dim := range a.Dims {
			d := report.DimLength{Name: path.Base(dim), Length: a.Schema.Shape[axis]}
			if !slices.Contains(g.Dimensions, d) {
				g.Dimensions = append(g.Dimensions, d)
			}
		}
	}
	if len(groups) < 2 {
		return
	}
	var list []report.GroupDataset
	for _, at := range sorted(groups) {
		list = append(list, *groups[at])
	}
	p.env.find(report.Finding{Code: report.SeveralDatasets, Effect: report.Noted, Args: report.Args{"groups": list},
		Remedies: []report.Remedy{report.Fill(report.Group, "GROUP", report.OneGroup)}})
}

// isOfMessages reports whether the chunks of a variable are GRIB messages.
func isOfMessages(v *manifest.Variable) bool {
	return codec.HasMessages(v.Storage.Codecs)
}
