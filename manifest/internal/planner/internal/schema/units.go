package schema

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// stated returns the units that a member states, or "". It reads the number 1 as a text. ok is false if the attribute
// is anything else.
func (m *member) stated() (text string, ok bool) {
	a := m.attribute(cf.UnitsName)
	switch {
	case a == nil:
		return "", true
	case len(a.Texts) == 1:
		return a.Texts[0], true
	case cf.IsNumber(a.Type) && len(a.Data) == a.Type.Size && numberText(a.Type, a.Data) == "1":
		return "1", true
	}
	return "", false
}

// ofOneUnit reports whether all members have the same physical units, in any spelling.
func (d *decision) ofOneUnit() bool {
	first, _ := d.members[0].stated()
	return !slices.ContainsFunc(d.members, func(m member) bool {
		text, ok := m.stated()
		return !ok || cf.UnitKey(text) != cf.UnitKey(first)
	})
}

// onlyUnit returns the units if all members that state units have the same. A missing unit does not
// contradict a unit. It returns false if units differ, or if the attribute is not a text.
func (d *decision) onlyUnit() (only string, ok bool) {
	for i := range d.members {
		text, isText := d.members[i].stated()
		switch {
		case !isText:
			return "", false
		case text == "":
		case only == "":
			only = text
		case cf.UnitKey(text) != cf.UnitKey(only):
			return "", false
		}
	}
	return only, only != ""
}

// areContradictory reports whether members state different units. A text that is no known unit, such as Kg, is often
// a wrong spelling of the others, so it contradicts nothing.
func (d *decision) areContradictory() bool {
	known := map[string]bool{}
	for i := range d.members {
		if text, _ := d.members[i].stated(); text != "" && cf.IsUnit(text) {
			known[cf.UnitKey(text)] = true
		}
	}
	return len(known) > 1
}

// published returns the units that an earlier snapshot declares, or "".
func (d *decision) published() string {
	if d.opts.PublishedUnits == nil {
		return ""
	}
	return *d.opts.PublishedUnits
}

// firstUnits returns the first member that states units, and its units. It prefers the units of an earlier snapshot, and
// a member with them.
func (d *decision) firstUnits() (first *member, units string) {
	for i := range d.members {
		text, _ := d.members[i].stated()
		switch {
		case text == "":
		case d.published() != "" && cf.UnitKey(text) == cf.UnitKey(d.published()):
			return &d.members[i], d.published()
		case first == nil:
			first, units = &d.members[i], text
		}
	}
	return first, units
}

// targetUnits returns the units to which numbers are converted: the units that an earlier snapshot declares, or else the
// first. No member may have the declared units, because files can be removed.
func (d *decision) targetUnits() string {
	_, units := d.firstUnits()
	return cmp.Or(d.published(), units)
}

// chooseUnits sets inUnits if the user wants to convert units, and all can be converted. Numbers that are packed again
// cannot.
func (d *decision) chooseUnits() {
	if d.opts.Units != plan.UnitsConvert || d.opts.Repack != 0 || !d.numeric() {
		return
	}
	to := cf.UnitKey(d.targetUnits())
	differs := slices.ContainsFunc(d.members, func(m member) bool {
		text, _ := m.stated()
		return text != "" && cf.UnitKey(text) != to
	})
	if differs && d.obstacle() == "" {
		d.inUnits, _ = d.firstUnits()
	}
}

// obstacle returns the reason why the units of members cannot be converted, or "". A difference of temperatures has other
// conversions than a temperature, so no conversion may add if the numbers may be differences. Bounds have no
// units of their own, and would stay as they are.
func (d *decision) obstacle() string {
	to := d.targetUnits()
	for i := range d.members {
		m := &d.members[i]
		from, isText := m.text(cf.UnitsName)
		if from == "" && (isText || m.attribute(cf.UnitsName) == nil) {
			continue
		}
		linear, ok := cf.LinearUnits(from, to)
		switch {
		case !ok || !isText:
			return "unknown"
		case linear.Plus != 0 && d.mayBeDifference(m):
			return "difference"
		}
	}
	if slices.ContainsFunc(cf.BoundsRoles, func(role string) bool { return slices.Contains(d.opts.Keep, role) }) {
		return "bounds"
	}
	return ""
}

// mayBeDifference reports whether the numbers of a member may be differences of temperatures.
func (d *decision) mayBeDifference(m *member) bool {
	metadata, _ := m.text("units_metadata")
	methods, _ := m.text("cell_methods")
	standard, _ := m.text("standard_name")
	hasAny := func(text string, words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(text), word) })
	}
	return hasAny(metadata, "difference") || hasAny(methods, "standard_deviation", "variance", "range") || hasAny(path.Base(d.opts.Array)+" "+standard, "anomaly", "error")
}

// converted decides the type of numbers that are converted to other units. Floats keep their type and their missing
// value, so that chunks in the declared units can stay verbatim. Other numbers become floats.
func (d *decision) converted(asTheyAre bool) (typ codec.Type, err error) {
	areFloats := true
	for i := range d.members {
		areFloats = areFloats && d.members[i].Variable.Type.Kind == codec.Float
	}
	if asTheyAre && areFloats && d.opts.Type.Kind != codec.Int && d.opts.Type.Kind != codec.Uint {
		typ, err = d.masked(func(m *member) codec.Type { return m.Variable.Type })
	} else {
		typ, err = d.float()
	}
	d.schema.Reading = manifest.InUnits
	return typ, err
}

// differentUnits declares what the user chose for members with different units, and refuses them without a choice.
func (d *decision) differentUnits() error {
	spelt := d.attributeNamed(cf.UnitsName)
	t := d.count(having{says: spelt.says, key: func(m *member) string {
		if text, ok := m.stated(); ok && m.attribute(cf.UnitsName) != nil {
			return cf.UnitKey(text)
		}
		return spelt.key(m)
	}})
	first, text := d.firstUnits()
	t.declare(first)
	by := report.Setting{Option: report.Units, Value: string(d.opts.Units)}
	switch {
	case slices.Contains(d.opts.Keep, cf.UnitsName):
		d.finding(report.AttributeKept, report.Verbatim, t, report.Args{"name": cf.UnitsName})
		return d.setText(cf.UnitsName, text)
	case d.inUnits != nil && !t.differ(): // the files in the published units were removed
		d.note(report.UnitsDiffer, report.Reencoded, report.Args{"choice": "kept", "main": d.targetUnits(), "units": text})
		return d.setText(cf.UnitsName, d.targetUnits())
	case d.inUnits != nil:
		d.finding(report.UnitsDiffer, report.Reencoded, t, report.Args{"choice": "convert"}).By = by
		return d.setText(cf.UnitsName, d.targetUnits())
	case d.opts.Units == plan.UnitsFirst:
		d.finding(report.UnitsDiffer, report.Noted, t, report.Args{"choice": "first"}).By = by
		return d.setText(cf.UnitsName, text)
	case d.opts.Units == plan.UnitsRefuse && d.published() != "" && d.numeric() && !d.areContradictory():
		d.finding(report.UnitsDiffer, report.Noted, t, report.Args{"choice": "first"})
		return d.setText(cf.UnitsName, d.published())
	case d.opts.Units == plan.UnitsDrop, !d.numeric(), !d.areContradictory(), d.opts.Units == plan.UnitsRefuse && d.opts.PublishedUnits != nil && d.published() == "":
		f := d.finding(report.UnitsDiffer, report.Dropped, t, report.Args{"choice": "drop"})
		if d.numeric() && d.opts.Units == plan.UnitsDrop {
			f.By = by
		}
		return nil
	}
	why := d.obstacle()
	var args report.Args
	if why == "bounds" || why == "difference" {
		args = report.Args{"obstacle": why}
	}
	f := d.finding(report.UnitsDiffer, report.Refused, t, args)
	if why == "" && d.opts.Repack == 0 {
		f.Remedies = append(f.Remedies, report.Do(report.Units, string(plan.UnitsConvert), report.ConvertsUnits))
	}
	f.Remedies = append(f.Remedies, report.Do(report.Units, string(plan.UnitsFirst), report.KeepsNumbers))
	if d.published() == "" { // a published array keeps its units
		f.Remedies = append(f.Remedies, report.Do(report.Units, string(plan.UnitsDrop), report.NoUnits))
	}
	f.Remedies = append(f.Remedies, d.drop()...)
	d.refused = true
	return nil
}
