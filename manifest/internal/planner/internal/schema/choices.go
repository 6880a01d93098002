package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// choice returns the name of a number in a member's enumeration, or "".
func (m *member) choice(number int64) string {
	for _, c := range m.Variable.Enum {
		if c.Value == number {
			return c.Name
		}
	}
	return ""
}

// choices refuses enumerations that give one number several names, because its meaning would depend
// on the file. Members may have fewer names than others, or none.
func (d *decision) choices() {
	d.chosen = map[int64]string{}
	for i := range d.members {
		m := &d.members[i]
		for _, c := range m.Variable.Enum {
			name := m.choice(c.Value)
			if other, ok := d.chosen[c.Value]; ok && other != name {
				d.refuseChoice(c.Value)
				return
			}
			d.chosen[c.Value] = name
		}
	}
}

func (d *decision) refuseChoice(number int64) {
	says := func(m *member) string {
		if name := m.choice(number); name != "" {
			return strconv.Quote(name)
		}
		return ""
	}
	d.finding(report.EnumDiffers, report.Refused, d.count(having{says, says}), report.Args{"number": strconv.FormatInt(number, 10)}).Remedies = d.drop()
	d.refused = true
}

// declareChoices declares the names of an enumeration as CF flags, unless files have flags already.
func (d *decision) declareChoices() error {
	// Scaled numbers are no longer the numbers that the enumeration names.
	if len(d.chosen) == 0 || d.scaled() {
		return nil
	}
	for i := range d.members {
		for _, name := range []string{cf.FlagValues, cf.FlagMasks, cf.FlagMeanings} {
			if d.members[i].attribute(name) != nil {
				return nil
			}
		}
	}
	var flags []cf.Flag
	for _, n := range slices.Sorted(maps.Keys(d.chosen)) {
		flags = append(flags, cf.Flag{Value: n, Word: strings.Join(strings.Fields(d.chosen[n]), "_")})
	}
	values, meanings, err := cf.FlagAttributes(flags)
	if err == nil {
		d.set(cf.FlagValues, values)
		d.set(cf.FlagMeanings, meanings)
	}
	return err
}
