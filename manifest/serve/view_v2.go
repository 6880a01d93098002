package serve

import (
	"bytes"
	"context"
	"fmt"
	"path"

	"varve/codec"
	"varve/manifest"
	"varve/zarrjson"
)

// newV2 returns the hierarchy in Zarr format 2: all groups, and the arrays that the format can describe.
func newV2(nodes []node, tag string) (*view, error) {
	v := newView(nodes)
	all := &zarrjson.V2Consolidated{}
	for _, n := range nodes {
		listed := all
		// An unlisted node is served but must not appear in .zmetadata, so its entry goes into a list that is
		// discarded.
		if n.unlisted != nil {
			listed = &zarrjson.V2Consolidated{}
		}
		if n.array == nil {
			listed.Nodes = append(listed.Nodes, zarrjson.V2Node{Path: n.path, Attributes: n.group})
			v.documents[path.Join(n.path, ".zgroup")] = newDocument(zarrjson.V2Group(zarrjson.Indented))
			v.addAttributes(n.path, n.group)
			continue
		}
		if err := v.addV2(n, listed, tag); err != nil {
			v.omitted = append(v.omitted, fmt.Sprintf("/%s: %v", n.path, err))
		}
	}
	data, err := all.Encode(zarrjson.Indented)
	if err != nil {
		return nil, fmt.Errorf(".zmetadata: %w", err)
	}
	v.documents[".zmetadata"] = newDocument(data)
	return v, nil
}

func (v *view) addAttributes(p string, attributes zarrjson.Attributes) {
	v.documents[path.Join(p, ".zattrs")] = newDocument(attributes.JSON())
}

func (v *view) addV2(n node, all *zarrjson.V2Consolidated, tag string) error {
	schema := n.array.Schema()
	array, attributes, err := schema.ToV2(zarrjson.V2Options{Fill: zarrjson.MaskFill, Separator: '.'})
	if err != nil {
		return err
	}
	data, err := array.Encode(zarrjson.Indented)
	if err != nil {
		return err
	}
	all.Nodes = append(all.Nodes, zarrjson.V2Node{Path: n.path, Array: array, Attributes: attributes})
	v.documents[path.Join(n.path, ".zarray")] = newDocument(data)
	v.addAttributes(n.path, attributes)
	a := &served{array: n.array, keys: array.Keys(), tag: []byte(tag + "\x00v2\x00" + n.path)}
	if !sameFill(schema, array.Missing()) {
		a.array = filled{n.array}
	}
	v.arrays[n.path] = a
	return nil
}

// sameFill reports whether format 2 gives a missing chunk the same value as the schema.
func sameFill(schema *zarrjson.Array, missing []byte) bool {
	if t := schema.DataType.Type(); !t.Varies() {
		zeros := make([]byte, t.Size)
		return bytes.Equal(orElse(schema.Fill, zeros), orElse(missing, zeros))
	}
	return bytes.Equal(schema.Fill, missing)
}

func orElse(b, instead []byte) []byte {
	if b == nil {
		return instead
	}
	return b
}

// filled is an array without missing chunks. In format 2 the fill value also masks elements. If an array masks no
// elements, clients would read another value for a missing chunk, so the server sends the chunk.
type filled struct{ array }

func (f filled) Locate(ctx context.Context, coords []int64) (manifest.Location, error) {
	loc, err := f.array.Locate(ctx, coords)
	if err == nil && loc.Kind == manifest.Missing {
		loc.Kind = manifest.Reencoded
	}
	return loc, err
}

func (f filled) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	data, err := f.array.Chunk(ctx, coords)
	if data != nil || err != nil {
		return data, err
	}
	p, err := f.Pipeline(coords)
	if err != nil {
		return nil, err
	}
	if err := p.Form().CheckSize(); err != nil {
		return nil, fmt.Errorf("chunk %v: %w", coords, err)
	}
	elems := codec.NewElems(p.Form())
	elems.SetFill(p.Form())
	return p.Encode([]byte{}, elems)
}
