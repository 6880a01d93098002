package zarrjson

import (
	"slices"

	"varve/grid"
)

// growthField keeps the growth policies of an array. It is no part of any specification,
// so it may be ignored: other programs that resize the array use their own policy and
// keep the field.
//
//	"varve_growth": {"must_understand": false, "axes": [
//	  {"policy": "pattern", "edges": [31, 28, [31, 2]]},
//	  {"policy": "repeat", "size": 25},
//	  {"policy": "one_chunk"},
//	  {"policy": "list"},     the list is the edges of the grid past the extent
//	  null                    the default: see grid.Repeat
//	]}
const growthField = "varve_growth"

// Growth returns the growth policy of each axis that the document keeps. Axes without one
// have the default.
func (a *Array) Growth() ([]grid.Growth, error) {
	growth := make([]grid.Growth, len(a.Shape))
	i := slices.IndexFunc(a.Extra, func(f ExtraField) bool { return f.Name == growthField })
	if i < 0 {
		return growth, nil
	}
	v, err := parseValue(a.Extra[i].JSON)
	if err != nil {
		return nil, atPath(growthField, err)
	}
	v.path = growthField
	o, err := v.readObject("an object")
	if err != nil {
		return nil, err
	}
	o.take("must_understand")
	axes, err := o.need("axes")
	if err != nil {
		return nil, err
	}
	list, err := axes.readList("a list with a policy or null for each axis")
	if err != nil {
		return nil, err
	}
	if len(list) != len(growth) {
		return nil, corruptError(axes.path, "has %d axes, but the shape has %d", len(list), len(growth))
	}
	for axis, v := range list {
		if growth[axis], err = readGrowth(v); err != nil {
			return nil, err
		}
	}
	return growth, o.refuseRest("must_understand, axes")
}

func readGrowth(v value) (grid.Growth, error) {
	if v.isNull() {
		return grid.Repeat(), nil
	}
	o, err := v.readObject("a policy or null")
	if err != nil {
		return grid.Growth{}, err
	}
	name, err := o.needText("policy")
	if err != nil {
		return grid.Growth{}, err
	}
	var growth grid.Growth
	allowed := "policy"
	switch grid.PolicyName(name) {
	case grid.PolicyRepeat:
		size, err := o.needInteger("size", 1)
		if err != nil {
			return grid.Growth{}, err
		}
		growth, allowed = grid.RepeatSize(size), "policy, size"
	case grid.PolicyOneChunk:
		growth = grid.OneChunk()
	case grid.PolicyList:
		growth = grid.Append()
	case grid.PolicyPattern:
		edges, err := o.need("edges")
		if err != nil {
			return grid.Growth{}, err
		}
		if !edges.startsWith('[') {
			return grid.Growth{}, edges.refuse("a list of edges")
		}
		runs, err := readEdges(edges)
		if err != nil {
			return grid.Growth{}, err
		}
		growth, allowed = grid.Cycle(runs...), "policy, edges"
	default:
		return grid.Growth{}, unsupportedError(joinPath(v.path, "policy"), `%q is not a known growth policy; varve has "repeat", "one_chunk", "list" and "pattern"`, abbreviate(name))
	}
	return growth, o.refuseRest(allowed)
}

// SetGrowth keeps growth policies with the document, one for each axis. Policies that are
// all the default remove the field. The edges of a list are not kept: they must be edges
// of the chunk grid past the extent.
func (a *Array) SetGrowth(growth []grid.Growth) error {
	if len(growth) != len(a.Shape) {
		return corruptError(growthField, "has %d axes, but the shape has %d", len(growth), len(a.Shape))
	}
	extra := slices.DeleteFunc(slices.Clone(a.Extra), func(f ExtraField) bool { return f.Name == growthField })
	if !slices.ContainsFunc(growth, func(g grid.Growth) bool { return !g.IsDefault() }) {
		a.Extra = extra
		return nil
	}
	raw, err := encode(Compact, func(w *writer) error { return writeGrowth(w, growth) })
	if err != nil {
		return err
	}
	a.Extra = append(extra, ExtraField{growthField, raw})
	return nil
}

func writeGrowth(w *writer, growth []grid.Growth) error {
	w.begin('{')
	w.name("must_understand")
	w.verbatim([]byte("false"))
	w.name("axes")
	w.begin('[')
	for axis, g := range growth {
		w.next()
		if g.IsDefault() {
			w.verbatim([]byte("null"))
			continue
		}
		if err := g.Check(); err != nil {
			return atPath(indexPath(growthField+".axes", axis), err)
		}
		name, size, edges := g.Policy()
		w.begin('{')
		w.name("policy")
		w.text(string(name))
		switch name {
		case grid.PolicyRepeat:
			w.member("size", size)
		case grid.PolicyPattern:
			w.name("edges")
			writeRuns(w, grid.Merge(slices.Values(edges)))
		}
		w.end('}')
	}
	w.end(']')
	w.end('}')
	return nil
}
