package zarrstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/readers/source"
	"varve/zarrjson"
)

const (
	v3Name       = "zarr.json"
	v2Name       = ".zarray"
	v2Attributes = ".zattrs"
)

// newForm returns the form of a schema, or an error if varve cannot write it.
func newForm(schema *zarrjson.Array, format int) (*form, error) {
	switch format {
	case 3:
		if err := schema.Validate(); err != nil {
			return nil, err
		}
		f := &form{schema: schema}
		return f, errors.Join(f.bind(), f.canWrite())
	case 2:
		v2, attributes, err := schema.ToV2(zarrjson.V2Options{Fill: zarrjson.KeepFill, Separator: separator(schema.Keys)})
		if err != nil {
			return nil, err
		}
		f, err := formV2(v2, attributes)
		if err != nil {
			return nil, err
		}
		return f, f.canWrite()
	}
	return nil, fmt.Errorf("format %d of Zarr; known are 2 and 3: %w", format, errors.ErrUnsupported)
}

// separator keeps the keys of a schema that are of format 2 already.
func separator(k zarrjson.KeyEncoding) byte {
	if k.Style == zarrjson.V2Keys {
		return k.Sep()
	}
	return '.'
}

func formV2(v2 *zarrjson.V2Array, attributes zarrjson.Attributes) (*form, error) {
	schema, err := v2.ToV3(attributes, zarrjson.KeepFill)
	if err != nil {
		return nil, err
	}
	f := &form{schema: schema, v2: v2}
	return f, f.bind()
}

// bind sets the grid of the schema and the codec pipeline of its chunks.
func (f *form) bind() (err error) {
	if f.grid, err = f.schema.Grid(); err != nil {
		return err
	}
	if err := f.tile(); err != nil {
		return err
	}
	shape := make([]int64, f.grid.Rank())
	for axis := range shape {
		for e := range f.grid.Dim(axis).Unique() {
			shape[axis] = e.Codec
			break
		}
		if shape[axis] == 0 {
			return nil // an axis without extent and chunks
		}
	}
	if f.base, err = codec.New(f.schema.Codecs, f.schema.Form(shape)); err != nil {
		return err
	}
	return f.base.CheckGrid(f.grid)
}

// tile makes a grid.Tiled of each axis that repeats a pattern which the array keeps.
func (f *form) tile() error {
	policies, err := f.growth()
	if err != nil {
		return err
	}
	dims := make([]grid.Dimension, f.grid.Rank())
	for axis, p := range policies {
		dims[axis] = f.grid.Dim(axis)
		if name, _, _ := p.Policy(); name != grid.PolicyPattern {
			continue
		}
		if dims[axis], err = dims[axis].Resize(f.schema.Shape[axis], p); err != nil {
			return fmt.Errorf("axis %d: %w", axis, err)
		}
	}
	f.grid, err = grid.New(dims...)
	return err
}

func (f *form) canWrite() error {
	if f.base == nil {
		return nil
	}
	return f.base.CanEncode()
}

// readForm reads the documents of an array.
func (a *Array) readForm(ctx context.Context) (*form, error) {
	doc, version, err := a.files.ReadVersion(ctx, v3Name, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return a.readV2(ctx)
	}
	if err != nil {
		return nil, err
	}
	schema, err := zarrjson.ParseArray(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v3Name, err)
	}
	a.version = version
	f := &form{schema: a.opts.clipped(schema)}
	return f, f.bind()
}

func (a *Array) readV2(ctx context.Context) (*form, error) {
	doc, version, err := a.files.ReadVersion(ctx, v2Name, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no array: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	v2, err := zarrjson.ParseV2Array(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v2Name, err)
	}
	var attributes zarrjson.Attributes
	doc, err = a.files.Read(ctx, v2Attributes, maxDocument)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if attributes, err = zarrjson.ParseAttributes(doc); err != nil {
			return nil, fmt.Errorf("%s: %w", v2Attributes, err)
		}
	}
	a.version = version
	return formV2(v2, attributes)
}

// publish writes the document of a form, in place of the version that the array has.
func (a *Array) publish(ctx context.Context, f *form) error {
	encode, key := f.schema.Encode, v3Name
	if f.v2 != nil {
		encode, key = f.v2.Encode, v2Name
	}
	doc, err := encode(zarrjson.Indented)
	if err != nil {
		return err
	}
	version, err := a.files.Replace(ctx, key, doc, a.version)
	if errors.Is(err, source.ErrConflict) {
		return fmt.Errorf("another process changed the array: open it again: %w", err)
	}
	if err == nil {
		a.version = version
	}
	return err
}

// createAttributes writes the attributes of a new array of format 2, which are a document of their own.
// They do not change with the shape.
func (a *Array) createAttributes(ctx context.Context, f *form) error {
	if f.v2 == nil {
		return nil
	}
	_, attributes, err := f.schema.ToV2(zarrjson.V2Options{Fill: zarrjson.KeepFill})
	if err != nil || attributes.Len() == 0 {
		return err
	}
	_, err = a.files.Replace(ctx, v2Attributes, attributes.JSON(), "")
	return err
}

// isFixed reports whether every axis has one size that repeats, as a regular grid declares it.
// Cells past the extent need a list, even if they have that size too.
func isFixed(g *grid.Grid) bool {
	for axis := range g.Rank() {
		if _, ok := g.Dim(axis).(grid.Fixed); !ok {
			return false
		}
	}
	return true
}

// resized returns the form with another grid. A regular grid stays regular if possible.
func (f *form) resized(g *grid.Grid) (*form, error) {
	if f.v2 != nil {
		if !g.IsRegular() {
			return nil, fmt.Errorf("format 2 has no chunks of several lengths: %w", errors.ErrUnsupported)
		}
		v2 := *f.v2
		v2.Shape = slices.Clone(g.Shape())
		schema := *f.schema
		schema.Shape = v2.Shape
		out := &form{schema: &schema, v2: &v2}
		return out, out.bind()
	}
	schema := *f.schema
	schema.Shape = slices.Clone(g.Shape())
	var err error
	if f.schema.ChunkGrid.Name == zarrjson.Regular && !isFixed(g) {
		schema.ChunkGrid, err = zarrjson.DescribeGrid(g, zarrjson.AsRectilinear)
	} else {
		schema.ChunkGrid, err = f.schema.ChunkGrid.WithGrid(g)
	}
	if err != nil {
		return nil, err
	}
	out := &form{schema: &schema}
	return out, out.bind()
}
