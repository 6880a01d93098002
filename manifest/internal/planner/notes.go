package planner

import (
	"slices"

	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/report"
)

// noteAxes reports facts about dimensions: empty files, lengths and gaps.
func (p *alignment) noteAxes() {
	for _, at := range p.dimOrder {
		d := p.dims[at]
		p.noteEmpty(d)
		if d.role == flowing {
			p.noteLengths(d)
			p.noteGaps(d)
		}
	}
}

// noteEmpty reports files of length 0 along a dimension.
func (p *alignment) noteEmpty(d *dim) {
	empty := d.filesWhose(func(c *coord.Coord) bool { return c.Len == 0 })
	if len(empty) > 0 && len(d.order) > 0 {
		p.env.find(p.env.odd(report.Finding{Code: report.EmptyFile, Effect: report.Noted, Dim: d.name()}, empty, d.total()))
	}
}

// noteLengths reports that files have different lengths. The last file may be shorter.
func (p *alignment) noteLengths(d *dim) {
	if d.by == byOption || d.by == byLabels || len(d.order) < 2 {
		return
	}
	least, most := d.order[0].Len, d.order[0].Len
	for _, c := range d.order[:len(d.order)-1] {
		least, most = min(least, c.Len), max(most, c.Len)
	}
	if least == most && d.order[len(d.order)-1].Len <= most {
		return
	}
	most, least = max(most, d.order[len(d.order)-1].Len), min(least, d.order[len(d.order)-1].Len)
	files := d.filesWhose(func(c *coord.Coord) bool { return c.Len > 0 })
	p.env.find(p.env.odd(report.Finding{Code: report.LengthsDiffer, Effect: report.Verbatim, Dim: d.name(), Args: report.Args{"min": least, "max": most}}, files, d.total()))
}

// noteGaps reports positions where files may be missing: there, the step from one file to the next is
// more than 1.5 times each step within these files, and more than 1.5 times the median step between
// files. The factor tolerates months of 28 to 31 days and small drifts of instruments.
func (p *alignment) noteGaps(d *dim) {
	if d.nature != coord.Instant && d.nature != coord.Whole && d.nature != coord.Real || d.by != byValues || len(d.order) < 2 {
		return
	}
	between := make([]float64, 0, len(d.order)-1)
	for i := 1; i < len(d.order); i++ {
		between = append(between, d.between(i))
	}
	typical := slices.Clone(between)
	slices.Sort(typical)
	usual := typical[(len(typical)-1)/2]
	if len(between) < 2 {
		usual = 0
	}
	var gaps []int
	for i := 1; i < len(d.order); i++ {
		longest := max(usual, d.order[i-1].Step, d.order[i].Step)
		if longest > 0 && between[i-1] > 1.5*longest {
			gaps = append(gaps, i)
		}
	}
	if len(gaps) > 0 {
		p.sayGaps(d, gaps)
	}
}

// between returns the step from coordinate i-1 to coordinate i, or 0 if they overlap.
func (d *dim) between(i int) float64 {
	a, b := d.order[i-1], d.order[i]
	if b.Start < a.Start+a.Len {
		return 0
	}
	from, to := a.High, b.Low
	if b.High.Compare(a.Low) < 0 {
		from, to = b.High, a.Low
	}
	return coord.Distance(from, to, d.nature)
}

func (p *alignment) sayGaps(d *dim, gaps []int) {
	var shown []report.Gap
	files := make([]int32, 0, len(gaps))
	for _, i := range gaps {
		a, b := d.order[i-1], d.order[i]
		if len(shown) < mostExamples {
			shown = append(shown, report.Gap{From: a.Say(a.Len - 1), To: b.Say(0), Before: p.env.file(a.File), After: p.env.file(b.File)})
		}
		files = append(files, b.File)
	}
	p.env.find(p.env.odd(report.Finding{Code: report.GapBetweenFiles, Array: d.coord, Effect: report.Noted, Dim: d.name(), Args: report.Args{"gaps": shown}}, files, d.total()))
}
