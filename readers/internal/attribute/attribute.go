// Package attribute makes attributes and small coordinates for readers whose formats have no types of their own for them.
package attribute

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"

	"varve/readers"
	"varve/readers/internal/crs"
)

// Double is the type of computed coordinates and of numbers in attributes.
var Double = readers.IEEEFloat(8, readers.LittleEndian)

// Text returns an attribute of a text.
func Text(name, s string) readers.Attribute {
	t := &readers.Type{Class: readers.String, Size: max(len(s), 1), Padding: readers.NullPadded, UTF8: true}
	return readers.Attribute{Name: name, Value: readers.Value{Type: t, Texts: [][]byte{[]byte(s)}}}
}

// Texts returns an attribute of a list of texts.
func Texts(name string, list []string) readers.Attribute {
	a := readers.Attribute{Name: name, Value: readers.Value{Type: &readers.Type{Class: readers.VarLen, IsText: true, UTF8: true, Size: 16}, Shape: []uint64{uint64(len(list))}}}
	for _, s := range list {
		a.Texts = append(a.Texts, []byte(s))
	}
	return a
}

// Numbers returns an attribute of one number, or of a list of them.
func Numbers(name string, list ...float64) readers.Attribute {
	a := readers.Attribute{Name: name, Value: readers.Value{Type: Double, Data: Doubles(list)}}
	if len(list) != 1 {
		a.Shape = []uint64{uint64(len(list))}
	}
	return a
}

// Integers returns an attribute of one integer, or of a list of them.
func Integers(name string, list ...int64) readers.Attribute {
	a := readers.Attribute{Name: name, Value: readers.Value{Type: readers.Int(8, readers.LittleEndian, true)}}
	for _, v := range list {
		a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(v))
	}
	if len(list) != 1 {
		a.Shape = []uint64{uint64(len(list))}
	}
	return a
}

// Doubles returns numbers in memory form.
func Doubles(list []float64) (data []byte) {
	for _, v := range list {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return data
}

// Element returns a number that a text says in the memory form of a type, or nil if the type does not have it.
func Element(text string, t *readers.Type) []byte {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && f == 0 {
		return nil
	}
	switch {
	case t.Class == readers.Float && t.Size == 4:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f)))
	case t.Class == readers.Float && t.Size == 8:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
	case t.Class != readers.Integer || math.IsNaN(f) || math.IsInf(f, 0):
		return nil
	}
	// A float64 does not have all integers of 64 bits.
	number, ok := new(big.Float).SetPrec(200).SetString(text)
	if !ok || !number.IsInt() {
		return nil
	}
	whole, _ := number.Int(nil)
	low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(8*t.Size))
	if t.Signed {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	if whole.Cmp(low) < 0 || whole.Cmp(high) >= 0 {
		return nil
	}
	bits := uint64(whole.Int64())
	if whole.Sign() > 0 {
		bits = whole.Uint64()
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:t.Size]
}

// Missing returns the attribute _FillValue of an element in memory form.
func Missing(element []byte, t *readers.Type) readers.Attribute {
	own := *t
	own.Order = readers.LittleEndian
	return readers.Attribute{Name: "_FillValue", Value: readers.Value{Type: &own, Data: element}}
}

// OfSystem returns the attributes of the variable that describes a coordinate reference system.
func OfSystem(s *crs.System) (list []readers.Attribute) {
	for _, a := range s.GridMapping() {
		switch v := a.Value.(type) {
		case float64:
			list = append(list, Numbers(a.Name, v))
		case []float64:
			list = append(list, Numbers(a.Name, v...))
		case string:
			list = append(list, Text(a.Name, v))
		}
	}
	if text := s.WKT(); text != "" {
		list = append(list, Text("crs_wkt", text), Text("spatial_ref", text))
	}
	return list
}

// GeoTransform returns the attribute of a transform, as GDAL writes it.
func GeoTransform(list []float64) readers.Attribute {
	words := make([]string, len(list))
	for i, f := range list {
		words[i] = strconv.FormatFloat(f, 'g', -1, 64)
	}
	return Text("GeoTransform", strings.Join(words, " "))
}

// OfAxis returns the attributes of the coordinate x or y. The system may be nil.
func OfAxis(name string, s *crs.System) []readers.Attribute {
	standard, unit := "projection_"+name+"_coordinate", ""
	if s != nil && s.Horizontal() != nil && s.Horizontal().Kind == crs.Geographic {
		standard, unit = map[string]string{"x": "longitude", "y": "latitude"}[name], map[string]string{"x": "degrees_east", "y": "degrees_north"}[name]
	} else if s != nil && s.Kind != crs.Engineering {
		if axes := s.Horizontal().Axes; len(axes) > 0 {
			unit = unitOf(axes[0].Unit)
		}
	}
	list := []readers.Attribute{Text("axis", map[string]string{"x": "X", "y": "Y"}[name])}
	if s != nil {
		list = append(list, Text("standard_name", standard))
	}
	if unit != "" {
		list = append(list, Text("units", unit))
	}
	return list
}

// unitOf returns a unit of length as UDUNITS names it.
func unitOf(u crs.Unit) string {
	switch {
	case u.Factor == 1: // ESRI's programs write Meter
		return "m"
	case u.Name == "US survey foot":
		return "US_survey_foot"
	}
	return u.Name
}
