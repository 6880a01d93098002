package scan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/manifest"
	"varve/readers"
)

// placeVirtual places the parts of a virtual dataset. Where there is no source, or no file of
// it, there is fill: so libhdf5 has it.
func (r *reading) placeVirtual(out *manifest.Variable, v *readers.Variable) error {
	p := &parted{r: r, out: out, files: map[string]int{}}
	for i := range v.Storage.Mappings {
		if err := p.addMapping(&v.Storage.Mappings[i]); err != nil {
			return err
		}
	}
	if err := p.finish(); err != nil {
		return err
	}
	return r.ctx.Err()
}

// addMapping adds what a mapping says. The name of its source may hold %b, which stands for the
// number of a block: then there are as many sources as there are in a row.
func (p *parted) addMapping(m *readers.Mapping) error {
	if !strings.Contains(m.File+m.Dataset, "%") {
		_, err := p.addSource(m)
		return err
	}
	axis := slices.Index(m.To.Count, readers.Unlimited)
	for i := range uint64(maxParts) {
		one := *m
		number := strconv.FormatUint(i, 10)
		var ok, ok2 bool
		one.File, ok = numbered(m.File, number)
		one.Dataset, ok2 = numbered(m.Dataset, number)
		if !ok || !ok2 {
			return fmt.Errorf("a source is named by the pattern %q, %q: %w", m.File, m.Dataset, errors.ErrUnsupported)
		}
		if axis >= 0 {
			one.To.Start, one.To.Count = slices.Clone(m.To.Start), slices.Clone(m.To.Count)
			one.To.Start[axis] += i * m.To.Stride[axis]
			one.To.Count[axis] = 1
		}
		there, err := p.addSource(&one)
		if err != nil || !there || axis < 0 || one.File+one.Dataset == m.File+m.Dataset {
			return err
		}
	}
	return fmt.Errorf("is made of more than %d sources: %w", maxParts, errors.ErrUnsupported)
}

// numbered puts a number in place of %b, and % in place of %%.
func numbered(pattern, number string) (string, bool) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(pattern, "%")
		out.WriteString(before)
		switch {
		case !found:
			return out.String(), true
		case strings.HasPrefix(after, "b"):
			out.WriteString(number)
		case strings.HasPrefix(after, "%"):
			out.WriteByte('%')
		default:
			return "", false
		}
		pattern = after[1:]
	}
}

// addSource adds the boxes of a mapping of one source, and reports whether that is there.
func (p *parted) addSource(m *readers.Mapping) (bool, error) {
	n := p.r.base()
	if m.File != "." {
		var err error
		if n, err = n.neighbour(m.File); n == nil || err != nil {
			return false, err
		}
	} else if n.here == nil {
		n.here = &reading{scanner: n.scanner, ctx: n.ctx, src: n.src, data: n.data, out: &found{url: n.out.url}, indexes: true, near: n.near.below()}
		n = n.here
	} else {
		n = n.here
	}
	v, f, err := n.mapped(m.Dataset)
	if v == nil || err != nil {
		return false, err
	}
	if !v.Type.Equal(p.out.Type) {
		return true, fmt.Errorf("is of type %s, and its part in %s of type %s: %w", p.out.Type, m.File, v.Type, errors.ErrUnsupported)
	}
	a, err := align(&m.From, &m.To, v.Shape, p.out.Shape)
	if err != nil {
		return true, fmt.Errorf("the mapping of %s in %s: %w", m.Dataset, m.File, err)
	}
	return true, p.addMapped(m.File+"\x00"+m.Dataset, n, a, v, f)
}

// addMapped adds the boxes of an alignment with a variable.
func (p *parted) addMapped(key string, n *reading, a *alignment, v *manifest.Variable, f *found) error {
	if v.Storage.Layout == manifest.Parted {
		return p.addNested(key, a, f)
	}
	if v.Storage.Layout == manifest.Valued {
		return fmt.Errorf("elements of a part can only be had through a reader: %w", errors.ErrUnsupported)
	}
	id := identity(n.out.url, n.src, n.data.Format)
	k, err := p.file(key, a, func() (*found, error) {
		h := n.hide(id, p.standIn(v, a), f.refs.clone())
		h.inline, h.others = f.inline, f.others
		return h, nil
	})
	if err != nil {
		return err
	}
	return a.boxes(func(origin, start, shape []int64) error {
		return p.add(box{hidden: k, origin: origin, start: start, shape: shape})
	})
}

// file returns the number of a hidden file, and makes it the first time.
func (p *parted) file(key string, a *alignment, create func() (*found, error)) (int, error) {
	key += fmt.Sprint(a.axes)
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

// standIn is the variable that a hidden file has for v.
func (p *parted) standIn(v *manifest.Variable, a *alignment) manifest.Variable {
	out := *v
	out.Path, out.Dims, out.Attributes, out.Enum = p.out.Path, p.out.Dims, p.out.Attributes, p.out.Enum
	out.Shape = a.arrange(v.Shape, 1)
	if v.Storage.Chunks != nil {
		out.Storage.Chunks = a.arrange(v.Storage.Chunks, 1)
	}
	if v.Storage.Stride != 0 && a.axes[0] != 0 {
		// Rows at a distance are those of the first axis, which is another now.
		out.Unreadable = "is rows with gaps between them, along what is not the first axis"
	}
	return out
}

// addNested adds the parts of a part that is itself in other files.
func (p *parted) addNested(key string, a *alignment, f *found) error {
	for _, part := range f.file.Parts[0] {
		inner := f.hidden[part.File]
		k, err := p.file(fmt.Sprint(key, "\x00", part.File), a, func() (*found, error) {
			v := &inner.file.Header.Variables[0]
			h := p.r.hide(inner.file.Source, p.standIn(v, a), inner.refs.clone())
			h.inline, h.others = inner.inline, inner.others
			return h, nil
		})
		if err != nil {
			return err
		}
		from, at, size := a.arrange(part.Origin, 0), a.arrange(part.Start, 0), a.arrange(part.Shape, 1)
		err = a.boxes(func(origin, start, shape []int64) error {
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
