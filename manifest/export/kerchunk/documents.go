package kerchunk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/export/internal/gribcodec"
	"varve/zarrjson"
)

// documents are the metadata documents of a hierarchy.
type documents struct {
	format  int
	because string // why format 3 was needed
	// irregular reports that the reason is an irregular chunk grid.
	irregular bool
	list      []document
	// leaveOut says, for each array, whether missing chunks can be omitted, because every client fills them
	// with the array's fill value.
	leaveOut []bool
}

type document struct {
	key  string
	json []byte
}

func (d *documents) add(key string, json []byte) { d.list = append(d.list, document{key, json}) }

// translate encodes the hierarchy in Zarr format 2 if possible, otherwise in format 3.
func (e *export) translate() (*documents, error) {
	root, err := e.tree()
	if err != nil {
		return nil, err
	}
	d, err := e.format2(root)
	if !errors.Is(err, errors.ErrUnsupported) {
		return d, err
	}
	if e.opts.GRIBCodec == string(gribcodec.Kerchunk) {
		return nil, fmt.Errorf("GRIB codec %s: it works in Zarr format 2 only: %w", e.opts.GRIBCodec, err)
	}
	because, irregular := whyFormat3(e.arrays, err)
	if d, err = e.format3(root); err == nil {
		d.because, d.irregular = because, irregular
	}
	return d, err
}

// whyFormat3 returns why format 2 was not possible, from the error of the translation, and whether the
// reason is an irregular chunk grid.
func whyFormat3(arrays []array, err error) (because string, irregular bool) {
	for _, a := range arrays {
		if a.Schema().ChunkGrid.Name == zarrjson.Rectilinear {
			return a.Path() + " has chunks of different lengths", true
		}
	}
	return "Zarr 2 cannot describe it: " + err.Error(), false
}

// tree returns the root group with all groups, including those that occur only in paths, followed by the
// arrays.
func (e *export) tree() (*zarrjson.Group, error) {
	root := &zarrjson.Group{Consolidated: &zarrjson.Consolidated{}}
	known := map[string]bool{"": true}
	add := func(g manifest.GroupSchema) {
		path := strings.Trim(g.Path, "/")
		if path == "" {
			root.Attributes = g.Attributes
		} else if !known[path] {
			known[path] = true
			member := zarrjson.Member{Path: path, Node: zarrjson.Node{Group: &zarrjson.Group{Attributes: g.Attributes, Consolidated: &zarrjson.Consolidated{}}}}
			root.Consolidated.Members = append(root.Consolidated.Members, member)
		}
	}
	for _, g := range e.groups {
		add(g)
	}
	for _, a := range e.arrays {
		for i, c := range a.Path() {
			if c == '/' && i > 0 {
				add(manifest.GroupSchema{Path: a.Path()[:i]})
			}
		}
	}
	for _, a := range e.arrays {
		schema := *a.Schema()
		schema.Extra = nil
		if err := e.declareMissing(&schema); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
		schema.Keys = zarrjson.KeyEncoding{}
		if !e.isJSON() {
			schema.Keys = zarrjson.KeyEncoding{Style: zarrjson.V2Keys, Separator: '.'}
		}
		path := arrayKey(a)
		if known[path] || path == "" {
			return nil, fmt.Errorf("%s: a group and an array have the same path", a.Path())
		}
		root.Consolidated.Members = append(root.Consolidated.Members, zarrjson.Member{Path: path, Node: zarrjson.Node{Array: &schema}})
	}
	return root, nil
}

// declareMissing declares the fill value of an array of GRIB messages as its missing value. In format 2 that is the fill value of missing
// chunks, which the codec of messages cannot encode.
func (e *export) declareMissing(schema *zarrjson.Array) error {
	if e.opts.GRIBCodec != string(gribcodec.Kerchunk) || schema.Codecs[0].Name != e.opts.GRIBCodec {
		return nil
	}
	raw, err := schema.DataType.EncodeMask(schema.Fill)
	if err != nil {
		return err
	}
	return schema.Attributes.Set("_FillValue", raw)
}

// arrayKey returns the first part of an array's keys.
func arrayKey(a array) string { return strings.Trim(a.Path(), "/") }

func (e *export) format2(root *zarrjson.Group) (*documents, error) {
	c, err := root.ToV2(zarrjson.V2Options{Fill: zarrjson.MaskFill, Separator: '.'})
	if err != nil {
		return nil, err
	}
	d := &documents{format: 2}
	for _, n := range c.Nodes {
		prefix := n.Path
		if prefix != "" {
			prefix += "/"
		}
		if n.Array == nil {
			d.add(prefix+".zgroup", zarrjson.V2Group(zarrjson.Compact))
		} else {
			raw, err := n.Array.Encode(zarrjson.Compact)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.Path, err)
			}
			d.add(prefix+".zarray", raw)
			d.leaveOut = append(d.leaveOut, e.fillsAlike(len(d.leaveOut), n.Array))
		}
		d.add(prefix+".zattrs", attributesJSON(n.Attributes))
	}
	return d, nil
}

func attributesJSON(a zarrjson.Attributes) []byte {
	if raw := a.JSON(); len(raw) > 0 {
		return raw
	}
	return []byte("{}")
}

// fillsAlike reports whether all clients fill missing chunks of the n-th array with its fill value. Without a
// fill value in format 2, zarr-python uses zeros but VirtualiZarr uses NaN.
func (e *export) fillsAlike(n int, v *zarrjson.V2Array) bool {
	t := v.DataType.Type()
	if v.Fill == nil && (t.Kind == codec.Float || t.Kind == codec.Complex) {
		return false
	}
	return bytes.Equal(fillOf(e.arrays[n].Schema().Fill, t), fillOf(v.Missing(), t))
}

// fillOf returns the bytes of a fill value; nil means zeros.
func fillOf(fill []byte, t codec.Type) []byte {
	if fill == nil {
		return make([]byte, t.Size)
	}
	return fill
}

// format3 encodes zarr.json documents and, for Parquet, the .zarray stubs from which fsspec counts chunks.
func (e *export) format3(root *zarrjson.Group) (*documents, error) {
	d := &documents{format: 3}
	raw, err := root.Encode(zarrjson.Compact)
	if err != nil {
		return nil, err
	}
	d.add("zarr.json", raw)
	e.addStub(d, "zarr.json", []int64{0})
	for _, m := range root.Consolidated.Members {
		var counts []int64
		if m.Array != nil {
			raw, err = m.Array.Encode(zarrjson.Compact)
			counts = e.arrays[len(d.leaveOut)].Grid().Counts()
			d.leaveOut = append(d.leaveOut, true)
		} else {
			raw, err = (&zarrjson.Group{Attributes: m.Group.Attributes}).Encode(zarrjson.Compact)
			counts = []int64{0}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		d.add(m.Path+"/zarr.json", raw)
		e.addStub(d, m.Path, counts)
	}
	return d, nil
}

// addStub adds a .zarray that tells fsspec the number of chunks in a folder of a Parquet set. Without it,
// fsspec silently finds none.
func (e *export) addStub(d *documents, path string, counts []int64) {
	if e.isJSON() {
		return
	}
	shape := append([]byte(`{"shape":`), wholes(counts)...)
	shape = append(append(shape, `,"chunks":`...), wholes(slices.Repeat([]int64{1}, len(counts)))...)
	d.add(path+"/.zarray", append(shape, '}'))
}

func wholes(list []int64) []byte {
	out := []byte{'['}
	for i, n := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, n, 10)
	}
	return append(out, ']')
}
