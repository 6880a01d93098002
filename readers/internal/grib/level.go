package grib

import (
	"math"

	"varve/readers/internal/grib/internal/concepts"
)

// Level is a level, or a layer if Top and Bottom differ.
type Level struct {
	Type        string  // key typeOfLevel of ecCodes
	Value       float64 // key level of ecCodes
	Top, Bottom float64
}

// layers1 has the types of levels of edition 1 that store a top and a bottom, one octet each.
var layers1 = map[int64]bool{101: true, 104: true, 106: true, 108: true, 110: true, 112: true, 114: true, 116: true, 120: true, 121: true, 128: true, 141: true}

// isLayer reports whether a field of edition 1 stores a top and a bottom.
func (f *Field) isLayer() bool {
	kind, _ := f.ident.Int("indicatorOfTypeOfLevel")
	return f.Edition == 1 && layers1[kind]
}

// fromBottom has the fixed surfaces for whose layers the key level of ecCodes is the bottom.
var fromBottom = map[int64]bool{114: true, 151: true, 152: true, 168: true}

// Level returns the level of a field, or false if it has none.
func (f *Field) Level() (Level, bool) {
	l, ok := f.level()
	if ok {
		l.Type = f.findTypeOfLevel()
	}
	return l, ok
}

// level is Level without the type. It sets f.pressure to Pa if a pressure is less than 1 hPa.
func (f *Field) level() (l Level, ok bool) {
	if f.Edition == 1 {
		if f.isLayer() {
			top, _ := f.param.Int("topLevel")
			bottom, ok := f.param.Int("bottomLevel")
			return Level{Value: float64(top), Top: float64(top), Bottom: float64(bottom)}, ok
		}
		n, ok := f.ident.Int("level")
		return Level{Value: float64(n), Top: float64(n), Bottom: float64(n)}, ok
	}
	first, ok := f.param.Int("typeOfFirstFixedSurface")
	if !ok {
		return l, false
	}
	second, _ := f.param.Int("typeOfSecondFixedSurface")
	l.Top = f.surface("First", first)
	l.Value, l.Bottom = l.Top, l.Top
	if second != 255 {
		l.Bottom = f.surface("Second", second)
		if first == second && fromBottom[first] {
			l.Value = l.Bottom
		}
	}
	return l, true
}

// Fixed surfaces that surface scales in a special way, code table 4.5.
const (
	isobaricSurface  = 100
	potentialSurface = 109
)

// surface returns the value of a fixed surface in the unit of ecCodes: a pressure of 100 Pa or more in whole hPa, and potential vorticity
// in 10⁻⁹ K m² kg⁻¹ s⁻¹.
func (f *Field) surface(which string, kind int64) float64 {
	name := which + "FixedSurface"
	value, ok := f.param.Int("scaledValueOf" + name)
	if !ok || f.param.Missing("scaledValueOf"+name) {
		return 0
	}
	v := float64(value)
	scale, _ := f.param.Int("scaleFactorOf" + name)
	given := !f.param.Missing("scaleFactorOf" + name)
	if given {
		if kind == potentialSurface {
			if scale -= 9; f.isTigge() {
				scale += 3
			}
		}
		for ; scale < 0 && v != 0; scale++ {
			v *= 10
		}
		for ; scale > 0 && v != 0; scale-- {
			v /= 10
		}
	}
	if kind == isobaricSurface && f.pressure == "hPa" {
		if whole := math.Trunc(v / 100); given && scale == 0 && whole == 0 {
			f.pressure = "Pa"
		} else {
			v = whole
		}
	}
	return v
}

// isTigge reports whether a field of edition 2 belongs to TIGGE.
func (f *Field) isTigge() bool {
	status, _ := f.ident.Int("productionStatusOfProcessedData")
	return f.Edition == 2 && (status == 4 || status == 5)
}

// typeOfLevel looks the key typeOfLevel of ecCodes up in the lists.
func (f *Field) typeOfLevel() string {
	name, ok := "", false
	if f.Edition == 2 {
		name, ok = concepts.Find("typeOfLevelConcept", f, f.lists("")...)
	} else {
		for _, folder := range []string{"grib1/localConcepts/" + f.Centre(), "grib1/localConcepts/ecmf"} {
			if name, ok = concepts.Find("typeOfLevel", f, concepts.List{Folder: folder}, concepts.List{Folder: "grib1"}); ok {
				break
			}
		}
	}
	if !ok {
		return "unknown"
	}
	return name
}
