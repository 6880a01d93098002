package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
	"varve/zarrjson"
)

// mosaic is the demo's archive: the variables of all files, end to end along time.
type mosaic struct {
	sources []*source.Source
	title   []readers.Attribute
	arrays  []*mosaicArray
}

// mosaicArray is one array with the tiles that it is made of.
type mosaicArray struct {
	name  string
	doc   *zarrjson.Array
	grid  *grid.Grid
	tiles []*tile
}

// tile is a variable of one file, placed along the first axis.
type tile struct {
	src    *source.Source
	v      *readers.Variable
	region grid.Region
	values []byte          // all elements in memory form
	chain  *codec.Pipeline // of its chunks; nil where it is not chunked
}

const demoAxis = "time"

// openMosaic scans the files and lays the tiles out.
func openMosaic(ctx context.Context, files []string) (*mosaic, error) {
	m := &mosaic{}
	byName := map[string]*mosaicArray{}
	for _, name := range files {
		src, err := source.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		m.sources = append(m.sources, src)
		dataset, err := formats.Open(ctx, src)
		if err != nil {
			return nil, err
		}
		m.title = dataset.Root.Attributes
		for _, v := range dataset.Root.Variables {
			if byName[v.Name] == nil {
				byName[v.Name] = &mosaicArray{name: v.Name}
				m.arrays = append(m.arrays, byName[v.Name])
			}
			if err := byName[v.Name].add(ctx, src, v); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, v.Path, err)
			}
		}
	}
	for _, a := range m.arrays {
		if err := a.face(); err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return m, nil
}

func (m *mosaic) close() {
	for _, src := range m.sources {
		src.Close()
	}
}

// add places a variable behind those of the files before, or, without a time axis, makes
// sure that it is the same as theirs.
func (a *mosaicArray) add(ctx context.Context, src *source.Source, v *readers.Variable) error {
	value, err := v.ReadAll(ctx, 1<<20)
	if err != nil {
		return err
	}
	t := &tile{src: src, v: v, values: value.Data, region: grid.MakeRegion(len(v.Shape))}
	for k, n := range v.Shape {
		t.region.Shape[k] = int64(n)
	}
	if v.Dims[0].Name != demoAxis && len(a.tiles) > 0 {
		if !bytes.Equal(a.tiles[0].values, value.Data) {
			return fmt.Errorf("differs from %s", a.tiles[0].src.Name())
		}
		return nil
	}
	if n := len(a.tiles); n > 0 {
		t.region.Origin[0] = a.tiles[n-1].region.End(0)
	}
	a.tiles = append(a.tiles, t)
	return t.chunkChain()
}

// chunkChain makes the pipeline that the tile's stored chunks are decoded with.
func (t *tile) chunkChain() error {
	if t.v.Storage.Layout != readers.Chunked {
		return nil
	}
	specs, err := t.v.Storage.Pipeline.Specs(0)
	if err != nil {
		return err
	}
	element, _, ok := t.v.Type.Plain()
	if !ok {
		return fmt.Errorf("type %v is not a plain number", t.v.Type)
	}
	shape := make([]int64, len(t.v.Storage.ChunkShape))
	for k, n := range t.v.Storage.ChunkShape {
		shape[k] = int64(n)
	}
	t.chain, err = codec.New(specs, codec.Form{Type: element, Shape: shape})
	return err
}

// face declares the array: the first file's type, codecs and chunks across time, and the
// files' own lengths along it.
func (a *mosaicArray) face() error {
	first := a.tiles[0]
	element, _, ok := first.v.Type.Plain()
	if !ok {
		return fmt.Errorf("type %v is not a plain number", first.v.Type)
	}
	dataType, err := zarrjson.DataTypeOf(element)
	if err != nil {
		return err
	}
	a.doc = &zarrjson.Array{
		Shape: append([]int64{}, first.region.Shape...), DataType: dataType,
		Codecs: []codec.Spec{{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}},
	}
	chunk := first.region.Shape
	if first.chain != nil {
		a.doc.Codecs, chunk = first.chain.Specs(), first.chain.Form().Shape
	}
	a.doc.ChunkGrid = zarrjson.RegularGrid(chunk...)
	if len(a.tiles) > 1 {
		a.doc.Shape[0] = a.tiles[len(a.tiles)-1].region.End(0)
		a.doc.ChunkGrid = zarrjson.RectilinearGrid(a.sizes(chunk)...)
	}
	if err := a.describe(); err != nil {
		return err
	}
	a.grid, err = a.doc.Grid()
	return err
}

// sizes declares the edges: along time the length of each file, else the chunk's.
func (a *mosaicArray) sizes(chunk []int64) []grid.Sizes {
	var lengths []int64
	for _, t := range a.tiles {
		lengths = append(lengths, t.region.Shape[0])
	}
	sizes := []grid.Sizes{grid.List(lengths...)}
	for k, n := range chunk[1:] {
		sizes = append(sizes, grid.RunLength(grid.Times(n, (a.doc.Shape[k+1]+n-1)/n)))
	}
	return sizes
}

// describe takes over the first file's dimension names and attributes.
func (a *mosaicArray) describe() (err error) {
	var names []string
	for _, d := range a.tiles[0].v.Dims {
		names = append(names, d.Name)
	}
	a.doc.DimensionNames = zarrjson.Names(names...)
	a.doc.Attributes, err = texts(a.tiles[0].v.Attributes)
	return err
}

// texts turns attributes that are text into those of a document.
func texts(attributes []readers.Attribute) (out zarrjson.Attributes, err error) {
	for _, attribute := range attributes {
		if attribute.Err != nil {
			return out, attribute.Err
		}
		if len(attribute.Texts) != 1 {
			continue
		}
		raw, err := json.Marshal(string(attribute.Texts[0]))
		if err != nil {
			return out, err
		}
		if err := out.Set(attribute.Name, raw); err != nil {
			return out, err
		}
	}
	return out, nil
}

// verbatim reports whether stored chunks of a tile already are what the face declares.
func (a *mosaicArray) verbatim(t *tile) bool {
	if t.chain == nil || a.tiles[0].chain == nil {
		return false
	}
	face, err := a.tiles[0].chain.WithShape(t.chain.Form().Shape)
	return err == nil && face.SameDecode(t.chain)
}

// check says of every array how its files disagree and what that costs.
func (m *mosaic) check() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "check   %d files of one archive\n", len(m.sources))
	for _, a := range m.arrays {
		if len(a.tiles) == 1 {
			fmt.Fprintf(&b, "        %-5s the same in every file\n", a.name)
			continue
		}
		fmt.Fprintf(&b, "        %-5s %v %s, chunks along %s:", a.name, a.doc.Shape, a.doc.DataType.Name(), demoAxis)
		for _, t := range a.tiles {
			fmt.Fprintf(&b, " %d", t.region.Shape[0])
		}
		b.WriteString("\n")
		for _, t := range a.tiles {
			if t.chain != nil && !a.verbatim(t) {
				fmt.Fprintf(&b, "              %s is encoded in another way; its chunks are rebuilt\n", filepath.Base(t.src.Name()))
			}
		}
	}
	return strings.TrimRight(b.String(), "\n"), nil
}
