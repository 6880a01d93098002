package scan

import (
	"fmt"
	"slices"

	"varve/manifest"
	"varve/readers"
	"varve/readers/virtual"
)

// placeVirtual adds the parts of a virtual dataset. As in libhdf5, elements whose source does not exist are
// fill values.
func (e *entry) placeVirtual(v *readers.Variable) error {
	p := &parted{of: e, files: map[string]int{}}
	err := virtual.Pieces(v.Storage.Mappings, func(piece *virtual.Piece) (bool, error) { return p.addPiece(piece, v.Shape) })
	if err != nil {
		return err
	}
	if err := p.finish(); err != nil {
		return err
	}
	return e.ctx.Err()
}

// addPiece adds the boxes of one source, and reports whether the source exists.
func (p *parted) addPiece(piece *virtual.Piece, shape []uint64) (bool, error) {
	n, err := p.of.in.from(piece.File)
	if n == nil || err != nil {
		return false, err
	}
	d, err := n.mapped(piece.Dataset)
	if d == nil || err != nil {
		return false, err
	}
	if !d.v.Type.Equal(p.of.out.Type) || len(d.v.Shape) != len(d.shape) {
		return true, noBoxesf("has the type %s, but its part in %s has the type %s", p.of.out.Type, piece.File, d.v.Type)
	}
	m, err := piece.Match(d.shape, shape)
	if err != nil {
		return true, err
	}
	boxes, err := m.Boxes()
	if err != nil {
		return true, noBoxesf("%s", reasonOf(err))
	}
	return true, p.addMapped(piece.File+"\x00"+piece.Dataset, n, boxes, d)
}

// addMapped adds the boxes that a mapping matches with a variable.
func (p *parted) addMapped(key string, n *opened, boxes *virtual.Boxes, d *described) error {
	switch {
	case boxes.Len(maxParts) == 0:
		return nil
	case boxes.Len(maxParts) > maxParts:
		return noBoxesf("has more than %d boxes of other files", maxParts)
	case d.v.Storage.Layout == manifest.Parted:
		return p.addNested(key, boxes, d.f)
	case d.v.Storage.Layout == manifest.Valued:
		return noBoxesf("the elements of a part can only be decoded by its reader")
	}
	id := identity(n.url, n.src, n.data.Format)
	k, err := p.file(key, boxes, func() (*found, error) {
		h := p.of.hide(id, p.standIn(d.v, boxes), d.f.refs.clone())
		h.inline, h.others = d.f.inline, d.f.others
		return h, nil
	})
	if err != nil {
		return err
	}
	return boxes.Each(func(origin, start, shape []int64) error {
		return p.add(box{hidden: k, origin: origin, start: start, shape: shape})
	})
}

// file returns the index of a hidden file, creating it on first use.
func (p *parted) file(key string, boxes *virtual.Boxes, create func() (*found, error)) (int, error) {
	key += fmt.Sprint(boxes.Axes)
	if k, ok := p.files[key]; ok {
		return k, nil
	}
	h, err := create()
	if err != nil {
		return 0, err
	}
	p.found = append(p.found, h)
	p.files[key] = len(p.found) - 1
	return len(p.found) - 1, nil
}

// standIn returns the variable of a hidden file, which represents v.
func (p *parted) standIn(v *manifest.Variable, boxes *virtual.Boxes) manifest.Variable {
	out := *v
	out.Path, out.Dims, out.Attributes, out.Enum = p.of.out.Path, p.of.out.Dims, p.of.out.Attributes, p.of.out.Enum
	out.Shape = boxes.Arrange(v.Shape, 1)
	if v.Storage.Chunks != nil {
		out.Storage.Chunks = boxes.Arrange(v.Storage.Chunks, 1)
	}
	if v.Storage.Stride != 0 && boxes.Axes[0] != 0 {
		// Stride is the distance of records along the first axis, but the records are along another axis after
		// rearranging.
		out.Unreadable = "is stored in records along an axis that is not the first"
	}
	return out
}

// addNested adds the boxes of a variable whose values are themselves in other files.
func (p *parted) addNested(key string, boxes *virtual.Boxes, f *found) error {
	for _, part := range f.file.Parts[0] {
		inner := f.hidden[part.File]
		k, err := p.file(fmt.Sprint(key, "\x00", part.File), boxes, func() (*found, error) {
			v := inner.file.Header.Variable(0)
			h := p.of.hide(inner.file.Source, p.standIn(v, boxes), inner.refs.clone())
			h.inline, h.others = inner.inline, inner.others
			return h, nil
		})
		if err != nil {
			return err
		}
		from, at, size := boxes.Arrange(part.Origin, 0), boxes.Arrange(part.Start, 0), boxes.Arrange(part.Shape, 1)
		err = boxes.Each(func(origin, start, shape []int64) error {
			b := box{hidden: k, origin: slices.Clone(origin), start: make([]int64, len(shape)), shape: make([]int64, len(shape))}
			for i := range shape {
				low, high := max(start[i], from[i]), min(start[i]+shape[i], from[i]+size[i])
				if low >= high {
					return nil
				}
				b.origin[i] += low - start[i]
				b.start[i] = low - from[i] + at[i]
				b.shape[i] = high - low
			}
			return p.add(b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
