package planner

import (
	"path"
	"slices"
	"strconv"

	"varve/manifest/plan"
	"varve/manifest/report"
)

// Remedies that several findings share.
var (
	takeFirst      = report.Do(report.Coords, string(plan.CoordsFirst), report.FirstCounts)
	separate       = report.Do(report.Separate, "", "")
	byKind         = []report.Remedy{separate, report.Do(report.LeaveOut, "", "")} // for files that no option combines
	stackByPattern = report.Fill(report.NewDim, "NAME=PATTERN", report.Stacks)
)

// withoutFirst removes the remedies that use the coordinates of the first file. The option is for all coordinates, so it would also move
// the data of files whose other coordinates differ by much.
func withoutFirst(refused []report.Finding) {
	for i := range refused {
		f := &refused[i]
		f.Remedies = slices.DeleteFunc(slices.Clone(f.Remedies), func(r report.Remedy) bool {
			return slices.ContainsFunc(append([]report.Setting{r.Setting}, r.With...), func(s report.Setting) bool { return s.Option == report.Coords })
		})
		if len(f.Remedies) == 0 {
			f.Remedies = []report.Remedy{separate}
		}
	}
}

// stackBy returns the remedy that makes a new dimension from the variable at a path.
func stackBy(at string, consequence report.Consequence) report.Remedy {
	return report.Do(report.NewDim, path.Base(at)+"=var:"+at[1:], consequence)
}

// concatAlong returns the remedy that concatenates files along a dimension.
func concatAlong(d *dim, consequence report.Consequence) report.Remedy {
	return report.Do(report.Concat, report.ListItem(d.name()), consequence)
}

// withoutValues returns the remedy that orders files by name and drops the coordinate.
func withoutValues(d *dim) report.Remedy {
	r := report.DropPath(path.Base(d.coord)).And(report.Concat, report.ListItem(d.name()))
	r.Consequence = report.ByName
	return r
}

// byFirst and byTolerance return the options that accept different coordinates.
func (p *env) byFirst() report.Setting {
	return report.Setting{Option: report.Coords, Value: string(plan.CoordsFirst)}
}

func (p *env) byTolerance() report.Setting {
	return report.Setting{Option: report.Tolerance, Value: strconv.FormatFloat(p.opts.Tolerance, 'g', -1, 64)}
}
