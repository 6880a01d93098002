package schema

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
	"varve/readers/formats"
	"varve/zarrjson"
)

// isFormatAttribute reports whether an attribute belongs to the file format and does not describe
// the data. CLASS and NAME do so on dimension scales only.
func (d *decision) isFormatAttribute(name string) bool {
	if name != "CLASS" && name != "NAME" {
		return formats.IsOwnAttribute(name)
	}
	return slices.ContainsFunc(d.members, func(m member) bool {
		class := m.attribute("CLASS")
		return class != nil && len(class.Texts) == 1 && class.Texts[0] == "DIMENSION_SCALE"
	})
}

// attributes declares the attributes on which all members agree, except attributes that the conversion
// applies itself.
func (d *decision) attributes() {
	used, names := d.used(), d.attributeNames()
	d.declared = make([]zarrjson.Attribute, 0, len(names))
	for _, name := range names {
		if d.isFormatAttribute(name) || slices.Contains(used, name) || d.leaveOut(name) {
			continue
		}
		if err := d.attribute(name); err != nil {
			d.refuse(report.AttributeInvalid, &d.members[0], fmt.Errorf("attribute %s: %w", name, err))
			return
		}
	}
	d.noteUsed(names, used)
	err := cmp.Or(d.declare(), d.declareChoices())
	if err == nil {
		d.schema.Attributes, err = zarrjson.AttributesOf(d.declared)
	}
	if err != nil {
		d.refuse(report.AttributeInvalid, &d.members[0], err)
	}
}

// ofStored lists attributes about stored numbers, which are invalid once numbers are converted.
var ofStored = []string{"valid_min", "valid_max", "valid_range", cf.FlagValues, cf.FlagMasks, cf.FlagMeanings}

// noteUsed reports dropped attributes that users may miss: attributes about stored numbers after a
// conversion, and missing values of types that are not numbers.
func (d *decision) noteUsed(names, used []string) {
	masks := []string{cf.FillValue, cf.MissingValue}
	if d.numeric() {
		masks = nil
	}
	var args report.Args
	if d.packed != nil {
		args = report.Args{"repacked": true}
	}
	d.noteLost(report.AttributeUnusable, ofStored, names, used, args)
	d.noteLost(report.MaskUnusable, masks, names, used, report.Args{"type": d.schema.DataType.Type().String()})
}

func (d *decision) noteLost(code report.Code, which, names, used []string, args report.Args) {
	lost := slices.DeleteFunc(slices.Clone(which), func(name string) bool { return !slices.Contains(used, name) || !slices.Contains(names, name) })
	if len(lost) > 0 {
		all := report.Args{"names": lost}
		maps.Copy(all, args)
		d.note(code, report.Dropped, all)
	}
}

// leaveOut reports whether some files have an attribute that JSON cannot hold, and adds the
// finding.
func (d *decision) leaveOut(name string) bool {
	f := report.Finding{Code: report.AttributeUnreadable, Effect: report.Dropped}
	var lost []int
	for i := range d.members {
		m := &d.members[i]
		a := m.attribute(name)
		if a == nil || a.Unreadable == "" {
			continue
		}
		if len(lost) == 0 {
			f.Args = report.Args{"name": name, "reason": a.Unreadable}
		}
		lost = append(lost, i)
		f.Count += m.Files
	}
	if len(lost) == 0 {
		return false
	}
	f.Files = d.filesOf(lost)
	d.add(f)
	return true
}

// set declares an attribute. It replaces one with the same name.
func (d *decision) set(name string, raw []byte) {
	delete(d.schema.AttributeTypes, name)
	if i := d.places.find(len(d.declared), name, func(i int) string { return d.declared[i].Name }); i >= 0 {
		d.declared[i].JSON = raw
		return
	}
	d.declared = append(d.declared, zarrjson.Attribute{Name: name, JSON: raw})
}

// attribute returns the attribute with a name, or nil.
func (m *member) attribute(name string) *manifest.Attribute {
	if own := manifest.Lookup(m.Own, name); own != nil {
		return own
	}
	all := m.Variable.Attributes
	if i := m.places.find(len(all), name, func(i int) string { return all[i].Name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// text returns the value of an attribute that is a single text.
func (m *member) text(name string) (string, bool) {
	if a := m.attribute(name); a != nil && len(a.Texts) == 1 {
		return a.Texts[0], true
	}
	return "", false
}

// places finds names in a list that may grow. It searches short lists, and builds an index for long
// lists, which only programs write.
type places struct {
	first map[string]int
	known int // the number of list elements in first
}

const longList = 64

// find returns the first index of a name, or -1.
func (p *places) find(n int, name string, at func(i int) string) int {
	if n < longList {
		for i := range n {
			if at(i) == name {
				return i
			}
		}
		return -1
	}
	if p.first == nil {
		p.first = make(map[string]int, n)
	}
	for ; p.known < n; p.known++ {
		if _, ok := p.first[at(p.known)]; !ok {
			p.first[at(p.known)] = p.known
		}
	}
	if i, ok := p.first[name]; ok {
		return i
	}
	return -1
}

// attributeNames returns the names in all members, in the order of their first occurrence.
func (d *decision) attributeNames() []string {
	first := d.members[0].Variable.Attributes
	names := make([]string, 0, len(first))
	for _, a := range first {
		names = append(names, a.Name)
	}
	if d.alone() {
		return names
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		seen[name] = true
	}
	for i := range d.members[1:] {
		for _, a := range d.members[1+i].Variable.Attributes {
			if !seen[a.Name] {
				seen[a.Name] = true
				names = append(names, a.Name)
			}
		}
	}
	return names
}

// used returns the attributes that the conversion applies, or that this package declares itself.
func (d *decision) used() []string {
	used := append(make([]string, 0, 16), cf.FillValue, cf.MissingValue)
	touched := slices.ContainsFunc(d.members, func(m member) bool {
		return m.packing.Scaled() || !m.packing.Type.Equal(m.Variable.Type)
	})
	switch {
	// The times have new units, and their stored numbers change with them.
	case d.schema.Reading == manifest.Retimed:
		used = append(used, cf.UnitsName, cf.CalendarName)
		fallthrough
	case d.schema.Reading == manifest.Repacked, d.schema.Reading == manifest.InUnits, d.schema.Reading == manifest.Unpacked && touched:
		used = append(used, ofStored...)
		fallthrough
	case d.schema.Reading == manifest.Unpacked:
		used = append(used, cf.ScaleFactor, cf.AddOffset, cf.Unsigned)
	case !d.scaled():
		used = d.appendIdle(used)
		if !touched {
			used = append(used, cf.Unsigned)
		}
	}
	if d.schema.Reading == manifest.AsStored && d.timed() {
		used = append(used, cf.UnitsName, cf.CalendarName)
	}
	return used
}

// appendIdle appends the names of scales and offsets that change no number. It keeps attributes that
// determine the type that clients see: integers with one become floats, and floats become doubles
// if it is a double. JSON has doubles only, so a kept float32 attribute would widen float32 data.
func (d *decision) appendIdle(used []string) []string {
	for _, name := range []string{cf.ScaleFactor, cf.AddOffset} {
		a := d.members[0].attribute(name)
		if a == nil || a.Type.Kind != codec.Float || a.Type.Size < 8 && d.schema.DataType.Type().Kind == codec.Float {
			used = append(used, name)
		}
	}
	return used
}

func (d *decision) scaled() bool {
	return slices.ContainsFunc(d.members, func(m member) bool { return m.packing.Scaled() })
}

// timed reports whether all members hold numeric times.
func (d *decision) timed() bool {
	return !slices.ContainsFunc(d.members, func(m member) bool { return !m.timed || !cf.IsNumber(m.Variable.Type) })
}

// attribute declares an attribute if all members agree on it, or reports the members that do not.
func (d *decision) attribute(name string) error {
	if name == cf.UnitsName && d.inUnits != nil {
		return d.differentUnits()
	}
	if d.alone() {
		return d.keep(name)
	}
	t := d.count(d.attributeNamed(name))
	if !t.differ() {
		return d.keep(name)
	}
	if slices.Contains(d.opts.Keep, name) && name != cf.UnitsName {
		d.finding(report.AttributeKept, report.Verbatim, t, report.Args{"name": name})
		return d.keep(name)
	}
	switch name {
	case typeName:
		if d.boolean() {
			return d.setText(name, "bool")
		}
		d.finding(report.AttributeDiffers, report.Dropped, t, report.Args{"name": name})
	case cf.FlagValues, cf.FlagMeanings:
		return d.flags(name, t)
	case cf.UnitsName:
		if d.ofOneUnit() {
			d.finding(report.UnitsSpelling, report.Verbatim, t, nil)
			return d.keep(name)
		}
		if text, ok := d.onlyUnit(); ok {
			d.finding(report.UnitsMissing, report.Noted, t, nil)
			return d.setText(name, text)
		}
		return d.differentUnits()
	case cf.ScaleFactor, cf.AddOffset, cf.Unsigned: // reported already, and equal as numbers
	default:
		if slices.Contains(cf.ProjectionAttributes, name) && d.members[0].attribute(cf.GridMappingName) != nil {
			d.finding(report.GridMappingDiffers, report.Refused, t, report.Args{"name": name}).Remedies = d.drop()
			d.refused = true
			return nil
		}
		d.finding(report.AttributeDiffers, report.Dropped, t, report.Args{"name": name})
	}
	return nil
}

// flags declares the union of all members' flags, because archives get new flags over the years. If
// the flags contradict one another, it declares none.
func (d *decision) flags(name string, t tally) error {
	var all []cf.Flag
	for i := range d.members {
		flags, ok := cf.FlagsOf(d.variable(&d.members[i]).Attributes)
		if ok {
			all, ok = cf.JoinFlags(all, flags)
		}
		if !ok {
			d.finding(report.AttributeDiffers, report.Dropped, t, report.Args{"name": name})
			return nil
		}
	}
	values, meanings, err := cf.FlagAttributes(all)
	if err != nil {
		return err
	}
	if name == cf.FlagValues {
		d.set(name, values)
		return nil
	}
	d.finding(report.FlagsJoined, report.Verbatim, t, report.Args{"name": name})
	d.set(name, meanings)
	return nil
}

// keep declares an attribute with the value of the first member that has it.
func (d *decision) keep(name string) error {
	having := slices.IndexFunc(d.members, func(m member) bool { return m.attribute(name) != nil })
	a := d.members[having].attribute(name)
	raw, err := d.spell(a)
	if err != nil {
		return err
	}
	d.set(name, raw)
	if kind := a.JSONType(raw); kind != "" {
		if d.schema.AttributeTypes == nil {
			d.schema.AttributeTypes = map[string]string{}
		}
		d.schema.AttributeTypes[name] = kind
	}
	return nil
}

// declare sets the attributes that describe the schema itself: units of times, and missing values.
func (d *decision) declare() error {
	if reference := d.opts.Reference; d.schema.Reading == manifest.Retimed {
		if err := d.setText(cf.UnitsName, reference.Text); err != nil {
			return err
		}
		// Without the attribute, times have the standard calendar. An array that grows keeps its attributes
		// only if no calendar is added.
		isStated := slices.ContainsFunc(d.members, func(m member) bool { return m.attribute(cf.CalendarName) != nil })
		if isStated || reference.Calendar != cf.Standard.String() {
			if err := d.setText(cf.CalendarName, reference.Calendar); err != nil {
				return err
			}
		}
	} else if d.timed() {
		if err := d.declareUnits(); err != nil {
			return err
		}
	}
	if d.packed != nil {
		if err := d.declarePacking(); err != nil {
			return err
		}
	}
	if len(d.masks) == 0 {
		return nil
	}
	raw, err := d.schema.DataType.EncodeMask(d.masks[0])
	if err != nil {
		return err
	}
	d.set(cf.FillValue, raw)
	var others []json.RawMessage
	for _, mask := range d.masks[1:] {
		// JSON has no NaN, and clients treat NaN as missing anyway.
		if typ := d.schema.DataType.Type(); !cf.IsNaN(typ, mask) {
			spelt, err := cf.ElementJSON(typ, mask)
			if err != nil {
				return err
			}
			others = append(others, spelt)
		}
	}
	if len(others) == 0 {
		return nil
	}
	list, err := json.Marshal(others)
	if err == nil {
		d.set(cf.MissingValue, list)
	}
	return err
}

// declareUnits declares the units and calendar of times in the spelling of the first file. The other
// files have the same units, perhaps spelled differently.
func (d *decision) declareUnits() error {
	for _, name := range []string{cf.UnitsName, cf.CalendarName} {
		t := d.count(d.attributeNamed(name))
		switch {
		case !t.differ() && t.main().says() == "":
			continue
		case !t.differ() && name == cf.UnitsName && d.members[0].units.Unclear():
			text, _ := d.members[0].text(name)
			d.note(report.TimeZoneUnclear, report.Noted, report.Args{"units": text, "reference": d.members[0].units.String()})
		case !t.differ():
			if err := d.keep(name); err != nil {
				return err
			}
			continue
		default:
			d.finding(report.TimeUnitsSpelling, report.Verbatim, t, report.Args{"name": name})
		}
		spelt := d.members[0].units.String()
		if name == cf.CalendarName {
			spelt = d.calendar().String()
		}
		if err := d.setText(name, spelt); err != nil {
			return err
		}
	}
	return nil
}

// calendar returns the calendar that is valid for all members: Standard, if any member has it.
func (d *decision) calendar() cf.Calendar {
	c := d.members[0].units.Calendar
	for i := range d.members {
		c = min(c, d.members[i].units.Calendar)
	}
	return c
}

func (d *decision) setText(name, text string) error {
	raw, err := cf.TextJSON(text)
	if err == nil {
		d.set(name, raw)
	}
	return err
}

// attributeNamed compares members by the JSON of an attribute.
func (d *decision) attributeNamed(name string) having {
	return having{
		key: func(m *member) string {
			if a := m.attribute(name); a != nil {
				return d.spelt(a)
			}
			return ""
		},
		says: func(m *member) string { return attributeText(m.attribute(name)) },
	}
}

// spelt returns a text to compare an attribute by: its JSON, if it has one.
func (d *decision) spelt(a *manifest.Attribute) string {
	raw, err := d.spell(a)
	if err != nil {
		return a.Unreadable + a.Type.String() + string(a.Data)
	}
	return string(raw)
}

// spell returns cf.AttributeJSON. It caches attributes other than single texts: many variables and
// files have equal ones, and encoding a single text is faster than the cache.
func (d *decision) spell(a *manifest.Attribute) ([]byte, error) {
	if len(a.Texts) == 1 || a.JSON != "" {
		return cf.AttributeJSON(a)
	}
	key := binary.AppendUvarint(append(d.scratch[:0], byte(a.Type.Kind)), uint64(a.Type.Size))
	for _, text := range a.Texts {
		key = append(binary.AppendUvarint(key, uint64(len(text))), text...)
	}
	key = append(append(key, 0), a.Data...)
	d.scratch = key
	if a.Type.Kind == codec.Struct || a.Type.Unit != "" {
		return cf.AttributeJSON(a)
	}
	if raw, ok := d.common.text(key); ok {
		return raw, nil
	}
	raw, err := cf.AttributeJSON(a)
	if err == nil {
		d.common.keep(key, raw)
	}
	return raw, err
}

// attributeText formats an attribute for messages, or returns "" for nil.
func attributeText(a *manifest.Attribute) string {
	if a == nil {
		return ""
	}
	raw, err := cf.AttributeJSON(a)
	says := string(raw)
	switch {
	case err != nil:
		return a.Type.String()
	case len(a.Texts) == 1:
		says = fmt.Sprintf("%q", a.Texts[0])
	case cf.IsNumber(a.Type) && len(a.Data) == a.Type.Size:
		says = numberText(a.Type, a.Data)
	}
	// A history attribute may have thousands of characters.
	if runes := []rune(says); len(runes) > 60 {
		says = string(runes[:57]) + "…"
	}
	return says
}
