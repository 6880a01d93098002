package cf

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// baseUnits are the units from which all others are made. Radians, steradians, and degrees north and east are among
// them, though UDUNITS reads them as numbers, because CF distinguishes coordinates by them. π is the number: it
// keeps the other factors rational, so that equal units have equal keys.
var baseUnits = []string{"m", "kg", "s", "A", "K", "mol", "cd", "rad", "sr", "°N", "°E", "π"}

// definitions are units of UDUNITS-2, with the values that it gives them: symbols, names, and a definition by
// earlier units. Names may have any case and a plural with s. The first symbol is shown in messages. A definition may
// end in "@ N": the number of K at zero. Lines that start with ± also make units with prefixes, such as hPa.
// Units that are often meant otherwise than UDUNITS reads them, such as a (are), are left out. Files of meteorology
// write mb for millibar, which UDUNITS does not know.
const definitions = `
± m     : meter metre                       = m
± g     : gram                              = 0.001 kg
± s     : second sec                        = s
± A     : ampere                            = A
± K °K degK degreeK degreesK degree_K degrees_K deg_K : kelvin = K
± mol   : mole                              = mol
± cd    : candela                           = cd
± rad   : radian                            = rad
± sr    : steradian                         = sr
± Hz    : hertz                             = s-1
± N     : newton                            = kg m s-2
± Pa    : pascal                            = N m-2
± J     : joule                             = N m
± W     : watt                              = J s-1
± C     : coulomb                           = A s
± V     : volt                              = W A-1
± S     : siemens                           = A V-1
± bar   : bar                               = 100000 Pa
± L l   : liter litre                       = 0.001 m3
± t     : tonne metric_ton                  = 1000 kg
±       : sverdrup                          = 1000000 m3 s-1
degC °C degreeC degreesC degree_C degrees_C deg_C : celsius degree_celsius degrees_celsius = K @ 273.15
degF °F degreeF degreesF degree_F degrees_F deg_F : fahrenheit degree_fahrenheit degrees_fahrenheit = (5/9) K @ 459.67
degrees degree ° arcdeg : arc_degree        = π/180 rad
degrees_north degreeN degreesN degree_N degrees_N : degree_north degrees_north = °N
degrees_east degreeE degreesE degree_E degrees_E : degree_east degrees_east = °E
%       : percent                           = 0.01
ppm ppmv :                                  = 1e-6
ppb ppbv :                                  = 1e-9
min     : minute                            = 60 s
h hr    : hour                              = 3600 s
d       : day                               = 86400 s
atm     : atmosphere standard_atmosphere    = 101325 Pa
kt kts  : knot                              = (1852/3600) m s-1
ft      : foot feet                         = 0.3048 m
        : nautical_mile                     = 1852 m
mb      :                                   = 100 Pa
ha      : hectare                           = 10000 m2
`

// prefixes are the symbols and names of powers of ten before units.
var prefixes = []struct {
	symbols, name string
	power         int
}{
	{"Y", "yotta", 24}, {"Z", "zetta", 21}, {"E", "exa", 18}, {"P", "peta", 15}, {"T", "tera", 12}, {"G", "giga", 9}, {"M", "mega", 6}, {"k", "kilo", 3},
	{"h", "hecto", 2}, {"da", "deka", 1}, {"d", "deci", -1}, {"c", "centi", -2}, {"m", "milli", -3}, {"u µ μ", "micro", -6}, {"n", "nano", -9},
	{"p", "pico", -12}, {"f", "femto", -15}, {"a", "atto", -18}, {"z", "zepto", -21}, {"y", "yocto", -24},
}

// physical is a unit: factor times the powers of the base units. A quantity that is 0 in it has the value offset in
// the unit itself when it is 0 in the base units, with the other sign: 0 degC are 273.15 of the steps from 0 K.
type physical struct {
	factor *big.Rat
	offset *big.Rat // nil for most
	powers [12]int  // of baseUnits
}

// unitWords are the words of the definitions.
type unitWords struct {
	exact  map[string]physical // symbols, and their forms with prefixes
	names  map[string]physical // in lower case
	spoken map[string]string   // a key made of base units to the first symbol of a unit
}

// words returns the words that units are made of. They are made when they are first needed.
var words = sync.OnceValue(func() *unitWords {
	w := &unitWords{exact: map[string]physical{}, names: map[string]physical{}, spoken: map[string]string{}}
	parser := &unitParser{words: w}
	for i, name := range baseUnits {
		u := physical{factor: big.NewRat(1, 1)}
		u.powers[i] = 1
		w.exact[name] = u
	}
	var prefixed []func()
	for line := range strings.Lines(strings.TrimSpace(definitions)) {
		line, takesPrefixes := strings.CutPrefix(line, "±")
		left, definition, _ := strings.Cut(line, " = ")
		symbols, names, _ := strings.Cut(left, ":")
		definition, offset, isShifted := strings.Cut(strings.TrimSpace(definition), " @ ")
		u, ok := parser.parse(definition)
		if !ok {
			panic("cf: unit " + line)
		}
		if isShifted {
			u.offset, _ = new(big.Rat).SetString(offset)
		}
		w.add("", "", symbols, names, u)
		if shown := strings.Fields(symbols); len(shown) > 0 && w.spoken[u.key()] == "" {
			w.spoken[u.key()] = shown[0]
		}
		if takesPrefixes {
			prefixed = append(prefixed, func() {
				for _, p := range prefixes {
					scaled := u
					scaled.factor = new(big.Rat).Mul(u.factor, powerOf(big.NewRat(10, 1), p.power))
					w.add(p.symbols, p.name, symbols, names, scaled)
				}
			})
		}
	}
	for _, add := range prefixed {
		add() // after all words without a prefix: min is a minute
	}
	hectopascal := w.exact["hPa"]
	w.spoken[hectopascal.key()] = "hPa"
	return w
})

// add adds the words of a unit with a prefix, unless they have a meaning.
func (w *unitWords) add(symbolPrefixes, namePrefix, symbols, names string, u physical) {
	set := func(words map[string]physical, name string) {
		if _, isTaken := words[name]; !isTaken {
			words[name] = u
		}
	}
	for _, symbol := range strings.Fields(symbols) {
		if symbolPrefixes == "" {
			set(w.exact, symbol)
		}
		for _, prefix := range strings.Fields(symbolPrefixes) {
			set(w.exact, prefix+symbol)
		}
	}
	for _, name := range strings.Fields(names) {
		set(w.names, namePrefix+name)
		set(w.names, namePrefix+name+"s")
	}
}

func (w *unitWords) find(word string) (physical, bool) {
	if u, ok := w.exact[word]; ok {
		return u, true
	}
	u, ok := w.names[strings.ToLower(word)]
	return u, ok
}

func powerOf(r *big.Rat, n int) *big.Rat {
	out, base := big.NewRat(1, 1), r
	if n < 0 {
		base, n = new(big.Rat).Inv(r), -n
	}
	for range n {
		out.Mul(out, base)
	}
	return out
}

// key returns the unit as a product of base units.
func (u *physical) key() string {
	var factors []string
	if u.factor.Cmp(big.NewRat(1, 1)) != 0 {
		factors = append(factors, u.factor.RatString())
	}
	for i, power := range u.powers {
		switch power {
		case 0:
		case 1:
			factors = append(factors, baseUnits[i])
		default:
			factors = append(factors, baseUnits[i]+strconv.Itoa(power))
		}
	}
	if u.offset != nil {
		factors = append(factors, "@ "+u.offset.RatString())
	}
	return strings.Join(factors, " ")
}

// degrees and temperatures are the words of spellings that UDUNITS reads otherwise, such as degrees C: not degrees × coulomb.
var (
	degrees      = map[string]bool{"deg": true, "degree": true, "degrees": true}
	temperatures = map[string]string{"c": "degC", "celsius": "degC", "f": "degF", "fahrenheit": "degF", "k": "K", "kelvin": "K"}
)

// anyCase are texts that are no units of UDUNITS, and that files write in any case.
var anyCase = map[string]bool{"psu": true, "pss-78": true, "dbz": true, "du": true}

// noUnit are the words, besides 1, that files write for numbers without a unit.
var noUnit = map[string]bool{"dimensionless": true, "unitless": true, "none": true, "-": true}

// IsUnit reports whether a text is a unit of the table.
func IsUnit(text string) bool {
	_, ok := parseUnit(text)
	return ok
}

// maxUnit is the length of the longest text that is read as a unit.
const maxUnit = 200

// parseUnit reads a unit as UDUNITS does, except degrees C. It returns false for units that are not of the table.
func parseUnit(text string) (physical, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		text = "1"
	}
	if words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == '_' }); len(words) == 2 && degrees[words[0]] && temperatures[words[1]] != "" {
		text = temperatures[words[1]]
	}
	if len(text) > maxUnit {
		return physical{}, false
	}
	p := &unitParser{words: words()}
	return p.parse(text)
}

// unitParser reads products of units.
type unitParser struct {
	words *unitWords
	rest  string
	depth int
}

func (p *unitParser) parse(text string) (physical, bool) {
	p.rest, p.depth = text, 0
	u, ok := p.product()
	return u, ok && p.rest == ""
}

// product reads factors: multiplied by blanks, dots or asterisks, and divided by slashes, from left to right. A unit
// with an offset loses it in a product with other units. It is no known unit if it has only a number as a factor: UDUNITS
// has other offsets for 10 degC.
func (p *unitParser) product() (physical, bool) {
	out, ok := p.power()
	shifted, isProduct := out, false
	for ok && p.rest != "" && p.rest[0] != ')' {
		rest, over, isOperator := cutOperator(p.rest)
		if !isOperator {
			return out, false
		}
		p.rest = rest
		var next physical
		if next, ok = p.power(); ok {
			isProduct = true
			if next.offset != nil {
				shifted = next
			}
			out, ok = out.times(next, over)
		}
	}
	return out, ok && !(isProduct && shifted.offset != nil && out.powers == shifted.powers)
}

// times returns u × v^n.
func (u *physical) times(v physical, n int) (physical, bool) {
	out := physical{factor: new(big.Rat).Mul(u.factor, powerOf(v.factor, n)), powers: u.powers}
	for i := range out.powers {
		out.powers[i] += n * v.powers[i]
		if out.powers[i] < -maxPower || out.powers[i] > maxPower {
			return out, false
		}
	}
	return out, max(out.factor.Num().BitLen(), out.factor.Denom().BitLen()) <= 4096
}

// maxPower is the largest power of a unit.
const maxPower = 99

// power reads a word, a number or a product in parentheses, and its integer power.
func (p *unitParser) power() (out physical, ok bool) {
	if inner, isGroup := strings.CutPrefix(p.rest, "("); isGroup {
		if p.depth++; p.depth > 8 {
			return out, false
		}
		p.rest = inner
		if out, ok = p.product(); !ok || !strings.HasPrefix(p.rest, ")") {
			return out, false
		}
		p.rest = p.rest[1:]
	} else if number := leadingNumber(p.rest); number != "" {
		out.factor, ok = new(big.Rat).SetString(number)
		if p.rest = p.rest[len(number):]; !ok || out.factor.Sign() == 0 {
			return out, false
		}
	} else {
		end := strings.IndexFunc(p.rest, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("_%°", r) })
		if end < 0 {
			end = len(p.rest)
		}
		if out, ok = p.words.find(p.rest[:end]); !ok {
			return out, false
		}
		p.rest = p.rest[end:]
	}
	n, rest, ok := cutPower(p.rest)
	if p.rest = rest; !ok || n == 1 {
		return out, ok
	}
	one := physical{factor: big.NewRat(1, 1)}
	return one.times(out, n)
}

// leadingNumber returns the decimal number at the start of a text, such as 1e-3.
func leadingNumber(text string) string {
	digits := func(from int) int {
		for from < len(text) && text[from] >= '0' && text[from] <= '9' {
			from++
		}
		return from
	}
	end := digits(0)
	if end == 0 {
		return ""
	}
	if end < len(text) && text[end] == '.' {
		end = digits(end + 1)
	}
	if end < len(text) && (text[end] == 'e' || text[end] == 'E') {
		from := end + 1
		if from < len(text) && (text[from] == '-' || text[from] == '+') {
			from++
		}
		if to := digits(from); to > from && to-from <= 2 {
			end = to
		}
	}
	return text[:end]
}

// cutPower removes the power at the start of a text: 2, -2, ^2 or **2. It is 1 if there is none.
func cutPower(text string) (power int, rest string, ok bool) {
	digits, raised := strings.CutPrefix(text, "^")
	if !raised {
		digits, raised = strings.CutPrefix(text, "**")
	}
	end := 0
	for end < len(digits) && (digits[end] >= '0' && digits[end] <= '9' || end == 0 && digits[0] == '-') {
		end++
	}
	if end == 0 {
		return 1, text, !raised
	}
	power, err := strconv.Atoi(digits[:end])
	rest = digits[end:]
	isFraction := len(rest) > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9' // m2.1
	return power, rest, err == nil && power != 0 && power >= -maxPower && power <= maxPower && !isFraction
}

// UnitKey returns a key for a unit. Two texts have the same key only if they are the same unit, as UDUNITS reads them:
// m s-1 and m/s, hPa and mbar, K and degrees_K. The key is empty for 1 and for no units. If the text is no unit of the
// table, it is the text.
func UnitKey(text string) string {
	u, ok := parseUnit(text)
	if !ok {
		text = strings.TrimSpace(text)
		switch folded := strings.ToLower(text); {
		case noUnit[folded]:
			return ""
		case anyCase[folded]: // others may differ by a prefix: mBq is not MBq
			return folded
		}
		return text
	}
	key := u.key()
	if shown, ok := words().spoken[key]; ok {
		return shown
	}
	return key
}

// Linear converts numbers of one unit to another: x × Times / Over + Plus. Of Times and Over at most one is not whole, so
// that most conversions round once: 92500 Pa are 92500 × 1 / 100 hPa.
type Linear struct{ Times, Over, Plus float64 }

// Apply converts a number. Go must not fuse the operations, which would round differently on other machines.
func (l Linear) Apply(x float64) float64 { return float64(float64(x*l.Times)/l.Over) + l.Plus }

// LinearUnits returns the conversion of numbers from one unit to another. It returns false if one of the units is
// unknown, or if they measure different things.
func LinearUnits(from, to string) (out Linear, ok bool) {
	a, known := parseUnit(from)
	b, alsoKnown := parseUnit(to)
	pi := slices.Index(baseUnits, "π")
	turns := a.powers[pi] - b.powers[pi]
	if a.powers[pi] = b.powers[pi]; !known || !alsoKnown || a.powers != b.powers {
		return out, false
	}
	// In base units, x of a are (x + a.offset) × a.factor.
	ratio := new(big.Rat).Quo(a.factor, b.factor)
	shift := new(big.Rat)
	if a.offset != nil {
		shift.Mul(a.offset, ratio)
	}
	if b.offset != nil {
		shift.Sub(shift, b.offset)
	}
	out.Times, _ = new(big.Rat).SetInt(ratio.Num()).Float64()
	out.Over, _ = new(big.Rat).SetInt(ratio.Denom()).Float64()
	out.Plus, _ = shift.Float64()
	out.Times *= math.Pow(math.Pi, float64(turns))
	return out, true
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
