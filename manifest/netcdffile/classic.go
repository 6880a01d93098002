package netcdffile

import (
	"context"
	"errors"
	"fmt"
	"path"

	"varve/codec"
	"varve/manifest/export/netcdf"
	"varve/manifest/present"
	"varve/manifest/store"
)

// classicVariable is a variable of a file of the classic model, whose values are not chunked.
type classicVariable struct {
	array  *store.Array
	kind   netcdf.Type
	chars  []byte // the values of texts, padded to one length; nil for other types
	width  int64  // the bytes of an element of the array
	failed error  // why the texts cannot be read
}

// openClassic describes the arrays of the root group as a file of netCDF's classic model.
func (f *File) openClassic(ctx context.Context, st *store.Store) error {
	d := &dataset{store: st, growing: growingDims(st)}
	file := &netcdf.File{}
	for _, g := range st.Groups() {
		if g.Path == "/" {
			for name, json := range g.Attributes.All() {
				if err := checkName("attribute", name); err != nil {
					d.omit("/@"+name, err)
					continue
				}
				file.Attributes = append(file.Attributes, typedBy(g)(name, json))
			}
		}
	}
	c := &classic{file: file, dims: map[string]int{}, record: -1}
	for _, a := range st.Arrays() {
		err := c.add(ctx, d, a)
		if errors.Is(err, errors.ErrUnsupported) {
			d.omit(a.Path(), err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	f.omitted, f.failed = d.omitted, d.failed
	l, err := file.Layout()
	if err != nil {
		return err
	}
	f.placeClassic(c, l)
	return nil
}

// classic is a file of the classic model while it is described.
type classic struct {
	file      *netcdf.File
	dims      map[string]int // indices in file.Dimensions
	record    int            // index of the record dimension, or -1
	variables []*classicVariable
	bytes     float64
}

// add adds an array.
func (c *classic) add(ctx context.Context, d *dataset, a *store.Array) error {
	schema := a.Schema()
	t := schema.DataType.Type()
	kind, ok := present.NetCDFType(t)
	if group := path.Dir(a.Path()); group != "/" {
		return fmt.Errorf("group %s: %w by netCDF's classic model", group, errors.ErrUnsupported)
	}
	if !ok {
		return fmt.Errorf("%s: %w by netCDF's classic model", schema.DataType.Name(), errors.ErrUnsupported)
	}
	name := path.Base(a.Path())
	if err := checkName("variable", name); err != nil {
		return err
	}
	if c.bytes += float64(elements(schema.Shape) * float64(max(t.Size, 1))); c.bytes > maxFile {
		return fmt.Errorf("the file would have more than 2^62 bytes: %w", errors.ErrUnsupported)
	}
	v := &classicVariable{array: a, kind: kind, width: int64(t.Size)}
	w := netcdf.Variable{Name: name, Type: kind}
	for axis, n := range schema.Shape {
		if n == 0 {
			return fmt.Errorf("dimension %s has length 0: %w by a classic file here", schema.Dim(axis), errors.ErrUnsupported)
		}
		isGrowing := axis == 0 && len(a.Spec().Dims) > 0 && d.growing[a.Spec().Dims[0]]
		at, err := c.dimension(schema.Dim(axis), n, isGrowing)
		if err != nil {
			return err
		}
		w.Dimensions = append(w.Dimensions, at)
	}
	if kind == netcdf.Char {
		err := v.readChars(ctx)
		switch {
		case isFailure(ctx, err):
			v.width, v.failed = max(int64(t.Size), 1), fmt.Errorf("%s: %w", a.Path(), err)
			d.failed = append(d.failed, Omission{a.Path(), err})
		case err != nil:
			return err
		}
		if v.width != 1 || t.Kind != codec.FixedBytes {
			at, err := c.dimension(fmt.Sprintf("string%d", v.width), v.width, false)
			if err != nil {
				return err
			}
			w.Dimensions = append(w.Dimensions, at)
		}
	}
	for _, at := range present.NetCDFAttributes(a) {
		if err := checkName("attribute", at.Name); err != nil {
			d.omit(a.Path()+"/@"+at.Name, err)
			continue
		}
		w.Attributes = append(w.Attributes, at)
	}
	c.variables = append(c.variables, v)
	c.file.Variables = append(c.file.Variables, w)
	return nil
}

// dimension returns the index of a dimension, and adds it if necessary. The first one that grows is the record dimension.
func (c *classic) dimension(name string, length int64, isGrowing bool) (int, error) {
	if err := checkName("dimension", name); err != nil {
		return 0, err
	}
	at, ok := c.dims[name]
	has := func() int64 {
		if at == c.record {
			return c.file.Records
		}
		return c.file.Dimensions[at].Length
	}
	if ok && has() != length {
		return c.dimension(fmt.Sprintf("%s_%d", name, length), length, false)
	}
	if ok {
		return at, nil
	}
	at = len(c.file.Dimensions)
	c.dims[name] = at
	if isGrowing && c.record < 0 {
		c.record, c.file.Records = at, length
		length = 0
	}
	c.file.Dimensions = append(c.file.Dimensions, netcdf.Dimension{Name: name, Length: length})
	return at, nil
}

// readChars reads an array of texts, and pads them to the length of the longest.
func (v *classicVariable) readChars(ctx context.Context) error {
	var all [][]byte
	err := eachText(ctx, v.array, func(text []byte) {
		all = append(all, text)
		v.width = max(v.width, int64(len(text)), 1)
	})
	if err != nil {
		return err
	}
	if t := v.array.Schema().DataType.Type(); t.Kind == codec.FixedUTF32 {
		v.width = 1
		for _, text := range all {
			v.width = max(v.width, int64(len(text)))
		}
	}
	if float64(len(all))*float64(v.width) > maxTexts {
		return errTexts
	}
	v.chars = make([]byte, 0, int64(len(all))*v.width)
	for _, text := range all {
		v.chars = append(v.chars, text...)
		v.chars = append(v.chars, make([]byte, v.width-int64(len(text)))...)
	}
	return nil
}

// placeClassic sets the sections of the file.
func (f *File) placeClassic(c *classic, l *netcdf.Layout) {
	f.sections = []section{{0, int64(len(l.Header)), func(_ context.Context, b []byte, off int64) error {
		copy(b, l.Header[off:])
		return nil
	}}}
	f.size = int64(len(l.Header))
	records := f.size
	for i, v := range c.variables {
		if c.file.IsRecord(i) {
			continue
		}
		f.sections = append(f.sections, section{l.Begins[i], l.Begins[i] + l.Sizes[i], v.read})
		records = max(records, l.Begins[i]+(l.Sizes[i]+3)&^3)
	}
	f.size = records
	if l.Record == 0 {
		return
	}
	f.size += l.Record * c.file.Records
	f.sections = append(f.sections, section{records, f.size, func(ctx context.Context, b []byte, off int64) error {
		for i, v := range c.variables {
			if !c.file.IsRecord(i) {
				continue
			}
			p := recordPart{size: l.Sizes[i], at: l.Begins[i] - records, record: l.Record}
			if err := p.read(ctx, v, b, off); err != nil {
				return err
			}
		}
		return nil
	}})
}

// recordPart is the part of each record that belongs to a variable.
type recordPart struct {
	size   int64 // of the part
	at     int64 // where it begins in the record
	record int64 // the size of a record
}

// before returns the number of bytes of the variable before an offset in the records.
func (p *recordPart) before(off int64) int64 {
	return off/p.record*p.size + min(max(off%p.record-p.at, 0), p.size)
}

// read sets the bytes of b that belong to the variable. It reads the values of all records at once, because records may be small.
func (p *recordPart) read(ctx context.Context, v *classicVariable, b []byte, off int64) error {
	first, end := p.before(off), p.before(off+int64(len(b)))
	values := make([]byte, end-first)
	if err := v.read(ctx, values, first); err != nil {
		return err
	}
	for at := first; at < end; {
		n := min(p.size-at%p.size, end-at)
		to := at/p.size*p.record + p.at + at%p.size - off
		copy(b[to:to+n], values[at-first:])
		at += n
	}
	return nil
}

// read fills b with the bytes at an offset in the values.
func (v *classicVariable) read(ctx context.Context, b []byte, off int64) error {
	if len(b) == 0 {
		return nil
	}
	if v.failed != nil {
		return v.failed
	}
	if v.chars != nil {
		copy(b, v.chars[off:])
		return nil
	}
	schema := v.array.Schema()
	first, end := off/v.width, (off+int64(len(b))+v.width-1)/v.width
	var all []byte
	for _, box := range boxes(schema.Shape, first, end-first) {
		e := codec.NewElems(schema.Form(box.Shape))
		if err := v.array.ReadRegion(ctx, box, e); err != nil {
			return err
		}
		all = append(all, e.Fixed...)
	}
	netcdf.Turn(v.kind, all)
	copy(b, all[off-first*v.width:])
	return nil
}
