package plan

import (
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/plan/internal/schema"
	"varve/manifest/report"
)

// isCalibrated reports whether add_offset in a file is HDF4's.
func isCalibrated(f *manifest.File) bool { return f.Format == "HDF4" }

// noteCalibrated says where add_offset is not what CF calls so, and whether it is not anywhere. To HDF4 a value is
// scale_factor · (stored - add_offset). That stays as it is, and is for users to compute; where varve would
// have to compute it, since files differ or leave cells out, it is refused.
func (p *planner) noteCalibrated(a *array, made *schema.Schema) bool {
	var files []int32
	of := 0
	for _, m := range a.all() {
		packing, err := cf.PackingOf(m.v)
		offset := err == nil && packing.Offset != nil && packing.Offset.Value != 0
		for _, n := range p.classes[m.class].files {
			if of++; offset && isCalibrated(p.files[n]) {
				files = append(files, n)
			}
		}
	}
	if len(files) == 0 {
		return false
	}
	f := report.Finding{Code: report.HDF4Offset, Array: a.path, Effect: report.Noted}
	if made.Reading == manifest.Unpacked {
		f.Code, f.Effect, f.Remedies = report.HDF4OffsetConflict, report.Refused, []report.Remedy{report.DropPath(a.path[1:])}
	}
	p.find(p.odd(f, files, int64(of)))
	return true
}
