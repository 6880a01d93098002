package planner

import (
	"slices"

	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/report"
)

// mostExamples is the number of examples in a finding.
const mostExamples = 10

// odd sets the files of a finding, and the number of files that they are compared with.
func (p *env) odd(f report.Finding, files []int32, of int64) report.Finding {
	f.Files, f.Of = p.fileSet(files), of
	f.Count = f.Files.Len() // a file may be in the list once for each of its tiles
	return f
}

// fileSet returns files in the form of findings.
func (p *env) fileSet(files []int32) report.Files {
	order := p.inOrder()
	places := make([]int32, len(files))
	for i, f := range files {
		places[i] = order.places[f]
	}
	return order.names.Files(places)
}

// inOrder returns the files in natural order of their names.
func (p *env) inOrder() *nameOrder {
	p.order.sort.Do(func() { // schemas are decided in parallel
		files := make([]int32, len(p.files))
		for i := range files {
			files[i] = int32(i)
		}
		slices.SortFunc(files, p.byName)
		names := make([]string, len(files))
		p.order.places = make([]int32, len(files))
		for place, f := range files {
			names[place], p.order.places[f] = p.files[f].URL, int32(place)
		}
		p.order.names = report.NewSources(names)
	})
	return p.order
}

// file returns the name of a file as an argument of a finding.
func (p *env) file(f int32) report.File { return report.File(p.files[f].URL) }

// span returns the first and the last of files by name.
func (p *env) span(files []int32) []report.File {
	first, last := files[0], files[0]
	for _, f := range files[1:] {
		if p.byName(f, first) < 0 {
			first = f
		}
		if p.byName(f, last) > 0 {
			last = f
		}
	}
	if first == last {
		return []report.File{p.file(first)}
	}
	return []report.File{p.file(first), p.file(last)}
}

// label returns the short name of a file for a text.
func (p *env) label(url string) string {
	return p.inOrder().names.Label(url)
}

// find adds a finding to the report. With Options.Strict, re-encoding and filling are refused.
func (p *env) find(f report.Finding) {
	if p.opts.Strict && (f.Effect == report.Reencoded || f.Effect == report.Filled) {
		f.Effect, f.By, f.Remedies = report.Refused, report.Setting{Option: report.Strict}, nil
	}
	p.report.Add(f)
}

// CompareNames compares file names in natural order, which decides when nothing else does.
func CompareNames(a, b string) int { return naming.Natural(a, b) }

func (p *env) byName(a, b int32) int {
	return naming.Natural(p.files[a].URL, p.files[b].URL)
}
