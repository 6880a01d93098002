package planner

import (
	"path"
	"slices"

	"varve/manifest/report"
)

// settleGuesses reports rejected guesses. It refuses a guess by which files would be concatenated
// if another dimension is possible, because a wrong guess would mix up data.
func (p *arrangement) settleGuesses() {
	if len(p.survey.guesses) == 0 {
		return
	}
	at := p.arraysByPath()
	for _, g := range p.survey.guesses {
		i := slices.IndexFunc(g.of.slots, func(s slot) bool { return at[s.path] != nil && len(at[s.path].dims) == s.rank })
		// The variables were dropped or refused, so the guess has no effect.
		if i < 0 {
			continue
		}
		s, a := g.of.slots[i], at[g.of.slots[i].path]
		f := report.Finding{Code: report.DimGuessed, Array: a.path, Effect: report.Noted, Args: report.Args{"axis": int64(s.axis), "name": path.Base(g.name)},
			Remedies: []report.Remedy{report.Fill(report.Rename, p.survey.renaming(g.own, "NAME"), report.NamesDim)}}
		switch {
		case g.name == "" && len(g.may) > 1:
			f.Args["basis"], f.Args["candidates"], f.Args["name"] = "any", baseNames(g.may), path.Base(g.own)
		case g.name == "":
			f.Args["basis"], f.Args["candidates"], f.Args["name"] = "some", baseNames(g.like), path.Base(g.own)
		case !p.alignment.follows(g.name) && g.sure:
			continue
		case !p.alignment.follows(g.name):
			f.Args["basis"] = "first"
		case g.sure:
			f.Args["basis"] = "only"
		default:
			f.Code, f.Effect, f.Remedies = report.DimAmbiguous, report.Refused, []report.Remedy{p.renameGuesses(a)}
		}
		p.env.find(p.env.odd(f, p.survey.filesHaving(a), a.files))
	}
}

// renameGuesses returns the remedy that confirms the guess for each axis of an array.
func (p *arrangement) renameGuesses(a *array) report.Remedy {
	r := report.Remedy{Consequence: report.IfSameDims}
	for _, g := range p.survey.guesses {
		if g.name == "" || !slices.ContainsFunc(g.of.slots, func(s slot) bool { return s.path == a.path && s.rank == len(a.dims) }) {
			continue
		}
		s := report.Setting{Option: report.Rename, Value: p.survey.renaming(g.own, g.name)}
		if r.Option == "" {
			r.Setting = s
			continue
		}
		r.With = append(r.With, s)
	}
	return r
}
