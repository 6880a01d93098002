package netcdffile

import (
	"varve/codec"
	"varve/manifest/export/netcdf"
	"varve/readers/lookup3"
)

// object is a group, a variable, or a dimension without a variable.
type object struct {
	name       string
	attributes []value
	members    []*object // of a group
	variable   *variable // nil for a group
	address    int64
}

// value is an attribute with its value.
type value struct {
	netcdf.Attribute          // a text or numbers
	texts            [][]byte // if not nil, a list of texts
}

// variable is an HDF5 dataset.
type variable struct {
	typ     []byte
	space   space
	fill    []byte
	filters []codec.Filter
	chunk   []int64 // nil for a contiguous layout
	unit    int     // bytes of an element
	dims    []*dimension
	scale   *dimension // the dimension whose coordinate this is, or that it stands for

	area  *area  // nil if it has no values
	index *index // nil for a contiguous layout
	texts *texts // nil unless its elements are texts
}

// dimension is a named length, which a dimension scale represents.
type dimension struct {
	name      string
	length    int64
	isGrowing bool
	id        int
	scale     *object
	uses      []use
}

// use is an axis that has a dimension.
type use struct {
	object *object
	axis   int
}

// encode returns the part of the file that is in memory. size is that of the file.
func (d *dataset) encode(size int64) []byte {
	const superblockSize = 48
	d.heap = heap{base: d.heapBegin}
	e := &encoder{d: d}
	e.b = make([]byte, superblockSize)
	e.object(d.root)
	e.fill(8)
	d.heap.close()
	d.heapBegin = int64(len(e.b))
	super := packed(func(p *packer) {
		p.text("\x89HDF\r\n\x1a\n")
		p.u8(2, 8, 8, 0)
		p.u64(0)
		p.u64(undefined)
		p.u64(uint64(size))
		p.u64(uint64(d.root.address))
		p.u32(lookup3.Sum(p.b))
	})
	copy(e.b, super)
	return append(e.b, d.heap.b...)
}

// encoder encodes object headers.
type encoder struct {
	packer
	d *dataset
}

// object appends the header of an object, and then the headers of its members.
//
//	"OHDR" 2 flags u8  size u32  messages…  checksum u32
//	message  type u8  size u16  flags u8  order u16  data…
func (e *encoder) object(o *object) {
	const sizeOf4, attributeOrder, attributeIndex = 2, 4, 8
	e.fill(8)
	o.address = int64(len(e.b))
	messages := e.messages(o)
	h := packer{}
	h.text("OHDR")
	h.u8(2, sizeOf4|attributeOrder|attributeIndex)
	h.u32(uint32(len(messages)))
	h.u8(messages...)
	h.u32(lookup3.Sum(h.b))
	e.u8(h.b...)
	for _, m := range o.members {
		e.object(m)
	}
}

func (e *encoder) messages(o *object) []byte {
	var p packer
	add := func(kind byte, order int, data []byte) {
		p.u8(kind)
		p.u16(uint16(len(data)))
		p.u8(0)
		p.u16(uint16(order))
		p.u8(data...)
	}
	attributes := e.attributes(o)
	if v := o.variable; v != nil {
		add(msgDataspace, 0, v.space.encode())
		add(msgDatatype, 0, v.typ)
		add(msgFill, 0, encodeFill(v.fill))
		add(msgLayout, 0, v.layout())
		if len(v.filters) > 0 {
			add(msgFilters, 0, encodeFilters(v.filters))
		}
	} else {
		const isTracked, isIndexed = 1, 2
		add(msgLinkInfo, 0, packed(func(p *packer) {
			p.u8(0, isTracked|isIndexed)
			p.u64(uint64(len(o.members)))
			p.u64(undefined)
			p.u64(undefined)
			p.u64(undefined)
		}))
		add(msgGroupInfo, 0, []byte{0, 0})
		for i, m := range o.members {
			add(msgLink, 0, encodeLink(m.name, i, uint64(m.address)))
		}
	}
	add(msgAttributeInfo, 0, packed(func(p *packer) {
		p.u8(0, 3)
		p.u16(uint16(len(attributes)))
		p.u64(undefined)
		p.u64(undefined)
		p.u64(undefined)
	}))
	for i := range attributes {
		add(msgAttribute, i, attributes[i].encode())
	}
	return p.b
}

// layout encodes where the values are.
func (v *variable) layout() []byte {
	const version, contiguous, chunked = 3, 1, 2
	return packed(func(p *packer) {
		if v.chunk == nil {
			p.u8(version, contiguous)
			if v.area == nil || v.area.size() == 0 {
				p.u64(undefined)
				p.u64(0)
				return
			}
			p.u64(uint64(v.area.begin))
			p.u64(uint64(v.area.size()))
			return
		}
		p.u8(version, chunked, byte(len(v.chunk)+1))
		if v.index == nil {
			p.u64(undefined)
		} else {
			p.u64(v.index.root())
		}
		for _, n := range v.chunk {
			p.u32(uint32(n))
		}
		p.u32(uint32(v.unit))
	})
}

// attributes returns the attributes of an object. Some are for libraries only: netCDF-4 and HDF5 do not list them.
func (e *encoder) attributes(o *object) (out []attribute) {
	numbers := func(name string, values ...int) {
		var p packer
		for _, n := range values {
			p.u32(uint32(n))
		}
		out = append(out, attribute{name: name, typ: numberType(netcdf.Int, false), space: space{dims: []int64{int64(len(values))}}, data: p.b})
	}
	text := func(name, value string) {
		out = append(out, attribute{name: name, typ: fixedText(len(value)+1, charset([]byte(value))), data: append([]byte(value), 0)})
	}
	if o == e.d.root {
		text(propertiesName, "version=2,varve="+layoutVersion)
	}
	if v := o.variable; v != nil {
		if v.scale != nil {
			text("CLASS", "DIMENSION_SCALE")
			text("NAME", v.scale.label(v))
			e.uses(&out, v.scale)
			out = append(out, attribute{name: "_Netcdf4Dimid", typ: numberType(netcdf.Int, false), data: packed(func(p *packer) { p.u32(uint32(v.scale.id)) })})
		}
		if len(v.dims) > 0 {
			ids := make([]int, len(v.dims))
			for i, d := range v.dims {
				ids[i] = d.id
			}
			if v.scale == nil {
				e.dimensionList(&out, v)
			}
			numbers("_Netcdf4Coordinates", ids...)
		}
	}
	for i := range o.attributes {
		out = append(out, e.attribute(&o.attributes[i]))
	}
	return out
}

// dimensionList adds the dimension scales of the axes.
func (e *encoder) dimensionList(out *[]attribute, v *variable) {
	var data []byte
	for _, d := range v.dims {
		data = append(data, e.d.heap.add(packed(func(p *packer) { p.u64(uint64(d.scale.address)) }), 1)...)
	}
	*out = append(*out, attribute{name: "DIMENSION_LIST", typ: referencesType(), space: space{dims: []int64{int64(len(v.dims))}}, data: data})
}

// uses adds the axes that have a dimension. It adds no more than a message can have: readers follow DIMENSION_LIST.
func (e *encoder) uses(out *[]attribute, d *dimension) {
	uses := d.uses[:min(len(d.uses), maxMessage/scaleUseSize-16)]
	if len(uses) == 0 {
		return
	}
	data := packed(func(p *packer) {
		for _, u := range uses {
			p.u64(uint64(u.object.address))
			p.u32(uint32(u.axis))
			p.u32(0)
		}
	})
	*out = append(*out, attribute{name: "REFERENCE_LIST", typ: scaleUseType(), space: space{dims: []int64{int64(len(uses))}}, data: data})
}

// attribute encodes an attribute of the dataset. Texts that are too long for a message, and lists of texts, are in the heap.
func (e *encoder) attribute(v *value) attribute {
	a := attribute{name: v.Name}
	n := int64(len(v.Data) / v.Type.Size())
	switch {
	case v.texts != nil:
		a.typ, a.space.dims = varyingText(), []int64{int64(len(v.texts))}
		for _, t := range v.texts {
			a.data = append(a.data, e.d.heap.addText(t)...)
		}
	case n == 0:
		a.typ, a.space.isEmpty = fixedText(1, charsASCII), true
		if v.Type != netcdf.Char {
			a.typ = numberType(v.Type, false)
		}
	case v.Type == netcdf.Char && len(v.Data) > maxAttribute:
		a.typ, a.data = varyingText(), e.d.heap.addText(v.Data)
	case v.Type == netcdf.Char:
		a.typ, a.data = fixedText(len(v.Data), charset(v.Data)), v.Data
	default:
		a.typ, a.space.dims, a.data = numberType(v.Type, false), []int64{n}, v.Data
	}
	return a
}

// maxAttribute is the largest size of a value in a message, which also has the name, the type and the shape.
const maxAttribute = maxMessage - 1024
