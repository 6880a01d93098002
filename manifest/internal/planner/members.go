package planner

import (
	"slices"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/newdim"
	"varve/manifest/report"
)

// ensembles are the ways in which attributes say that files are members of one ensemble: by differs between members, and same agree.
var ensembles = []struct {
	by   string
	same []string
}{
	{"realization_index", []string{"source_id", "experiment_id", "grid_label", "initialization_index", "physics_index", "forcing_index"}}, // CMIP6
	{"variant_label", []string{"source_id", "experiment_id", "grid_label"}},
	{"realization", []string{"model_id", "experiment_id", "initialization_method", "physics_version"}}, // CMIP5
}

// memberRemedy returns the remedy that makes a dimension of ensemble members, if attributes show that all overlapping
// files are different members of one ensemble.
func (p *arrangement) memberRemedy(tiles []manifest.Tile, pairs [][2]int32) (report.Remedy, bool) {
	for _, e := range ensembles {
		if p.pairsDiffer(tiles, pairs, e.by, true) && !slices.ContainsFunc(e.same, func(name string) bool { return !p.pairsDiffer(tiles, pairs, name, false) }) {
			return report.Do(report.NewDim, "member=attr:"+e.by, report.Stacks), true
		}
	}
	return report.Remedy{}, false
}

// pairsDiffer reports whether the files of all pairs have different values of an attribute, or equal ones. Files have
// different values only if all of them have one.
func (p *arrangement) pairsDiffer(tiles []manifest.Tile, pairs [][2]int32, name string, differ bool) bool {
	for _, pair := range pairs {
		x, isX := newdim.OfAttribute(groupAttributes(p.env.files[tiles[pair[0]].File]), name)
		y, isY := newdim.OfAttribute(groupAttributes(p.env.files[tiles[pair[1]].File]), name)
		if differ && (!isX || !isY || x == y) || !differ && (isX != isY || x != y) {
			return false
		}
	}
	return true
}
