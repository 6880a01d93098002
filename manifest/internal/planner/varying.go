package planner

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
)

// Files of one class may differ in values of attributes that the planner does not interpret, in the packing of
// variables of two or more dimensions, and in the date that times count from: only schemas and values depend on them.
// So an archive in which each file has its own scale_factor and actual_range, or counts from its own begin, has few
// classes. This file says which values may vary in a class, and finds the variables of its files.

// varying decides which values of attributes may vary in a class.
type varying struct {
	env     *env
	mayVary map[*manifest.Header][][]bool // for each base of headers, by variable and attribute
	isFixed bool                          // no packing may vary
	key     []byte
}

func newVarying(p *env) *varying {
	return &varying{env: p, mayVary: map[*manifest.Header][][]bool{},
		// A file's packing decides whether it is repacked, and add_offset may have a finding of its own.
		isFixed: len(p.opts.Repack) > 0 || slices.ContainsFunc(p.files, isCalibrated)}
}

// keyOf returns a key that is equal for headers that may be in one class, among those with the same base.
func (x *varying) keyOf(h *manifest.FileHeader) string {
	base := h.Base()
	may := x.mayVary[base]
	if may == nil {
		may = x.attributesOf(base)
		x.mayVary[base] = may
	}
	x.key = x.key[:0]
	for d := range h.Differences() {
		if may[d.Variable][d.Attribute] {
			a, v := h.Attribute(d), base.Variables[d.Variable]
			of, units := &v.Attributes[d.Attribute], a.Name == cf.UnitsName
			if units {
				v = h.Variable(d.Variable) // with its own units
			}
			if isFree(v, &a) && (!units || timeUnit(&a) == timeUnit(of)) {
				continue
			}
		}
		x.key = binary.AppendUvarint(binary.AppendUvarint(x.key, uint64(d.Variable)), uint64(d.Attribute))
		x.key = append(binary.AppendUvarint(x.key, uint64(len(d.Value))), d.Value...)
	}
	return string(x.key)
}

// attributesOf returns for each attribute of a header whether its value may vary in a class.
func (x *varying) attributesOf(h *manifest.Header) [][]bool {
	parents := cf.ParentsOf(h)
	may := make([][]bool, len(h.Variables))
	for i, v := range h.Variables {
		may[i] = make([]bool, len(v.Attributes))
		packs := !x.isFixed && mayVaryPacking(v, parents)
		counts := len(x.env.opts.NewDims) == 0 && v.Storage.Layout != manifest.Parted && !hasBounds(v, parents)
		for k := range v.Attributes {
			a := &v.Attributes[k]
			may[i][k] = isFree(v, a) && (packs || !isPacking(a.Name)) && (counts || a.Name != cf.UnitsName)
		}
	}
	return may
}

// mayVaryPacking reports whether the packing of a variable may vary in a class. Coordinates, scalars, times and virtual
// variables have their values or their fill values converted by class.
func mayVaryPacking(v *manifest.Variable, parents cf.Parents) bool {
	if len(v.Shape) < 2 || isOne(v.Shape) || v.Storage.Layout == manifest.Parted || parents.Bounded(v) != nil {
		return false
	}
	_, isTime, err := cf.UnitsOf(v)
	return !isTime && err == nil
}

// hasBounds reports whether a variable has bounds, which take the units of the variable.
func hasBounds(v *manifest.Variable, parents cf.Parents) bool {
	for _, parent := range parents {
		if parent == v {
			return true
		}
	}
	return false
}

// timeUnit returns the unit of units of time: "days" of "days since 1990-01-01".
func timeUnit(a *manifest.Attribute) string {
	unit, _, _ := strings.Cut(a.Texts[0], " since ")
	return unit
}

// isOne reports whether a shape has one element.
func isOne(shape []int64) bool {
	return !slices.ContainsFunc(shape, func(n int64) bool { return n != 1 })
}

// varies reports whether the attributes of a variable differ between the files of a class.
func (c *class) varies(at int) bool { return at < len(c.differ) && c.differ[at] }

// addDifferences records in which variables a header differs from that of the class.
func (c *class) addDifferences(h *manifest.FileHeader) {
	if c.differ == nil {
		c.differ = make([]bool, h.Len())
	}
	for d := range differences(h, c.file) {
		c.differ[d.Variable] = true
	}
}

// differences yields the values in which two headers with the same base differ. Value is that of h, or "" if it has
// that of the base.
func differences(h, from *manifest.FileHeader) iter.Seq[manifest.Difference] {
	return func(yield func(manifest.Difference) bool) {
		others := slices.Collect(from.Differences())
		before := func(d, e manifest.Difference) bool {
			return d.Variable < e.Variable || d.Variable == e.Variable && d.Attribute < e.Attribute
		}
		skip := func(d manifest.Difference) bool {
			for len(others) > 0 && before(others[0], d) {
				o := others[0]
				if others = others[1:]; !yield(manifest.Difference{Variable: o.Variable, Attribute: o.Attribute}) {
					return false
				}
			}
			return true
		}
		for d := range h.Differences() {
			if !skip(d) {
				return
			}
			if len(others) > 0 && !before(d, others[0]) {
				same := others[0].Value == d.Value
				if others = others[1:]; same {
					continue
				}
			}
			if !yield(d) {
				return
			}
		}
		skip(manifest.Difference{Variable: from.Len()})
	}
}

// variants yields the files of a class in groups that have equal attributes of a variable, in the order of their first files.
// Several groups may have equal attributes.
func (p *survey) variants(class int32, at int) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		c := p.classes[class]
		if !c.varies(at) {
			yield(c.files)
			return
		}
		var list [][]int32
		// Differences identify attributes only among headers with one base, and equal headers of several scans have different
		// ones. membersFor merges equal variables.
		type attributes struct {
			base        *manifest.Header
			differences string
		}
		known := map[attributes]int{}
		for _, f := range c.files {
			h := p.env.files[f].Header
			key := attributes{h.Base(), h.DifferencesOf(at)}
			i, ok := known[key]
			if !ok {
				i = len(list)
				known[key] = i
				list = append(list, nil)
			}
			list[i] = append(list[i], f)
		}
		for _, files := range list {
			if !yield(files) {
				return
			}
		}
	}
}

// withAttributesOf returns a variable, which was made from variable `at` of a class, with the attributes that it has in a file of
// the class.
func (p *survey) withAttributesOf(class int32, at int, v *manifest.Variable, file int32) *manifest.Variable {
	c := p.classes[class]
	if !c.varies(at) {
		return v
	}
	own := p.env.files[file].Header.Variable(at).Attributes
	out := *v
	if of := c.header.Variables[at].Attributes; len(v.Attributes) == len(of) && &v.Attributes[0] == &of[0] {
		out.Attributes = own
		return &out
	}
	out.Attributes = slices.Clone(v.Attributes)
	for i := range out.Attributes {
		if name := out.Attributes[i].Name; isPacking(name) || name == cf.UnitsName || !isInterpreted(name) {
			if a := manifest.Lookup(own, name); a != nil {
				out.Attributes[i] = *a
			}
		}
	}
	return &out
}
