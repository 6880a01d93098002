package coord

import (
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
)

// Meaning describes, from the attributes of a variable, what its elements mean.
type Meaning struct {
	Variable *manifest.Variable
	Nature   Nature
	Units    string   // the units of numbers, as spelt in the file
	Unit     string   // the same units in a normalized spelling; also empty for the unit 1
	Times    cf.Times // without elements
}

// Unknown is the meaning of a coordinate with a known length and unknown values.
var Unknown = &Meaning{}

// NewMeaning returns the meaning of the elements of a variable, or an error if its time units are invalid.
func NewMeaning(v *manifest.Variable) (*Meaning, error) {
	m := &Meaning{Variable: v, Nature: NatureOf(v)}
	var err error
	if m.Nature == Instant {
		m.Times, err = cf.TimesOf(v, None)
	} else {
		m.Units = TextOf(v, cf.UnitsName)
		m.Unit = cf.UnitKey(m.Units)
	}
	return m, err
}

// StatesUnits reports whether the file states units. A missing unit does not contradict another
// unit, but the unit 1 does.
func (m *Meaning) StatesUnits() bool { return m.Units != "" }

// NatureOf returns the nature of a variable's elements.
func NatureOf(v *manifest.Variable) Nature {
	if _, ok, err := cf.UnitsOf(v); ok && err == nil {
		return Instant
	}
	switch v.Type.Kind {
	case codec.Int, codec.Uint, codec.Bool, codec.DateTime, codec.TimeDelta:
		if scaled(v) {
			return Real
		}
		return Whole
	case codec.Float:
		return Real
	}
	return Text // or another type that can only be compared for equality
}

func scaled(v *manifest.Variable) bool {
	return manifest.Lookup(v.Attributes, "scale_factor") != nil || manifest.Lookup(v.Attributes, "add_offset") != nil
}

// MeaningKey returns a key that is equal for variables whose equal elements mean equal values.
func MeaningKey(v *manifest.Variable) string {
	bare := manifest.Variable{Type: v.Type}
	for _, name := range cf.MeaningAttributes {
		if a := manifest.Lookup(v.Attributes, name); a != nil {
			bare.Attributes = append(bare.Attributes, *a)
		}
	}
	h := manifest.Header{Variables: []*manifest.Variable{&bare}}
	return string(h.AppendKey(nil))
}

// SameMeaning reports whether equal elements of two variables mean equal values.
func SameMeaning(v, w *manifest.Variable) bool {
	if !v.Type.Equal(w.Type) {
		return false
	}
	for _, name := range cf.MeaningAttributes {
		if !SameAttribute(manifest.Lookup(v.Attributes, name), manifest.Lookup(w.Attributes, name)) {
			return false
		}
	}
	return true
}

// SameAttribute reports whether two attributes have equal types and values. Either may be nil.
func SameAttribute(a, b *manifest.Attribute) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Type.Equal(b.Type) && string(a.Data) == string(b.Data) && slices.Equal(a.Texts, b.Texts) &&
		a.JSON == b.JSON && a.Unreadable == b.Unreadable
}

// RootAttribute returns an attribute of the root group, or nil. The groups may be nil.
func RootAttribute(g *manifest.GroupAttributes, name string) *manifest.Attribute {
	return manifest.Lookup(RootAttributes(g), name)
}

// RootAttributes returns the attributes of the root group.
func RootAttributes(g *manifest.GroupAttributes) []manifest.Attribute {
	if g == nil {
		return nil
	}
	i := slices.IndexFunc(g.Groups, func(g manifest.Group) bool { return g.Path == "/" })
	if i < 0 {
		return nil
	}
	return g.Groups[i].Attributes
}

// ElementsOf returns the number of elements of a variable.
func ElementsOf(v *manifest.Variable) int64 { return Product(v.Shape) }

// Product returns the number of elements of a shape. It does not overflow for variables, because check refuses larger
// ones when the planner makes classes.
func Product(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	return n
}

// None holds the values of variables without elements, and of variables that were never written.
var None = &manifest.Values{}
