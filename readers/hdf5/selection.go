package hdf5

import (
	"context"
	"errors"
	"math"
	"slices"
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
	if slices.Contains(shape, 0) {
		return nil, nil
	}
	var out []uint64
	per := s.Rank
	if s.Kind == readers.SelectBlocks {
		per = 2 * s.Rank
	}
	for c := s.Cells; len(c) >= per; c = c[per:] {
		axes, room := make([][]uint64, s.Rank), uint64(maxSelected)
		for d := range axes {
			first, last := c[d], c[per-s.Rank+d]
			if last >= shape[d] || last < first {
				return nil, readers.Corruptf("selection of %d to %d in a dimension of length %d", first, last, shape[d])
			}
			if last-first >= room {
				return nil, tooManySelected()
			}
			axes[d] = appendPlaces(nil, first, last+1)
			room /= last - first + 1
		}
		var err error
		if out, err = appendProduct(out, axes, shape); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func tooManySelected() error { return unsupported("selection of more than %d elements", maxSelected) }

func appendPlaces(list []uint64, from, end uint64) []uint64 {
	for ; from < end; from++ {
		list = append(list, from)
	}
	return list
}

func regularOffsets(s readers.Selection, shape []uint64) ([]uint64, error) {
	if slices.Contains(shape, 0) {
		return nil, nil
	}
	axes, room := make([][]uint64, s.Rank), uint64(maxSelected)
	for d := range axes {
		if s.Block[d] == 0 {
			return nil, nil
		}
		start := s.Start[d]
		for i := uint64(0); i < s.Count[d] && start < shape[d]; i++ {
			n := min(s.Block[d], shape[d]-start)
			if uint64(len(axes[d]))+n > room {
				return nil, tooManySelected()
			}
			axes[d] = appendPlaces(axes[d], start, start+n)
			if s.Stride[d] == 0 || s.Stride[d] > math.MaxUint64-start {
				break
			}
			start += s.Stride[d]
		}
		room /= max(uint64(len(axes[d])), 1)
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
			return nil, tooManySelected()
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

// The limits of what it takes to read a virtual dataset: how many lead to one another, and how
// much is done for them all. A few mappings of mappings are enough for work without an end.
const (
	maxVirtualDepth = 8
	maxSourceBytes  = 1 << 27
	maxVirtualWork  = 1 << 32 // bytes of sources and of places
	mappingWork     = 1 << 14 // at least
	objectWork      = 1 << 6  // to list one of a file
	maxKeptBytes    = 1 << 26
)

// nesting says how virtual datasets led to one that is read.
type nesting struct {
	depth int
	here  *Tree // of the file of the dataset that led here
	*sources
}

// sources is what all the datasets that one is made of, and those that these are, have in common.
type sources struct {
	left uint64              // of maxVirtualWork
	kept map[*Dataset][]byte // values: many mappings are of few datasets
	size uint64              // of what is kept

	strict bool // chunks that libhdf5 does not find are an error
}

func notNested() nesting {
	return nesting{sources: &sources{left: maxVirtualWork, kept: map[*Dataset][]byte{}}}
}

func (s *sources) spend(work uint64) error {
	if work > s.left {
		return unsupported("virtual dataset that takes more than %d bytes of others to read", uint64(maxVirtualWork))
	}
	s.left -= work
	return nil
}

// valuesOf returns the values of a source.
func (n nesting) valuesOf(ctx context.Context, from *Dataset) ([]byte, error) {
	if values, ok := n.kept[from]; ok {
		return values, nil
	}
	size, err := from.bytes()
	if err == nil {
		err = n.spend(size)
	}
	if err != nil {
		return nil, err
	}
	values, err := from.readAll(ctx, maxSourceBytes, n)
	if err != nil {
		return nil, err
	}
	if n.size += size; n.size > maxKeptBytes {
		clear(n.kept)
		n.size = size
	}
	n.kept[from] = values
	return values, nil
}

// readMappings reads the parts of a virtual dataset, from this file and from files beside
// it. Where there is no source there are fill values: so libhdf5 has it.
func (d *Dataset) readMappings(ctx context.Context, out []byte, in nesting) error {
	if in.depth >= maxVirtualDepth {
		return readers.Corruptf("virtual datasets are nested more than %d deep", maxVirtualDepth)
	}
	here := in.here
	if here == nil || here.file != d.f {
		var err error
		if here, err = d.f.Tree(ctx); err != nil {
			return err
		}
		if err := in.spend(objectWork * uint64(len(here.Objects))); err != nil {
			return err
		}
	}
	in.depth, in.here = in.depth+1, here
	for _, m := range d.Mappings {
		if strings.Contains(m.File+m.Dataset, "%") {
			return unsupported("sources named by the pattern %q, %q", m.File, m.Dataset)
		}
		err := here.withSource(ctx, m, func(tree *Tree, from *Dataset) error {
			if tree != here {
				if err := in.spend(objectWork * uint64(len(tree.Objects))); err != nil {
					return err
				}
			}
			return d.readMapped(ctx, out, from, m, in)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withSource calls use with the dataset that a mapping names, if it is there.
func (t *Tree) withSource(ctx context.Context, m readers.Mapping, use func(*Tree, *Dataset) error) error {
	if m.File == "." {
		return t.withDataset(ctx, m.Dataset, 0, use)
	}
	return t.withNeighbour(ctx, m.File, m.Dataset, 0, use)
}

// withDataset calls use with the dataset at a path, through links into other files too.
func (t *Tree) withDataset(ctx context.Context, path string, steps int, use func(*Tree, *Dataset) error) error {
	o, err := t.dataset(path)
	if away, ok := err.(*elsewhere); ok && steps < maxLinksFollowed {
		return t.withNeighbour(ctx, away.file, away.path, steps+1, use)
	}
	if o == nil || err != nil {
		return err
	}
	return use(t, o.Dataset)
}

// withNeighbour calls use with a dataset of a file that this one names.
func (t *Tree) withNeighbour(ctx context.Context, name, path string, steps int, use func(*Tree, *Dataset) error) (err error) {
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

func (d *Dataset) readMapped(ctx context.Context, out []byte, from *Dataset, m readers.Mapping, in nesting) error {
	size := d.Type.Size
	if from.Type.String() != d.Type.String() {
		return unsupported("mapping of %s to %s", from.Type, d.Type)
	}
	values, err := in.valuesOf(ctx, from)
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
	if err := in.spend(mappingWork + 8*uint64(len(source)+len(target))); err != nil {
		return err
	}
	if len(source) != len(target) && endless(m.From) < 0 && endless(m.To) < 0 {
		return unsupported("mapping of %d elements of %s to %d of %s: their shapes are no longer what they were", len(source), from.path, len(target), d.path)
	}
	for i := range min(len(source), len(target)) {
		s, t := int(source[i])*size, int(target[i])*size
		copy(out[t:t+size], values[s:s+size])
	}
	return nil
}
