package hdf4

import (
	"fmt"
	"strings"

	"varve/readers"
	"varve/readers/internal/naming"
)

// isInternal reports whether a table belongs to the library: attributes, dimension lengths, chunk
// tables.
func isInternal(class string) bool {
	switch class {
	case classAttribute, classLength, classLength01, "SDSVar", "CoordVar", "RIATTR0.0N", "RIATTR0.0C":
		return true
	}
	return strings.HasPrefix(class, "_HDF_CHK_TBL_")
}

// addTables adds the users' tables: a group each, with a variable for each field.
func (b *builder) addTables() error {
	for _, d := range b.list {
		if d.tag != tagVdata {
			continue
		}
		t, err := b.vdata(b.ctx, d.ref)
		if err == nil && isInternal(t.class) {
			continue
		}
		path := fmt.Sprint("/Vdata ", d.ref)
		if err == nil {
			name := b.names.Take(t.name, fmt.Sprint("table", d.ref))
			path = "/" + name
			err = b.addTable(t, name)
		}
		if err := b.reportIfAboutContent(path, err); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addTable(t *vdata, name string) error {
	var runs []run
	if d, ok := b.find(tagVdataRows, t.ref); ok {
		var err error
		if runs, err = b.runs(b.ctx, d); err != nil {
			return err
		}
	}
	size := t.rows * t.row
	if total(runs) < size {
		return b.fail(-1, readers.Corruptf("table has %d bytes for %d rows of %d bytes", total(runs), t.rows, t.row))
	}
	if !t.isInterlaced {
		return b.fail(-1, unsupported("table that is stored field by field"))
	}
	if runs = cutRuns(runs, 0, size); len(runs) > 1 && size > maxInline {
		return b.fail(-1, unsupported("table of %d bytes in %d blocks; rewrite the file with hrepack", size, len(runs)))
	}
	g := &readers.Group{Name: name, Path: "/" + name}
	// HDF4 has no names for the dimensions of a table.
	rows := &readers.Dimension{Name: "rows", Path: g.Path + "/rows", Length: uint64(t.rows), Anonymous: true}
	g.Dimensions = append(g.Dimensions, rows)
	taken := naming.New()
	for i, f := range t.fields {
		column := taken.Take(f.name, fmt.Sprint("field", i+1))
		if err := b.addField(g, t, f, column, runs); err != nil {
			return err
		}
	}
	b.out.Root.Groups = append(b.out.Root.Groups, g)
	return nil
}

// addField adds the variable of a field, whose values are at equal distances in runs.
func (b *builder) addField(g *readers.Group, t *vdata, f field, name string, runs []run) error {
	path := g.Path + "/" + name
	if err := b.spend(variableCost); err != nil {
		return err
	}
	typ, _, err := typeOf(f.code)
	if err != nil {
		return b.reportIfAboutContent(path, b.fail(-1, err))
	}
	rows := g.Dimensions[0]
	v := &readers.Variable{Name: name, Path: path, Dims: []*readers.Dimension{rows}, Shape: []uint64{rows.Length}}
	switch {
	case f.order*int64(typ.Size) != f.size:
		return b.reportIfAboutContent(path, b.fail(-1, readers.Corruptf("%d elements of %d bytes do not fill a field of %d bytes", f.order, typ.Size, f.size)))
	// Several characters are one string, not an array of strings.
	case f.order > 1 && typ.Class == readers.String:
		text := *typ
		text.Size = int(f.order)
		typ = &text
	case f.order > 1:
		dim := &readers.Dimension{Name: name + "_dim0", Path: path + "_dim0", Length: uint64(f.order), Anonymous: true}
		g.Dimensions = append(g.Dimensions, dim)
		v.Dims, v.Shape = append(v.Dims, dim), append(v.Shape, dim.Length)
	}
	v.Type, v.MaxShape, v.Storage = typ, v.Shape, plainStorage(typ)
	s := &v.Storage
	switch {
	case t.rows == 0:
	case len(runs) == 1 && runs[0].offset >= 0:
		s.Layout, s.Offset, s.Stride = readers.Records, runs[0].offset+f.offset, t.row
		s.Bytes = uint64(t.rows * f.size)
	default:
		all, err := b.join(b.ctx, runs)
		if err != nil {
			return err
		}
		s.Layout, s.Bytes = readers.Inline, uint64(t.rows*f.size)
		for ; int64(len(all)) >= t.row; all = all[t.row:] {
			s.Data = append(s.Data, all[f.offset:f.offset+f.size]...)
		}
	}
	b.setReader(v)
	g.Variables = append(g.Variables, v)
	return nil
}

// listImages lists images as problems, because varve does not read the GR interface. An image may
// have a second descriptor for older libraries.
func (b *builder) listImages() {
	seen := map[int64]bool{}
	for _, d := range b.list {
		switch d.tag {
		case tagRI8, tagCI8, tagII8, tagImage, tagCompressedImage:
			// Old and new descriptors of one image have the same offset.
			if !seen[d.offset] {
				b.addProblem(fmt.Sprint("/image ", d.ref), b.fail(d.at, unsupported("raster image (GR interface, tag %d); varve reads only datasets and tables", d.tag)))
			}
			seen[d.offset] = true
		}
	}
}
