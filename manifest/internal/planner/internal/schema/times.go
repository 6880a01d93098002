package schema

import (
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// times decides the type of times whose units differ. It returns the zero value if the times need
// no conversion, so that they are treated as numbers.
func (d *decision) times() (typ codec.Type, err error) {
	for i := range d.members {
		if !d.members[i].timed || d.members[i].Variable.Type.Kind == codec.DateTime {
			return typ, nil
		}
	}
	first, same := &d.members[0], true
	for i := range d.members {
		m := &d.members[i]
		if !cf.IsConvertible(first.units.Calendar, m.units.Calendar) {
			d.refuseCalendars()
			return typ, nil
		}
		same = same && first.units.Same(m.units)
	}
	// Equal units need no conversion, so the times can stay verbatim.
	if same && d.opts.Reference == nil {
		return typ, nil
	}
	reference := d.opts.Reference
	if reference == nil {
		if reference, err = d.reference(); err != nil {
			return typ, err
		}
	}
	if reference, err = d.withMissing(reference); err != nil {
		return typ, err
	}
	d.schema.Reading = manifest.Retimed
	d.opts.Reference = reference
	if reference.Fill != nil {
		d.masks = [][]byte{reference.Fill}
	}
	d.sayUnits(reference)
	return reference.Type, nil
}

// withMissing returns a reference that has a missing value if the array has gaps.
func (d *decision) withMissing(r *cf.Reference) (*cf.Reference, error) {
	if !d.opts.Gaps || r.Fill != nil {
		return r, nil
	}
	typ, fill := r.Type, defaultFill(r.Type)
	switch {
	case r.Units().Coarse():
		// xarray decodes such times with cftime, which has no NaT.
		typ = codec.Type{Kind: codec.Float, Size: 8}
		fill = cf.NaN(typ)
		d.noteCoarse(r.Units())
	case typ.Kind == codec.Float:
		fill = cf.NaN(typ)
	case typ.Kind == codec.Int && typ.Size == 8:
		fill = cf.AppendWord(nil, 1<<63, 8) // the bits of NaT
	}
	made, err := cf.NewReference(r.Text, r.Calendar, typ, fill)
	return &made, err
}

// coarse reports whether all members hold times that xarray decodes with cftime.
func (d *decision) coarse() bool {
	return !slices.ContainsFunc(d.members, func(m member) bool { return !m.timed || !m.units.Coarse() })
}

// noteCoarse reports the time that clients show for missing elements.
func (d *decision) noteCoarse(u cf.Units) {
	d.note(report.FillTime, report.Noted, report.Args{"time": u.Epoch.Format(u.Calendar)})
}

// refuseCalendars refuses the files whose calendar differs from the calendar of most files.
func (d *decision) refuseCalendars() {
	name := func(m *member) string {
		if m.units.Calendar == cf.Proleptic {
			return cf.Standard.String()
		}
		return m.units.Calendar.String()
	}
	d.finding(report.CalendarsDiffer, report.Refused, d.count(having{name, name}), nil).Remedies = d.drop()
	d.refused = true
}

func (d *decision) sayUnits(reference *cf.Reference) {
	t := d.count(d.attributeNamed(cf.UnitsName))
	if t.differ() {
		d.finding(report.TimeUnitsDiffer, report.Reencoded, t, report.Args{"reference": reference.Text})
	}
	calendar := func(m *member) string { return m.units.Calendar.String() }
	if t = d.count(having{calendar, calendar}); t.differ() {
		d.finding(report.CalendarsConverted, report.Reencoded, t, report.Args{"calendar": reference.Calendar})
	}
}

// reference chooses common units from the members' units alone. All units are whole numbers of
// nanoseconds, so the values need not be read.
func (d *decision) reference() (*cf.Reference, error) {
	units := make([]cf.Units, len(d.members))
	whole := true
	for i := range d.members {
		m := &d.members[i]
		units[i] = m.units
		whole = whole && cf.IsInteger(m.Variable.Type) && !m.packing.Scaled()
	}
	return cf.CommonReferenceOfUnits(units, whole, d.opts.Gaps || !whole || d.anyMask())
}
