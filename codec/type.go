package codec

import (
	"fmt"
	"slices"
	"strconv"
)

// Kind is the family of an element type.
type Kind uint8

// The kinds of elements. Every kind except String and Bytes has a fixed size.
const (
	Bool       Kind = iota + 1 // one byte, 0 or 1
	Int                        // two's complement; 1, 2, 4 or 8 bytes
	Uint                       // 1, 2, 4 or 8 bytes
	Float                      // IEEE 754; 2, 4 or 8 bytes
	Complex                    // two floats; 8 or 16 bytes
	Raw                        // opaque bytes
	FixedBytes                 // bytes padded with NULs, NumPy's S
	FixedUTF32                 // code points of 4 bytes padded with NULs, NumPy's U
	DateTime                   // int64 ticks since 1970, NumPy's datetime64
	TimeDelta                  // int64 ticks, NumPy's timedelta64
	Struct                     // fields one after another
	String                     // UTF-8 of any length
	Bytes                      // bytes of any length
)

// Type is an element type in memory: packed, little-endian. Codecs define the stored
// form, and package zarrjson the spelling in documents.
type Type struct {
	Kind   Kind
	Size   int     // bytes per element; 0 if it varies
	Unit   string  // DateTime and TimeDelta: "ns", "s", "D", …, or "generic"
	Ticks  int     // DateTime and TimeDelta: units per tick
	Fields []Field // Struct: the fields in order, without gaps
}

// Field is one field of a Struct.
type Field struct {
	Name string
	Type Type
}

// Varies reports whether elements have varying lengths.
func (t Type) Varies() bool { return t.Kind == String || t.Kind == Bytes }

// Equal reports whether two types are the same, units and field names included.
func (t Type) Equal(u Type) bool {
	return t.Kind == u.Kind && t.Size == u.Size && t.Unit == u.Unit && t.Ticks == u.Ticks &&
		slices.EqualFunc(t.Fields, u.Fields, func(a, b Field) bool {
			return a.Name == b.Name && a.Type.Equal(b.Type)
		})
}

// String returns NumPy's name of the type, for messages.
func (t Type) String() string {
	bits := strconv.Itoa(t.Size * 8)
	switch t.Kind {
	case Bool:
		return "bool"
	case Int:
		return "int" + bits
	case Uint:
		return "uint" + bits
	case Float:
		return "float" + bits
	case Complex:
		return "complex" + bits
	case Raw:
		return "V" + strconv.Itoa(t.Size)
	case FixedBytes:
		return "S" + strconv.Itoa(t.Size)
	case FixedUTF32:
		return "U" + strconv.Itoa(t.Size/4)
	case DateTime:
		return "datetime64" + t.tick()
	case TimeDelta:
		return "timedelta64" + t.tick()
	case Struct:
		return fmt.Sprintf("struct of %d fields, %d bytes", len(t.Fields), t.Size)
	case String:
		return "string"
	case Bytes:
		return "variable-length bytes"
	}
	return fmt.Sprintf("kind %d", t.Kind)
}

// tick returns the unit of times in NumPy's spelling: [ns], [10ms], or "".
func (t Type) tick() string {
	switch {
	case t.Unit == "generic":
		return ""
	case t.Ticks == 1:
		return "[" + t.Unit + "]"
	}
	return fmt.Sprintf("[%d%s]", t.Ticks, t.Unit)
}

// swapRun is a run of words of one width that a change of byte order reverses.
type swapRun struct{ width, count int }

// swapRuns returns the words of one element in order, merged into runs.
func (t Type) swapRuns() []swapRun { return t.appendSwapRuns(nil) }

func (t Type) appendSwapRuns(runs []swapRun) []swapRun {
	width := 1
	switch t.Kind {
	case Int, Uint, Float, DateTime, TimeDelta:
		width = t.Size
	case Complex:
		width = t.Size / 2
	case FixedUTF32:
		width = 4
	case Struct:
		for _, f := range t.Fields {
			runs = f.Type.appendSwapRuns(runs)
		}
		return runs
	}
	run := swapRun{width, t.Size / width}
	// Merging makes a struct of equal fields as fast as an array of one type.
	if n := len(runs); n > 0 && runs[n-1].width == width {
		runs[n-1].count += run.count
		return runs
	}
	return append(runs, run)
}
