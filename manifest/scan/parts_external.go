package scan

import (
	"errors"
	"fmt"

	"varve/manifest"
	"varve/readers"
	"varve/readers/source"
)

// stretch is a contiguous range of a variable's bytes in another file.
type stretch struct {
	name   string
	offset int64 // in the file
	from   int64 // in the variable
	size   int64
}

// stretches divides the bytes of a variable among its files.
func stretches(files []readers.ExternalFile, size int64) ([]stretch, error) {
	var out []stretch
	at := int64(0)
	for _, f := range files {
		n := uint64(size - at)
		if f.Size != readers.Unlimited {
			n = min(n, f.Size)
		}
		if n == 0 {
			continue
		}
		if f.Offset > 1<<62 {
			return nil, readers.Corruptf("invalid offset %d in the external file %s", f.Offset, f.Name)
		}
		out = append(out, stretch{name: f.Name, offset: int64(f.Offset), from: at, size: int64(n)})
		at += int64(n)
	}
	if at < size {
		return nil, readers.Corruptf("the values need %d bytes, but the external files provide %d", size, at)
	}
	return out, nil
}

// openStretch opens the file of a stretch. The file must contain all of it.
func (e *entry) openStretch(s stretch) (*source.Source, error) {
	src, err := e.in.openBeside(s.name)
	if isAbsent(err) {
		err = fmt.Errorf("the external file %q with the values does not exist: %w", s.name, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	if s.size > src.Size()-s.offset {
		err := readers.Corruptf("%d bytes at offset %d exceed the size of %s (%d)", s.size, s.offset, src.Name(), src.Size())
		return nil, errors.Join(err, src.Close())
	}
	return src, nil
}

// placeExternal adds values that are stored in other files, one after another. If a file ends within a row,
// its part becomes several boxes.
func (e *entry) placeExternal(files []readers.ExternalFile) error {
	out := &e.out
	n, err := elements(out.Shape)
	if err != nil {
		return err
	}
	width := int64(out.Type.Size)
	list, err := stretches(files, n*width)
	if err != nil {
		return err
	}
	p := &parted{of: e}
	for _, s := range list {
		if s.from%width != 0 || s.size%width != 0 {
			return fmt.Errorf("an element is split between %s and another file: %w", s.name, errors.ErrUnsupported)
		}
		if err := p.addStretch(s, width); err != nil {
			return err
		}
	}
	return p.finish()
}

func (p *parted) addStretch(s stretch, width int64) error {
	src, err := p.of.openStretch(s)
	if err != nil {
		return err
	}
	id := identity(URLOf(src.Name(), p.of.KeepQuery...), src, "")
	if err := src.Close(); err != nil {
		return err
	}
	at := s.offset
	return runBoxes(p.of.out.Shape, s.from/width, (s.from+s.size)/width, func(origin, shape []int64) error {
		v := p.of.out
		v.Shape = shape
		v.Storage = manifest.Storage{Layout: manifest.Strided, Chunks: shape, Codecs: p.of.out.Storage.Codecs}
		count, err := elements(shape)
		if err != nil {
			return err
		}
		rows := newRefs()
		rows.set(rows.add(1), manifest.Ref{Offset: at, Size: count * width})
		at += count * width
		p.found = append(p.found, p.of.hide(id, v, rows))
		return p.add(box{hidden: len(p.found) - 1, origin: origin, start: make([]int64, len(shape)), shape: shape})
	})
}

// runBoxes calls add with boxes of the elements from number a up to b in C order. The boxes are in that order.
func runBoxes(shape []int64, a, b int64, add func(origin, shape []int64) error) error {
	return appendRun(nil, shape, a, b, add)
}

// appendRun is like runBoxes, for the sub-array with the indices first on the first axes.
func appendRun(first, shape []int64, a, b int64, add func(origin, shape []int64) error) error {
	if a >= b {
		return nil
	}
	inner := int64(1)
	for _, n := range shape[min(1, len(shape)):] {
		inner *= n
	}
	if len(shape) == 0 || a%inner == 0 && b%inner == 0 {
		return add(wholeRows(first, shape, a/inner, b/inner))
	}
	// Add a partial row at the beginning, then the rest.
	row := a / inner
	if a%inner != 0 || b < (row+1)*inner {
		end := min(b, (row+1)*inner)
		here := append(first[:len(first):len(first)], row)
		if err := appendRun(here, shape[1:], a-row*inner, end-row*inner, add); err != nil {
			return err
		}
		return appendRun(first, shape, end, b, add)
	}
	middle := b / inner * inner
	if err := appendRun(first, shape, a, middle, add); err != nil {
		return err
	}
	return appendRun(first, shape, middle, b, add)
}

// wholeRows returns the box of the rows from i up to j of the sub-array with the indices first.
func wholeRows(first, shape []int64, i, j int64) (origin, size []int64) {
	origin = append(origin, first...)
	for range first {
		size = append(size, 1)
	}
	for k, n := range shape {
		if k == 0 {
			origin, size = append(origin, i), append(size, j-i)
			continue
		}
		origin, size = append(origin, 0), append(size, n)
	}
	return origin, size
}
