package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// SameScale reports whether a scale factor is the one that a user wrote. Files often store it as float32.
func SameScale(p cf.Packing, scale float64) bool {
	own, _ := p.Affine()
	return math.Abs(own-scale) <= 1e-6*math.Abs(scale)
}

// withScale returns the member that most bytes are packed like, of those with the scale of opts.Repack.
// It returns nil if no member has it.
func (d *decision) withScale() (best *member) {
	like := func(a, b *member) bool {
		return a.packing.SameScale(b.packing) && a.packing.Type.Equal(b.packing.Type) && a.Variable.Type.Equal(b.Variable.Type)
	}
	most := int64(-1)
	for i := range d.members {
		m := &d.members[i]
		if !SameScale(m.packing, d.opts.Repack) || !isWhole(m.Variable.Type) {
			continue
		}
		bytes := int64(0)
		for k := range d.members {
			if like(m, &d.members[k]) {
				bytes += d.members[k].Bytes
			}
		}
		if bytes > most {
			best, most = m, bytes
		}
	}
	return best
}

// repacked decides the type and the missing values of numbers that are all packed like d.packed.
func (d *decision) repacked() (codec.Type, error) {
	d.schema.Reading = manifest.Repacked
	m := d.packed
	typ := m.Variable.Type
	d.masks = masksIn(typ, typ, m.packing.Masks)
	if len(d.masks) > 0 || !d.anyMask() && !d.opts.Gaps {
		return typ, nil
	}
	mask := defaultFill(m.packing.Type)
	if mask == nil {
		return typ, fmt.Errorf("%s has no unused value for missing elements", typ)
	}
	d.masks = [][]byte{mask}
	d.note(report.FillChosen, report.Noted, report.Args{"value": number(m.packing.Type, mask), "masked": true})
	return typ, nil
}

// declarePacking declares the packing of d.packed.
func (d *decision) declarePacking() error {
	for _, name := range []string{cf.ScaleFactor, cf.AddOffset, cf.Unsigned} {
		if a := d.packed.attribute(name); a != nil {
			raw, err := d.spell(a)
			if err != nil {
				return err
			}
			d.set(name, raw)
		}
	}
	return nil
}

func (d *decision) byRepack() report.Setting {
	return report.Setting{Option: report.Repack, Value: d.repackValue(d.opts.Repack)}
}

func (d *decision) repackValue(scale float64) string {
	return strings.TrimPrefix(d.opts.Array, "/") + "=" + strconv.FormatFloat(scale, 'g', 7, 64)
}

// packingRemedies returns the ways to keep packed chunks, or to unpack to fewer bytes.
func (d *decision) packingRemedies(name string, t tally) (remedies []report.Remedy) {
	if name == cf.Unsigned || d.opts.Type.Kind != 0 {
		return nil
	}
	m := t.main().of
	if scale, _ := m.packing.Affine(); m.packing.Scaled() && isWhole(m.Variable.Type) {
		remedies = append(remedies, report.Do(report.Repack, d.repackValue(scale), report.RoundsToScale))
	}
	if typ, err := d.promote(func(m *member) codec.Type { return m.floatType() }); err == nil && typ.Size == 8 {
		remedies = append(remedies, report.Do(report.DataType, strings.TrimPrefix(d.opts.Array, "/")+"=float32", report.HalfTheBytes))
	}
	return remedies
}
