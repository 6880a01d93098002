package hdf5

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/readers"
	"varve/readers/source"
)

// Format is the readers.Reader of HDF5 and netCDF-4 files.
type Format struct {
	Allow  []string       // folders of other files that may be read, besides the file's own
	Opener *source.Opener // opens these files; nil means the default
}

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name: "HDF5", Aliases: []string{"netCDF-4"}, Suffixes: []string{".nc", ".nc4", ".h5", ".hdf5", ".he5"}, Magic: []readers.Magic{{Bytes: signature}}, Search: Search,
		MetadataSums: true,
		OwnAttributes: []string{
			"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties", "_NCCOPY",
		},
		New: func(c *readers.Config) readers.Reader { return Format{Allow: c.Allow, Opener: c.Opener} },
	}
}

// Open reads the metadata of a source.
func (m Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	f, err := OpenFile(ctx, src, m.Allow...)
	if err != nil {
		return nil, err
	}
	f.opener = m.Opener
	return f.Dataset(ctx)
}

// Dataset returns the file's content with the dimensions and names that netcdf-c gives it. Unlike
// netcdf-c it leaves nothing out: it includes objects that netCDF does not support, and lists
// unreadable objects and user-defined links as problems.
func (f *File) Dataset(ctx context.Context) (*readers.Dataset, error) {
	tree, err := f.Tree(ctx)
	if err != nil {
		return nil, err
	}
	view, err := tree.netCDF(ctx, false)
	if err != nil {
		return nil, err
	}
	v := viewer{f: f, dims: map[*NetCDFDim]*readers.Dimension{}, isNetCDF4: view.Marked, byAddr: tree.byAddr}
	out := &readers.Dataset{Source: f.src, Format: "HDF5", HoldsChunks: true, Root: v.group(ctx, view.Root)}
	f.onAllCores(len(v.vars), func(i int) { v.describe(ctx, v.vars[i]) })
	if view.Marked {
		out.Format = "netCDF-4"
	}
	for _, o := range tree.Objects {
		if o.Err != nil {
			out.Problems = append(out.Problems, readers.Problem{Path: o.Path, Err: o.Err})
		}
	}
	out.Problems, out.Links = append(out.Problems, view.Left...), view.Links
	out.LookupVirtual = func(name string) (*readers.Variable, *readers.Link, error) { return v.lookUpVirtual(tree, name) }
	return out, ctx.Err()
}

// lookUpVirtual returns the variable at a path of HDF5, or the link if the path leads into another file.
func (v *viewer) lookUpVirtual(tree *Tree, name string) (*readers.Variable, *readers.Link, error) {
	o, err := tree.dataset(name)
	if away, ok := err.(*otherFileError); ok {
		return nil, &readers.Link{Path: newOtherFileError("", name).path, File: away.file, Target: away.path}, nil
	}
	if o == nil || err != nil {
		return nil, nil, v.f.locate("", err)
	}
	i := slices.IndexFunc(v.vars, func(x viewedVar) bool { return x.of.Object == o })
	if i < 0 {
		return nil, nil, unsupported("netCDF does not present %s as a variable", o.Path)
	}
	return v.vars[i].Variable, nil, nil
}

// viewer converts a NetCDF view to a readers.Dataset.
type viewer struct {
	f         *File
	dims      map[*NetCDFDim]*readers.Dimension
	vars      []viewedVar // variables to describe
	isNetCDF4 bool        // written by netCDF-4, where a list of one string is a string
	byAddr    map[uint64]*Object
}

// viewedVar is a variable with its counterpart in the NetCDF view.
type viewedVar struct {
	*readers.Variable
	of *NetCDFVar
}

func (v *viewer) group(ctx context.Context, g *NetCDFGroup) *readers.Group {
	out := &readers.Group{Name: g.Name, Path: g.Path, Attributes: v.attributes(ctx, g.object)}
	for _, d := range g.Dims {
		dim := &readers.Dimension{Name: d.Name, Path: d.Path, Length: d.Length, Unlimited: d.Unlimited, Anonymous: d.Phony}
		v.dims[d] = dim
		out.Dimensions = append(out.Dimensions, dim)
	}
	for _, x := range g.Vars {
		out.Variables = append(out.Variables, v.variable(x))
	}
	for _, child := range g.Groups {
		out.Groups = append(out.Groups, v.group(ctx, child))
	}
	return out
}

// attributes returns an object's attributes, except attributes that store dimensions.
func (v *viewer) attributes(ctx context.Context, o *Object) []readers.Attribute {
	out := make([]readers.Attribute, 0, len(o.Attributes))
	for i := range o.Attributes {
		a := &o.Attributes[i]
		// These attributes are shown as dimensions.
		if isHidden[a.Name] && !v.isUsers(ctx, o, a.Name) {
			continue
		}
		r := readers.Attribute{Name: a.Name, Err: a.Err}
		r.Type = a.Type
		if a.Type != nil {
			r.Shape, r.Null = a.Shape, a.Space == Null
			r.Value.Data, r.Texts, r.Err = v.f.elements(ctx, a.Type, a.data)
			switch {
			case r.Err != nil:
			case isPath(a.Type):
				r.Type = pathType
				r.Texts, r.Err = v.paths(r.Value.Data)
				r.Value.Data = nil
			default:
				r.Type, r.Value.Data, r.Err = readers.ReplaceWithText(a.Type, r.Value.Data, isPath, pathType, v.path)
			}
			r.Err = v.f.locate(o.Path, r.Err)
			// netCDF has no scalar string attributes apart from lists of one.
			if v.isNetCDF4 && len(r.Texts) == 1 {
				r.Shape = nil
			}
		}
		out = append(out, r)
	}
	return out
}

// isUsers reports whether an attribute with a name that dimension scales use belongs to another
// convention: PyTables and HDF5 images have CLASS attributes too.
func (v *viewer) isUsers(ctx context.Context, o *Object, name string) bool {
	if v.isNetCDF4 || name != attrClass && name != attrName {
		return false
	}
	class, ok := findAttribute(o, attrClass)
	if !ok || class.Err != nil || class.Type == nil || !IsText(class.Type) {
		return true
	}
	texts, err := v.f.Texts(ctx, class.Type, class.data)
	return err != nil || len(texts) != 1 || string(texts[0]) != scaleClass
}

// pathType is the type of object references, which are converted to the paths of the objects.
var pathType = &readers.Type{Class: readers.VarLen, IsText: true, UTF8: true, Size: 8, Tag: readers.PathTag}

func isPath(t *readers.Type) bool { return t.Class == readers.Reference && t.Ref == readers.ObjectRef }

// paths returns the paths of the objects at 8-byte addresses. A null reference gives nil.
func (v *viewer) paths(addresses []byte) ([][]byte, error) {
	out := make([][]byte, 0, len(addresses)/8)
	for one := range slices.Chunk(addresses, 8) {
		path, err := v.path(one)
		if err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	return out, nil
}

// path returns the path of the object at an 8-byte address, or nil for a null reference.
func (v *viewer) path(address []byte) ([]byte, error) {
	addr := littleAddress(address[:v.f.super.offsets]) // libhdf5 leaves the rest uninitialized
	o := v.byAddr[addr]
	switch {
	case addr == 0 || addr == undefined:
		return nil, nil
	case o == nil:
		return nil, &readers.Error{Offset: int64(addr), Err: unsupported("reference to an object without a path")}
	}
	return []byte(o.Path), nil
}

// elements converts stored elements to memory form.
func (f *File) elements(ctx context.Context, t *readers.Type, stored []byte) (data []byte, texts [][]byte, err error) {
	if IsText(t) {
		if t.Class == readers.String {
			data = stored
		}
		texts, err = f.Texts(ctx, t, stored)
		return data, texts, err
	}
	data, err = f.Canonical(ctx, nil, t, stored)
	return data, nil, err
}

func (v *viewer) variable(x *NetCDFVar) *readers.Variable {
	d := x.Object.Dataset
	out := &readers.Variable{Name: x.Name, Path: x.Path, Shape: d.Shape, MaxShape: d.MaxShape, Type: d.Type}
	if isPath(d.Type) {
		out.Type = pathType
	}
	for i, dim := range x.Dims {
		out.Dims = append(out.Dims, v.dimension(x, dim, i))
	}
	for i, like := range x.candidates {
		out.Candidates = append(out.Candidates, nil)
		for _, dim := range like {
			if known := v.dims[dim]; known != nil && !out.Dims[i].Anonymous {
				out.Candidates[i] = append(out.Candidates[i], known)
			}
		}
	}
	v.vars = append(v.vars, viewedVar{out, x})
	return out
}

// describe sets the attributes, the storage, the fill value and ReadAll of a variable.
func (v *viewer) describe(ctx context.Context, out viewedVar) {
	x, d := out.of, out.of.Object.Dataset
	out.Attributes, out.Storage = v.attributes(ctx, x.Object), d.storage()
	out.Fill = readers.Fill{State: d.FillState, Never: d.FillTime == FillNever && d.Layout != readers.Virtual}
	value, user, err := d.memoryFill(ctx)
	switch {
	case isPath(d.Type):
		out.Fill = readers.Fill{}
		out.Storage.Texts = func(ctx context.Context, stored []byte) ([][]byte, error) {
			addresses, err := v.f.Canonical(ctx, nil, d.Type, stored)
			if err != nil {
				return nil, err
			}
			return v.paths(addresses)
		}
	case user:
		out.Fill.Value = value
	}
	if err != nil && out.Storage.Undecodable == nil {
		out.Storage.Undecodable = err
	}
	out.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		value, err := d.value(ctx, limit)
		if err == nil && isPath(d.Type) {
			value.Type = pathType
			value.Texts, err = v.paths(value.Data)
			value.Data = nil
		}
		return value, d.f.locate(x.Path, err)
	}
}

// memoryFill returns the fill value in memory form. A string is returned without the count that
// Canonical prepends.
func (d *Dataset) memoryFill(ctx context.Context) ([]byte, bool, error) {
	if !d.isText() || d.FillState != readers.FillUser {
		return d.FillValue(ctx)
	}
	texts, err := d.f.Texts(ctx, d.Type, d.filled(uint64(d.Type.Size)))
	if err != nil {
		return nil, true, d.f.locate(d.path, fmt.Errorf("fill value: %w", err))
	}
	return texts[0], true, nil
}

// dimension returns the dimension of a variable's axis, in its group or an ancestor, or makes one
// for this axis only. HDF5 allows scales of any length: a fixed one whose length differs from the
// axis does not say where its cells are, and netcdf-c would hide some of them.
func (v *viewer) dimension(x *NetCDFVar, d *NetCDFDim, i int) *readers.Dimension {
	dataset := x.Object.Dataset
	if dim := v.dims[d]; d != nil && dim != nil && (dim.Unlimited || dim.Length == dataset.Shape[i]) {
		return dim
	}
	name := fmt.Sprintf("%s_dim_%d", x.Name, i)
	if d != nil {
		name = d.Name
	}
	dim := &readers.Dimension{
		Name: name, Path: x.Path + "#" + name,
		Length:    dataset.Shape[i],
		Unlimited: dataset.MaxShape[i] == readers.Unlimited,
		Anonymous: true,
	}
	return dim
}

func (d *Dataset) value(ctx context.Context, limit uint64) (readers.Value, error) {
	in := newNesting()
	in.isStrict = true
	out := readers.Value{Type: d.Type, Shape: d.Shape, Null: d.Space == Null}
	var err error
	if d.isText() {
		out.Texts, err = d.texts(ctx, limit, in)
	} else if stored, failed := d.readAll(ctx, limit, in); failed != nil {
		err = failed
	} else {
		out.Data, out.Texts, err = d.f.elements(ctx, d.Type, stored)
	}
	out.Sources = in.files.names
	return out, d.f.locate(d.path, err)
}

// storage describes where the values are stored.
func (d *Dataset) storage() readers.Storage {
	s := readers.Storage{
		Layout:     d.Layout,
		Bytes:      d.StoredBytes(),
		ChunkShape: d.Chunk,
		Index:      d.Index,
		RawEdges:   d.RawEdges,
		Files:      d.External,
		Mappings:   d.Mappings,
	}
	if d.declared != nil {
		s.Declared = d.declared.Shape
	}
	switch d.Layout {
	case readers.Contiguous:
		s.Offset = d.Offset
		if !d.Allocated {
			s.Layout = readers.Unallocated
		}
	case readers.Inline:
		s.Data = d.compact
	case readers.Chunked:
		s.Bytes = 0
		s.Undecodable = undecodable(d.Filters)
		if d.layout.addr != undefined {
			s.ReadIndex, s.InOrder = d.strictRefs, d.inOrder()
		}
	}
	if d.isText() {
		s.Texts = func(ctx context.Context, stored []byte) ([][]byte, error) { return d.f.Texts(ctx, d.Type, stored) }
	} else if d.Type.Varies() && s.Undecodable == nil {
		s.Undecodable = unsupported("elements of type %s have varying lengths", d.Type)
	}
	_, order, plain := d.Type.Plain()
	s.Plain = plain
	s.Pipeline = readers.Pipeline{Bytes: codec.InOrder(order), Filters: d.Filters}
	return s
}
