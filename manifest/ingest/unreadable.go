package ingest

import (
	"path"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/cf"
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

// refuseNew refuses a plan with an array that a snapshot does not have, and that is the fill value wherever its files are.
func refuseNew(made *planner.Plan, old *manifest.Snapshot, files []*manifest.File) error {
	refused := &plan.Error{}
	for _, f := range made.Report.Findings {
		if f.Code != report.VariableAbsent || f.Effect != report.Filled {
			continue
		}
		names, _ := f.Args["variables"].([]string)
		added := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return slices.ContainsFunc(old.Arrays, func(a manifest.Array) bool { return a.Path == "/"+name })
		})
		if len(added) == 0 {
			continue
		}
		lack := map[string]bool{}
		for name := range f.Files.All() {
			lack[name] = true
		}
		if slices.ContainsFunc(files, func(f *manifest.File) bool { return !f.Hidden && !lack[f.URL] }) {
			continue
		}
		drop := report.Finding{}
		for _, name := range added {
			drop.Arrays = append(drop.Arrays, "/"+name)
		}
		f.Effect, f.Args = report.Refused, report.Args{"variables": added}
		f.Remedies = []report.Remedy{report.Do(report.AllowNew, "", report.FillAbsent), dropAll(drop), report.Do(report.Separate, "", "")}
		refused.Findings = append(refused.Findings, f)
	}
	if len(refused.Findings) == 0 {
		return nil
	}
	return refused
}

// refuseOtherUnits refuses a plan in which an array loses the units that a snapshot declares, or gets other ones: readers
// would take its numbers for something else. If mayLose is set, files were removed, and the others may state no units. A
// curation may change units.
func refuseOtherUnits(made *planner.Plan, old *manifest.Snapshot, c *plan.Curation, mayLose bool) error {
	curation, err := curationOf(old)
	if err != nil {
		return err
	}
	published, next := planner.UnitsOf(old.Arrays, curation, c), planner.UnitsOf(made.Arrays)
	refused := &plan.Error{}
	for i := range made.Arrays {
		at := made.Arrays[i].Path
		was := published[at]
		if was == "" || next[at] == "" && mayLose || next[at] != "" && cf.UnitKey(was) == cf.UnitKey(next[at]) {
			continue
		}
		refused.Findings = append(refused.Findings, report.Finding{Code: report.UnitsDiffer, Effect: report.Refused, Array: at,
			Args: report.Args{"choice": "published", "main": was, "units": next[at]}, Remedies: []report.Remedy{report.Do(report.Separate, "", "")}})
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
