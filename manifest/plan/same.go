package plan

import (
	"fmt"
	"hash/maphash"
	"slices"

	"varve/manifest"
)

// sameValues parts files by their values of a variable. It asks for those that are not known.
func (p *planner) sameValues(a *array, files []int32) (groups [][]int32, err error) {
	c := comparer{alike: true, seen: map[meant]int{}, bySum: map[uint64][]int{}}
	for _, m := range a.members {
		c.alike = c.alike && sameMeaning(m.v, a.members[0].v)
	}
	places := p.placesOf(a.members)
	for _, f := range files {
		m := &a.members[places[p.classOf[f]]]
		values, ok := none, true
		if m.v.Storage.Layout != manifest.Nothing {
			values, ok = p.values(f, m.at, elementsOf(m.v))
		}
		if !ok || len(p.needs) > 0 {
			continue
		}
		if err := c.add(f, m, values); err != nil {
			return nil, p.inFile(f, err)
		}
	}
	return c.groups, nil
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
	values *manifest.Values
}

func (c *comparer) add(file int32, m *member, values *manifest.Values) error {
	variable := 0
	if !c.alike {
		variable = int(m.class) + 1
	}
	at, ok := c.seen[meant{variable, values}]
	if !ok {
		var err error
		if at, err = c.find(content{m, values}); err != nil {
			return err
		}
		c.seen[meant{variable, values}] = at
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
		return x.values.AppendKey(shape), nil
	}
	what, err := newMeaning(x.m.v)
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
	keys, err := k.numberKeys(real)
	return fmt.Appendf(shape, "%s%v", textOf(x.m.v, "units"), keys), err
}

// known reports whether the values of an array are known in all files, and whether they are
// equal.
func (p *planner) known(a *array) (known, equal bool) {
	var first *manifest.Values
	equal = true
	for _, m := range a.members {
		for _, f := range p.classes[m.class].files {
			values := p.files[f].Values
			if m.at >= len(values) || values[m.at] == nil {
				return false, false
			}
			if first == nil {
				first = values[m.at]
			}
			equal = equal && sameContent(first, values[m.at])
		}
	}
	return true, equal
}

func sameContent(a, b *manifest.Values) bool {
	return a == b || string(a.Data) == string(b.Data) && slices.EqualFunc(a.Texts, b.Texts, slices.Equal)
}
