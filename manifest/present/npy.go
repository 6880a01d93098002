package present

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/codec"
	"varve/manifest/internal/cf"
)

// WriteNPY writes a selection in NumPy's .npy format (format 1.0 of NEP 1), block by block:
//
//		93 'N' 'U' 'M' 'P' 'Y' 1 0 │ length u16 │ {'descr': '<f4', 'fortran_order': False, 'shape': (3,), } …
//	 │ elements
//
// Format 2.0 has a length of 32 bits, for structs with very many fields.
//
// Elements are stored numbers, or floats and datetime64[ns] if d decodes. Strings are read twice, because all
// strings get the length of the longest.
func WriteNPY(ctx context.Context, w io.Writer, s *Selection, d *Decoder) error {
	e, err := d.npyElements(ctx, s)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(npyHeader(e.descr, s.Shape())); err != nil {
		return err
	}
	err = s.Each(ctx, func(elems codec.Elems) error { return e.write(out, elems) })
	if err != nil {
		return err
	}
	return out.Flush()
}

// npyElements writes elements of one type.
type npyElements struct {
	descr string // NumPy's name of the type, a Python literal
	write func(out io.Writer, elems codec.Elems) error
}

func (d *Decoder) npyElements(ctx context.Context, s *Selection) (e npyElements, err error) {
	if d.typ.Varies() {
		return d.npyTexts(ctx, s)
	}
	if d.times != nil && d.typ.Kind != codec.DateTime {
		return d.npyTimes()
	}
	e.write = func(out io.Writer, elems codec.Elems) error {
		_, err := out.Write(elems.Fixed)
		return err
	}
	decoded := d.decodedType()
	if d.decode && (d.packing.Scaled() || len(d.packing.Masks) > 0) {
		e.write = func(out io.Writer, elems codec.Elems) error { return d.writeFloats(out, elems.Fixed, decoded.Size) }
	}
	if e.descr, err = npyType(decoded); err != nil {
		err = fmt.Errorf("%s: %w", s.Array.Path(), err)
	}
	return e, err
}

// writeFloats writes decoded numbers.
func (d *Decoder) writeFloats(out io.Writer, elems []byte, size int) error {
	var numbers [1024]float64
	buffer := make([]byte, 0, 8*len(numbers))
	for len(elems) > 0 {
		n := min(len(numbers), len(elems)/d.typ.Size)
		d.Float64s(numbers[:n], elems)
		buffer = buffer[:0]
		for _, f := range numbers[:n] {
			if size == 4 {
				buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(float32(f)))
			} else {
				buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(f))
			}
		}
		if _, err := out.Write(buffer); err != nil {
			return err
		}
		elems = elems[n*d.typ.Size:]
	}
	return nil
}

// npyTimes writes times as datetime64[ns], which supports only the standard and proleptic Gregorian
// calendars.
func (d *Decoder) npyTimes() (npyElements, error) {
	if c := d.times.Units.Calendar; c != cf.Standard && c != cf.Proleptic {
		return npyElements{}, fmt.Errorf("%s: NumPy's datetime64 cannot represent the calendar %s: %w; write undecoded values or a .csv file", d.array.Path(), c, errors.ErrUnsupported)
	}
	return npyElements{"'<M8[ns]'", func(out io.Writer, elems codec.Elems) error {
		for at := 0; at < len(elems.Fixed); at += d.typ.Size {
			ns, err := d.nanoseconds(elems.Fixed[at : at+d.typ.Size])
			if err != nil {
				return err
			}
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], uint64(ns))
			if _, err := out.Write(word[:]); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// nanoseconds returns an element as datetime64[ns]; NaT is the smallest integer.
func (d *Decoder) nanoseconds(e []byte) (int64, error) {
	at, ok, err := d.times.Instant(e)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", d.array.Path(), err)
	}
	if !ok {
		return math.MinInt64, nil
	}
	const most = math.MaxInt64/int64(1e9) - 1
	if at.Seconds > most || at.Seconds < -most {
		return 0, fmt.Errorf("%s: %s is outside the range of datetime64[ns] (1677 to 2262): %w; write undecoded values or a .csv file",
			d.array.Path(), at.Format(d.times.Units.Calendar), errors.ErrUnsupported)
	}
	return at.Seconds*1e9 + int64(at.Nanoseconds), nil
}

// npyTexts writes elements of varying length, padded to the longest: strings as 4-byte code points, bytes as
// bytes.
func (d *Decoder) npyTexts(ctx context.Context, s *Selection) (npyElements, error) {
	longest := 1
	text := d.typ.Kind == codec.String
	err := s.Each(ctx, func(elems codec.Elems) error {
		for _, e := range elems.Var {
			n := len(e)
			if text {
				n = utf8.RuneCount(e)
			}
			longest = max(longest, n)
		}
		return nil
	})
	if !text {
		return npyElements{fmt.Sprintf("'|S%d'", longest), func(out io.Writer, elems codec.Elems) error {
			return writePadded(out, elems.Var, longest)
		}}, err
	}
	return npyElements{fmt.Sprintf("'<U%d'", longest), func(out io.Writer, elems codec.Elems) error {
		row := make([]byte, 0, 4*longest)
		for _, e := range elems.Var {
			row = row[:0]
			for _, r := range string(e) {
				row = binary.LittleEndian.AppendUint32(row, uint32(r))
			}
			if err := writePadded(out, [][]byte{row}, 4*longest); err != nil {
				return err
			}
		}
		return nil
	}}, err
}

// writePadded writes byte strings, padded with zeros to a length.
func writePadded(out io.Writer, list [][]byte, length int) error {
	zeros := make([]byte, length)
	for _, b := range list {
		if _, err := out.Write(b); err != nil {
			return err
		}
		if _, err := out.Write(zeros[:length-len(b)]); err != nil {
			return err
		}
	}
	return nil
}

// npyType returns NumPy's name of a type, a Python literal.
func npyType(t codec.Type) (string, error) {
	letters := map[codec.Kind]string{codec.Int: "<i", codec.Uint: "<u", codec.Float: "<f", codec.Complex: "<c", codec.FixedBytes: "|S", codec.Raw: "|V"}
	letter, ok := letters[t.Kind]
	switch {
	case ok && t.Size == 1 && t.Kind != codec.FixedBytes && t.Kind != codec.Raw:
		return "'|" + letter[1:] + "1'", nil
	case ok:
		return "'" + letter + strconv.Itoa(t.Size) + "'", nil
	case t.Kind == codec.Bool:
		return "'|b1'", nil
	case t.Kind == codec.FixedUTF32:
		return fmt.Sprintf("'<U%d'", t.Size/4), nil
	case t.Kind == codec.DateTime:
		return "'<M8" + npyUnit(t) + "'", nil
	case t.Kind == codec.TimeDelta:
		return "'<m8" + npyUnit(t) + "'", nil
	case t.Kind == codec.Struct:
		return npyStruct(t)
	}
	return "", fmt.Errorf("%s: %w in a .npy file; write .csv", t, errors.ErrUnsupported)
}

func npyUnit(t codec.Type) string {
	switch {
	case t.Unit == "generic" || t.Unit == "":
		return ""
	case t.Ticks > 1:
		return fmt.Sprintf("[%d%s]", t.Ticks, t.Unit)
	}
	return "[" + t.Unit + "]"
}

// npyStruct returns a list of field names and types.
func npyStruct(t codec.Type) (string, error) {
	fields := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		descr, err := npyType(f.Type)
		if err != nil {
			return "", fmt.Errorf("field %s: %w", f.Name, err)
		}
		fields[i] = fmt.Sprintf("(%s, %s)", pythonText(f.Name), descr)
	}
	return "[" + strings.Join(fields, ", ") + "]", nil
}

// pythonText returns a Python literal in ASCII, as format 1.0 requires.
func pythonText(s string) string {
	quoted := strconv.QuoteToASCII(s)
	return "'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
}

// npyHeader returns the magic, the version and a dictionary, padded to a multiple of 64 bytes.
func npyHeader(descr string, shape []int64) []byte {
	var dims strings.Builder
	for _, n := range shape {
		fmt.Fprintf(&dims, "%d,", n)
	}
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%s), }", descr, dims.String())
	const most = math.MaxUint16 - 64 // including the padding
	if len(text) <= most {
		text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
		head := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
		return append(head, text...)
	}
	text += strings.Repeat(" ", 63-(12+len(text))%64) + "\n"
	head := binary.LittleEndian.AppendUint32([]byte("\x93NUMPY\x02\x00"), uint32(len(text)))
	return append(head, text...)
}
