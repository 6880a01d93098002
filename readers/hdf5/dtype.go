package hdf5

import (
	"bytes"
	"math"
	"slices"

	"varve/readers"
)

// Limits of types. Real ones nest a few levels deep.
const (
	maxTypeDepth = 32
	maxRank      = 32
)

// typeDecoder decodes datatype messages (IV.A.2.d): class and version, 24 bits that
// depend on the class, size, then properties that depend on the class.
type typeDecoder struct {
	*cursor
	checked bool // the header has a checksum, so odd numbers of bits are meant
}

// readType decodes a datatype, once for all messages with the same bytes.
func readType(c *cursor, checked bool) (*readers.Type, error) {
	if c.offsets != usualOffsets { // which types of references depend on
		return decodeType(c, checked)
	}
	known := &knownTypes[0]
	if checked {
		known = &knownTypes[1]
	}
	key := c.b[c.pos:]
	if t, ok := known.get(key); ok {
		return t, nil
	}
	t, err := decodeType(c, checked)
	if err == nil {
		known.put(key, t)
	}
	return t, err
}

// decodeType decodes a datatype.
func decodeType(c *cursor, checked bool) (*readers.Type, error) {
	d := typeDecoder{c, checked}
	t := d.decode(0)
	if c.err != nil {
		return nil, c.err
	}
	return t, nil
}

// typeHead is what every datatype message begins with.
type typeHead struct {
	version int
	bits    uint32
	depth   int
}

func (d typeDecoder) decode(depth int) *readers.Type {
	first := uint32(d.uint(4))
	size := d.uint(4)
	head := typeHead{version: int(first >> 4 & 15), bits: first >> 8, depth: depth}
	t := &readers.Type{Class: readers.Class(first & 15), Size: int(size)}
	switch {
	case d.err != nil:
	case head.version < 1 || head.version > 5:
		d.fail("version of a datatype is %d, not from 1 to 5", head.version)
	case size == 0 || size > math.MaxInt32:
		d.fail("size of a datatype is %d", size)
	case depth >= maxTypeDepth:
		d.fail("datatype is nested more than %d levels deep", maxTypeDepth)
	default:
		d.properties(t, head)
	}
	return t
}

func (d typeDecoder) properties(t *readers.Type, h typeHead) {
	switch t.Class {
	case readers.Integer:
		t.Signed = h.bits&8 != 0
		d.bits(t, h)
	case readers.Bitfield:
		d.bits(t, h)
	case readers.Float:
		d.float(t, h)
	case readers.Time:
		t.Order = readers.Order(h.bits & 1)
		t.Precision = d.u16()
		t.Signed = true
	case readers.String:
		t.Padding, t.UTF8 = d.padding(h.bits&15), d.charset(h.bits>>4&15)
	case readers.Opaque:
		d.opaque(t, h)
	case readers.Compound:
		d.compound(t, h)
	case readers.Reference:
		d.reference(t, h)
	case readers.Enum:
		d.enum(t, h)
	case readers.VarLen:
		d.varlen(t, h)
	case readers.Array:
		d.array(t, h)
	case readers.Complex:
		d.complex(t, h)
	default:
		d.fail("class of a datatype is %d", t.Class)
	}
}

func (d typeDecoder) padding(v uint32) readers.Padding {
	if v > 2 {
		d.fail("padding of a string is %d, not from 0 to 2", v)
	}
	return readers.Padding(v)
}

func (d typeDecoder) charset(v uint32) bool {
	if v > 1 {
		d.fail("character set is %d, not 0 or 1", v)
	}
	return v == 1
}

// bits reads offset and precision.
func (d typeDecoder) bits(t *readers.Type, h typeHead) {
	t.Order = readers.Order(h.bits & 1)
	t.BitOffset, t.Precision = d.u16(), d.u16()
	inside := t.Precision != 0 && t.BitOffset+t.Precision <= 8*t.Size
	if d.err == nil && !inside && t.Class != readers.Bitfield { // whose bytes libhdf5 leaves as they are
		d.fail("%d bits at bit %d of a number of %d bytes", t.Precision, t.BitOffset, t.Size)
	}
	d.unusual(t)
}

// unusual refuses numbers that mostly consist of unused bits, as libhdf5 does, unless a
// checksum says that this is meant.
func (d typeDecoder) unusual(t *readers.Type) {
	if d.err == nil && !d.checked && t.Size > 1 && t.Precision < 8*t.Size && 8*t.Size > 2*(t.Precision+t.BitOffset) {
		d.fail("a number of %d bytes uses %d bits only", t.Size, t.Precision)
	}
}

func (d typeDecoder) float(t *readers.Type, h typeHead) {
	t.Order = readers.Order(h.bits & 1)
	if h.version >= 3 && h.bits&0x40 != 0 {
		if h.bits&1 == 0 {
			d.fail("byte order of a float is neither little, big nor VAX")
		}
		t.Order = readers.VAX
	}
	f := &t.Float
	switch h.bits >> 4 & 3 {
	case 0:
		f.Normalization = readers.NotNormalized
	case 1:
		f.Normalization = readers.MSBSet
	case 3:
		d.fail("normalization of a float is 3, not from 0 to 2")
	}
	f.Sign = int(h.bits >> 8 & 255)
	f.PadLow, f.PadHigh, f.PadBetween = h.bits&2 != 0, h.bits&4 != 0, h.bits&8 != 0
	t.BitOffset, t.Precision = d.u16(), d.u16()
	f.ExponentPos, f.ExponentSize = d.u8(), d.u8()
	f.MantissaPos, f.MantissaSize = d.u8(), d.u8()
	f.ExponentBias = uint32(d.u32())
	d.checkFloat(t)
	d.unusual(t)
}

func (d typeDecoder) checkFloat(t *readers.Type) {
	f, all := t.Float, 8*t.Size
	eEnd, mEnd := f.ExponentPos+f.ExponentSize, f.MantissaPos+f.MantissaSize
	switch {
	case d.err != nil:
	case f.Sign >= all, f.ExponentSize == 0, eEnd > all, f.MantissaSize == 0, mEnd > all:
		d.fail("parts of a float lie outside its %d bits", all)
	case f.Sign >= f.ExponentPos && f.Sign < eEnd, f.Sign >= f.MantissaPos && f.Sign < mEnd,
		f.ExponentPos < mEnd && f.MantissaPos < eEnd:
		d.fail("parts of a float overlap")
	}
}

// opaque reads a tag, which libhdf5 pads to 8 bytes. Writers in Rust end it with one NUL, which
// libhdf5 read until 2.0.
func (d typeDecoder) opaque(t *readers.Type, h typeHead) {
	n := int(h.bits & 255)
	tag := d.take(n)
	end := slices.Index(tag, 0)
	if n%8 != 0 && (!d.checked || end != n-1) {
		d.fail("tag of an opaque type is of %d bytes, which 8 does not divide", n)
	}
	if end >= 0 {
		tag = tag[:end]
	}
	t.Tag = string(tag)
}

// name reads a name, which versions before 3 pad to 8 bytes.
func (d typeDecoder) name(version int) string {
	s := d.text("name in a datatype")
	if pad := -(len(s) + 1) & 7; version < 3 {
		d.skip(pad)
	}
	return s
}

func (d typeDecoder) compound(t *readers.Type, h typeHead) {
	n := int(h.bits & 0xffff)
	if n == 0 {
		d.fail("compound type has no members")
	}
	seen := map[string]bool{}
	for range n {
		m := d.member(t, h)
		if d.err != nil {
			return
		}
		if seen[m.Name] {
			d.fail("compound type has two members %q", m.Name)
			return
		}
		seen[m.Name] = true
		t.Members = append(t.Members, m)
	}
	sorted := t.SortedMembers()
	for i := 1; i < n; i++ {
		if a, b := sorted[i-1], sorted[i]; a.Offset+a.Type.Size > b.Offset {
			d.fail("members %q and %q of a compound type overlap", a.Name, b.Name)
		}
	}
}

func (d typeDecoder) member(t *readers.Type, h typeHead) readers.Member {
	m := readers.Member{Name: d.name(h.version)}
	if h.version >= 3 {
		m.Offset = int(d.uint(encodedSize(uint64(t.Size))))
	} else {
		m.Offset = d.u32()
	}
	var dims []int
	if h.version == 1 {
		dims = d.embeddedDims()
	}
	m.Type = d.decode(h.depth + 1)
	if dims != nil {
		m.Type = d.arrayOf(m.Type, dims)
	}
	if d.err == nil && m.Offset+m.Type.Size > t.Size {
		d.fail("member %q reaches beyond its compound type", m.Name)
	}
	return m
}

// embeddedDims reads the dimensions that a member of a compound of version 1 has itself.
func (d typeDecoder) embeddedDims() []int {
	n := d.u8()
	if n > 4 {
		d.fail("member has %d dimensions, not up to 4", n)
		return nil
	}
	d.skip(3 + 4 + 4)
	all := make([]int, 4)
	for i := range all {
		all[i] = d.u32()
	}
	if n == 0 {
		return nil
	}
	return all[:n]
}

// arrayOf returns the type of an array, whose size must fit.
func (d typeDecoder) arrayOf(base *readers.Type, dims []int) *readers.Type {
	size := base.Size
	for _, n := range dims {
		if n == 0 {
			d.fail("array type has a dimension of length zero")
			return base
		}
		if size > math.MaxInt32/n {
			d.fail("array type of dimensions %v is too large", dims)
			return base
		}
		size *= n
	}
	return &readers.Type{Class: readers.Array, Size: size, Dims: dims, Base: base}
}

func (d typeDecoder) array(t *readers.Type, h typeHead) {
	n := d.u8()
	if n == 0 || n > maxRank {
		d.fail("array type has %d dimensions, not 1 to %d", n, maxRank)
		return
	}
	if h.version < 3 {
		d.skip(3)
	}
	dims := make([]int, n)
	for i := range dims {
		dims[i] = d.u32()
	}
	if h.version < 3 {
		d.skip(4 * n)
	}
	base := d.decode(h.depth + 1)
	if d.err != nil {
		return
	}
	a := d.arrayOf(base, dims)
	if d.err == nil && a.Size != t.Size {
		d.fail("array type is of %d bytes, its elements take %d", t.Size, a.Size)
	}
	t.Dims, t.Base = dims, base
}

func (d typeDecoder) reference(t *readers.Type, h typeHead) {
	switch kind := h.bits & 15; kind {
	case 0:
		t.Ref = readers.ObjectRef
	case 1:
		t.Ref = readers.RegionRef
	case 2, 3, 4:
		t.Ref = readers.AnyRef
		t.Size = d.offsets + 10 // in lists of them libhdf5 writes down the size in memory
		if v := h.bits >> 4 & 15; v != 1 {
			d.fail("version of a reference is %d, not 1", v)
		}
	default:
		d.fail("kind of a reference is %d, not from 0 to 4", kind)
	}
}

func (d typeDecoder) enum(t *readers.Type, h typeHead) {
	n := int(h.bits & 0xffff)
	t.Base = d.decode(h.depth + 1)
	if d.err == nil && t.Base.Size != t.Size {
		d.fail("enumeration is of %d bytes, its base type of %d", t.Size, t.Base.Size)
	}
	if d.err == nil && t.Base.Class != readers.Integer {
		d.fail("base type of an enumeration is %s", t.Base)
	}
	if d.fits(uint64(n)*2, "number of names of an enumeration"); d.err != nil {
		return
	}
	t.Choices = make([]readers.Choice, n)
	for i := range t.Choices {
		if t.Choices[i].Name = d.name(h.version); t.Choices[i].Name == "" {
			d.fail("enumeration has an empty name")
			return
		}
	}
	for i := range t.Choices {
		t.Choices[i].Value = bytes.Clone(d.take(t.Size)) // types outlive the file
	}
}

func (d typeDecoder) varlen(t *readers.Type, h typeHead) {
	switch kind := h.bits & 15; kind {
	case 0:
		t.Base = d.decode(h.depth + 1)
	case 1:
		t.IsText = true
		t.Padding, t.UTF8 = readers.Padding(h.bits>>4&15), d.charset(h.bits>>8&15)
		d.decode(h.depth + 1)
	default:
		d.fail("kind of a variable-length type is %d, not 0 or 1", kind)
	}
	if want := 4 + d.offsets + 4; d.err == nil && t.Size != want {
		d.fail("variable-length type is of %d bytes, not %d", t.Size, want)
	}
}

func (d typeDecoder) complex(t *readers.Type, h typeHead) {
	if h.bits != 1 {
		d.err = unsupported("complex type of other than rectangular, homogeneous form (%#x)", h.bits)
		return
	}
	t.Base = d.decode(h.depth + 1)
	if d.err == nil && (t.Base.Class != readers.Float || t.Size != 2*t.Base.Size) {
		d.fail("complex type of %d bytes is of %s", t.Size, t.Base)
	}
}
