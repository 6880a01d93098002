package planner

import (
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/schema"
	"varve/manifest/report"
	"varve/readers/formats"
)

// isCalibrated reports whether add_offset is subtracted in a file before scaling.
func isCalibrated(f *manifest.File) bool { return formats.Named(f.Format).SubtractsOffset }

// noteCalibrated reports files of formats in which value = scale_factor · (stored - add_offset), and whether there are any.
// In CF, value = scale_factor · stored + add_offset. The attributes are served unchanged. If varve would have to unpack the values, it
// refuses them.
func (p *declaration) noteCalibrated(a *array, made *schema.Schema) bool {
	var files []int32
	of := 0
	for _, m := range a.all() {
		packing, err := cf.PackingOf(m.v)
		offset := err == nil && packing.Offset != nil && packing.Offset.Value != 0
		for _, n := range p.survey.classes[m.class].files {
			if of++; offset && isCalibrated(p.env.files[n]) {
				files = append(files, n)
			}
		}
	}
	if len(files) == 0 {
		return false
	}
	f := report.Finding{Code: report.OffsetSubtracted, Array: a.path, Effect: report.Noted}
	if made.Reading == manifest.Unpacked || made.Reading == manifest.Repacked || made.Reading == manifest.InUnits {
		f.Code, f.Effect, f.Remedies = report.OffsetConflict, report.Refused, []report.Remedy{report.DropPath(a.path[1:])}
	}
	p.env.find(p.env.odd(f, files, int64(of)))
	return true
}
