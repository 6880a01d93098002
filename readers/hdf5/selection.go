package hdf5

import (
	"context"
	"errors"
	"strings"

	"varve/readers"
)

const maxSelected = 1 << 24

// offsets lists the elements of a selection of an array of the given shape, as offsets in
// C order. What a selection without end picks beyond the shape does not count.
func offsets(s readers.Selection, shape []uint64) ([]uint64, error) {
	switch s.Kind {
	case readers.SelectNone:
		return nil, nil
	case readers.SelectAll:
		whole := readers.Selection{Kind: readers.SelectRegular, Rank: len(shape)}
		for _, n := range shape {
			whole.Start, whole.Stride = append(whole.Start, 0), append(whole.Stride, 1)
			whole.Count, whole.Block = append(whole.Count, 1), append(whole.Block, n)
		}
		s = whole
	}
	if s.Rank != len(shape) {
		return nil, readers.Corruptf("selection of rank %d of an array of shape %v", s.Rank, shape)
	}
	if s.Kind == readers.SelectRegular {
		return regularOffsets(s, shape)
	}
	var out []uint64
	per := s.Rank
	if s.Kind == readers.SelectBlocks {
		per = 2 * s.Rank
	}
	for c := s.Cells; len(c) >= per; c = c[per:] {
		axes := make([][]uint64, s.Rank)
		for d := range axes {
			first, last := c[d], c[per-s.Rank+d]
			if last >= shape[d] || last < first || last-first >= maxSelected {
				return nil, readers.Corruptf("selection of %d to %d in a dimension of length %d", first, last, shape[d])
			}
			for i := first; i <= last; i++ {
				axes[d] = append(axes[d], i)
			}
		}
		var err error
		if out, err = appendProduct(out, axes, shape); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func regularOffsets(s readers.Selection, shape []uint64) ([]uint64, error) {
	axes := make([][]uint64, s.Rank)
	for d := range axes {
		count, block := s.Count[d], min(s.Block[d], shape[d])
		for i := uint64(0); i < count; i++ {
			start := s.Start[d] + i*s.Stride[d]
			if start >= shape[d] || i > 0 && s.Stride[d] == 0 {
				break
			}
			for at := start; at < min(start+block, shape[d]); at++ {
				axes[d] = append(axes[d], at)
			}
			if len(axes[d]) > maxSelected {
				return nil, unsupported("selection of more than %d elements", maxSelected)
			}
		}
	}
	return appendProduct(nil, axes, shape)
}

// appendProduct appends the offsets of all combinations of places, the last axis fastest.
func appendProduct(out []uint64, axes [][]uint64, shape []uint64) ([]uint64, error) {
	n := uint64(1)
	for _, a := range axes {
		if n *= uint64(len(a)); n == 0 {
			return out, nil
		}
		if n+uint64(len(out)) > maxSelected {
			return nil, unsupported("selection of more than %d elements", maxSelected)
		}
	}
	at := make([]int, len(axes))
	for range n {
		var offset uint64
		for d, a := range axes {
			offset = offset*shape[d] + a[at[d]]
		}
		out = append(out, offset)
		for d := len(axes) - 1; d >= 0; d-- {
			if at[d]++; at[d] < len(axes[d]) {
				break
			}
			at[d] = 0
		}
	}
	return out, nil
}

const maxVirtualDepth = 8

// readMappings reads the parts of a virtual dataset, from this file and from files beside
// it. Where there is no source there are fill values: so libhdf5 has it.
func (d *Dataset) readMappings(ctx context.Context, out []byte, depth int) error {
	if depth >= maxVirtualDepth {
		return readers.Corruptf("virtual datasets are nested more than %d deep", maxVirtualDepth)
	}
	here, err := d.f.Tree(ctx)
	if err != nil {
		return err
	}
	for _, m := range d.Mappings {
		if strings.Contains(m.File+m.Dataset, "%") {
			return unsupported("sources named by the pattern %q, %q", m.File, m.Dataset)
		}
		if err := here.withSource(ctx, m, func(from *Dataset) error { return d.readMapped(ctx, out, from, m, depth) }); err != nil {
			return err
		}
	}
	return nil
}

// withSource calls use with the dataset that a mapping names, if it is there.
func (t *Tree) withSource(ctx context.Context, m readers.Mapping, use func(*Dataset) error) error {
	if m.File == "." {
		return t.withDataset(ctx, m.Dataset, 0, use)
	}
	return t.withNeighbour(ctx, m.File, m.Dataset, 0, use)
}

// withDataset calls use with the dataset at a path, through links into other files too.
func (t *Tree) withDataset(ctx context.Context, path string, steps int, use func(*Dataset) error) error {
	o, err := t.Lookup(path)
	if away, ok := err.(*elsewhere); ok && steps < maxLinksFollowed {
		return t.withNeighbour(ctx, away.file, away.path, steps+1, use)
	}
	if err != nil || o.Kind != DatasetObject {
		return nil
	}
	return use(o.Dataset)
}

// withNeighbour calls use with a dataset of a file that this one names.
func (t *Tree) withNeighbour(ctx context.Context, name, path string, steps int, use func(*Dataset) error) (err error) {
	src, err := t.file.openBeside(ctx, name)
	if src == nil || err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	f, err := OpenFile(ctx, src, t.file.allow...)
	if err != nil {
		return err
	}
	tree, err := f.list(ctx)
	if err != nil {
		return err
	}
	return tree.withDataset(ctx, path, steps, use)
}

func (d *Dataset) readMapped(ctx context.Context, out []byte, from *Dataset, m readers.Mapping, depth int) error {
	size := d.Type.Size
	if from.Type.String() != d.Type.String() {
		return unsupported("mapping of %s to %s", from.Type, d.Type)
	}
	src, err := from.readAll(ctx, uint64(maxSelected)*uint64(size), depth+1)
	if err != nil {
		return err
	}
	source, err := offsets(m.From, from.Shape)
	if err != nil {
		return err
	}
	target, err := offsets(m.To, d.Shape)
	if err != nil {
		return err
	}
	for i := range min(len(source), len(target)) {
		s, t := int(source[i])*size, int(target[i])*size
		copy(out[t:t+size], src[s:s+size])
	}
	return nil
}
