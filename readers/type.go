package readers

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"varve/codec"
)

// Class is the class of a datatype.
type Class uint8

// The classes of datatypes, as HDF5 defines them; other formats use a subset.
const (
	Integer Class = iota
	Float
	Time
	String
	Bitfield
	Opaque
	Compound
	Reference
	Enum
	VarLen
	Array
	Complex
)

// Order is the byte order of a number.
type Order uint8

// The byte orders. VAX stores little-endian words of two bytes, the highest word first.
const (
	LittleEndian Order = iota
	BigEndian
	VAX
)

// Padding says how a string of a fixed size is padded.
type Padding uint8

// The paddings of strings.
const (
	NullTerminated Padding = iota
	NullPadded
	SpacePadded
)

// Trim returns a string of a fixed size without its padding.
func (p Padding) Trim(text []byte) []byte {
	switch p {
	case NullTerminated:
		text, _, _ = bytes.Cut(text, []byte{0})
		return text
	case NullPadded:
		return bytes.TrimRight(text, "\x00")
	}
	return bytes.TrimRight(text, " ")
}

// RefKind is the kind of object that a reference points to, and its encoding.
type RefKind uint8

// The kinds of references.
const (
	ObjectRef RefKind = iota // an address
	RegionRef                // an address and a selection in the global heap
	AnyRef                   // references of HDF5 1.12: to an object, a region or an attribute
)

// Normalization says how a float stores the highest bit of its mantissa.
type Normalization uint8

// The normalizations of floats.
const (
	Implied Normalization = iota // not stored, as in IEEE 754
	MSBSet                       // stored, and always 1
	NotNormalized
)

// FloatBits holds the positions and sizes in bits of a float's fields.
type FloatBits struct {
	Sign                        int // position of the sign bit
	ExponentPos, ExponentSize   int
	MantissaPos, MantissaSize   int
	ExponentBias                uint32
	Normalization               Normalization
	PadLow, PadHigh, PadBetween bool // the values of unused bits
}

// Member is one member of a compound type.
type Member struct {
	Name   string
	Offset int
	Type   *Type
}

// Choice is one name of an enumeration with its value.
type Choice struct {
	Name  string
	Value []byte // in the base type's size and byte order
}

// Type is the datatype of stored elements. Types are shared and must not be changed.
type Type struct {
	Class Class
	Size  int // stored size of an element in bytes

	Order     Order // Integer, Float, Time, Bitfield
	Signed    bool  // Integer
	Precision int   // Integer, Float, Time, Bitfield: significant bits
	BitOffset int   // … and position of the lowest one
	Float     FloatBits

	Padding  Padding // String
	UTF8     bool    // String, and VarLen that IsText
	IsText   bool    // VarLen: a string
	Tag      string  // Opaque; of a VarLen that IsText, its content: "json" or PathTag
	Ref      RefKind // Reference
	Members  []Member
	Choices  []Choice // Enum
	Dims     []int    // Array
	Base     *Type    // Enum, VarLen that is not IsText, Array, Complex
	TypePath string   // path of the named datatype, if known

	// InMemory is the element type in memory if the other fields do not determine it: Zarr's
	// booleans, times, UTF-32 strings and byte strings of varying length.
	InMemory *codec.Type
}

// ieee holds the bit layouts of IEEE 754 floats by size in bytes.
var ieee = map[int]FloatBits{
	2:  {Sign: 15, ExponentPos: 10, ExponentSize: 5, MantissaSize: 10, ExponentBias: 15},
	4:  {Sign: 31, ExponentPos: 23, ExponentSize: 8, MantissaSize: 23, ExponentBias: 127},
	8:  {Sign: 63, ExponentPos: 52, ExponentSize: 11, MantissaSize: 52, ExponentBias: 1023},
	16: {Sign: 127, ExponentPos: 112, ExponentSize: 15, MantissaSize: 112, ExponentBias: 16383},
}

// IEEEFloat returns the IEEE 754 float of 2, 4, 8 or 16 bytes.
func IEEEFloat(size int, order Order) *Type {
	return &Type{Class: Float, Size: size, Order: order, Precision: 8 * size, Float: ieee[size]}
}

// Int returns the type of two's complement or unsigned integers.
func Int(size int, order Order, signed bool) *Type {
	return &Type{Class: Integer, Size: size, Order: order, Signed: signed, Precision: 8 * size}
}

// IsIEEE reports whether t is an IEEE 754 float.
func (t *Type) IsIEEE() bool {
	f, known := t.Float, ieee[t.Size]
	// The values of unused bits do not matter: an IEEE float uses all of them.
	f.PadLow, f.PadHigh, f.PadBetween = false, false, false
	return t.Class == Float && f == known && known.Sign != 0 && t.Order != VAX
}

// isWhole reports whether the significant bits fill all bytes of the number.
func (t *Type) isWhole() bool { return t.Precision == 8*t.Size && t.BitOffset == 0 }

// Varies reports whether elements contain data of varying length, so that the stored element is a
// pointer into a heap.
func (t *Type) Varies() bool {
	switch t.Class {
	case VarLen:
		return true
	case Array:
		return t.Base.Varies()
	case Compound:
		return slices.ContainsFunc(t.Members, func(m Member) bool { return m.Type.Varies() })
	}
	return false
}

// String returns the canonical name of the type: "<f4", ">u2", "<u2{12@4}", "|S12{nullterm,ascii}",
// "vlen-str-utf8", "vlen<T>", "array[(2,3)]T", `compound16{"a"@0:T,"b"@8:T}`, `enum<T>{"A"=0}`,
// "opaque:TAG:SIZE", "bitfield<T>", "ref-object" and so on.
func (t *Type) String() string {
	if t.InMemory != nil {
		return t.InMemory.String()
	}
	switch t.Class {
	case Integer:
		if t.Signed {
			return t.number("i")
		}
		return t.number("u")
	case Float:
		return t.floatName()
	case Time:
		return "time<" + t.number("i") + ">"
	case Bitfield:
		return "bitfield<" + t.number("u") + ">"
	case String:
		return fmt.Sprintf("|S%d{%s,%s}", t.Size, t.Padding, charset(t.UTF8))
	case Opaque:
		return fmt.Sprintf("opaque:%s:%d", t.Tag, t.Size)
	case Reference:
		return t.Ref.String()
	case Compound:
		return t.compoundName()
	case Enum:
		return t.enumName()
	case VarLen:
		if t.IsText {
			return "vlen-str-" + charset(t.UTF8)
		}
		return "vlen<" + t.Base.String() + ">"
	case Array:
		dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Dims), "[]"), " ", ",")
		return "array[(" + dims + ")]" + t.Base.String()
	case Complex:
		return "complex<" + t.Base.String() + ">"
	}
	return fmt.Sprintf("class%d", t.Class)
}

func charset(utf8 bool) string {
	if utf8 {
		return "utf8"
	}
	return "ascii"
}

// String returns the padding's short name.
func (p Padding) String() string {
	return [...]string{"nullterm", "nullpad", "spacepad"}[min(p, SpacePadded)]
}

// String returns the reference kind's short name.
func (k RefKind) String() string {
	return [...]string{"ref-object", "ref-region", "ref-std"}[min(k, AnyRef)]
}

// String returns the normalization's short name.
func (n Normalization) String() string {
	return [...]string{"implied", "msbset", "none"}[min(n, NotNormalized)]
}

// Mark returns the byte order as NumPy writes it, and V for VAX.
func (o Order) Mark() string { return [...]string{"<", ">", "V"}[min(o, VAX)] }

func (t *Type) number(kind string) string {
	name := t.plainName(kind)
	if t.isWhole() {
		return name
	}
	return fmt.Sprintf("%s{%d@%d}", name, t.Precision, t.BitOffset)
}

func (t *Type) plainName(kind string) string {
	mark := t.Order.Mark()
	if t.Size == 1 {
		mark = "|"
	}
	return mark + kind + strconv.Itoa(t.Size)
}

func (t *Type) floatName() string {
	name := t.plainName("f")
	if t.IsIEEE() {
		return name
	}
	f := t.Float
	return fmt.Sprintf("%s{%d@%d,sign=%d,exp=%d:%d,mant=%d:%d,bias=%d,norm=%s}", name, t.Precision, t.BitOffset,
		f.Sign, f.ExponentPos, f.ExponentSize, f.MantissaPos, f.MantissaSize, f.ExponentBias, f.Normalization)
}

// SortedMembers returns a compound's members by offset, then by name.
func (t *Type) SortedMembers() []Member {
	out := slices.Clone(t.Members)
	slices.SortStableFunc(out, func(a, b Member) int {
		// Overlapping members are rejected elsewhere; the name makes the order definite.
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

func (t *Type) compoundName() string {
	var b strings.Builder
	fmt.Fprintf(&b, "compound%d{", t.Size)
	for i, m := range t.SortedMembers() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s@%d:%s", quote(m.Name), m.Offset, m.Type)
	}
	b.WriteByte('}')
	return b.String()
}

func (t *Type) enumName() string {
	type named struct {
		value uint64
		Choice
	}
	list := make([]named, len(t.Choices))
	for i, c := range t.Choices {
		list[i] = named{t.Base.Uint64(c.Value), c}
	}
	slices.SortStableFunc(list, func(a, b named) int {
		if c := t.Base.compare(a.value, b.value); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	var b strings.Builder
	b.WriteString("enum<" + t.Base.String() + ">{")
	for i, c := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(c.Name) + "=" + t.Base.format(c.value))
	}
	b.WriteByte('}')
	return b.String()
}

func (t *Type) compare(a, b uint64) int {
	if t.Signed && int64(a) != int64(b) {
		if int64(a) < int64(b) {
			return -1
		}
		return 1
	}
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

func (t *Type) format(v uint64) string {
	if t.Signed {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(v, 10)
}

// Uint64 returns a stored integer of up to eight bytes, sign-extended if t is signed.
func (t *Type) Uint64(stored []byte) uint64 {
	var v uint64
	n := min(t.Size, len(stored), 8)
	for i := range n {
		b := stored[i]
		if t.Order == BigEndian {
			b = stored[min(t.Size, len(stored))-1-i]
		}
		v |= uint64(b) << (8 * i)
	}
	if t.Signed && n > 0 && n < 8 && v>>(8*n-1) != 0 {
		v |= ^uint64(0) << (8 * n)
	}
	return v
}

// quote returns a name as a JSON string with every character beyond ASCII escaped. Bytes that are
// not UTF-8 become lone surrogates, so that different names stay different.
func quote(s string) string {
	b := []byte{'"'}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, "\\u%04x", 0xdc00+int(s[i]))
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r <= '~':
			b = append(b, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, "\\u%04x\\u%04x", high, low)
		default:
			b = appendControl(b, r)
		}
		i += n
	}
	return string(append(b, '"'))
}

func appendControl(b []byte, r rune) []byte {
	if i := strings.IndexRune("\b\f\n\r\t", r); i >= 0 {
		return append(b, '\\', "bfnrt"[i])
	}
	return fmt.Appendf(b, "\\u%04x", r)
}

// Equal reports whether two types have the same stored form and meaning.
func (t *Type) Equal(u *Type) bool { return t == u || t.String() == u.String() }
