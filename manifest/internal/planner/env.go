package planner

import (
	"context"
	"fmt"
	"sync"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// env holds what all phases share: the inputs of a plan, and the findings so far.
type env struct {
	ctx    context.Context
	given  []*manifest.File // the files of the caller
	files  []*manifest.File // the same files; a file to which an option adds a coordinate is replaced by a copy
	opts   *plan.Options
	source Values
	report *report.Report
	// earlier describes the files of earlier plans that are not in files; nil if all files are.
	earlier *earlier

	order *nameOrder
	named map[nameKey]planVar // caches the names and dimensions that variables have in the plan

	far           map[string]bool  // paths of coordinates whose values differ by more than a small part of a cell
	compared      map[Request]bool // values that were requested only to compare files
	comparedBytes int64            // the size of compared, in bytes
}

// nameOrder holds the files in natural order of their names. It is computed when a finding first needs it.
type nameOrder struct {
	sort   sync.Once
	names  *report.Sources
	places []int32 // the index of each file in names
}

func newEnv(ctx context.Context, files []*manifest.File, opts *plan.Options, values Values) *env {
	return &env{ctx: ctx, given: files, files: files, opts: opts.Curated(), source: values, report: &report.Report{}, order: &nameOrder{}, far: map[string]bool{}, compared: map[Request]bool{}}
}

// withFiles returns an environment in which some files are replaced by copies with more values.
func (p *env) withFiles(files []*manifest.File) *env {
	own := *p
	own.files = files
	return &own
}

// inFile adds the name of the file to an error.
func (p *env) inFile(file int32, err error) error {
	return fmt.Errorf("%s: %w", p.files[file].URL, err)
}

// namedFiles counts the files that the user named.
func (p *env) namedFiles() (n int) {
	for _, f := range p.files {
		if !f.Hidden {
			n++
		}
	}
	return n
}

// inline returns the size in bytes up to which a whole array is stored in the manifest.
func (p *env) inline() int64 { return p.opts.InlineBytes() }
