package cf

import "testing"

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
		{"hPa", "mbar", true}, {"hPa", "millibars", true}, {"hPa", "mb", false}, {"hPa", "hpa", false}, {"hPa", "Pa", false},
		{"K", "kelvin", true}, {"K", "degrees_K", true}, {"K", "degC", false}, {"degC", "degrees_Celsius", true}, {"°C", "celsius", true},
		{"1", "", true}, {"1", "%", false}, {"%", "percent", true}, {"kg kg-1", "1", true}, {"1", "level", false},
		{"s-1", "1/s", true}, {"s-1", "s^-1", true}, {"s-1", "second**-1", true}, {"s-1", "1 / s", true}, {"s-1", "s", false}, {"s-1", "s -1", false},
		{"m s-1", "m/s", true}, {"m s-1", "meters/second", true}, {"m s-1", "s-1.m", true}, {"m s-1", "ms-1", false}, {"m/s/s", "m s-2", true},
		{"kg m-2 s-1", "kg/m2/s", true}, {"kg/m s", "kg s m-1", true}, {"kg/m s", "kg m-1 s-1", false},
		{"m2", "m^2", true}, {"m2", "m**2", true}, {"m2", "m", false}, {"m2", "m 2", false}, {"m0", "1", false}, {"m2.1", "m2", false},
		{"degC degC-1", "1", false}, {"degC m", "celsius m", false}, {"m *s", "m s", false}, {"m/", "m", false}, {"/m", "m-1", false}, {"1/", "1", false}, {"1 m", "m", false}, {"1", "1.", false}, {"% m", "m percent", false}, {"m^", "m", false},
		{"m999", "metre999", false}, {"some words", "words some", false}, {"m-", "m", false}, {"", "-", false},
	} {
		if got := UnitKey(c.a) == UnitKey(c.b); got != c.same {
			t.Errorf("%q and %q: %v, by %q and %q", c.a, c.b, got, UnitKey(c.a), UnitKey(c.b))
		}
	}
}
