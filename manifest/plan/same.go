package plan

import (
	"fmt"
	"hash/maphash"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/cf"
)

// comparison is of the values that files have of one variable.
type comparison struct {
	p      *planner
	a      *array
	places []int32              // the member of each class
	means  []*manifest.Variable // what says what the values of each member mean
	alike  bool                 // equal bytes are equal values
}

func (p *planner) comparing(a *array) *comparison {
	c := &comparison{p: p, a: a, places: p.placesOf(a.members), means: make([]*manifest.Variable, len(a.members)), alike: true}
	for i, m := range a.members {
		c.means[i] = cf.Bounds(p.classes[m.class].header, m.at)
		c.alike = c.alike && sameMeaning(c.means[i], c.means[0])
	}
	return c
}

// parts are files by their values. It asks for values that are not known.
func (c *comparison) parts(files []int32) (groups [][]int32, err error) {
	found := comparer{alike: c.alike, seen: map[meant]int{}, bySum: map[uint64][]int{}}
	for _, f := range files {
		at := c.places[c.p.classOf[f]]
		m := &c.a.members[at]
		values, ok := c.values(f, m)
		if !ok || len(c.p.needs) > 0 {
			continue
		}
		if err := found.add(f, content{m, c.means[at], values}); err != nil {
			return nil, c.p.inFile(f, err)
		}
	}
	return found.groups, nil
}

// values are those of a file, or their sum where that will do: many elements are not kept only
// because they were compared.
func (c *comparison) values(file int32, m *member) (*manifest.Values, bool) {
	n := elementsOf(m.v)
	switch {
	case m.v.Storage.Layout == manifest.Nothing || n == 0:
		return none, true
	case c.alike && !m.v.Type.Varies() && n*int64(m.v.Type.Size) > c.p.inline():
		return c.p.sum(file, m.at)
	}
	return c.p.values(file, m.at, n)
}

// largest is the size of the values of the file that has most of them.
func (c *comparison) largest() (n int64) {
	for _, m := range c.a.members {
		if m.v.Storage.Layout != manifest.Nothing {
			n = max(n, elementsOf(m.v)*int64(m.v.Type.Size))
		}
	}
	return n
}

func elementsOf(v *manifest.Variable) int64 {
	n := int64(1)
	for _, s := range v.Shape {
		n *= s
	}
	return n
}

// placesOf finds the member of each class.
func (p *planner) placesOf(members []member) []int32 {
	places := make([]int32, len(p.classes))
	for i, m := range members {
		places[m.class] = int32(i)
	}
	return places
}

// comparer parts files by values, of which it keeps sums.
type comparer struct {
	alike  bool // equal bytes are equal values
	seen   map[meant]int
	bySum  map[uint64][]int
	first  []content
	groups [][]int32
}

type content struct {
	m      *member
	means  *manifest.Variable
	values *manifest.Values
}

func (c *comparer) add(file int32, x content) error {
	variable := 0
	if !c.alike {
		variable = int(x.m.class) + 1
	}
	at, ok := c.seen[meant{variable, x.values}]
	if !ok {
		var err error
		if at, err = c.find(x); err != nil {
			return err
		}
		c.seen[meant{variable, x.values}] = at
	}
	c.groups[at] = append(c.groups[at], file)
	return nil
}

// find returns the group of equal values, a new one if there is none.
func (c *comparer) find(x content) (int, error) {
	key, err := c.key(x)
	if err != nil {
		return 0, err
	}
	sum := maphash.Bytes(seed, key)
	for _, at := range c.bySum[sum] {
		other, err := c.key(c.first[at])
		if err != nil {
			return 0, err
		}
		if string(key) == string(other) {
			return at, nil
		}
	}
	at := len(c.groups)
	c.groups, c.first = append(c.groups, nil), append(c.first, x)
	c.bySum[sum] = append(c.bySum[sum], at)
	return at, nil
}

// key is what values have in common that mean the same.
func (c *comparer) key(x content) ([]byte, error) {
	shape := fmt.Appendf(nil, "%v%v", x.m.v.Shape, x.m.axes)
	if x.values == none {
		return append(shape, x.m.v.Fill.Value...), nil
	}
	if c.alike {
		return append(shape, idOf(x.values)...), nil
	}
	what, err := newMeaning(x.means)
	if err != nil {
		return x.values.AppendKey(fmt.Appendf(shape, "%v", x.m.v.Type)), nil
	}
	k := coord{meaning: what, values: x.values}
	switch what.nature {
	case text:
		return fmt.Appendf(shape, "%q", k.texts()), nil
	case instant:
		keys, err := k.timeKeys()
		if err == nil {
			return fmt.Appendf(shape, "%v", keys), nil
		}
	}
	keys, err := numbersMeant(x.means, x.values.Data)
	return fmt.Appendf(shape, "%s%v", what.units, keys), err
}

// numbersMeant are elements as the numbers that they stand for, of whichever sign; what is
// missing is alike by whatever element it is told.
func numbersMeant(v *manifest.Variable, data []byte) ([]key, error) {
	x, err := readNumbers(v, data)
	if err != nil {
		return nil, err
	}
	packing, err := cf.PackingOf(v)
	if err != nil {
		return nil, err
	}
	x.t = packing.Type
	keys := make([]key, x.n)
	for i := range keys {
		element := x.element(i)[:x.t.Size]
		if slices.ContainsFunc(packing.Masks, func(m []byte) bool { return cf.SameNumber(x.t, m, element) }) {
			keys[i] = missingNumber
		} else {
			keys[i].hi = sortable(x.real(i))
		}
	}
	return keys, nil
}

// missingNumber is no number's key.
var missingNumber = key{0, 1}

// known reports whether the values of an array are known in all files, or their sums, and
// whether they are equal.
func (p *planner) known(a *array) (known, equal bool) {
	first := ""
	equal = true
	for _, m := range a.members {
		for _, f := range p.classes[m.class].files {
			values := p.valuesIn(f, m.at)
			if values == nil {
				return false, false
			}
			id := idOf(values)
			if first == "" {
				first = id
			}
			equal = equal && first == id
		}
	}
	return true, equal
}

// meanSame reports whether values that are known, and are not the same bytes in all files, mean
// the same: such as those of other types.
func (p *planner) meanSame(a *array) bool {
	c := p.comparing(a)
	if c.alike {
		return false
	}
	groups, err := c.parts(p.filesHaving(a))
	return err == nil && len(groups) == 1
}

// idOf is the ID of values, be it that it was not set.
func idOf(v *manifest.Values) string {
	if v.ID == "" {
		x := *v
		x.SetID()
		return x.ID
	}
	return v.ID
}
