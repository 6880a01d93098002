package keys_test

import (
	"testing"

	"varve/codec/grib/keys"
)

// TestRead reads a product definition with a list, and one whose list is in the middle.
func TestRead(t *testing.T) {
	section := make([]byte, 80)
	section[9], section[10] = 3, 5
	section[9+32] = 2                      // numberOfTimeRanges of template 4.8
	section[9+37] = 1                      // typeOfStatisticalProcessing
	section[9+37+12] = 4                   // typeOfStatisticalProcessing of the second range
	section[9+9+3], section[9+9] = 6, 0x80 // forecastTime, which is signed
	v := keys.Read("4.8", section, 9)
	for _, c := range []struct {
		key  string
		nth  int
		want int64
		ok   bool
	}{
		{"parameterCategory", 0, 3, true}, {"parameterNumber", 0, 5, true}, {"forecastTime", 0, -6, true},
		{"numberOfTimeRanges", 0, 2, true}, {"typeOfStatisticalProcessing", 0, 1, true}, {"typeOfStatisticalProcessing", 1, 4, true},
		{"typeOfStatisticalProcessing", 2, 0, false}, {"perturbationNumber", 0, 0, false},
	} {
		if got, ok := v.IntAt(c.key, c.nth); got != c.want || ok != c.ok {
			t.Errorf("%s %d: %d, %v; want %d, %v", c.key, c.nth, got, ok, c.want, c.ok)
		}
	}
	if v := keys.Read("4.8", section[:20], 9); v.Has("typeOfFirstFixedSurface") || !v.Has("parameterNumber") {
		t.Error("a value after the end of the section is found, or a value before it is not found")
	}
}

func TestMissing(t *testing.T) {
	v := keys.Read("4.horizontal", []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 255}, 0)
	if !v.Missing("scaledValueOfFirstFixedSurface") || v.Missing("typeOfFirstFixedSurface") || v.Missing("scaledValueOfSecondFixedSurface") {
		t.Error("Missing must be true only for the optional value with all bits set")
	}
}
