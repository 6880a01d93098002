package hdf4

import (
	"context"
	"fmt"

	"varve/readers"
	"varve/readers/internal/naming"
)

// builder builds a readers.Dataset from a file.
type builder struct {
	*file
	ctx   context.Context
	out   *readers.Dataset
	names naming.Names // of variables and groups
	dims  map[string]*readers.Dimension
}

// dataset is a dataset of the SD interface before it becomes a variable.
type dataset struct {
	name       string
	dims       []*readers.Dimension
	code       uint16 // code of the number type
	attributes []readers.Attribute
	values     *stored // nil if no values were written
	ref        uint16  // of the Vgroup or data group
}

// build adds the objects that the SD interface shows, and the users' tables (Vdatas).
func (b *builder) build() error {
	b.dims = map[string]*readers.Dimension{}
	if err := b.checkEnd(); err != nil {
		b.addProblem("/", err)
	}
	root, err := b.root()
	if err != nil {
		return err
	}
	if root != nil {
		err = b.buildModel(root)
	} else {
		err = b.buildOld()
	}
	if err == nil {
		err = b.addTables()
	}
	if err == nil {
		b.listImages()
	}
	return err
}

// root returns the Vgroup of class CDF0.0, or nil in files without one. If there are several, it
// returns the one with the lowest reference number.
func (b *builder) root() (*vgroup, error) {
	var found *vgroup
	for _, d := range b.list {
		// The library takes the Vgroup with the lowest reference number, wherever its descriptor
		// is.
		if d.tag != tagVgroup || found != nil && d.ref > found.ref {
			continue
		}
		g, err := b.vgroup(b.ctx, d.ref)
		if err != nil && !isAboutContent(err) {
			return nil, err
		}
		if err != nil {
			b.addProblem(fmt.Sprint("/Vgroup ", d.ref), err)
		} else if g.class == "CDF0.0" {
			found = g
		}
	}
	return found, nil
}

// addProblem records an object that cannot be read.
func (b *builder) addProblem(path string, err error) {
	b.out.Problems = append(b.out.Problems, readers.Problem{Path: path, Err: err})
}

// reportIfAboutContent records an error about the bytes of an object and returns nil. It returns errors of reading
// unchanged.
func (b *builder) reportIfAboutContent(path string, err error) error {
	if err == nil || !isAboutContent(err) {
		return err
	}
	b.addProblem(path, err)
	return nil
}

// add adds the variable of a dataset.
func (b *builder) add(d *dataset) error {
	if err := b.spend(variableCost); err != nil {
		return err
	}
	name := b.names.Take(d.name, fmt.Sprint("dataset", d.ref))
	v := &readers.Variable{Name: name, Path: "/" + name, Attributes: d.attributes}
	t, fill, err := typeOf(d.code)
	if err != nil {
		return b.reportIfAboutContent(v.Path, b.fail(-1, err))
	}
	v.Type, v.Fill = t, readers.Fill{State: readers.FillUser, Value: fill}
	if a := readers.Lookup(v.Attributes, "_FillValue"); a != nil && len(a.Data) == t.Size && a.Type.Class == t.Class {
		// The attribute has the type of the values, so it replaces the default fill value of the
		// library.
		v.Fill.Value = a.Data
	}
	for _, dim := range d.dims {
		b.addAxis(v, dim)
	}
	if err = b.setRecords(v, d); err == nil {
		v.Storage = plainStorage(t)
		err = b.setStorage(v, d.values)
	}
	if err != nil {
		v.Storage.Undecodable = err
		if err := b.reportIfAboutContent(v.Path, err); err != nil {
			return err
		}
	}
	b.setReader(v)
	b.out.Root.Variables = append(b.out.Root.Variables, v)
	return nil
}

func plainStorage(t *readers.Type) readers.Storage {
	return readers.Storage{Plain: true, Pipeline: readers.Pipeline{Bytes: layout(t)}}
}

func (b *builder) addAxis(v *readers.Variable, d *readers.Dimension) {
	most := d.Length
	if d.Unlimited {
		most = readers.Unlimited
	}
	v.Dims, v.Shape, v.MaxShape = append(v.Dims, d), append(v.Shape, d.Length), append(v.MaxShape, most)
}

// setRecords sets the length of an unlimited first dimension to the number of records of this
// variable.
func (b *builder) setRecords(v *readers.Variable, d *dataset) error {
	if len(v.Dims) == 0 || !v.Dims[0].Unlimited {
		return nil
	}
	record, err := sizeOf(v.Type, v.Shape[1:])
	if err != nil {
		return err
	}
	// The file stores one length for a record dimension, but each variable has its own number of records.
	v.Shape[0] = 0
	if d.values != nil && record > 0 {
		v.Shape[0] = uint64(max(d.values.bytes, 0) / record)
	}
	return nil
}

// shareRecords sets the length of each unlimited dimension to the length of its longest variable. Shorter
// variables get a dimension of their own, because HDF4 stores no records for the rest.
func (b *builder) shareRecords() {
	root := b.out.Root
	for _, v := range root.Variables {
		if len(v.Dims) > 0 && v.Dims[0].Unlimited {
			v.Dims[0].Length = max(v.Dims[0].Length, v.Shape[0])
		}
	}
	for _, v := range root.Variables {
		if len(v.Dims) > 0 && v.Shape[0] < v.Dims[0].Length {
			name := v.Name + "#" + v.Dims[0].Name
			v.Dims[0] = &readers.Dimension{Name: name, Path: "/" + name, Length: v.Shape[0], Unlimited: true, Anonymous: true}
			root.Dimensions = append(root.Dimensions, v.Dims[0])
		}
	}
}
