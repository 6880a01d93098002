package cf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// spellings maps names, symbols and plurals to one spelling of the unit. Each line has the words that
// UDUNITS-2 reads as the same unit, and its first word is shown. Latitudes, longitudes and angles are
// separate here, though UDUNITS reads them as one unit, because CF distinguishes coordinates by them.
// Words with another meaning in UDUNITS, such as mb, are left out.
var spellings = mapSpellings(
	"m meter meters metre metres",
	"km kilometer kilometers kilometre kilometres",
	"cm centimeter centimeters centimetre centimetres",
	"mm millimeter millimeters millimetre millimetres",
	"s second seconds sec",
	"min minute minutes",
	"h hour hours hr",
	"d day days",
	"K kelvin kelvins degK degreeK degreesK degree_K degrees_K deg_K",
	"degC celsius degreeC degreesC degree_C degrees_C degree_Celsius degrees_Celsius deg_C °C",
	"degrees degree arc_degree arc_degrees arcdeg °",
	"degrees_north degree_north degreeN degreesN degree_N degrees_N",
	"degrees_east degree_east degreeE degreesE degree_E degrees_E",
	"rad radian radians",
	"sr steradian steradians",
	"Pa pascal pascals",
	"hPa hectopascal hectopascals mbar millibar millibars",
	"dbar decibar decibars",
	"bar bars",
	"kg kilogram kilograms",
	"g gram grams",
	"W watt watts",
	"J joule joules",
	"N newton newtons",
	"V volt volts",
	"Hz hertz",
	"mol mole moles",
	"% percent",
)

// notMultiplied are units that UnitKey does not multiply with others. Products with degrees Celsius do
// not exist, and UDUNITS rounds products with degrees or percent.
var notMultiplied = []string{"degC", "degrees", "degrees_north", "degrees_east", "%"}

// mapSpellings maps each word of a line to the first word of that line.
func mapSpellings(lines ...string) map[string]string {
	words := map[string]string{}
	for _, line := range lines {
		list := strings.Fields(line)
		for _, word := range list {
			words[word] = list[0]
		}
	}
	return words
}

// UnitKey returns a key for a unit. Two texts have the same key only if they are the same unit, however it
// is written. The texts may contain the words of the table with integer powers, multiplied by blanks, dots
// or asterisks, and divided by slashes, from left to right as in UDUNITS. The key is empty for 1 and for no
// units. The key of any other text is the text itself.
func UnitKey(text string) string {
	text = strings.TrimSpace(text)
	if text == "1" {
		return ""
	}
	if name, ok := spellings[text]; ok {
		return name
	}
	powers := map[string]int{}
	rest, over := text, 1
	if below, ok := strings.CutPrefix(text, "1"); ok {
		if rest, over, ok = cutOperator(below); !ok || over > 0 {
			return text
		}
	}
	for rest != "" {
		name, power, left, ok := cutFactor(rest)
		if !ok || slices.Contains(notMultiplied, name) {
			return text
		}
		powers[name] += over * power
		if rest, over, ok = cutOperator(left); !ok {
			return text
		}
	}
	var factors []string
	for name, power := range powers {
		switch power {
		case 0:
		case 1:
			factors = append(factors, name)
		default:
			factors = append(factors, fmt.Sprint(name, power))
		}
	}
	slices.Sort(factors)
	return strings.Join(factors, " ")
}

// cutFactor removes a word of the table and its power from the start of a text.
func cutFactor(text string) (name string, power int, rest string, ok bool) {
	at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("_%°", r) })
	if at < 0 {
		at = len(text)
	}
	name, ok = spellings[text[:at]]
	if rest = text[at:]; !ok {
		return "", 0, "", false
	}
	digits, raised := strings.CutPrefix(rest, "^")
	if !raised {
		digits, raised = strings.CutPrefix(rest, "**")
	}
	end := 0
	for end < len(digits) && (digits[end] >= '0' && digits[end] <= '9' || end == 0 && digits[0] == '-') {
		end++
	}
	if end == 0 {
		return name, 1, rest, !raised
	}
	power, err := strconv.Atoi(digits[:end])
	return name, power, digits[end:], err == nil && power != 0 && power > -100 && power < 100
}

// cutOperator removes the operator between two factors from the start of a text: blanks, an asterisk,
// a dot, or a slash with or without blanks around it. over is -1 if the next factor divides.
func cutOperator(text string) (rest string, over int, ok bool) {
	rest = strings.TrimLeft(text, " ")
	switch {
	case rest == "":
		return "", 1, true
	case rest[0] == '/':
		rest = strings.TrimLeft(rest[1:], " ")
		return rest, -1, rest != ""
	case rest != text:
		return rest, 1, true
	}
	return rest[1:], 1, (rest[0] == '*' || rest[0] == '.') && len(rest) > 1
}
