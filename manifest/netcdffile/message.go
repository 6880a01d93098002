package netcdffile

import (
	"encoding/binary"
	"math"

	"varve/codec"
	"varve/manifest/export/netcdf"
)

// Types of messages of object headers.
const (
	msgDataspace     = 0x01
	msgLinkInfo      = 0x02
	msgDatatype      = 0x03
	msgFill          = 0x05
	msgLink          = 0x06
	msgLayout        = 0x08
	msgGroupInfo     = 0x0a
	msgFilters       = 0x0b
	msgAttribute     = 0x0c
	msgAttributeInfo = 0x15
)

// undefined is the address that HDF5 gives to objects and chunks that do not exist.
const undefined = math.MaxUint64

// maxMessage is the largest size of a message.
const maxMessage = math.MaxUint16

// packer appends little-endian numbers.
type packer struct{ b []byte }

func (p *packer) u8(v ...byte)  { p.b = append(p.b, v...) }
func (p *packer) u16(v uint16)  { p.b = binary.LittleEndian.AppendUint16(p.b, v) }
func (p *packer) u32(v uint32)  { p.b = binary.LittleEndian.AppendUint32(p.b, v) }
func (p *packer) u64(v uint64)  { p.b = binary.LittleEndian.AppendUint64(p.b, v) }
func (p *packer) text(s string) { p.b = append(p.b, s...) }

// fill appends zeros up to a multiple of n.
func (p *packer) fill(n int) {
	for len(p.b)%n != 0 {
		p.b = append(p.b, 0)
	}
}

// packed returns the bytes that a function appends to a packer.
func packed(do func(p *packer)) []byte {
	var p packer
	do(&p)
	return p.b
}

// space is a dataspace.
type space struct {
	dims    []int64
	max     []int64 // nil for the same as dims; unlimited for a dimension that can grow
	isEmpty bool    // no elements: the dataspace "null"
}

const unlimited = -1

func (s space) encode() []byte {
	return packed(func(p *packer) {
		if s.isEmpty {
			p.u8(2, 0, 0, 2)
			return
		}
		flags := byte(0)
		if s.max != nil {
			flags = 1
		}
		p.u8(1, byte(len(s.dims)), flags, 0, 0, 0, 0, 0)
		for _, n := range s.dims {
			p.u64(uint64(n))
		}
		for _, n := range s.max {
			p.u64(uint64(n))
		}
	})
}

// Classes of datatypes.
const (
	classInteger   = 0
	classFloat     = 1
	classString    = 3
	classCompound  = 6
	classReference = 7
	classVarying   = 9
)

// datatype is an encoded datatype message.
func datatype(class byte, flags uint32, size int, properties func(p *packer)) []byte {
	return packed(func(p *packer) {
		p.u8(1<<4|class, byte(flags), byte(flags>>8), byte(flags>>16))
		p.u32(uint32(size))
		properties(p)
	})
}

func noProperties(*packer) {}

// numberType is the datatype of numbers.
func numberType(t netcdf.Type, isBig bool) []byte {
	size := t.Size()
	order := uint32(0)
	if isBig {
		order = 1
	}
	switch t {
	case netcdf.Float, netcdf.Double:
		exponent, bias := 8, uint32(127)
		if t == netcdf.Double {
			exponent, bias = 11, 1023
		}
		mantissa := 8*size - 1 - exponent
		const impliedBit = 2 << 4
		return datatype(classFloat, order|impliedBit|uint32(8*size-1)<<8, size, func(p *packer) {
			p.u16(0)
			p.u16(uint16(8 * size))
			p.u8(byte(mantissa), byte(exponent), 0, byte(mantissa))
			p.u32(bias)
		})
	}
	const signed = 1 << 3
	switch t {
	case netcdf.Byte, netcdf.Short, netcdf.Int, netcdf.Int64:
		order |= signed
	}
	return datatype(classInteger, order, size, func(p *packer) {
		p.u16(0)
		p.u16(uint16(8 * size))
	})
}

// The character sets of texts.
const (
	charsASCII = 0
	charsUTF8  = 1
)

// charset returns the character set of a text.
func charset(text []byte) uint32 {
	for _, c := range text {
		if c >= 0x80 {
			return charsUTF8
		}
	}
	return charsASCII
}

// fixedText is the datatype of texts of size bytes, padded with NULs.
func fixedText(size int, chars uint32) []byte {
	return datatype(classString, chars<<4, size, noProperties)
}

// varyingText is the datatype of texts of any length.
func varyingText() []byte {
	return datatype(classVarying, 1|charsUTF8<<8, varyingSize, func(p *packer) { p.u8(numberType(netcdf.UByte, false)...) })
}

const (
	varyingSize   = 16 // of an element of varying length: a length, and a place in a heap
	referenceSize = 8
)

func referenceType() []byte { return datatype(classReference, 0, referenceSize, noProperties) }

// referencesType is the datatype of lists of references.
func referencesType() []byte {
	return datatype(classVarying, 0, varyingSize, func(p *packer) { p.u8(referenceType()...) })
}

// scaleUseSize is the size of an element of scaleUseType.
const scaleUseSize = 16

// scaleUseType is the datatype of the attribute REFERENCE_LIST: which axes of which datasets have a dimension.
func scaleUseType() []byte {
	return datatype(classCompound, 2, scaleUseSize, func(p *packer) {
		member := func(name string, offset uint32, typ []byte) {
			p.text(name)
			p.u8(0)
			for n := len(name) + 1; n%8 != 0; n++ {
				p.u8(0)
			}
			p.u32(offset)
			p.u8(make([]byte, 28)...) // the member is no array
			p.u8(typ...)
		}
		member("dataset", 0, referenceType())
		member("dimension", referenceSize, numberType(netcdf.UInt, false))
	})
}

// attribute is an attribute of an object, encoded.
type attribute struct {
	name  string
	typ   []byte
	space space
	data  []byte
}

func (a *attribute) encode() []byte {
	return packed(func(p *packer) {
		s := a.space.encode()
		p.u8(3, 0)
		p.u16(uint16(len(a.name) + 1))
		p.u16(uint16(len(a.typ)))
		p.u16(uint16(len(s)))
		p.u8(byte(charset([]byte(a.name))))
		p.text(a.name)
		p.u8(0)
		p.u8(a.typ...)
		p.u8(s...)
		p.u8(a.data...)
	})
}

func encodeFilters(filters []codec.Filter) []byte {
	return packed(func(p *packer) {
		p.u8(1, byte(len(filters)), 0, 0, 0, 0, 0, 0)
		for _, f := range filters {
			length := (len(f.Name) + 8) &^ 7 // with a NUL, and padded
			const isOptional = 1
			p.u16(uint16(f.ID))
			p.u16(uint16(length))
			p.u16(isOptional)
			p.u16(uint16(len(f.Values)))
			p.text(f.Name)
			p.u8(make([]byte, length-len(f.Name))...)
			for _, v := range f.Values {
				p.u32(v)
			}
			if len(f.Values)%2 != 0 {
				p.u32(0)
			}
		}
	})
}

// encodeFill encodes the message with a fill value. nil means zeros.
func encodeFill(value []byte) []byte {
	const atWriting, ifSet, isDefined = 3, 2, 1
	return packed(func(p *packer) {
		p.u8(2, atWriting, ifSet, isDefined)
		p.u32(uint32(len(value)))
		p.u8(value...)
	})
}

// encodeLink encodes the link of a group to a member.
func encodeLink(name string, order int, address uint64) []byte {
	const nameBytes, hasOrder, hasCharset = 1, 4, 16 // the length of the name has two bytes
	return packed(func(p *packer) {
		p.u8(1, nameBytes|hasOrder|hasCharset)
		p.u64(uint64(order))
		p.u8(byte(charset([]byte(name))))
		p.u16(uint16(len(name)))
		p.text(name)
		p.u64(address)
	})
}
