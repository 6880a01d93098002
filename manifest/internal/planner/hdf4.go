package planner

import (
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/schema"
	"varve/manifest/report"
)

// isCalibrated reports whether a file uses HDF4's meaning of add_offset.
func isCalibrated(f *manifest.File) bool { return f.Format == "HDF4" }

// noteCalibrated reports files in which add_offset has HDF4's meaning, and whether there are any.
// In HDF4, value = scale_factor · (stored - add_offset); in CF, value = scale_factor · stored +
// add_offset. The attributes are served unchanged. If varve would have to unpack the values, it
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
	f := report.Finding{Code: report.HDF4Offset, Array: a.path, Effect: report.Noted}
	if made.Reading == manifest.Unpacked || made.Reading == manifest.Repacked {
		f.Code, f.Effect, f.Remedies = report.HDF4OffsetConflict, report.Refused, []report.Remedy{report.DropPath(a.path[1:])}
	}
	p.env.find(p.env.odd(f, files, int64(of)))
	return true
}
