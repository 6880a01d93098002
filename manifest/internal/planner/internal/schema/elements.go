package schema

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/convert"
	"varve/manifest/report"
)

// elements decides the element type, the conversion and the missing values.
func (d *decision) elements() {
	d.schema.Reading = manifest.AsStored
	typ, err := d.times()
	if err == nil && typ.Kind == 0 {
		if d.numeric() {
			typ, err = d.numbers()
		} else {
			typ, err = d.promote(func(m *member) codec.Type { return m.Variable.Type })
		}
	}
	if d.refused {
		return
	}
	if err == nil && d.opts.Type.Kind != 0 && d.schema.Reading != manifest.Retimed {
		if d.schema.Reading != manifest.AsStored && d.opts.Type.Kind != codec.Float && typ.Kind == codec.Float {
			d.refuse(report.TypeImpossible, &d.members[0], fmt.Errorf("%s is not possible: unpacked values need a floating-point type", d.opts.Type))
			return
		}
		// The conversion checks later that the chosen type holds all values.
		typ = d.opts.Type
	}
	if err == nil {
		d.schema.DataType, err = d.common.dataType(typ)
	}
	if err != nil {
		d.refuseTypes(err)
		return
	}
	if t := d.byType(); !d.alone() && t.differ() {
		d.finding(report.TypesDiffer, report.Reencoded, t, report.Args{"type": typ.String()})
	}
	d.sayRounding(typ)
}

// sayRounding reports that float64 cannot represent all 64-bit integers of the members, unless the
// user chose it.
func (d *decision) sayRounding(typ codec.Type) {
	if typ.Kind != codec.Float || typ.Size != 8 || d.opts.Type.Kind == codec.Float || d.schema.Reading == manifest.Retimed {
		return
	}
	isLong := func(m member) bool { return isWhole(m.packing.Type) && m.packing.Type.Size == 8 && !m.packing.Scaled() }
	i := slices.IndexFunc(d.members, isLong)
	if i < 0 {
		return
	}
	finding := d.note(report.PrecisionLost, report.Reencoded, report.Args{"type": typ.String()})
	first := d.members[i].packing.Type
	if !slices.ContainsFunc(d.members, func(m member) bool { return !m.packing.Type.Equal(first) || m.packing.Scaled() }) {
		finding.Remedies = []report.Remedy{report.Do(report.DataType, strings.TrimPrefix(d.opts.Array, "/")+"="+first.String(), report.ExactType)}
	}
}

func isWhole(t codec.Type) bool { return t.Kind == codec.Int || t.Kind == codec.Uint }

func (d *decision) byType() tally {
	name := func(m *member) string { return m.Variable.Type.String() }
	return d.count(having{name, name})
}

// refuseTypes refuses the files whose type differs from the type of most files.
func (d *decision) refuseTypes(err error) {
	t := d.byType()
	if !t.differ() {
		d.refuse(report.TypeImpossible, &d.members[0], err)
		return
	}
	d.finding(report.TypesConflict, report.Refused, t, report.Args{"reason": err.Error()})
	d.refused = true
}

func (d *decision) numeric() bool {
	return !slices.ContainsFunc(d.members, func(m member) bool { return !cf.IsNumber(m.Variable.Type) })
}

// promote returns the common type of all members.
func (d *decision) promote(typeOf func(m *member) codec.Type) (codec.Type, error) {
	typ := typeOf(&d.members[0])
	var err error
	for i := range d.members[1:] {
		m := &d.members[1+i]
		if typ, err = convert.Promote(typ, typeOf(m)); err != nil {
			return typ, err
		}
	}
	return typ, nil
}

// numbers decides the type of numbers, which depends on the packing.
//
// Equal packings stay packed. If packings differ, each member is unpacked to floats. If only the
// signedness differs, the numbers stay integers.
func (d *decision) numbers() (codec.Type, error) {
	first := &d.members[0]
	packed := slices.ContainsFunc(d.members, func(m member) bool { return m.packing.Scaled() })
	otherSign := slices.ContainsFunc(d.members, func(m member) bool { return !m.packing.Type.Equal(m.Variable.Type) })
	same := !slices.ContainsFunc(d.members, func(m member) bool { return !m.packing.SameScale(first.packing) })
	alike := !slices.ContainsFunc(d.members, func(m member) bool {
		return !m.packing.Type.Equal(first.packing.Type) || !m.Variable.Type.Equal(first.Variable.Type)
	})
	if d.opts.Repack != 0 && !(same && alike) {
		d.packed = d.withScale()
	}
	d.sayPackings()
	switch {
	case d.inUnits != nil:
		return d.converted(!packed && !otherSign)
	case d.packed != nil:
		return d.repacked()
	// Nothing needs to be unpacked, so stored chunks can stay verbatim.
	case same && (!otherSign || alike):
		return d.masked(func(m *member) codec.Type { return m.Variable.Type })
	case !packed:
		d.schema.Reading = manifest.Unpacked
		return d.masked(func(m *member) codec.Type { return m.packing.Type })
	}
	return d.float()
}

func (d *decision) sayPackings() {
	if d.alone() {
		return
	}
	for _, name := range []string{cf.ScaleFactor, cf.AddOffset, cf.Unsigned} {
		t := d.count(d.attributeNamed(name))
		if !t.differ() {
			continue
		}
		if d.packed == nil {
			d.finding(report.PackingDiffers, report.Reencoded, t, report.Args{"name": name}).Remedies = d.packingRemedies(name, t)
			continue
		}
		t.declare(d.packed)
		d.finding(report.PackingDiffers, report.Reencoded, t, report.Args{"name": name}).By = d.byRepack()
	}
	t := d.count(having{maskText, maskText})
	if t.differ() {
		d.finding(report.MissingDiffers, report.Reencoded, t, nil)
	}
}

// maskText lists the missing values of a member as numbers.
func maskText(m *member) string {
	var text strings.Builder
	for _, mask := range m.packing.Masks {
		text.WriteString(numberText(m.packing.Type, mask) + " ")
	}
	return strings.TrimSpace(text.String())
}

// numberText formats a number with no more digits than its type has.
func numberText(t codec.Type, element []byte) string {
	switch {
	case t.Kind == codec.Float:
		return strconv.FormatFloat(cf.Float(t, element), 'g', -1, max(8*t.Size, 32))
	case t.Kind == codec.Int:
		return strconv.FormatInt(int64(cf.Extend(t, element)), 10)
	}
	return strconv.FormatUint(cf.Word(element), 10)
}

// masked decides the missing values of numbers that stay packed.
func (d *decision) masked(typeOf func(m *member) codec.Type) (codec.Type, error) {
	typ, err := d.promote(typeOf)
	if err != nil {
		return typ, err
	}
	if d.opts.Type.Kind != 0 {
		typ = d.opts.Type
	}
	// xarray cannot represent a missing time of these units as an integer.
	if d.opts.Gaps && d.opts.Type.Kind == 0 && d.coarse() {
		d.noteCoarse(d.members[0].units)
		if isWhole(typ) {
			return d.float()
		}
	}
	d.masks = d.commonMasks(typ, typeOf)
	switch {
	case len(d.masks) > 0:
		return typ, nil
	case d.anyMask() && typ.Kind == codec.Float:
		d.masks = [][]byte{cf.NaN(typ)}
		return typ, nil
	case d.anyMask() && !d.boolean() && isWhole(d.opts.Type):
		return d.maskWhole(typ, typeOf)
	case d.anyMask() && !d.boolean():
		return d.float()
	case !d.opts.Gaps || typ.Kind == codec.Float || d.boolean():
		return typ, nil
	}
	return d.maskWhole(typ, typeOf)
}

// commonMasks returns the missing values that all members share, in the order of the first member.
// The conversion replaces other missing values of a member by the first common one.
func (d *decision) commonMasks(typ codec.Type, typeOf func(m *member) codec.Type) (common [][]byte) {
	for i := range d.members {
		masks := masksIn(typ, typeOf(&d.members[i]), d.members[i].packing.Masks)
		if i == 0 {
			common = masks
			continue
		}
		common = slices.DeleteFunc(common, func(c []byte) bool {
			return !slices.ContainsFunc(masks, func(m []byte) bool { return cf.SameNumber(typ, c, m) })
		})
	}
	return common
}

// masksIn converts missing values to another type, and leaves out values that it cannot hold.
func masksIn(to, from codec.Type, masks [][]byte) (out [][]byte) {
	for _, m := range masks {
		if cast, ok := cf.Cast(to, from, m); ok && !slices.ContainsFunc(out, func(o []byte) bool { return bytes.Equal(o, cast) }) {
			out = append(out, cast)
		}
	}
	return out
}

func (d *decision) anyMask() bool {
	return slices.ContainsFunc(d.members, func(m member) bool { return len(m.packing.Masks) > 0 })
}

// boolean reports whether all members are booleans, by type or as numbers that xarray marks.
// Booleans have no room for a missing value.
func (d *decision) boolean() bool {
	return !slices.ContainsFunc(d.members, func(m member) bool {
		says, _ := m.text(typeName)
		return says != "bool" && m.Variable.Type.Kind != codec.Bool
	})
}

// typeName is the attribute by which xarray marks numbers as booleans.
const typeName = "dtype"

// float unpacks to the smallest float type that loses nothing. NaN is the missing value.
func (d *decision) float() (codec.Type, error) {
	d.schema.Reading = manifest.Unpacked
	typ, err := d.promote(func(m *member) codec.Type { return m.floatType() })
	if d.opts.Type.Kind == codec.Float {
		typ = d.opts.Type
	}
	d.masks = nil
	if d.anyMask() {
		d.masks = [][]byte{cf.NaN(typ)}
	}
	return typ, err
}

func (m *member) floatType() codec.Type {
	if m.packing.Type.Kind == codec.Float && !m.packing.Scaled() {
		return codec.Type{Kind: codec.Float, Size: max(m.packing.Type.Size, 4)}
	}
	return m.packing.FloatType()
}

// maskWhole chooses a missing value for whole numbers: netCDF's default fill value, which netCDF
// programs do not use for data. Single bytes have no such value and become floats.
func (d *decision) maskWhole(typ codec.Type, typeOf func(m *member) codec.Type) (codec.Type, error) {
	signs := typ
	if d.members[0].packing.Type.Size == typ.Size && typeOf(&d.members[0]).Equal(d.members[0].Variable.Type) {
		signs = d.members[0].packing.Type
	}
	mask := defaultFill(signs)
	switch {
	case mask == nil && d.opts.Type.Kind != 0:
		return typ, fmt.Errorf("%s has no unused value for missing elements; choose a type with more bytes", typ)
	case mask == nil:
		typ, err := d.float()
		d.note(report.FillNeedsType, report.Reencoded, report.Args{"type": d.members[0].Variable.Type.String(), "declared": typ.String()})
		return typ, err
	}
	d.masks = [][]byte{mask}
	chosen := report.Args{"value": number(signs, mask)}
	if d.anyMask() {
		chosen["masked"] = true
	}
	d.note(report.FillChosen, report.Noted, chosen)
	return typ, nil
}

// defaultFill returns netCDF's NC_FILL_… of an integer type, or nil for single bytes.
func defaultFill(t codec.Type) []byte {
	if t.Size < 2 {
		return nil
	}
	if t.Kind == codec.Uint {
		w := uint64(math.MaxUint64)
		if t.Size == 8 {
			w-- // NC_FILL_UINT64
		}
		return cf.AppendWord(nil, w, t.Size)
	}
	least := uint64(1) << (8*t.Size - 1)
	if t.Size == 8 {
		return cf.AppendWord(nil, least+2, 8) // NC_FILL_INT64
	}
	return cf.AppendWord(nil, least+1, t.Size)
}

// number formats an element for messages.
func number(t codec.Type, element []byte) string {
	if spelt, err := cf.ElementJSON(t, element); err == nil {
		return strings.Trim(string(spelt), `"`)
	}
	return hex.EncodeToString(element)
}
