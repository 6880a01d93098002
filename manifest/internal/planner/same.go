package planner

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/plan"
)

// comparison compares the values that files have for one variable.
type comparison struct {
	p     *arrangement
	a     *array
	means []*manifest.Variable // the variable whose attributes give each member's values their meaning
	alike bool                 // equal bytes mean equal values in all members
	units bool                 // members state different units, so equal numbers may be different values
}

func (p *arrangement) comparing(a *array) *comparison {
	c := &comparison{p: p, a: a, means: make([]*manifest.Variable, len(a.members)), alike: true}
	for i, m := range a.members {
		c.means[i] = p.survey.classes[m.class].meaning(m.at)
		c.alike = c.alike && sameMeaning(c.means[i], c.means[0]) && slices.IsSorted(m.axes)
	}
	c.units = !c.alike && c.unitsDiffer()
	return c
}

// unitsDiffer reports whether members state different units. A missing unit does not contradict a unit.
func (c *comparison) unitsDiffer() bool {
	only, found := "", false
	for _, v := range c.means {
		if text := textOf(v, cf.UnitsName); text != "" {
			if key := cf.UnitKey(text); found && key != only {
				return true
			} else {
				only, found = key, true
			}
		}
	}
	return false
}

// parts groups files by equal values. It leaves out files with missing values, and groups nothing after
// the first of them.
func (c *comparison) parts(files []int32) (groups [][]int32, missing []want, err error) {
	found := newComparer(c.alike, c.units)
	if missing, err = c.crop(found, files); err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		at := placeOf(c.a.members, c.p.survey.classOf[f])
		m := &c.a.members[at]
		if c.p.env.opts.Pad == plan.PadFill && elementsOf(m.v) == 0 {
			continue // an empty file agrees with any other
		}
		w := c.values(f, m, c.means[at])
		values, ok, err := c.p.env.values(w)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			missing = append(missing, w)
		}
		if len(missing) > 0 {
			continue
		}
		if err := found.add(f, content{m, c.means[at], values}); err != nil {
			return nil, nil, c.p.env.inFile(f, err)
		}
	}
	return found.groups, missing, nil
}

// fileUsed returns the file that provides the values of an array that is equal in all files.
func (p *arrangement) fileUsed(a *array) int32 { return p.widest(a, p.survey.filesHaving(a)) }

// widest returns the file with the most elements. If several have as many, the lowest rank decides.
func (p *arrangement) widest(a *array, files []int32) int32 {
	best, most := int32(-1), int64(-1)
	for _, f := range files {
		n := elementsOf(a.memberOf(p.survey.classOf[f]).v)
		if n > most || n == most && p.rank[f] < p.rank[best] {
			best, most = f, n
		}
	}
	return best
}

// firstOf returns the file with the lowest rank.
func (p *arrangement) firstOf(files []int32) int32 {
	return slices.MinFunc(files, func(x, y int32) int { return cmp.Compare(p.rank[x], p.rank[y]) })
}

// crop registers the values of the widest file, cropped to the shapes of narrower files, so that
// narrower files with these values are in the group of the widest file. Without padding, it does
// nothing.
func (c *comparison) crop(found *comparer, files []int32) (missing []want, err error) {
	file, shapes := c.narrower(files)
	if len(shapes) == 0 || !c.fits(files) {
		return nil, nil
	}
	at := placeOf(c.a.members, c.p.survey.classOf[file])
	m := &c.a.members[at]
	values := none
	if m.v.Storage.Layout != manifest.Nothing && elementsOf(m.v) > 0 {
		w := c.elements(file, m)
		var ok bool
		if values, ok, err = c.p.env.values(w); err != nil || !ok {
			return []want{w}, err
		}
	}
	whole := content{m, c.means[at], values}
	group, err := found.find(whole)
	for _, shape := range shapes {
		if err == nil {
			err = found.addCropped(whole, shape, group)
		}
	}
	if err != nil {
		return nil, c.p.env.inFile(file, err)
	}
	return nil, nil
}

// fits reports whether the memory limit permits the values of the widest file, if narrower files must
// be compared with them.
func (c *comparison) fits(files []int32) bool {
	widest, shapes := c.narrower(files)
	return len(shapes) == 0 || c.fitsMemory(widest, c.a.memberOf(c.p.survey.classOf[widest]))
}

// narrower returns the widest file, and the distinct shapes of narrower files in the axis order of the
// widest. Without padding, it returns no shapes.
func (c *comparison) narrower(files []int32) (widest int32, shapes [][]int64) {
	widest = c.p.widest(c.a, files)
	if c.p.env.opts.Pad != plan.PadFill {
		return widest, nil
	}
	of, last := c.a.memberOf(c.p.survey.classOf[widest]), c.p.survey.classOf[widest]
	for _, f := range files {
		// Neighbouring files often have one class, and a class has one shape.
		if c.p.survey.classOf[f] == last {
			continue
		}
		last = c.p.survey.classOf[f]
		m := c.a.memberOf(last)
		shape := slices.Clone(of.v.Shape)
		for k, axis := range of.axes {
			shape[axis] = min(shape[axis], m.v.Shape[m.axes[k]])
		}
		if !slices.Equal(shape, of.v.Shape) && !slices.ContainsFunc(shapes, func(s []int64) bool { return slices.Equal(s, shape) }) {
			shapes = append(shapes, shape)
		}
	}
	return widest, shapes
}

// values wants the values of a file, or only their digest or summary where that is enough to compare
// them. Large values are not kept just because they were compared.
func (c *comparison) values(file int32, m *member, means *manifest.Variable) want {
	n, known := elementsOf(m.v), c.p.env.valuesIn(file, m.at)
	switch {
	case m.v.Storage.Layout == manifest.Nothing || n == 0:
		return want{Request: Request{int(file), m.at, nothing}}
	case known != nil && !known.Summed:
		return c.p.env.all(file, m.at, n)
	case c.alike && !m.v.Type.Varies() && n*int64(m.v.Type.Size) > c.p.env.inline():
		return digest(file, m.at)
	case !c.alike && c.p.env.isLarge(m.v) && natureOf(means) != text:
		return summary(file, m.at, means)
	}
	return c.p.env.all(file, m.at, n)
}

// largest returns the size in bytes of the largest member that is read as a whole.
func (c *comparison) largest() (n int64) {
	for _, m := range c.a.members {
		if m.v.Storage.Layout != manifest.Nothing && len(m.v.Shape) != 1 {
			n = max(n, sizeOf(m.v))
		}
	}
	return n
}

func elementsOf(v *manifest.Variable) int64 { return product(v.Shape) }

func product(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	return n
}

// comparer groups files by equal values. It keeps a digest of each group instead of its values.
type comparer struct {
	alike  bool // equal bytes mean equal values in all members
	units  bool // members state different units
	seen   map[valued]int
	bySum  map[[sha256.Size]byte]int
	groups [][]int32
	hash   hash.Hash
	w      *bufio.Writer // buffers writes to hash
}

func newComparer(alike, units bool) *comparer {
	h := sha256.New()
	return &comparer{alike: alike, units: units, seen: map[valued]int{}, bySum: map[[sha256.Size]byte]int{}, hash: h, w: bufio.NewWriter(h)}
}

// valued identifies values that were compared before: files share values in memory.
type valued struct {
	class  int32
	values *manifest.Values
}

type content struct {
	m      *member
	means  *manifest.Variable
	values *manifest.Values
}

func (c *comparer) add(file int32, x content) error {
	key := valued{x.m.class, x.values}
	// Files of a class share values in memory, so most files are compared by pointer.
	at, ok := c.seen[key]
	if !ok {
		var err error
		if at, err = c.find(x); err != nil {
			return err
		}
		c.seen[key] = at
	}
	c.groups[at] = append(c.groups[at], file)
	return nil
}

// find returns the group of equal values, and makes one if there is none.
func (c *comparer) find(x content) (int, error) {
	sum, err := c.sum(x)
	if err != nil {
		return 0, err
	}
	at, ok := c.bySum[sum]
	if !ok {
		at = len(c.groups)
		c.groups = append(c.groups, nil)
		c.bySum[sum] = at
	}
	return at, nil
}

// addCropped adds the digest of values, cropped to a shape, to a group.
func (c *comparer) addCropped(x content, shape []int64, group int) error {
	m, narrow, v := *x.m, *x.m.planVar, *x.m.v
	v.Shape = shape
	narrow.v, m.planVar = &v, &narrow
	values, err := x.begins(shape)
	if err != nil {
		return err
	}
	sum, err := c.sum(content{&m, x.means, values})
	if err == nil {
		c.bySum[sum] = group
	}
	return err
}

// begins returns the values cropped to a shape.
func (x content) begins(shape []int64) (*manifest.Values, error) {
	if x.values == none {
		return none, nil
	}
	return beginning(x.values, x.m.v.Shape, shape, x.m.v.Type)
}

// beginning returns values of shape `of` cropped to shape.
func beginning(values *manifest.Values, of, shape []int64, t codec.Type) (*manifest.Values, error) {
	return cropped(values, of, make([]int64, len(shape)), shape, t)
}

// cropped returns the part of values of shape `of` that begins at start.
func cropped(values *manifest.Values, of, start, shape []int64, t codec.Type) (*manifest.Values, error) {
	from, to, unit := grid.Whole(of), grid.Region{Origin: start, Shape: shape}, int64(t.Size)
	n := product(shape)
	if t.Varies() {
		out := &manifest.Values{Texts: make([][]byte, n)}
		return out, grid.Copy(grid.Window[[]byte]{Data: out.Texts, Region: to}, grid.Window[[]byte]{Data: values.Texts, Region: from}, to, 1)
	}
	out := &manifest.Values{Data: make([]byte, n*unit)}
	return out, grid.Copy(grid.Window[byte]{Data: out.Data, Region: to}, grid.Window[byte]{Data: values.Data, Region: from}, to, unit)
}

// sum returns a digest that is equal for values with the same meaning.
func (c *comparer) sum(x content) (sum [sha256.Size]byte, err error) {
	c.hash.Reset()
	c.w.Reset(c.hash)
	if err := c.write(x); err != nil {
		return sum, err
	}
	_ = c.w.Flush() // a hash never fails
	c.hash.Sum(sum[:0])
	return sum, nil
}

// write writes a form of the values that is equal for values with the same meaning.
func (c *comparer) write(x content) error {
	var shape []int64
	var err error
	if x.values, shape, err = x.inOrder(); err != nil {
		return err
	}
	// Equal bytes in another shape are other values.
	fmt.Fprint(c.w, shape)
	if elementsOf(x.m.v) == 0 {
		return nil
	}
	// With equal types and units, the digest of the bytes decides, and no value is converted.
	if c.alike {
		c.w.WriteString(idOf(x.values))
		return nil
	}
	what, err := newMeaning(x.means)
	if err != nil {
		// Values whose meaning is unknown are equal only if their types and bytes are equal.
		fmt.Fprintf(c.w, "%v", x.m.v.Type)
		c.w.WriteString(idOf(x.values))
		return nil
	}
	if what.nature == text {
		fmt.Fprintf(c.w, "%q", textsOf(what.v, x.values))
		return nil
	}
	o := x.values.Summary
	if o == nil {
		o, err = summaryOf(what, what.nature, x.values)
	}
	if err != nil && what.nature == instant { // the times are out of range
		o, err = summaryOf(what, real, x.values)
	}
	if err != nil {
		return err
	}
	if o.Nature != natureWords[instant] && c.units {
		c.w.WriteString(what.unit)
	}
	c.w.WriteString(o.Meant)
	return nil
}

// inOrder returns the values in the axis order of the array, and their shape. For a variable that was
// never written, it returns one element. Summaries cannot be transposed, so they get a shape that
// equals no other.
func (x content) inOrder() (*manifest.Values, []int64, error) {
	shape := make([]int64, len(x.m.axes))
	for k, axis := range x.m.axes {
		shape[k] = x.m.v.Shape[axis]
	}
	switch {
	case x.values == none:
		return unwritten(x.m.v), shape, nil
	case slices.IsSorted(x.m.axes):
		return x.values, shape, nil
	case x.values.Summed:
		return x.values, append(shape, -1), nil
	}
	elems, shape, err := transposed(codec.Elems{Fixed: x.values.Data, Var: x.values.Texts}, target{source: x.m.v.Shape, order: x.m.axes}, int64(x.m.v.Type.Size))
	return &manifest.Values{Data: elems.Fixed, Texts: elems.Var}, shape, err
}

// unwritten returns one element of a variable that was never written: its fill value.
func unwritten(v *manifest.Variable) *manifest.Values {
	fill := v.Fill.Value
	switch {
	case v.Type.Varies():
		return &manifest.Values{Texts: [][]byte{fill}}
	case fill == nil:
		fill = make([]byte, v.Type.Size)
	}
	return &manifest.Values{Data: fill}
}

func writeKey(w *bufio.Writer, k key) {
	word := w.AvailableBuffer()
	word = binary.LittleEndian.AppendUint64(word, uint64(k.hi))
	_, _ = w.Write(binary.LittleEndian.AppendUint32(word, uint32(k.lo)))
}

// known reports whether the values or digests of an array are known for all files, and whether they
// are equal.
func (p *survey) known(a *array) (known, equal bool) {
	first := ""
	equal = true
	for _, m := range a.members {
		for _, f := range p.classes[m.class].files {
			values := p.env.valuesIn(f, m.at)
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

// meanSame reports whether known values that differ in bytes have the same meaning, for example
// equal numbers of different types.
func (p *arrangement) meanSame(a *array) (same bool, missing []want) {
	c := p.comparing(a)
	if c.alike {
		return false, nil
	}
	groups, missing, err := c.parts(p.survey.filesHaving(a))
	return err == nil && len(groups) == 1, missing
}

// idOf returns the ID of values, and computes it if it is not set.
func idOf(v *manifest.Values) string {
	if v.ID == "" {
		x := *v
		x.SetID()
		return x.ID
	}
	return v.ID
}
