// Package planner decides how files are combined into arrays, by the options of package plan. It
// reads headers and coordinate values that the caller has in memory, and asks the caller for other
// values. It does no input or output.
//
// A plan is made in phases. Each phase is a function from the results of the phases before it to its
// own result. docs/explanation/planning.md explains the rules, and docs/explanation/planner.md names the
// functions. A plan depends only on the set of files and on the options: the order in which files are
// given does not change it.
//
//	files ── classify ─────── survey       the classes of files with equal headers, and their variables
//	         nameDimensions ─ survey       names of dimensions that files do not name
//	         nameTextLengths  survey       one name for the length of a variable's texts
//	         selectFiles ──── survey       without files that are left out
//	         align ────────── alignment    which axis: dimensions, and along which of them files are concatenated
//	         arrange ──────── arrangement  which place: arrays, and the positions of their files
//	         compareEqual                  values that must be equal
//	         declare ──────── Plan         which chunk length: schemas, grids, groups
package planner

import (
	"context"
	"encoding/json"
	"errors"

	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// Plan describes the combined dataset.
type Plan struct {
	Arrays     []manifest.Array
	Placements []manifest.Placement
	Groups     []manifest.GroupSchema
	Values     []*manifest.Values // the values that the arrays' pieces name by ID
	Report     *report.Report
	State      json.RawMessage // for Extend; nil if it cannot extend the plan
	// Flip has the directions of the dimensions of Options.Flip, by path, so that later files are brought to the same.
	Flip      map[string]plan.Direction
	Stateless report.Replan // why there is no State
	state     *state
	// Conversions caches the conversions from source variables to array schemas that planning made,
	// so that a build does not make them again.
	Conversions convert.Known
	// Compared lists values that were read only to compare files. From now on, the caller may keep
	// their digests instead.
	Compared []Request
	// Repacked lists the variables whose values are packed again, to measure how much that changes them.
	Repacked []Repacked
	// Inexact lists the paths of arrays whose codecs cannot encode, or do not restore all values
	// that they encode. If a chunk of these arrays has to be re-encoded, call New again with their
	// paths in Options.Exact.
	Inexact []string
}

// New makes a plan. It gets the values that it requires and the files do not have from values, and keeps
// them in File.Values. The error is an *Error if the files cannot be combined with these options.
// Tile.File is an index into files.
func New(ctx context.Context, files []*manifest.File, opts *plan.Options, values Values) (*Plan, error) {
	if opts == nil {
		opts = &plan.Options{}
	}
	if err := opts.Check(); err != nil {
		return nil, err
	}
	env := newEnv(ctx, files, opts, values)
	out, err := makePlan(env)
	if err != nil && !errors.Is(err, errRefused) {
		return nil, err
	}
	env.report.Findings, env.report.Sources = report.Join(env.report.Findings), env.order.names
	if refused := env.report.Refused(); len(refused) > 0 {
		if len(env.far) > 0 {
			withoutFirst(refused)
		}
		return nil, &plan.Error{Findings: refused}
	}
	out.Report = env.report
	if out.state != nil {
		out.State, err = json.Marshal(out.state)
	}
	return out, err
}

// makePlan calls the phases. A phase reports what it refuses and continues, so that users see all
// refusals at once.
func makePlan(env *env) (*Plan, error) {
	survey, err := classify(env)
	if err != nil {
		return nil, err
	}
	if survey, err = selectFiles(nameTextLengths(nameDimensions(survey))); err != nil {
		return nil, err
	}
	alignment, err := align(survey)
	if err != nil {
		return nil, err
	}
	arrangement, err := arrange(alignment)
	if err != nil {
		return nil, err
	}
	if env.earlier != nil && !arrangement.continuesEarlier() {
		return nil, replanError{report.ReplanNewPosition}
	}
	if err := arrangement.compareEqual(); err != nil {
		return nil, err
	}
	return declare(arrangement)
}
