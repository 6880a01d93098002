package planner

import (
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
)

// meaning describes, from the attributes of a variable, what its elements mean.
type meaning struct {
	v      *manifest.Variable
	nature nature
	units  string   // the units of numbers, as spelt in the file
	unit   string   // the same units in a normalized spelling; also empty for the unit 1
	times  cf.Times // without elements
}

// unknown is the meaning of a coordinate with a known length and unknown values.
var unknown = &meaning{}

func newMeaning(v *manifest.Variable) (*meaning, error) {
	m := &meaning{v: v, nature: natureOf(v)}
	var err error
	if m.nature == instant {
		m.times, err = cf.TimesOf(v, none)
	} else {
		m.units = textOf(v, cf.UnitsName)
		m.unit = cf.UnitKey(m.units)
	}
	return m, err
}

// statesUnits reports whether the file states units. A missing unit does not contradict another
// unit, but the unit 1 does.
func (m *meaning) statesUnits() bool { return m.units != "" }

// natureOf returns the nature of a variable's elements.
func natureOf(v *manifest.Variable) nature {
	if _, ok, err := cf.UnitsOf(v); ok && err == nil {
		return instant
	}
	switch v.Type.Kind {
	case codec.Int, codec.Uint, codec.Bool, codec.DateTime, codec.TimeDelta:
		if scaled(v) {
			return real
		}
		return whole
	case codec.Float:
		return real
	}
	return text // or another type that can only be compared for equality
}

func scaled(v *manifest.Variable) bool {
	return manifest.Lookup(v.Attributes, "scale_factor") != nil || manifest.Lookup(v.Attributes, "add_offset") != nil
}

// interned finds equal coordinates, so that a million files with one coordinate share it.
type interned struct {
	files   []*manifest.File
	meaning map[*manifest.Variable]int // index into meant, for each variable
	byKey   map[string]int             // index into meant, by meaningKey
	meant   []*meaning
	coords  map[meant]int32
}

type meant struct {
	meaning int
	values  *manifest.Values
}

func (in *interned) add(d *dim, file int32, v *manifest.Variable, values *manifest.Values) error {
	m, ok := in.meaning[v]
	if !ok {
		key := meaningKey(v)
		if m, ok = in.byKey[key]; !ok {
			made, err := newMeaning(v)
			if err != nil {
				return err
			}
			m = len(in.meant)
			in.meant = append(in.meant, made)
			in.byKey[key] = m
		}
		in.meaning[v] = m
	}
	at, ok := in.coords[meant{m, values}]
	if !ok {
		at = int32(len(d.coords))
		d.coords = append(d.coords, &coord{meaning: in.meant[m], values: values, rep: file})
		in.coords[meant{m, values}] = at
	}
	d.of[file] = at
	c := d.coords[at]
	c.files++
	if c.rep != file && natural(in.files[file].URL, in.files[c.rep].URL) < 0 {
		c.rep = file
	}
	return nil
}

// newInterned returns an empty interned.
func newInterned(files []*manifest.File) *interned {
	return &interned{files: files, meaning: map[*manifest.Variable]int{}, byKey: map[string]int{}, coords: map[meant]int32{}}
}

// meaningKey returns a key that is equal for variables whose equal elements mean equal values.
func meaningKey(v *manifest.Variable) string {
	bare := manifest.Variable{Type: v.Type}
	for _, name := range cf.MeaningAttributes {
		if a := manifest.Lookup(v.Attributes, name); a != nil {
			bare.Attributes = append(bare.Attributes, *a)
		}
	}
	h := manifest.Header{Variables: []*manifest.Variable{&bare}}
	return string(h.AppendKey(nil))
}

// sameMeaning reports whether equal elements of two variables mean equal values.
func sameMeaning(v, w *manifest.Variable) bool {
	if !v.Type.Equal(w.Type) {
		return false
	}
	for _, name := range cf.MeaningAttributes {
		if !sameAttribute(manifest.Lookup(v.Attributes, name), manifest.Lookup(w.Attributes, name)) {
			return false
		}
	}
	return true
}

func sameAttribute(a, b *manifest.Attribute) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Type.Equal(b.Type) && string(a.Data) == string(b.Data) && slices.Equal(a.Texts, b.Texts) &&
		a.JSON == b.JSON && a.Unreadable == b.Unreadable
}
