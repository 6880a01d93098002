package present

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"slices"
	"strings"

	"varve/codec"
	"varve/manifest/export/netcdf"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
	"varve/zarrjson"
)

// WriteNetCDF writes selections of arrays as a netCDF file in the classic model that follows CF. It includes
// coordinates, their bounds, and all variables along the same dimensions that the attributes name. Packed
// numbers stay packed.
func WriteNetCDF(ctx context.Context, w io.Writer, st *store.Store, selections ...*Selection) error {
	n, err := newNetCDF(ctx, st, selections)
	if err != nil {
		return err
	}
	return n.write(ctx, w)
}

// newNetCDF describes a file with selections.
func newNetCDF(ctx context.Context, st *store.Store, selections []*Selection) (*netcdfFile, error) {
	n := &netcdfFile{store: st, mains: selections, dims: map[string]int{}}
	for i, s := range selections {
		for _, other := range selections[:i] {
			if baseName(other.Array) == baseName(s.Array) {
				return nil, fmt.Errorf("%s and %s have the same name, and a netCDF file of the classic model has no groups: %w; request them apart",
					other.Array.Path(), s.Array.Path(), errors.ErrUnsupported)
			}
		}
		n.members = append(n.members, &member{Selection: s})
	}
	for _, s := range selections {
		n.addRelated(s.Array)
	}
	return n, n.describe(ctx)
}

// write writes the file.
func (n *netcdfFile) write(ctx context.Context, w io.Writer) error {
	return n.file.Write(w, func(i int, w io.Writer) error { return n.members[i].write(ctx, w) })
}

// netcdfFile holds the variables and the header of a file until it is written.
type netcdfFile struct {
	store   *store.Store
	mains   []*Selection // what was asked for
	members []*member
	file    netcdf.File
	dims    map[string]int // indices in file.Dimensions
}

// member is a variable of the file.
type member struct {
	*Selection
	typ  netcdf.Type
	text int // the length of strings in bytes, or 0 for other types; strings need an additional axis unless isChars
}

// collect adds an array, and what belongs to it, unless it is there already.
func (n *netcdfFile) collect(a *store.Array) {
	if n.take(a) {
		n.addRelated(a)
	}
}

// addRelated adds the arrays without which an array is not complete.
func (n *netcdfFile) addRelated(a *store.Array) {
	for _, b := range related(n.store, a) {
		n.collect(b)
	}
}

// related returns the arrays without which an array is not complete: the variable whose bounds it is, its coordinates, and the
// variables that its attributes name.
func related(st *store.Store, a *store.Array) (list []*store.Array) {
	if b := boundedBy(a); b != nil {
		list = append(list, b)
	}
	for i := range a.Grid().Rank() {
		if c, ok := arraysOf(st).Coordinate(a, a.Schema().Dim(i)); ok {
			list = append(list, c)
		}
	}
	for _, name := range cf.ReferenceAttributes {
		for _, word := range strings.Fields(cf.TextIn(a.Schema().Attributes, name)) {
			if c, ok := arraysOf(st).Nearest(a, strings.TrimSuffix(word, ":")); ok && !strings.Contains(word, "/") {
				list = append(list, c)
			}
		}
	}
	return list
}

// take adds an array with the same selection, unless it is already there or has other axes.
func (n *netcdfFile) take(a *store.Array) bool {
	s := Whole(a)
	if !n.narrow(s) {
		return false
	}
	for _, m := range n.members {
		if baseName(m.Array) == baseName(a) {
			return false
		}
	}
	n.members = append(n.members, &member{Selection: s})
	return true
}

// narrow applies the selection to the axes with the same names. It returns false if such an axis has another
// length in the arrays that were asked for.
func (n *netcdfFile) narrow(s *Selection) bool {
	s.BlockBytes = n.mains[0].BlockBytes
	for i := range s.Axes {
		x, has, isSame := n.axis(s.Axes[i].Dim, s.Axes[i].To)
		if has && !isSame {
			return false
		}
		if isSame {
			s.Axes[i] = x
		}
	}
	return true
}

// axis returns the selection along a dimension of the arrays that were asked for, if one of them has the dimension with this
// length. has is true if one has it with any length.
func (n *netcdfFile) axis(dim string, length int64) (x Axis, has, isSame bool) {
	for _, s := range n.mains {
		for k, x := range s.Axes {
			if x.Dim != dim {
				continue
			}
			if has = true; s.Array.Grid().Shape()[k] == length {
				return x, true, true
			}
		}
	}
	return Axis{}, has, false
}

// isMain reports whether an array was asked for.
func (n *netcdfFile) isMain(a *store.Array) bool {
	return slices.ContainsFunc(n.mains, func(s *Selection) bool { return s.Array == a })
}

// has reports whether the file contains a variable.
func (n *netcdfFile) has(name string) bool {
	return slices.ContainsFunc(n.members, func(m *member) bool { return baseName(m.Array) == name })
}

func (n *netcdfFile) describe(ctx context.Context) error {
	if err := n.globals(); err != nil {
		return err
	}
	for _, m := range n.members {
		if err := m.settle(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.Array.Path(), err)
		}
		v := netcdf.Variable{Name: baseName(m.Array), Type: m.typ}
		for i, x := range m.Axes {
			if !x.Single {
				v.Dimensions = append(v.Dimensions, n.dim(m.Array.Schema().Dim(i), x.Len()))
			}
		}
		if m.text > 0 && !m.isChars() {
			v.Dimensions = append(v.Dimensions, n.dim(fmt.Sprintf("string%d", m.text), int64(m.text)))
		}
		v.Attributes = n.attributes(m)
		n.file.Variables = append(n.file.Variables, v)
	}
	return nil
}

// dim returns the index of a dimension, and adds it if necessary. If dimensions of different groups have one
// name but different lengths, they get different names.
func (n *netcdfFile) dim(name string, length int64) int {
	index, ok := n.dims[name]
	if ok && n.file.Dimensions[index].Length != length {
		return n.dim(fmt.Sprintf("%s_%d", name, length), length)
	}
	if !ok {
		index = len(n.file.Dimensions)
		n.dims[name] = index
		n.file.Dimensions = append(n.file.Dimensions, netcdf.Dimension{Name: name, Length: length})
	}
	return index
}

// globals sets the global attributes: the attributes of the arrays' group and of its parents, or of the groups above all
// arrays.
func (n *netcdfFile) globals() error {
	var all zarrjson.Attributes
	kinds := map[string]string{}
	for _, g := range n.store.Groups() { // parents come first
		isOutside := func(s *Selection) bool {
			return !strings.HasPrefix(s.Array.Path(), strings.TrimSuffix(g.Path, "/")+"/")
		}
		if slices.ContainsFunc(n.mains, isOutside) {
			continue
		}
		for name, value := range g.Attributes.All() {
			if err := all.Set(name, value); err != nil {
				return fmt.Errorf("%s: %w", g.Path, err)
			}
			kinds[name] = g.AttributeTypes[name]
		}
	}
	if _, ok := all.Get("Conventions"); !ok {
		n.file.Attributes = append(n.file.Attributes, netcdf.Text("Conventions", "CF-1.11"))
	}
	for name, value := range all.All() {
		n.file.Attributes = append(n.file.Attributes, NetCDFAttribute(name, value, kinds[name]))
	}
	return nil
}

// settle chooses the netCDF type for the member's elements.
func (m *member) settle(ctx context.Context) error {
	t := m.Array.Schema().DataType.Type()
	var ok bool
	if m.typ, ok = NetCDFType(t); !ok {
		return fmt.Errorf("%s: %w by netCDF's classic model; write .npy or .csv", m.Array.Schema().DataType.Name(), errors.ErrUnsupported)
	}
	switch t.Kind {
	case codec.String, codec.FixedUTF32:
		m.text = 1
		return m.Each(ctx, func(e codec.Elems) error {
			for text := range m.texts(e) {
				m.text = max(m.text, len(text))
			}
			return nil
		})
	case codec.FixedBytes:
		m.text = t.Size
	}
	return nil
}

// isChars reports whether each element is one byte, for which the type char needs no additional axis.
func (m *member) isChars() bool {
	t := m.Array.Schema().DataType.Type()
	return t.Kind == codec.FixedBytes && t.Size == 1
}

// texts yields strings in UTF-8.
func (m *member) texts(e codec.Elems) func(yield func([]byte) bool) {
	t := m.Array.Schema().DataType.Type()
	return func(yield func([]byte) bool) {
		for _, text := range e.Var {
			if !yield(text) {
				return
			}
		}
		for at := 0; at < len(e.Fixed); at += t.Size {
			if !yield(AppendPlain(nil, t, e.Fixed[at:at+t.Size])) {
				return
			}
		}
	}
}

// write writes the member's elements.
func (m *member) write(ctx context.Context, w io.Writer) error {
	return m.Each(ctx, func(e codec.Elems) error {
		if m.text == 0 {
			_, err := w.Write(e.Fixed)
			return err
		}
		var out bytes.Buffer
		for text := range m.texts(e) {
			if err := writePadded(&out, [][]byte{text}, m.text); err != nil {
				return err
			}
		}
		_, err := w.Write(out.Bytes())
		return err
	})
}
