package hdf5

import (
	"context"
	"slices"
	"strings"

	"varve/readers"
	"varve/readers/virtual"
)

// growVirtual gives virtual datasets that grow with their sources the shape that these
// have now: what the file itself says dates from when it was made.
func (t *Tree) growVirtual(ctx context.Context, near *neighbours) error {
	g := &growth{t: t, near: near, shapes: map[virtual.Source]sourceShape{}}
	var list []*Object
	for _, o := range t.Objects {
		if o.Kind == DatasetObject && slices.ContainsFunc(o.Dataset.Mappings, grows) {
			list = append(list, o)
			g.noteNames(o.Dataset.Mappings)
		}
	}
	for _, o := range list {
		d := o.Dataset
		shape, err := virtual.Shape(d.Shape, d.MaxShape, d.Mappings, func(s virtual.Source) ([]uint64, bool, error) {
			now, err := g.shapeOf(ctx, s)
			return now.shape, now.there, err
		})
		if err != nil {
			o.Err = t.file.locate(o.Path, err)
			continue
		}
		if !slices.Equal(shape, d.Shape) {
			was := *d
			d.declared, d.Shape = &was, shape
		}
	}
	return near.close()
}

func grows(m readers.Mapping) bool { return virtual.Endless(&m.To) >= 0 }

// asDeclared is a dataset with the shape that its file says.
func (d *Dataset) asDeclared() *Dataset {
	if d.declared != nil {
		return d.declared
	}
	return d
}

// growth finds the shapes of sources.
type growth struct {
	t      *Tree
	near   *neighbours
	names  []string // by which mappings call datasets of many files
	shapes map[virtual.Source]sourceShape
}

// sourceShape is what was found of a source.
type sourceShape struct {
	shape []uint64
	there bool
}

// maxNames bounds for how many names each file is asked when it is open.
const maxNames = 64

func (g *growth) noteNames(mappings []readers.Mapping) {
	for _, m := range mappings {
		if grows(m) && len(g.names) < maxNames && !strings.Contains(m.Dataset, "%") && !slices.Contains(g.names, m.Dataset) {
			g.names = append(g.names, m.Dataset)
		}
	}
}

// shapeOf finds the shape of a source, and while its file is open those of others that mappings
// name, so that several virtual datasets of many files open each of them once.
func (g *growth) shapeOf(ctx context.Context, s virtual.Source) (sourceShape, error) {
	if found, ok := g.shapes[s]; ok {
		return found, nil
	}
	var found sourceShape
	err := g.near.file(ctx, g.t, s.File, func(t *Tree) error {
		for _, name := range g.names {
			if o, err := t.dataset(name); o != nil && err == nil {
				g.shapes[virtual.Source{File: s.File, Dataset: name}] = sourceShape{o.Dataset.asDeclared().Shape, true}
			}
		}
		return g.near.dataset(ctx, t, s.Dataset, 0, func(_ *Tree, d *Dataset) error {
			found = sourceShape{d.Shape, true}
			return nil
		})
	})
	if err == nil {
		g.shapes[s] = found
	}
	return found, err
}
