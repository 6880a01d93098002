package hdf5

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"varve/readers"
)

// growVirtual gives virtual datasets that grow with their sources the shape that these
// have now: what the file itself says dates from when it was made.
func (t *Tree) growVirtual(ctx context.Context) {
	for _, o := range t.Objects {
		if o.Kind != DatasetObject || o.Dataset.Layout != readers.Virtual {
			continue
		}
		shape, err := t.virtualShape(ctx, o.Dataset)
		if err != nil {
			o.Err = t.file.locate(o.Path, err)
			continue
		}
		o.Dataset.Shape = shape
	}
}

// virtualShape is the shape of a virtual dataset. Along a dimension in which mappings have
// no end it reaches as far as the longest of their sources.
func (t *Tree) virtualShape(ctx context.Context, d *Dataset) ([]uint64, error) {
	shape := slices.Clone(d.Shape)
	grown := map[int]uint64{}
	for _, m := range d.Mappings {
		to, from := endless(m.To), endless(m.From)
		if to < 0 || to >= len(shape) {
			continue
		}
		n, err := t.places(ctx, m, from, m.To.Block[to])
		if err != nil {
			return nil, err
		}
		grown[to] = max(grown[to], reach(m.To, to, n))
	}
	for dim, n := range grown {
		shape[dim] = n
	}
	return shape, nil
}

const maxSources = 1 << 16

// places is how many places along its endless dimension a mapping has something for. Where
// the names of the sources hold a number, %b, each one that is there has a block of them.
func (t *Tree) places(ctx context.Context, m readers.Mapping, from int, block uint64) (uint64, error) {
	if from >= 0 {
		n, _, err := t.sourceLength(ctx, m, from)
		return selected(m.From, from, n), err
	}
	if !strings.Contains(m.File+m.Dataset, "%b") {
		return 0, readers.Corruptf("virtual dataset without an end, whose source %q has one", m.Dataset)
	}
	for i := range uint64(maxSources) {
		one := m
		number := strconv.FormatUint(i, 10)
		one.File = strings.ReplaceAll(m.File, "%b", number)
		one.Dataset = strings.ReplaceAll(m.Dataset, "%b", number)
		if _, there, err := t.sourceLength(ctx, one, 0); err != nil || !there {
			return i * block, err
		}
	}
	return 0, unsupported("virtual dataset of more than %d sources", maxSources)
}

// endless returns the dimension in which a selection has no end, or -1.
func endless(s readers.Selection) int {
	for d := range s.Count {
		if s.Count[d] == readers.Unlimited || s.Block[d] == readers.Unlimited {
			return d
		}
	}
	return -1
}

// selected is how many places of a dimension of length n an endless selection picks.
func selected(s readers.Selection, d int, n uint64) uint64 {
	if n <= s.Start[d] {
		return 0
	}
	n -= s.Start[d]
	if s.Block[d] == readers.Unlimited || s.Stride[d] == 0 {
		return n
	}
	return n/s.Stride[d]*s.Block[d] + min(n%s.Stride[d], s.Block[d])
}

// reach is how long a dimension has to be for an endless selection to pick n places.
func reach(s readers.Selection, d int, n uint64) uint64 {
	switch {
	case n == 0:
		return 0
	case s.Block[d] == readers.Unlimited || s.Block[d] == 0:
		return s.Start[d] + n
	}
	whole, rest := n/s.Block[d], n%s.Block[d]
	if rest == 0 {
		return s.Start[d] + (whole-1)*s.Stride[d] + s.Block[d]
	}
	return s.Start[d] + whole*s.Stride[d] + rest
}

// sourceLength is how long the source of a mapping is, and whether it is there. One that
// is not has no elements: so libhdf5 has it.
func (t *Tree) sourceLength(ctx context.Context, m readers.Mapping, dim int) (n uint64, there bool, err error) {
	err = t.withSource(ctx, m, func(_ *Tree, d *Dataset) error {
		if dim < len(d.Shape) {
			n, there = d.Shape[dim], true
		}
		return nil
	})
	return n, there, err
}
