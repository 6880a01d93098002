package face

import (
	"fmt"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// times decides for times whose units differ. The type is the zero value if the reading is a
// matter of numbers.
func (d *decision) times() (typ codec.Type, err error) {
	for i := range d.members {
		if !d.members[i].timed || d.members[i].Variable.Type.Kind == codec.DateTime {
			return typ, nil
		}
	}
	first, same := &d.members[0], true
	for i := range d.members {
		m := &d.members[i]
		if !cf.SameLine(first.units.Calendar, m.units.Calendar) {
			d.refuse(report.Time, m, &cf.CalendarError{File: i, A: first.units.Calendar, B: m.units.Calendar})
			return typ, nil
		}
		same = same && first.units.Same(m.units)
	}
	if same && d.opts.Reference == nil {
		return typ, nil
	}
	reference := d.opts.Reference
	if reference == nil {
		if reference, err = d.reference(); err != nil {
			return typ, err
		}
	}
	d.face.Reading = manifest.Retimed
	d.opts.Reference = reference
	if reference.Fill != nil {
		d.masks = [][]byte{reference.Fill}
	}
	d.sayUnits(reference)
	return reference.Type, nil
}

func (d *decision) sayUnits(reference *cf.Reference) {
	t := d.count(d.attributeNamed(cf.UnitsName))
	if t.differ() {
		d.finding(report.Time, report.Rebuilt, "units", t)
		d.findings[len(d.findings)-1].Says += fmt.Sprintf("; told as %s", reference.Text)
	}
}

// reference tells times without looking at them: all units are whole in nanoseconds.
func (d *decision) reference() (*cf.Reference, error) {
	units := make([]cf.Units, len(d.members))
	whole := true
	for i := range d.members {
		m := &d.members[i]
		units[i] = m.units
		whole = whole && cf.IsInteger(m.Variable.Type) && !m.packing.Scaled()
	}
	return cf.Common(units, whole, d.opts.Gaps || !whole || d.anyMask())
}
