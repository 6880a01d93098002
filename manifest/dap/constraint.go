package dap

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ConstraintError is returned for a constraint expression that asks for what is not there, or has a wrong form.
type ConstraintError struct {
	Clause string
	Reason string
}

// Error quotes the clause.
func (e *ConstraintError) Error() string {
	clause := e.Clause
	if len(clause) > 200 {
		clause = clause[:200] + "…"
	}
	return fmt.Sprintf("constraint %q: %s", clause, e.Reason)
}

// slab is the part of a hyperslab along a dimension: the indices first, first+step, … up to last, which is included.
type slab struct{ first, step, last int64 }

// length returns the number of indices.
func (s slab) length() int64 {
	if s.last < s.first {
		return 0
	}
	return (s.last-s.first)/s.step + 1
}

// isEmpty reports whether a hyperslab has no elements.
func isEmpty(slabs []slab) bool {
	return slices.ContainsFunc(slabs, func(s slab) bool { return s.length() == 0 })
}

// whole returns the hyperslab of all elements.
func whole(v *variable) []slab {
	slabs := make([]slab, len(v.dims))
	for axis, d := range v.dims {
		slabs[axis] = slab{0, 1, d.length - 1}
	}
	return slabs
}

// elements returns the number of elements of a hyperslab, or the largest int64 if there are more.
func elements(slabs []slab) int64 {
	n := int64(1)
	for _, s := range slabs {
		high, low := bits.Mul64(uint64(n), uint64(s.length()))
		if n = int64(low); high > 0 || n < 0 {
			return math.MaxInt64
		}
	}
	return n
}

// choice is a variable of an answer.
type choice struct {
	*variable
	slabs []slab // of the array; nil if only maps of a Grid are chosen
	// maps are the hyperslabs of the maps of a Grid, by dimension; nil for maps that are not chosen, and for a plain array.
	maps [][]slab
	// isParts means that members of a Grid are chosen, and not the Grid.
	isParts bool
}

// leaf is an array of an answer.
type leaf struct {
	*variable
	slabs []slab
	of    *variable // the Grid that it is a member of, or nil
}

// leaves returns the arrays of a choice in the order in which they are sent.
func (c *choice) leaves() (out []leaf) {
	var of *variable
	if c.maps != nil {
		of = c.variable
	}
	if c.slabs != nil {
		out = append(out, leaf{c.variable, c.slabs, of})
	}
	for axis, slabs := range c.maps {
		if slabs != nil {
			out = append(out, leaf{c.variable.maps[axis], slabs, of})
		}
	}
	return out
}

// unescapings are the forms in which clients send a name: as it is, escaped once, escaped twice, or, in DAP4, with a backslash
// before some characters. netCDF-C sends two backslashes instead of a dot.
var unescapings = []func(string) string{
	func(s string) string { return s },
	unescape,
	func(s string) string { return unescape(unescape(s)) },
	func(s string) string { return backslashes.ReplaceAllString(unescape(s), "$1") },
	func(s string) string { return strings.ReplaceAll(unescape(s), "\\\\", ".") },
}

var (
	backslashes    = regexp.MustCompile(`\\(.)`)
	escapedBracket = regexp.MustCompile(`%5[Bb]`)
)

func unescape(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}

// find returns the variable with a name of a request.
func (d *Dataset) find(name string) *variable {
	for _, unescaped := range unescapings {
		plain := unescaped(name)
		if v := d.byPath["/"+strings.TrimPrefix(plain, "/")]; v != nil {
			return v
		}
		if v := d.byName2[plain]; v != nil {
			return v
		}
	}
	return nil
}

// findMember returns the axis of the map that a name of a request means, or -1 for the array.
func findMember(v *variable, name string) (axis int, ok bool) {
	for _, unescaped := range unescapings {
		name := strings.TrimPrefix(unescaped(name), "/")
		if name == v.name2 || "/"+name == v.path {
			return -1, true
		}
		for axis, m := range v.maps {
			if m != nil && (name == m.name2 || "/"+name == m.path) {
				return axis, true
			}
		}
	}
	return 0, false
}

// parse2 parses a constraint expression of DAP2, as it is in the query of a URL. It returns all variables for an empty one.
func (d *Dataset) parse2(query string) ([]*choice, error) {
	chosen := map[*variable]*choice{}
	projection, selection, _ := strings.Cut(query, "&")
	if selection != "" {
		return nil, &ConstraintError{"&" + selection, "conditions are for sequences, and the dataset has none; select by index, such as sst[0:1:9][3][4]"}
	}
	if projection == "" {
		for _, v := range d.variables {
			if v.omitted2 != "" {
				continue
			}
			if err := choose2(chosen, v, nil, nil, projection); err != nil {
				return nil, err
			}
		}
	}
	for clause := range strings.SplitSeq(projection, ",") {
		if projection == "" {
			break
		}
		if err := d.choose(chosen, clause, choose2); err != nil {
			return nil, err
		}
	}
	return d.inOrder(chosen), nil
}

// parse4 parses a constraint expression of DAP4, without the escapes of the query. It returns all variables for an empty one.
func (d *Dataset) parse4(expression string) ([]*choice, error) {
	chosen := map[*variable]*choice{}
	shared := map[string]string{} // slabs of shared dimensions, by path
	var clauses []string
	for clause := range strings.SplitSeq(expression, ";") {
		clause = strings.TrimSpace(clause)
		if name, slabs, ok := strings.Cut(clause, "="); ok && strings.HasPrefix(slabs, "[") {
			if err := d.share(shared, name, slabs, clause); err != nil {
				return nil, err
			}
		} else if clause != "" {
			clauses = append(clauses, clause)
		}
	}
	for _, clause := range clauses {
		err := d.choose(chosen, clause, func(chosen map[*variable]*choice, v *variable, member *int, slabs []slab, clause string) error {
			if member != nil {
				return &ConstraintError{clause, "DAP4 has no members of Grids; request " + v.path + " or its map"}
			}
			return choose4(chosen, v, slabs, shared, clause)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(clauses) == 0 {
		for _, v := range d.variables {
			if err := choose4(chosen, v, nil, shared, expression); err != nil {
				return nil, err
			}
		}
	}
	return d.inOrder(chosen), nil
}

// share notes the slab of a shared dimension.
func (d *Dataset) share(shared map[string]string, name, slabs, clause string) error {
	for _, g := range d.groups {
		for _, one := range g.dims {
			if one.path() != "/"+strings.TrimPrefix(unescape(name), "/") {
				continue
			}
			if _, err := parseSlabs(slabs, []dim{one}, clause); err != nil {
				return err
			}
			if old, ok := shared[one.path()]; ok && old != slabs {
				return &ConstraintError{clause, "the dimension is selected already"}
			}
			shared[one.path()] = slabs
			return nil
		}
	}
	return &ConstraintError{clause, "there is no dimension " + name}
}

// inOrder returns the chosen variables in the order of the dataset.
func (d *Dataset) inOrder(chosen map[*variable]*choice) (out []*choice) {
	for _, v := range d.variables {
		if c := chosen[v]; c != nil {
			out = append(out, c)
		}
	}
	return out
}

// choose parses a clause, a name and a hyperslab, and calls add with them. member is the axis of a map of a Grid, -1 for its
// array, or nil; slabs is nil if the clause has none.
func (d *Dataset) choose(chosen map[*variable]*choice, clause string, add func(chosen map[*variable]*choice, v *variable, member *int, slabs []slab, clause string) error) error {
	name, text := clause, ""
	v := d.find(name)
	if v == nil {
		if i := strings.Index(clause, "["); i >= 0 {
			name, text = clause[:i], unescape(clause[i:])
		} else if at := escapedBracket.FindStringIndex(clause); at != nil {
			name, text = clause[:at[0]], unescape(clause[at[0]:])
		}
		v = d.find(name)
	}
	var member *int
	// A name of a variable is at most 5 times longer if it is escaped twice.
	for at := strings.IndexByte(name, '.'); v == nil && at >= 0 && at <= 5*d.longest; {
		if grid := d.find(name[:at]); grid != nil {
			if axis, ok := findMember(grid, name[at+1:]); ok {
				v, member = grid, &axis
			}
		}
		next := strings.IndexByte(name[at+1:], '.')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	switch {
	case v == nil && strings.ContainsAny(name, "("):
		return &ConstraintError{clause, "functions are not supported; request variables"}
	case v == nil:
		return &ConstraintError{clause, "there is no variable " + strconv.Quote(shorten(name))}
	case text == "":
		return add(chosen, v, member, nil, clause)
	}
	dims := v.dims
	if member != nil && *member >= 0 {
		dims = dims[*member : *member+1]
	}
	slabs, err := parseSlabs(text, dims, clause)
	if err != nil {
		return err
	}
	return add(chosen, v, member, slabs, clause)
}

func shorten(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// choose2 adds a variable, or a member of a Grid, to the choices of DAP2.
func choose2(chosen map[*variable]*choice, v *variable, member *int, slabs []slab, clause string) error {
	if member != nil && !v.isGrid() {
		return &ConstraintError{clause, v.path + " is no Grid in DAP2, and has no members; request it, or its coordinates, by name"}
	}
	c := chosen[v]
	if c == nil {
		c = &choice{variable: v, isParts: member != nil}
		if v.isGrid() {
			c.maps = make([][]slab, len(v.dims))
		}
		chosen[v] = c
	}
	if slabs == nil {
		slabs = whole(v)
		if member != nil && *member >= 0 {
			slabs = slabs[*member : *member+1]
		}
	}
	set := func(old *[]slab, now []slab) error {
		if *old != nil && !slices.Equal(*old, now) {
			return &ConstraintError{clause, "the variable is requested twice, with different hyperslabs; make two requests"}
		}
		*old = now
		return nil
	}
	if member != nil && *member >= 0 {
		return set(&c.maps[*member], slabs)
	}
	if err := set(&c.slabs, slabs); err != nil || member != nil {
		return err
	}
	c.isParts = false
	for axis := range c.maps {
		if err := set(&c.maps[axis], slabs[axis:axis+1]); err != nil {
			return err
		}
	}
	return nil
}

// choose4 adds a variable to the choices of DAP4. Dimensions without a hyperslab have that of the shared dimension.
func choose4(chosen map[*variable]*choice, v *variable, slabs []slab, shared map[string]string, clause string) error {
	if slabs == nil {
		slabs = whole(v)
		for axis, one := range v.dims {
			if text, ok := shared[one.path()]; ok {
				of, err := parseSlabs(text, v.dims[axis:axis+1], clause)
				if err != nil {
					return err
				}
				slabs[axis] = of[0]
			}
		}
	}
	if c := chosen[v]; c != nil && !slices.Equal(c.slabs, slabs) {
		return &ConstraintError{clause, "the variable is requested twice, with different hyperslabs; make two requests"}
	}
	chosen[v] = &choice{variable: v, slabs: slabs}
	return nil
}

// parseSlabs parses a hyperslab such as [0:2:9][3]. In an empty pair of brackets, as DAP4 has, all indices are selected.
func parseSlabs(text string, dims []dim, clause string) ([]slab, error) {
	slabs := make([]slab, 0, len(dims))
	for text != "" {
		inner, rest, ok := strings.Cut(text, "]")
		if !ok || !strings.HasPrefix(inner, "[") {
			return nil, &ConstraintError{clause, "want indices in brackets, such as [3] or [0:1:9]"}
		}
		if text = rest; len(slabs) == len(dims) {
			return nil, &ConstraintError{clause, fmt.Sprintf("the variable has %d dimensions, and the hyperslab more", len(dims))}
		}
		one := dims[len(slabs)]
		s, err := parseSlab(inner[1:], one.length)
		if err != nil {
			return nil, &ConstraintError{clause, fmt.Sprintf("[%s] along %s: %v", shorten(inner[1:]), one.name, err)}
		}
		slabs = append(slabs, s)
	}
	if len(slabs) != len(dims) {
		return nil, &ConstraintError{clause, fmt.Sprintf("the variable has %d dimensions, and the hyperslab %d", len(dims), len(slabs))}
	}
	return slabs, nil
}

// parseSlab parses INDEX, FIRST:LAST or FIRST:STEP:LAST, within a length.
func parseSlab(text string, length int64) (slab, error) {
	all := slab{0, 1, length - 1}
	if text == "" || text == "*" {
		return all, nil
	}
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return slab{}, errors.New("want INDEX, FIRST:LAST or FIRST:STEP:LAST")
	}
	var numbers [3]int64
	for i, part := range parts {
		if i == len(parts)-1 && i > 0 && (part == "" || part == "*") { // to the end
			numbers[i] = length - 1
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < 0 {
			return slab{}, fmt.Errorf("%q is not an index", shorten(part))
		}
		numbers[i] = n
	}
	s := slab{numbers[0], 1, numbers[0]}
	switch len(parts) {
	case 2:
		s.last = numbers[1]
	case 3:
		s.step, s.last = numbers[1], numbers[2]
	}
	switch {
	case s.step == 0:
		return slab{}, errors.New("the step is 0")
	case length == 0:
		return all, nil // pydap requests from 0 to a large number
	case s.first > s.last:
		return slab{}, errors.New("the first index is after the last one")
	case s.last >= length:
		return slab{}, fmt.Errorf("the last index is %d", length-1)
	}
	// Equal hyperslabs are written in one way.
	s.last -= (s.last - s.first) % s.step
	if s.last == s.first {
		s.step = 1
	}
	return s, nil
}
