package netcdf3

import (
	"context"

	"varve/codec"
	"varve/readers"
	"varve/readers/source"
)

// Format is the readers.Reader of classic netCDF files.
type Format struct{}

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name: "netCDF-3", Suffixes: []string{".nc", ".cdf"}, Detect: Detect,
		New: func(*readers.Config) readers.Reader { return Format{} },
	}
}

// Open reads the header of a source.
func (Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	f, err := OpenFile(ctx, src)
	if err != nil {
		return nil, err
	}
	return f.Dataset(), nil
}

// Detect reports whether a source starts with the magic number of a classic file.
func Detect(ctx context.Context, src *source.Source) (bool, error) {
	if src.Size() < 4 {
		return false, ctx.Err()
	}
	magic, err := src.View(ctx, 0, 4)
	return version(magic) != 0, err
}

// File is an open classic file.
type File struct {
	src     *source.Source
	header  *Header
	records records
}

// OpenFile reads the header of a source.
func OpenFile(ctx context.Context, src *source.Source) (*File, error) {
	h, err := readHeader(ctx, src)
	if err != nil {
		return nil, err
	}
	return &File{src: src, header: h, records: h.records(src.Size())}, nil
}

// Header returns the header as stored.
func (f *File) Header() *Header { return f.header }

// Records returns the number of records, and the distance from one to the next in bytes.
func (f *File) Records() (count, size uint64) { return f.records.count, f.records.size }

// FormatName returns varve's name of the format.
func (h *Header) FormatName() string {
	switch h.Version {
	case offset64:
		return "netCDF-3 64-bit offset"
	case data64:
		return "netCDF-3 64-bit data"
	}
	return "netCDF-3 classic"
}

// Dataset returns the file's content with the names that netcdf-c shows. Variables with missing
// values are listed as problems, and also as variables if their shape is known.
func (f *File) Dataset() *readers.Dataset {
	b := builder{File: f, names: map[string]bool{}}
	root := &readers.Group{Path: "/", Attributes: cleanNames(f.header.Attributes)}
	for _, d := range f.header.Dims {
		root.Dimensions = append(root.Dimensions, f.dimension(d))
	}
	b.out = &readers.Dataset{Source: f.src, Format: f.header.FormatName(), HoldsChunks: true, Root: root}
	if f.header.Err != nil {
		b.addProblem("/", f.header.Err)
	}
	for i := range f.header.Vars {
		b.variable(&f.header.Vars[i])
	}
	return b.out
}

// cleanNames returns attributes with the names that netcdf-c shows.
func cleanNames(list []readers.Attribute) []readers.Attribute {
	out := make([]readers.Attribute, len(list))
	copy(out, list)
	for i := range out {
		out[i].Name = CleanName(out[i].Name)
	}
	return out
}

func (f *File) dimension(d Dim) *readers.Dimension {
	name := CleanName(d.Name)
	out := &readers.Dimension{Name: name, Path: "/" + name, Length: d.Length}
	// The header marks the record dimension by length 0.
	if d.Length == 0 {
		out.Length, out.Unlimited = f.records.count, true
	}
	return out
}

// builder builds a readers.Dataset from a file.
type builder struct {
	*File
	out   *readers.Dataset
	names map[string]bool
}

func (b *builder) addProblem(path string, err error) {
	err = &readers.Error{Source: b.src.Name(), Path: path, Offset: -1, Err: err}
	b.out.Problems = append(b.out.Problems, readers.Problem{Path: path, Err: err})
}

func (b *builder) variable(v *Var) {
	name := CleanName(v.Name)
	path := "/" + name
	if b.names[name] {
		b.addProblem(path, readers.Corruptf("more than one variable has this name"))
	}
	b.names[name] = true
	s := b.header.place(v, b.records)
	// Damage to one variable must not hide the others.
	if _, err := b.header.slabSize(v); err != nil {
		b.addProblem(path, err)
		return // without a shape
	}
	out := &readers.Variable{
		Name: name, Path: path,
		Type:       v.Type,
		Attributes: cleanNames(v.Attributes),
		Storage:    b.storage(v, s),
	}
	for _, id := range v.DimIDs {
		b.addDim(out, b.out.Root.Dimensions[id])
	}
	out.Fill = fillOf(v)
	out.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) { return b.value(ctx, v, limit) }
	b.out.Root.Variables = append(b.out.Root.Variables, out)
	if s.err == nil {
		s.err = b.header.checkBounds(s, b.src.Size())
	}
	if s.err != nil {
		b.addProblem(path, s.err)
	}
}

func (b *builder) addDim(v *readers.Variable, d *readers.Dimension) {
	limit := d.Length
	if d.Unlimited {
		limit = readers.Unlimited
	}
	v.Dims = append(v.Dims, d)
	v.Shape = append(v.Shape, d.Length)
	v.MaxShape = append(v.MaxShape, limit)
}

func (b *builder) storage(v *Var, s slab) readers.Storage {
	out := readers.Storage{Layout: readers.Contiguous, Plain: true, Pipeline: readers.Pipeline{Bytes: codec.InOrder("")}}
	if v.Type.Size > 1 {
		out.Pipeline.Bytes = codec.InOrder(codec.BigEndian)
	}
	if b.header.isRecord(v) {
		out.Layout = readers.Records
	}
	if s.err != nil {
		out.Undecodable = s.err
		return out
	}
	out.Bytes, out.Offset, out.Stride = s.bytes(), s.begin, int64(s.stride)
	return out
}

// fillOf returns the fill value of the attribute _FillValue, if its type fits. Cells that were not
// written are in the file, and hold this value.
func fillOf(v *Var) readers.Fill {
	a := readers.Lookup(v.Attributes, "_FillValue")
	if a == nil || len(a.Data) != v.Type.Size || a.Type.Class != v.Type.Class || a.Type.Signed != v.Type.Signed {
		return readers.Fill{}
	}
	return readers.Fill{State: readers.FillUser, Value: a.Data}
}

// Shape returns the shape of a variable, with the number of records.
func (f *File) Shape(v *Var) ([]uint64, error) {
	if _, err := f.header.slabSize(v); err != nil {
		return nil, err
	}
	shape := make([]uint64, len(v.DimIDs))
	for i, id := range v.DimIDs {
		shape[i] = f.header.Dims[id].Length
	}
	if f.header.isRecord(v) {
		shape[0] = f.records.count
	}
	return shape, nil
}

func (f *File) value(ctx context.Context, v *Var, limit uint64) (readers.Value, error) {
	data, err := f.Read(ctx, v, limit)
	if err != nil {
		return readers.Value{}, err
	}
	shape, err := f.Shape(v)
	if err != nil {
		return readers.Value{}, err
	}
	out := readers.Value{Type: v.Type, Shape: shape, Data: data}
	if v.Type.Class == readers.String {
		out.Texts = make([][]byte, len(data))
		for i := range data {
			out.Texts[i] = trimNULs(data[i : i+1])
		}
	}
	return out, nil
}
