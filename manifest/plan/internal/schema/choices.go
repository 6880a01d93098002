package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// choice is the name of a number in a member's enumeration, or empty.
func (m *member) choice(number int64) string {
	for _, c := range m.Variable.Enum {
		if c.Value == number {
			return c.Name
		}
	}
	return ""
}

// choices refuses enumerations that call one number by several names: what it stands for would
// depend on the file. Members that name fewer numbers, or none, are not at odds with others.
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

// declareChoices tells clients the names of an enumeration's numbers as CF does, unless files do
// so themselves.
func (d *decision) declareChoices() error {
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
