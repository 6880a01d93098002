package hdf5

import (
	"context"
	"slices"
	"strings"

	"varve/readers"
	"varve/readers/virtual"
)

// growVirtual sets the shape of virtual datasets that grow with their sources to the current extent
// of the sources. The shape in the file is the one at the time of writing.
func (t *Tree) growVirtual(ctx context.Context, near *sourceFiles) error {
	g := &growth{t: t, files: near, shapes: map[virtual.Source]sourceShape{}}
	var list []*Object
	for _, o := range t.Objects {
		if o.Kind == DatasetObject && slices.ContainsFunc(o.Dataset.Mappings, isGrowing) {
			list = append(list, o)
			g.noteNames(o.Dataset.Mappings)
		}
	}
	for _, o := range list {
		d := o.Dataset
		shape, err := virtual.Shape(d.Shape, d.MaxShape, d.Mappings, func(s virtual.Source) ([]uint64, bool, error) {
			now, err := g.shapeOf(ctx, s)
			return now.shape, now.exists, err
		})
		if err != nil {
			o.Err = t.file.locate(o.Path, err)
			continue
		}
		if !slices.Equal(shape, d.Shape) {
			// Virtual datasets that use this one still see the declared shape.
			was := *d
			d.declared, d.Shape = &was, shape
		}
	}
	return near.close()
}

func isGrowing(m readers.Mapping) bool { return virtual.Endless(&m.To) >= 0 }

// asDeclared returns the dataset with the shape in its file.
func (d *Dataset) asDeclared() *Dataset {
	if d.declared != nil {
		return d.declared
	}
	return d
}

// growth finds the shapes of sources.
type growth struct {
	t      *Tree
	files  *sourceFiles
	names  []string // names of datasets that mappings take from many files
	shapes map[virtual.Source]sourceShape
}

// sourceShape is the shape of a source, if it exists.
type sourceShape struct {
	shape  []uint64
	exists bool
}

// maxNames limits the number of datasets that are looked up in each open file.
const maxNames = 64

func (g *growth) noteNames(mappings []readers.Mapping) {
	for _, m := range mappings {
		if isGrowing(m) && len(g.names) < maxNames && !strings.Contains(m.Dataset, "%") && !slices.Contains(g.names, m.Dataset) {
			g.names = append(g.names, m.Dataset)
		}
	}
}

// shapeOf returns the shape of a source. While its file is open it also finds the shapes of the
// other datasets in names, so that several virtual datasets over many files open each file once.
func (g *growth) shapeOf(ctx context.Context, s virtual.Source) (sourceShape, error) {
	if found, ok := g.shapes[s]; ok {
		return found, nil
	}
	var found sourceShape
	err := g.files.withFile(ctx, g.t, s.File, func(t *Tree) error {
		for _, name := range g.names {
			if o, err := t.dataset(name); o != nil && err == nil {
				g.shapes[virtual.Source{File: s.File, Dataset: name}] = sourceShape{o.Dataset.asDeclared().Shape, true}
			}
		}
		return g.files.withDataset(ctx, t, s.Dataset, 0, func(_ *Tree, d *Dataset) error {
			found = sourceShape{d.Shape, true}
			return nil
		})
	})
	if err == nil {
		g.shapes[s] = found
	}
	return found, err
}
