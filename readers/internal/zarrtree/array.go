package zarrtree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"varve/codec"
	"varve/grid"
	"varve/readers"
	"varve/zarrjson"
)

// Array is an array of a tree.
type Array struct {
	Path string // path of the node
	Doc  *zarrjson.Array
	Grid *grid.Grid

	tree     *Tree
	doc      *document
	shown    string // path of the variable
	pipeline *codec.Pipeline
	shards   *shards // nil if chunks are read whole
	err      error   // why there is no pipeline
}

// newArray returns an array. If its codecs are unsupported, it returns the array without an error.
// If they are invalid, it returns the array and the error.
func (t *Tree) newArray(path, shown string, doc *document) (*Array, error) {
	a := &Array{Path: path, Doc: doc.array, tree: t, doc: doc, shown: shown, err: doc.undecodable}
	var err error
	if a.Grid, err = a.Doc.Grid(); err != nil {
		return nil, err
	}
	if a.err != nil {
		return a, nil
	}
	a.pipeline, a.err = codec.New(a.Doc.Codecs, a.Doc.Form(firstShape(a.Grid)))
	if a.err == nil {
		a.err = a.pipeline.CheckGrid(a.Grid)
	}
	if a.err == nil {
		a.shards, a.err = newShards(a.Grid, a.pipeline)
	}
	// An invalid array is a problem; an unsupported one is only undecodable.
	if a.err != nil && !errors.Is(a.err, errors.ErrUnsupported) {
		return a, a.err
	}
	return a, nil
}

// firstShape returns the shape of the first decoded chunk.
func firstShape(g *grid.Grid) []int64 {
	shape := make([]int64, g.Rank())
	for k := range shape {
		for e := range g.Dim(k).Unique() {
			shape[k] = e.Codec
			break
		}
	}
	return shape
}

// Chunk decodes a chunk's key, relative to the array's path, into its grid position. It returns
// false for other keys.
func (a *Array) Chunk(key string, index []uint64, coords []int64) bool {
	if !a.Doc.Keys.Parse(key, coords) {
		return false
	}
	for k, n := range a.Grid.Counts() {
		if coords[k] >= n {
			return false
		}
		index[k] = uint64(coords[k])
	}
	return true
}

// variable returns the variable of the array. The error is about an attribute, which is left out.
func (a *Array) variable(name string) (*readers.Variable, error) {
	storage := a.storage()
	v := &readers.Variable{
		Name: name, Path: a.shown,
		Dims:       dimensions(a.shown, name, a.Doc),
		Type:       TypeOf(a.Doc.DataType.Type(), orderOf(storage.Pipeline.Bytes)),
		Attributes: a.doc.typedAttributes(),
		Storage:    storage,
		ReadAll:    a.readAll,
	}
	for _, n := range a.Doc.Shape {
		v.Shape = append(v.Shape, uint64(n))
		v.MaxShape = append(v.MaxShape, uint64(n))
	}
	v.Fill = a.fill()
	return v, a.mask(v)
}

// fill returns the value of cells that were not written.
func (a *Array) fill() readers.Fill {
	if !a.doc.hasFill && isZero(a.Doc.Fill) {
		return readers.Fill{}
	}
	return readers.Fill{State: readers.FillUser, Value: a.element()}
}

// element returns the fill value in memory form.
func (a *Array) element() []byte {
	if a.Doc.Fill == nil {
		return make([]byte, a.Doc.DataType.Type().Size)
	}
	return a.Doc.Fill
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

const fillAttribute = "_FillValue"

// mask sets the attribute _FillValue with the type of the variable. In format 2 it is the fill
// value; in format 3 it is an attribute with an encoding of its own.
func (a *Array) mask(v *readers.Variable) error {
	element := a.element()
	known := readers.Lookup(v.Attributes, fillAttribute)
	if !a.doc.isMasked {
		if known == nil {
			return nil
		}
		raw, _ := a.doc.attributes.Get(fillAttribute)
		var err error
		if element, err = a.Doc.DataType.DecodeMask(raw); err != nil {
			return err
		}
	}
	if known == nil {
		v.Attributes = append(v.Attributes, readers.Attribute{Name: fillAttribute})
		known = &v.Attributes[len(v.Attributes)-1]
	}
	known.Value = readers.Value{Type: v.Type}
	if v.Type.Varies() {
		known.Texts = [][]byte{element}
		return nil
	}
	known.Data, known.Texts = element, Texts(a.Doc.DataType.Type(), element)
	return nil
}

// storage returns the storage of the array. Its chunks are the innermost ones, unless shards are kept.
func (a *Array) storage() readers.Storage {
	if a.shards == nil || a.tree.KeepShards {
		whole := a.storageOf(a.Grid, a.Doc.Codecs, a.Doc.Form(firstShape(a.Grid)))
		whole.ReadIndex = a.outerRefs
		return whole
	}
	s := a.storageOf(a.shards.grid, a.shards.pipeline.Specs(), a.shards.pipeline.Form())
	s.Index += ", shards"
	s.ReadIndex = a.Refs
	return s
}

// storageOf returns the storage of chunks with a grid and codecs, without an index.
func (a *Array) storageOf(g *grid.Grid, specs []codec.Spec, form codec.Form) readers.Storage {
	s := readers.Storage{Layout: readers.Chunked, Index: a.tree.Index, Plain: true}
	if shape, ok := g.ChunkShape(); ok {
		for _, n := range shape {
			s.ChunkShape = append(s.ChunkShape, uint64(n))
		}
	} else {
		s.Grid = g
	}
	s.Pipeline = splitCodecs(specs, form)
	if a.err != nil {
		s.Undecodable = asUnsupported(a.err)
		s.Pipeline = unsupportedPipeline(specs, a.err)
	}
	return s
}

func asUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
}

// splitCodecs splits the codecs of a valid pipeline: the shortest prefix that is a pipeline by itself
// ends with the codec from elements to bytes.
func splitCodecs(specs []codec.Spec, form codec.Form) readers.Pipeline {
	n := 1
	for n < len(specs) {
		if _, err := codec.New(specs[:n], form); err == nil {
			break
		}
		n++
	}
	p := readers.Pipeline{Arrays: specs[:n-1], Bytes: specs[n-1]}
	for _, s := range specs[n:] {
		p.Filters = append(p.Filters, readers.Filter{Name: s.Name, Codec: s})
	}
	return p
}

// unsupportedPipeline returns the pipeline of an array whose codecs form none.
func unsupportedPipeline(specs []codec.Spec, err error) readers.Pipeline {
	p := readers.Pipeline{Bytes: codec.Spec{Name: "bytes"}}
	for _, s := range specs {
		if s.Name != "bytes" {
			p.Filters = append(p.Filters, readers.Filter{Name: s.Name, Err: asUnsupported(err)})
		}
	}
	return p
}

// orderOf returns the byte order of the codec "bytes".
func orderOf(s codec.Spec) readers.Order {
	var config struct{ Endian string }
	if s.Name == "bytes" && json.Unmarshal(s.Config, &config) == nil && config.Endian == "big" {
		return readers.BigEndian
	}
	return readers.LittleEndian
}

// Refs streams the positions of the stored chunks. For a sharded array these are the innermost
// chunks.
func (a *Array) Refs(ctx context.Context) iter.Seq2[*readers.Ref, error] {
	if a.shards == nil {
		return a.outerRefs(ctx)
	}
	return a.innerRefs(ctx, a.outerRefs(ctx))
}

// outerRefs streams the positions of the stored chunks of the array's grid.
func (a *Array) outerRefs(ctx context.Context) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		for r, err := range a.tree.Chunks.Refs(ctx, a) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, a.locate(err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// locate adds the array's path to an error.
func (a *Array) locate(err error) error {
	var located *readers.Error
	if err == nil || errors.As(err, &located) {
		return err
	}
	return &readers.Error{Source: a.tree.Source.Name(), Path: a.shown, Offset: -1, Err: err}
}
