package hdf4

import (
	"context"
	"fmt"

	"varve/readers"
	"varve/readers/internal/naming"
)

// builder makes a dataset.
type builder struct {
	*file
	ctx   context.Context
	out   *readers.Dataset
	names naming.Names // of variables and groups
	dims  map[string]*readers.Dimension
}

// dataset is a dataset of the SD interface on its way.
type dataset struct {
	name       string
	dims       []*readers.Dimension
	code       uint16 // of the type
	attributes []readers.Attribute
	values     *stored // nil if none were written
	ref        uint16  // of the Vgroup or data group
}

// build makes a dataset of what the SD interface shows, and adds the tables of users.
func (b *builder) build() error {
	b.dims = map[string]*readers.Dimension{}
	if err := b.checkEnd(); err != nil {
		b.problem("/", err)
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

// root is the Vgroup of class CDF0.0, or nil in files without one.
func (b *builder) root() (*vgroup, error) {
	var found *vgroup
	for _, d := range b.list {
		if d.tag != tagVgroup || found != nil && d.ref > found.ref {
			continue
		}
		g, err := b.vgroup(b.ctx, d.ref)
		if err != nil && !isVerdict(err) {
			return nil, err
		}
		if err != nil {
			b.problem(fmt.Sprint("/Vgroup ", d.ref), err)
		} else if g.class == "CDF0.0" {
			found = g
		}
	}
	return found, nil
}

// problem notes an object that cannot be read.
func (b *builder) problem(path string, err error) {
	b.out.Problems = append(b.out.Problems, readers.Problem{Path: path, Err: err})
}

// note notes what is wrong with an object, and returns what is wrong with reading.
func (b *builder) note(path string, err error) error {
	if err == nil || !isVerdict(err) {
		return err
	}
	b.problem(path, err)
	return nil
}

// add makes a variable of a dataset.
func (b *builder) add(d *dataset) error {
	if err := b.spend(variableCost); err != nil {
		return err
	}
	name := b.names.Take(d.name, fmt.Sprint("dataset", d.ref))
	v := &readers.Variable{Name: name, Path: "/" + name, Attributes: d.attributes}
	t, fill, err := typeOf(d.code)
	if err != nil {
		return b.note(v.Path, b.fail(-1, err))
	}
	v.Type, v.Fill = t, readers.Fill{State: readers.FillUser, Value: fill}
	if a := readers.Lookup(v.Attributes, "_FillValue"); a != nil && len(a.Data) == t.Size && a.Type.Class == t.Class {
		v.Fill.Value = a.Data
	}
	for _, dim := range d.dims {
		b.addAxis(v, dim)
	}
	if err = b.setRecords(v, d); err == nil {
		v.Storage = plainStorage(t)
		err = b.place(v, d.values)
	}
	if err != nil {
		v.Storage.Undecodable = err
		if err := b.note(v.Path, err); err != nil {
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

// setRecords sets the length of an unlimited first dimension, which is as long as there are
// records of the variable itself.
func (b *builder) setRecords(v *readers.Variable, d *dataset) error {
	if len(v.Dims) == 0 || !v.Dims[0].Unlimited {
		return nil
	}
	record, err := sizeOf(v.Type, v.Shape[1:])
	if err != nil {
		return err
	}
	v.Shape[0] = 0
	if d.values != nil && record > 0 {
		v.Shape[0] = uint64(max(d.values.bytes, 0) / record)
	}
	return nil
}

// shareRecords gives unlimited dimensions the length of their longest variable, and those that
// are shorter one of their own.
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
