package face

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"varve/manifest/report"
)

// CF's names for what enumerations are to HDF5.
const (
	flagValues   = "flag_values"
	flagMasks    = "flag_masks"
	flagMeanings = "flag_meanings"
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
	d.finding(report.Type, report.Refused, fmt.Sprintf("%d named", number), d.count(having{says, says}))
	d.findings[len(d.findings)-1].Option = "--drop " + d.members[0].Variable.Path
	d.refused = true
}

// declareChoices tells clients the names of an enumeration's numbers as CF does, unless files do
// so themselves.
func (d *decision) declareChoices() error {
	if len(d.chosen) == 0 || d.scaled() {
		return nil
	}
	for i := range d.members {
		for _, name := range []string{flagValues, flagMasks, flagMeanings} {
			if d.members[i].attribute(name) != nil {
				return nil
			}
		}
	}
	numbers := slices.Sorted(maps.Keys(d.chosen))
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strings.Join(strings.Fields(d.chosen[n]), "_")
	}
	raw, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	d.set(flagValues, raw)
	return d.setText(flagMeanings, strings.Join(words, " "))
}
