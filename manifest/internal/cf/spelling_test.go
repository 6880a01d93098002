package cf

import (
	"math"
	"testing"
)

// TestUnitKey checks pairs of units against UDUNITS 2.2, with which they were compared.
func TestUnitKey(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"m", "metre", true}, {"m", "meters", true}, {" m ", "m", true}, {"m", "M", false}, {"m", "mm", false}, {"m", "min", false},
		{"degrees_north", "degree_north", true}, {"degrees_north", "degreeN", true}, {"degrees_north", "degrees_N", true},
		{"degrees_north", "degrees_east", false}, {"degrees_north", "degrees", false}, {"degrees_east", "degreesE", true},
		{"degrees", "deg", false}, {"degrees", "radian", false},
		{"hPa", "mbar", true}, {"hPa", "millibars", true}, {"hPa", "mbarn", false}, {"hPa", "hpa", false}, {"hPa", "Pa", false},
		{"K", "kelvin", true}, {"K", "degrees_K", true}, {"K", "degC", false}, {"degC", "degrees_Celsius", true}, {"°C", "celsius", true},
		{"1", "", true}, {"1", "%", false}, {"%", "percent", true}, {"kg kg-1", "1", true}, {"1", "level", false},
		{"s-1", "1/s", true}, {"s-1", "s^-1", true}, {"s-1", "second**-1", true}, {"s-1", "1 / s", true}, {"s-1", "s", false}, {"s-1", "s -1", false},
		{"m s-1", "m/s", true}, {"m s-1", "meters/second", true}, {"m s-1", "s-1.m", true}, {"m s-1", "ms-1", false}, {"m/s/s", "m s-2", true},
		{"kg m-2 s-1", "kg/m2/s", true}, {"kg/m s", "kg s m-1", true}, {"kg/m s", "kg m-1 s-1", false},
		{"m2", "m^2", true}, {"m2", "m**2", true}, {"m2", "m", false}, {"m2", "m 2", false}, {"m0", "1", false}, {"m2.1", "m2", false},
		{"degC degC-1", "1", true}, {"W m-2 degC-1", "W m-2 K-1", true}, {"degC m", "celsius m", true}, {"degC", "degC2", false}, {"m *s", "m s", false}, {"m/", "m", false}, {"/m", "m-1", false}, {"1/", "1", false},
		{"1 m", "m", true}, {"1", "1.", true}, {"% m", "0.01 m", true}, {"m^", "m", false}, {"100 Pa", "hPa", true}, {"N m", "J", true}, {"J kg-1", "m2 s-2", true}, {"kg/(m2 s)", "kg m-2 s-1", true},
		{"kilometers", "km", true}, {"Kelvin", "K", true}, {"Degrees_North", "degrees_north", true}, {"KM", "km", false}, {"0.001", "g kg-1", true}, {"g/kg", "1", false}, {"psu", "PSU", true}, {"psu", "1", false},
		{"degree_Celsius", "degC", true}, {"min", "milliinch", false}, {"kt", "kilotonne", false}, {"((((((((((m))))))))))", "m", false}, {"m 0", "0", false}, {"1e999999999", "1", false}, {"a", "are", false}, {"C", "degC", false},
		{"m999", "metre999", false}, {"some words", "words some", false}, {"m-", "m", false}, {"", "-", true},
		{"1", "Dimensionless", true}, {"unitless", "none", true}, {"none", "m", false}, {"deg C", "degC", true}, {"Degrees C", "celsius", true}, {"degrees_celsius", "degrees Celsius", true}, {"deg K", "K", true},
		{"mb", "hPa", true}, {"millibars", "mbar", true}, {"Kg", "kg", false}, {"M", "m", false}, {"DU", "du", true}, {"mBq m-3", "MBq m-3", false}, {"meV", "MeV", false}, {"10 degC", "10 K", false}, {"1 degC", "K", false}, {"degC 10", "10 K", false}, {"W degC-1", "W K-1", true},
	} {
		if got := UnitKey(c.a) == UnitKey(c.b); got != c.same {
			t.Errorf("%q and %q: %v, by %q and %q", c.a, c.b, got, UnitKey(c.a), UnitKey(c.b))
		}
	}
}

// TestLinearUnits checks conversions against UDUNITS 2.2.28, with which they were compared: udunits2 -H FROM -W TO.
func TestLinearUnits(t *testing.T) {
	for _, c := range []struct {
		from, to      string
		scale, offset float64
	}{
		{"degC", "K", 1, 273.15}, {"K", "degC", 1, -273.15}, {"K", "kelvin", 1, 0}, {"degF", "degC", 5. / 9, -160. / 9}, {"degC", "degF", 1.8, 32}, {"degF", "K", 5. / 9, 459.67 * 5 / 9},
		{"mK", "K", 0.001, 0}, {"hPa", "Pa", 100, 0}, {"Pa", "hPa", 0.01, 0}, {"mbar", "Pa", 100, 0}, {"dbar", "Pa", 10000, 0}, {"atm", "hPa", 1013.25, 0}, {"kt", "m s-1", 1852. / 3600, 0}, {"km h-1", "m s-1", 1 / 3.6, 0},
		{"g kg-1", "1", 0.001, 0}, {"percent", "1", 0.01, 0}, {"1", "%", 100, 0}, {"", "%", 100, 0}, {"kg m-2 s-1", "g m-2 day-1", 86400000, 0}, {"mm/day", "m s-1", 0.001 / 86400, 0}, {"degree", "rad", math.Pi / 180, 0},
		{"radian", "degrees", 180 / math.Pi, 0}, {"ug m-3", "kg m-3", 1e-9, 0}, {"µm", "m", 1e-6, 0}, {"mol m-3", "mmol l-1", 1, 0}, {"J m-2", "W h m-2", 1. / 3600, 0}, {"Sverdrup", "m3 s-1", 1e6, 0},
		{"cm", "feet", 0.01 / 0.3048, 0}, {"hour", "s", 3600, 0},
	} {
		got, ok := LinearUnits(c.from, c.to)
		offset := got.Apply(0)
		scale := got.Times / got.Over
		if near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-15*math.Abs(b) }; !ok || !near(scale, c.scale) || !near(offset, c.offset) {
			t.Errorf("%s to %s: × %v + %v, %v; want × %v + %v", c.from, c.to, scale, offset, ok, c.scale, c.offset)
		}
	}
	for _, c := range [][2]string{{"m", "s"}, {"degC", "m"}, {"psu", "1"}, {"mm/day", "kg m-2 s-1"}, {"degrees_north", "degrees_east"}, {"degrees_north", "degrees"}, {"dBZ", "1"}, {"1 degC", "K"}, {"0.1 degC", "degC"}, {"(10 degC) 2", "K"}, {"degC %", "K"}, {"rad", "1"}, {"s", "s-1"}} {
		if got, ok := LinearUnits(c[0], c[1]); ok {
			t.Errorf("%s to %s: %+v, want none", c[0], c[1], got)
		}
	}
}

// FuzzUnitKey checks that the key of a unit that was parsed is a unit with the same key.
func FuzzUnitKey(f *testing.F) {
	for _, seed := range []string{"kg m-2 s-1", "1e-3 (m/s)^2", "degC", "% m", "W/(m2 K)", "YA10"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if u, ok := parseUnit(text); ok && u.offset == nil {
			if key := UnitKey(text); UnitKey(key) != key {
				t.Errorf("%q has the key %q, which has the key %q", text, key, UnitKey(key))
			}
		}
	})
}
