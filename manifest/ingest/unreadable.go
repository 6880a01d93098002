package ingest

import (
	"path"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// refuseEmptied refuses a plan that leaves out every variable but coordinates because no array can hold them. The user
// would get a dataset without data, and a script would not notice. To drop these variables by name is a decision, and
// is accepted.
func refuseEmptied(made *planner.Plan) error {
	if slices.ContainsFunc(made.Arrays, func(a manifest.Array) bool { return !isIndex(&a) }) {
		return nil
	}
	refused := &plan.Error{}
	for _, f := range made.Report.Findings {
		if f.Code == report.VariableUnreadable && f.Effect == report.Dropped {
			f.Effect, f.Remedies = report.Refused, []report.Remedy{dropAll(f)}
			refused.Findings = append(refused.Findings, f)
		}
	}
	if len(refused.Findings) == 0 {
		return nil
	}
	return refused
}

// dropAll returns the remedy that drops the arrays of a finding.
func dropAll(f report.Finding) report.Remedy {
	paths := f.Arrays
	if len(paths) == 0 {
		paths = []string{f.Array}
	}
	drop := report.DropPath(paths[0][1:])
	for _, p := range paths[1:] {
		drop = drop.And(report.Drop, report.DropPath(p[1:]).Value)
	}
	return drop
}

// isIndex reports whether an array is the coordinate variable of its only dimension.
func isIndex(a *manifest.Array) bool {
	dims := a.Schema.Dims()
	return len(dims) == 1 && dims[0] == path.Base(a.Path)
}
