package zarrjson

import (
	"encoding/json"
	"slices"

	"varve/codec"
)

// FillRule says how fill values are converted between the formats, since xarray
// interprets them differently. In format 2 it reads the fill_value of a .zarray as
// _FillValue, a mask; in format 3 only the attribute _FillValue is a mask, in an encoding
// of its own.
type FillRule uint8

const (
	// KeepFill keeps fill_value and attributes: a Zarr reader sees the same.
	KeepFill FillRule = iota

	// MaskFill moves the mask to its place in the other format: xarray sees the same.
	// Towards format 2, fill_value becomes the value of the attribute _FillValue or,
	// without one, null. Missing chunks may then read as another value than before: see
	// [V2Array.Missing].
	MaskFill
)

// dimensionsAttribute is the attribute in which xarray stores the names of dimensions in
// format 2.
const dimensionsAttribute = "_ARRAY_DIMENSIONS"

// ToV3 returns the array as a document of format 3. Order F becomes a transpose, the byte
// order of the type becomes the byte order of the codec "bytes", and the attribute
// _ARRAY_DIMENSIONS becomes the dimension names. Chunk keys do not change.
func (a *V2Array) ToV3(attributes Attributes, rule FillRule) (*Array, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	codecs, err := a.v3Codecs()
	if err != nil {
		return nil, err
	}
	b := &Array{
		Shape:      slices.Clone(a.Shape),
		DataType:   a.DataType.DataType,
		ChunkGrid:  RegularGrid(a.Chunks...),
		Keys:       a.Keys(),
		Fill:       slices.Clone(a.Missing()),
		Codecs:     codecs,
		Attributes: attributes.WithoutLayout(),
	}
	if err := b.namesFromAttribute(); err != nil {
		return nil, err
	}
	if rule == MaskFill {
		if err := b.Attributes.maskToV3(a); err != nil {
			return nil, err
		}
	}
	if err := b.Validate(); err != nil {
		return nil, err
	}
	return b, nil
}

// namesFromAttribute moves the names of dimensions out of the attributes, if there are
// any.
func (a *Array) namesFromAttribute() error {
	raw, ok := a.Attributes.Get(dimensionsAttribute)
	if !ok {
		return nil
	}
	var names []string
	if json.Unmarshal(raw, &names) != nil || len(names) != len(a.Shape) {
		return corruptError("attributes."+dimensionsAttribute, "%s is not a list of %d names", abbreviate(raw), len(a.Shape))
	}
	a.DimensionNames = Names(names...)
	a.Attributes.Delete(dimensionsAttribute)
	return nil
}

// V2Options says how an array becomes a document of format 2.
type V2Options struct {
	Fill FillRule

	// Separator gives chunks new keys, with '.' or '/' between the coordinates. 0 keeps
	// the keys, which is possible only with the chunk key encoding "v2".
	Separator byte
}

// ToV2 returns the array as a .zarray and a .zattrs. It refuses features that format 2
// does not have: grids that are not regular, shards, codecs without an id there. The last
// codec is the compressor if it compresses; all others are filters. Extra fields, which
// readers need not understand, are left out.
func (a *Array) ToV2(options V2Options) (*V2Array, Attributes, error) {
	v, attributes, err := a.toV2(options)
	if err == nil {
		err = v.Validate()
	}
	if err != nil {
		return nil, Attributes{}, err
	}
	return v, attributes, nil
}

func (a *Array) toV2(options V2Options) (v *V2Array, attributes Attributes, err error) {
	if err := a.Validate(); err != nil {
		return nil, attributes, err
	}
	v = &V2Array{Shape: slices.Clone(a.Shape), Fill: a.v2Fill()}
	if v.Chunks, err = a.ChunkGrid.v2Chunks(); err != nil {
		return nil, attributes, err
	}
	if v.Separator, err = a.Keys.v2Separator(options.Separator); err != nil {
		return nil, attributes, err
	}
	if err := v.setCodecs(a); err != nil {
		return nil, attributes, err
	}
	// The attributes go to another document, so their indentation does not fit there.
	attributes = a.Attributes.WithoutLayout()
	if err := a.namesToAttribute(&attributes); err != nil {
		return nil, attributes, err
	}
	if options.Fill != MaskFill {
		return v, attributes, nil
	}
	if v.Fill, err = attributes.maskFromV3(a.DataType); err == nil {
		err = v.checkMask(attributes)
	}
	return v, attributes, err
}

// checkMask refuses a mask that xarray would change: it converts the mask of integers
// with the attribute _Unsigned, and gets big-endian ones wrong.
func (v *V2Array) checkMask(attributes Attributes) error {
	raw, _ := attributes.Get("_Unsigned")
	if v.Fill == nil || v.DataType.Order() != BigEndian || v.DataType.Type().Kind != codec.Int || string(raw) != `"true"` {
		return nil
	}
	return unsupportedError("dtype", "xarray misreads the fill value of big-endian integers with the attribute _Unsigned; keep format 3, or use little-endian")
}

// v2Fill returns the fill value with nil, which means zeros, made explicit: in format 2
// nil means null.
func (a *Array) v2Fill() []byte {
	if a.Fill == nil {
		return make([]byte, a.DataType.typ.Size)
	}
	return slices.Clone(a.Fill)
}

func (c ChunkGrid) v2Chunks() ([]int64, error) {
	if c.Name != Regular {
		return nil, unsupportedError("chunk_grid", "format 2 has no %s grid; keep format 3, or re-encode the chunks in one shape", c.Name)
	}
	chunks := make([]int64, len(c.Sizes))
	for i, s := range c.Sizes {
		chunks[i], _ = s.RegularSize()
	}
	return chunks, nil
}

func (k KeyEncoding) v2Separator(wanted byte) (byte, error) {
	if wanted != 0 {
		return wanted, nil
	}
	if k.Style != V2Keys {
		return 0, unsupportedError("chunk_key_encoding", `format 2 has no keys of the style %q; choose a separator to give the chunks new keys`, keyStyles[k.Style])
	}
	return k.Sep(), nil
}

func (a *Array) namesToAttribute(attributes *Attributes) error {
	if a.DimensionNames == nil {
		return nil
	}
	nulls := 0
	for _, n := range a.DimensionNames {
		if !n.Named {
			nulls++
		}
	}
	switch {
	case nulls == 0:
		names, err := encode(Compact, func(w *writer) error { writeNames(w, a.DimensionNames); return nil })
		if err != nil {
			return atPath("dimension_names", err)
		}
		return attributes.Set(dimensionsAttribute, names)
	case nulls < len(a.DimensionNames):
		return unsupportedError("dimension_names", "%d of %d dimensions have no name; format 2 needs all names or none", nulls, len(a.DimensionNames))
	}
	return nil
}

// ToV3 returns the hierarchy as the group at its root, with consolidated metadata.
func (c *V2Consolidated) ToV3(rule FillRule) (*Group, error) {
	root := &Group{Consolidated: &Consolidated{}}
	for _, n := range c.Nodes {
		var node Node
		var err error
		path := "metadata[" + abbreviate(n.Path) + "]"
		switch {
		case n.Path == "" && n.Array == nil:
			root.Attributes = n.Attributes.WithoutLayout()
			continue
		case n.Path == "":
			return nil, unsupportedError(path, "the root is an array, not a group")
		case n.Array == nil:
			node.Group = &Group{Attributes: n.Attributes.WithoutLayout(), Consolidated: &Consolidated{}}
		default:
			node.Array, err = n.Array.ToV3(n.Attributes, rule)
		}
		if err != nil {
			return nil, atPath(path, err)
		}
		root.Consolidated.Members = append(root.Consolidated.Members, Member{n.Path, node})
	}
	return root, nil
}

// ToV2 returns the group and all members of its consolidated metadata in format 2.
func (g *Group) ToV2(options V2Options) (*V2Consolidated, error) {
	c := &V2Consolidated{Nodes: []V2Node{{Attributes: g.Attributes.WithoutLayout()}}}
	if g.Consolidated == nil {
		return nil, corruptError("consolidated_metadata", "missing; without it the group's members are not known")
	}
	for _, m := range g.Consolidated.Members {
		n := V2Node{Path: m.Path}
		switch {
		// Format 2 has one .zmetadata at the root. A second list could contradict it.
		case m.Group != nil && m.Group.Consolidated != nil && len(m.Group.Consolidated.Members) > 0:
			return nil, unsupportedError("consolidated_metadata.metadata["+abbreviate(m.Path)+"]", "the member has consolidated metadata of its own; list its members under the root")
		case m.Group != nil:
			n.Attributes = m.Group.Attributes.WithoutLayout()
		case m.Array != nil:
			var err error
			if n.Array, n.Attributes, err = m.Array.ToV2(options); err != nil {
				return nil, atPath("consolidated_metadata.metadata["+abbreviate(m.Path)+"]", err)
			}
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c, nil
}
