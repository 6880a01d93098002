package zarrjson

import (
	"encoding/json"
	"slices"

	"varve/codec"
)

// FillRule says what becomes of fill values between the formats, which xarray takes
// to mean different things: in format 2 the fill_value of a .zarray is its _FillValue,
// a mask; in format 3 only an attribute _FillValue is, in an encoding of its own.
type FillRule uint8

const (
	// KeepFill keeps fill_value and attributes as they are: the same to Zarr.
	KeepFill FillRule = iota

	// MaskFill moves the mask to where the other format has it: the same to xarray.
	// Towards format 2, fill_value becomes the attribute _FillValue or, without one,
	// null. Missing chunks may then read as something else than before: see
	// [V2Array.Missing].
	MaskFill
)

// dimensionsAttribute is where xarray keeps the names of dimensions in format 2.
const dimensionsAttribute = "_ARRAY_DIMENSIONS"

// ToV3 returns the same array as a document of format 3: order F becomes a transpose,
// the byte order of the type that of the codec "bytes", the attribute
// _ARRAY_DIMENSIONS dimension names. Chunk keys stay as they are.
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
		Attributes: attributes.Relaid(),
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

// namesFromAttribute moves the names of dimensions out of the attributes, if that is
// what the attribute holds.
func (a *Array) namesFromAttribute() error {
	raw, ok := a.Attributes.Get(dimensionsAttribute)
	if !ok {
		return nil
	}
	var names []string
	if json.Unmarshal(raw, &names) != nil || len(names) != len(a.Shape) {
		return wrong("attributes."+dimensionsAttribute, "%s is not a list of %d names", abbreviate(raw), len(a.Shape))
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

// ToV2 returns the same array as a .zarray and a .zattrs. What format 2 cannot say is
// refused by name: grids that are not regular, shards, codecs without an id there. The
// last codec is the compressor if it compresses; all others are filters.
// Extra fields, which need not be understood, are left out.
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
	attributes = a.Attributes.Relaid()
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

// checkMask refuses a mask that xarray does not find: it turns that of big-endian integers under
// _Unsigned into others.
func (v *V2Array) checkMask(attributes Attributes) error {
	raw, _ := attributes.Get("_Unsigned")
	if v.Fill == nil || v.DataType.Order() != BigEndian || v.DataType.Type().Kind != codec.Int || string(raw) != `"true"` {
		return nil
	}
	return unsupported("dtype", "xarray sees no fill value of big-endian integers that _Unsigned turns; keep format 3, or another byte order")
}

// v2Fill tells a fill value of zeros from none.
func (a *Array) v2Fill() []byte {
	if a.Fill == nil {
		return make([]byte, a.DataType.typ.Size)
	}
	return slices.Clone(a.Fill)
}

func (c ChunkGrid) v2Chunks() ([]int64, error) {
	if c.Name != Regular {
		return nil, unsupported("chunk_grid", "format 2 has no %s grid; keep format 3, or rebuild the chunks in one shape", c.Name)
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
		return 0, unsupported("chunk_key_encoding", `format 2 has no keys of the style %q; name a separator to give the chunks new keys`, keyStyles[k.Style])
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
			return at("dimension_names", err)
		}
		return attributes.Set(dimensionsAttribute, names)
	case nulls < len(a.DimensionNames):
		return unsupported("dimension_names", "format 2 cannot leave %d of %d dimensions without a name", nulls, len(a.DimensionNames))
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
			root.Attributes = n.Attributes.Relaid()
			continue
		case n.Path == "":
			return nil, unsupported(path, "the root is an array, not a group")
		case n.Array == nil:
			node.Group = &Group{Attributes: n.Attributes.Relaid(), Consolidated: &Consolidated{}}
		default:
			node.Array, err = n.Array.ToV3(n.Attributes, rule)
		}
		if err != nil {
			return nil, at(path, err)
		}
		root.Consolidated.Members = append(root.Consolidated.Members, Member{n.Path, node})
	}
	return root, nil
}

// ToV2 returns the group and everything in its consolidated metadata in format 2.
func (g *Group) ToV2(options V2Options) (*V2Consolidated, error) {
	c := &V2Consolidated{Nodes: []V2Node{{Attributes: g.Attributes.Relaid()}}}
	if g.Consolidated == nil {
		return nil, wrong("consolidated_metadata", "missing; without it the group's members are not known")
	}
	for _, m := range g.Consolidated.Members {
		n := V2Node{Path: m.Path}
		switch {
		case m.Group != nil && m.Group.Consolidated != nil && len(m.Group.Consolidated.Members) > 0:
			return nil, unsupported("consolidated_metadata.metadata["+abbreviate(m.Path)+"]", "members of its own; list them under the root")
		case m.Group != nil:
			n.Attributes = m.Group.Attributes.Relaid()
		case m.Array != nil:
			var err error
			if n.Array, n.Attributes, err = m.Array.ToV2(options); err != nil {
				return nil, at("consolidated_metadata.metadata["+abbreviate(m.Path)+"]", err)
			}
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c, nil
}
