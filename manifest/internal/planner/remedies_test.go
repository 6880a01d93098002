package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/planner/plantest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// failed holds the remedies that did not help.
var failed []string

// tryRemedies applies each remedy of a refusal to the same files. It records remedies that are invalid
// options, do not resolve the refusal, or move data to other coordinates. It skips remedies with words that the user must replace.
func tryRemedies(files []*manifest.File, opts *plan.Options, refused *plan.Error) {
	for i := range refused.Findings {
		f := &refused.Findings[i]
		for _, r := range f.Remedies {
			if r.Incomplete || r.Option == report.Allow { // allow needs another scan
				continue
			}
			if says := tryRemedy(files, opts, f, &r); says != "" {
				failed = append(failed, fmt.Sprintf("%s of %s %v: %s", reasonText(&r), f.Code, f.Arrays, says))
			}
		}
	}
}

func reasonText(r *report.Remedy) string {
	words := []string{string(r.Option) + "=" + r.Value}
	for _, s := range r.With {
		words = append(words, string(s.Option)+"="+s.Value)
	}
	return strings.Join(words, " ")
}

// tryRemedy returns why a remedy does not help, or "".
func tryRemedy(files []*manifest.File, opts *plan.Options, f *report.Finding, r *report.Remedy) string {
	var again plan.Options
	if opts != nil {
		again = *opts
	}
	left := files
	switch r.Option {
	case report.LeaveOut, report.Separate:
		odd := slices.Collect(f.Files.All())
		if len(odd) == len(files) {
			odd = odd[1:] // each file gets its own manifest; try the first
		}
		left = slices.DeleteFunc(slices.Clone(files), func(x *manifest.File) bool { return slices.Contains(odd, x.URL) })
	default:
		for _, s := range append([]report.Setting{r.Setting}, r.With...) {
			if err := plantest.SetOption(&again, string(s.Option), s.Value); err != nil {
				return err.Error()
			}
		}
	}
	p, _, err := askedNew(left, &again)
	var wrong *plan.OptionError
	var refused *plan.Error
	switch {
	case errors.As(err, &wrong) && r.Option != report.Separate: // some options may not apply to the remaining files
		return err.Error()
	case p != nil:
		if _, moved := movedCells(left, p); len(moved) > 0 && (opts == nil || opts.Coords != plan.CoordsFirst) { // with that option, the user moved them
			return "moves cells: " + strings.Join(moved, "; ")
		}
		return ""
	case !errors.As(err, &refused):
		return "" // values are needed first
	}
	for i := range refused.Findings {
		g := &refused.Findings[i]
		if g.Code == f.Code && g.Array == f.Array && slices.Equal(g.Arrays, f.Arrays) && g.Dim == f.Dim && f.Files.Equal(g.Files) {
			return "refused again: " + err.Error()
		}
	}
	return ""
}
