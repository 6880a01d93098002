package hdf5

import (
	"bytes"
	"math"
	"slices"

	"varve/readers"
)

// Limits of datatypes; real ones nest a few levels.
const (
	maxTypeDepth = 32
	maxRank      = 32
)

// typeDecoder decodes datatype messages (IV.A.2.d):
//
//	0   class (low 4 bits) and version (high 4 bits)
//	1   class bit field (3 bytes)
//	4   size of an element (4 bytes)
//	8   properties, which depend on the class
//
// For example, a little-endian signed 32-bit integer is 10 08 00 00 04000000 0000 2000: version 1,
// class 0, bit 3 for signed, 4 bytes, bit offset 0, precision 32.
type typeDecoder struct {
	*cursor
	hasChecksum bool // the object header has a checksum, so unusual numbers of bits are intended
}

// readType decodes a datatype, and caches the result by the encoded bytes.
func readType(c *cursor, checked bool) (*readers.Type, error) {
	if c.offsets != usualOffsets { // the size of references depends on the size of addresses
		return decodeType(c, checked)
	}
	known := &typeCache[0]
	if checked {
		known = &typeCache[1]
	}
	// The whole rest of the message is the key: a datatype has no length field.
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

// typeHead holds the fields that every datatype message begins with.
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
		d.fail("datatype: version is %d (want 1 to 5)", head.version)
	case size == 0 || size > math.MaxInt32:
		d.fail("datatype: size %d is out of range", size)
	case depth >= maxTypeDepth:
		d.fail("datatype: nested more than %d levels deep", maxTypeDepth)
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
		d.fail("datatype: unknown class %d", t.Class)
	}
}

func (d typeDecoder) padding(v uint32) readers.Padding {
	if v > 2 {
		d.fail("datatype: string padding is %d (want 0 to 2)", v)
	}
	return readers.Padding(v)
}

func (d typeDecoder) charset(v uint32) bool {
	if v > 1 {
		d.fail("datatype: character set is %d (want 0 or 1)", v)
	}
	return v == 1
}

// bits reads the bit offset and the precision.
func (d typeDecoder) bits(t *readers.Type, h typeHead) {
	t.Order = readers.Order(h.bits & 1)
	t.BitOffset, t.Precision = d.u16(), d.u16()
	inside := t.Precision != 0 && t.BitOffset+t.Precision <= 8*t.Size
	if d.err == nil && !inside && t.Class != readers.Bitfield { // libhdf5 does not convert bit fields
		d.fail("datatype: %d bits at bit %d are outside a number of %d bytes", t.Precision, t.BitOffset, t.Size)
	}
	d.checkPrecision(t)
}

// checkPrecision rejects numbers of mostly unused bits, as libhdf5 does, because they are a sign of
// damage. With a checksum they are accepted.
func (d typeDecoder) checkPrecision(t *readers.Type) {
	if d.err == nil && !d.hasChecksum && t.Size > 1 && t.Precision < 8*t.Size && 8*t.Size > 2*(t.Precision+t.BitOffset) {
		d.fail("datatype: a number of %d bytes uses only %d bits", t.Size, t.Precision)
	}
}

func (d typeDecoder) float(t *readers.Type, h typeHead) {
	t.Order = readers.Order(h.bits & 1)
	// Bit 6 extends the byte order since version 3: both bits set mean VAX.
	if h.version >= 3 && h.bits&0x40 != 0 {
		if h.bits&1 == 0 {
			d.fail("datatype: byte order of a float is neither little-endian, big-endian nor VAX")
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
		d.fail("datatype: mantissa normalization of a float is 3 (want 0 to 2)")
	}
	f.Sign = int(h.bits >> 8 & 255)
	f.PadLow, f.PadHigh, f.PadBetween = h.bits&2 != 0, h.bits&4 != 0, h.bits&8 != 0
	t.BitOffset, t.Precision = d.u16(), d.u16()
	f.ExponentPos, f.ExponentSize = d.u8(), d.u8()
	f.MantissaPos, f.MantissaSize = d.u8(), d.u8()
	f.ExponentBias = uint32(d.u32())
	d.checkFloat(t)
	d.checkPrecision(t)
}

func (d typeDecoder) checkFloat(t *readers.Type) {
	f, all := t.Float, 8*t.Size
	eEnd, mEnd := f.ExponentPos+f.ExponentSize, f.MantissaPos+f.MantissaSize
	switch {
	case d.err != nil:
	case f.Sign >= all, f.ExponentSize == 0, eEnd > all, f.MantissaSize == 0, mEnd > all:
		d.fail("datatype: a field of a float is outside its %d bits", all)
	case f.Sign >= f.ExponentPos && f.Sign < eEnd, f.Sign >= f.MantissaPos && f.Sign < mEnd,
		f.ExponentPos < mEnd && f.MantissaPos < eEnd:
		d.fail("datatype: fields of a float overlap")
	}
}

// opaque reads a tag, which libhdf5 pads to a multiple of 8 bytes. Writers in Rust end it with one
// NUL instead, which libhdf5 accepted until 2.0.
func (d typeDecoder) opaque(t *readers.Type, h typeHead) {
	n := int(h.bits & 255)
	tag := d.take(n)
	end := slices.Index(tag, 0)
	if n%8 != 0 && (!d.hasChecksum || end != n-1) {
		d.fail("datatype: opaque tag has %d bytes, not a multiple of 8", n)
	}
	if end >= 0 {
		tag = tag[:end]
	}
	t.Tag = string(tag)
}

// name reads a name, which versions 1 and 2 pad to a multiple of 8 bytes.
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
		d.fail("datatype: compound has no members")
	}
	seen := map[string]bool{}
	for range n {
		m := d.member(t, h)
		if d.err != nil {
			return
		}
		if seen[m.Name] {
			d.fail("datatype: compound has two members named %q", m.Name)
			return
		}
		seen[m.Name] = true
		t.Members = append(t.Members, m)
	}
	// Members may be listed in any order, so compare neighbours by offset.
	sorted := t.SortedMembers()
	for i := 1; i < n; i++ {
		if a, b := sorted[i-1], sorted[i]; a.Offset+a.Type.Size > b.Offset {
			d.fail("datatype: compound members %q and %q overlap", a.Name, b.Name)
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
		d.fail("datatype: member %q extends beyond its compound", m.Name)
	}
	return m
}

// embeddedDims reads the dimensions of a compound member of version 1, where arrays have no
// datatype class of their own.
func (d typeDecoder) embeddedDims() []int {
	n := d.u8()
	if n > 4 {
		d.fail("datatype: member has %d dimensions (limit 4)", n)
		return nil
	}
	// Skip reserved bytes, the dimension permutation (never used), and reserved bytes.
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

// arrayOf returns an array datatype, whose size must fit in 31 bits.
func (d typeDecoder) arrayOf(base *readers.Type, dims []int) *readers.Type {
	size := base.Size
	for _, n := range dims {
		if n == 0 {
			d.fail("datatype: array has a dimension of length 0")
			return base
		}
		if size > math.MaxInt32/n {
			d.fail("datatype: array of dimensions %v is too large", dims)
			return base
		}
		size *= n
	}
	return &readers.Type{Class: readers.Array, Size: size, Dims: dims, Base: base}
}

func (d typeDecoder) array(t *readers.Type, h typeHead) {
	n := d.u8()
	if n == 0 || n > maxRank {
		d.fail("datatype: array has %d dimensions (want 1 to %d)", n, maxRank)
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
		d.fail("datatype: array has %d bytes (its elements have %d)", t.Size, a.Size)
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
		t.Size = d.offsets + 10 // inside sequences libhdf5 writes the size in memory, not the stored one
		if v := h.bits >> 4 & 15; v != 1 {
			d.fail("datatype: version of a reference is %d (want 1)", v)
		}
	default:
		d.fail("datatype: reference type is %d (want 0 to 4)", kind)
	}
}

func (d typeDecoder) enum(t *readers.Type, h typeHead) {
	n := int(h.bits & 0xffff)
	t.Base = d.decode(h.depth + 1)
	if d.err == nil && t.Base.Size != t.Size {
		d.fail("datatype: enumeration has %d bytes (its base type has %d)", t.Size, t.Base.Size)
	}
	if d.err == nil && t.Base.Class != readers.Integer {
		d.fail("datatype: base type of an enumeration is %s (want an integer)", t.Base)
	}
	if d.fits(uint64(n)*2, "datatype: size of an enumeration"); d.err != nil {
		return
	}
	t.Choices = make([]readers.Choice, n)
	for i := range t.Choices {
		if t.Choices[i].Name = d.name(h.version); t.Choices[i].Name == "" {
			d.fail("datatype: enumeration has an empty name")
			return
		}
	}
	for i := range t.Choices {
		t.Choices[i].Value = bytes.Clone(d.take(t.Size)) // cached types outlive the file's buffer
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
		d.fail("datatype: variable-length type is %d (want 0 or 1)", kind)
	}
	if want := 4 + d.offsets + 4; d.err == nil && t.Size != want {
		d.fail("datatype: variable-length type has %d bytes (want %d)", t.Size, want)
	}
}

func (d typeDecoder) complex(t *readers.Type, h typeHead) {
	if h.bits != 1 {
		d.err = unsupported("datatype: complex numbers that are not rectangular and homogeneous (%#x)", h.bits)
		return
	}
	t.Base = d.decode(h.depth + 1)
	if d.err == nil && (t.Base.Class != readers.Float || t.Size != 2*t.Base.Size) {
		d.fail("datatype: complex type of %d bytes has base type %s", t.Size, t.Base)
	}
}
