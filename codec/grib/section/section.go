// Package section finds the sections of GRIB messages and the sections of each field.
//
// A message of edition 2 is a header of 16 bytes, sections that begin with their length and number, and the four bytes 7777:
//
//	GRIB … 2 length │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │ 7777
//	                    ╰───────╯   ╰───────────╯
//	                     further fields repeat sections 2–7, 3–7 or 4–7
//
// A message of edition 1 has one field: a header of 8 bytes, section 1, sections 2 and 3 if flags in section 1 say so, section 4,
// and 7777.
//
// Weather centres send their forecasts and analyses as such messages, many in a file. All numbers are big-endian. This message of
// edition 2 has a bitmap section that says that there is no bitmap, and a data section without data:
//
//	47 52 49 42              GRIB
//	00 00                    2 bytes, reserved
//	0a                       discipline 10, oceanography
//	02                       edition 2
//	00 00 00 00 00 00 00 1f  the length of the message, 31 bytes
//	00 00 00 06  06  ff      a section: length 6, number 6, indicator 255 (no bitmap)
//	00 00 00 05  07          a section: length 5, number 7
//	37 37 37 37              7777
package section

import (
	"bytes"

	"varve/codec/grib/keys"
	"varve/codec/internal/corrupt"
)

// View returns n bytes from an offset on, or an error if there are fewer.
type View func(offset int64, n int) ([]byte, error)

// ViewOf is the View of bytes in memory.
func ViewOf(b []byte) View {
	return func(offset int64, n int) ([]byte, error) {
		if offset < 0 || n < 0 || offset > int64(len(b)) || int64(n) > int64(len(b))-offset {
			return nil, corrupt.Errorf("%d bytes at offset %d are outside the %d bytes of the message", n, offset, len(b))
		}
		return b[offset : offset+int64(n)], nil
	}
}

// The lengths of headers and of 7777, the end of a message.
const (
	header1 = 8
	header2 = 16
	End     = 4
)

var (
	start = []byte("GRIB")
	stop  = []byte("7777")
)

// Header is the beginning of a message.
type Header struct {
	Edition    int
	Discipline int // of edition 2
	Length     int64
}

// ReadHeader reads the header of the message at an offset. rest is the number of bytes from there on. An impossible length or
// another edition is an error.
func ReadHeader(view View, offset, rest int64) (Header, error) {
	var h Header
	if rest < header1+End {
		return h, corrupt.Errorf("a message of %d bytes", rest)
	}
	b, err := view(offset, header1)
	if err != nil {
		return h, err
	}
	if !bytes.HasPrefix(b, start) {
		return h, corrupt.Errorf("a message begins with %q, not %q", b[:4], start)
	}
	switch h.Edition = int(b[7]); h.Edition {
	case 1:
		h.Length = int64(keys.Unsigned(b[4:7]))
		if h.Length&largeFlag != 0 {
			h.Length, err = largeLength(view, offset, rest, h.Length)
		}
	case 2:
		h.Discipline = int(b[6])
		if b, err = view(offset+header1, int(min(rest, header2)-header1)); err == nil && len(b) == 8 {
			h.Length = int64(keys.Unsigned(b) & (1<<63 - 1))
		}
	default:
		return h, corrupt.Errorf("edition %d", h.Edition)
	}
	if err == nil && h.Length < header1+End {
		err = corrupt.Errorf("the message claims a length of %d bytes", h.Length)
	}
	return h, err
}

// ECMWF stores the length of a long message of edition 1 in units of 120 bytes, rounded up, and sets the first bit. The length field
// of section 4 is then the number of bytes that rounding added, plus 4.
const (
	largeFlag = 1 << 23
	largeUnit = 120
)

func largeLength(view View, offset, rest, stored int64) (int64, error) {
	sections, err := walk1(view, offset, offset+rest)
	if err != nil {
		return 0, err
	}
	last := sections[len(sections)-1]
	b, err := view(last.Offset, 3)
	if err != nil {
		return 0, err
	}
	if spare := int64(keys.Unsigned(b)); spare < largeUnit {
		return (stored&^largeFlag)*largeUnit - spare + End, nil
	}
	return stored, nil
}

// Ends reports whether a message ends with 7777.
func Ends(view View, offset, length int64) (bool, error) {
	b, err := view(offset+length-End, End)
	return err == nil && bytes.Equal(b, stop), err
}

// Section is a section of a message.
type Section struct {
	Number         int
	Offset, Length int64
}

// maxSections bounds the sections of a message, since a section can be as short as five bytes.
const maxSections = 1 << 16

// Walk lists the sections of the message between two offsets. Bytes without the header of a message are read as a run of sections of
// edition 2.
func Walk(view View, offset, end int64, edition int) ([]Section, error) {
	if edition == 1 {
		return walk1(view, offset, end-End)
	}
	return walk2(view, offset, end)
}

// walk1 lists the sections of edition 1. Section 4 ends at end, whatever its length field says.
func walk1(view View, offset, end int64) ([]Section, error) {
	at, out := offset+header1, []Section(nil)
	flags := byte(0)
	for number := 1; number <= 3; number++ {
		if number == 2 && flags&0x80 == 0 || number == 3 && flags&0x40 == 0 {
			continue
		}
		b, err := view(at, header1)
		if err != nil {
			return nil, err
		}
		if number == 1 {
			flags = b[7]
		}
		length := int64(keys.Unsigned(b[:3]))
		if length < 6 || length > end-at {
			return nil, corrupt.Errorf("section %d at offset %d of the message claims a length of %d bytes", number, at-offset, length)
		}
		out = append(out, Section{number, at, length})
		at += length
	}
	if end-at < 3 {
		return nil, corrupt.Errorf("no room for section 4 at offset %d of the message", at-offset)
	}
	return append(out, Section{4, at, end - at}), nil
}

func walk2(view View, offset, end int64) ([]Section, error) {
	at, out := offset, []Section(nil)
	if b, err := view(at, End); err != nil {
		return nil, err
	} else if bytes.Equal(b, start) {
		at += header2
	}
	for at < end {
		b, err := view(at, int(min(5, end-at)))
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(b, stop) && end-at == End {
			return out, nil
		}
		if len(b) < 5 {
			return nil, corrupt.Errorf("%d bytes at offset %d of the message are too few for a section", len(b), at-offset)
		}
		s := Section{int(b[4]), at, int64(keys.Unsigned(b[:4]))}
		if s.Length < 5 || s.Length > end-at || s.Number < 1 || s.Number > 7 {
			return nil, corrupt.Errorf("section %d at offset %d of the message claims a length of %d bytes", s.Number, at-offset, s.Length)
		}
		if out = append(out, s); len(out) > maxSections {
			return nil, corrupt.Errorf("a message of more than %d sections", maxSections)
		}
		at += s.Length
	}
	return out, nil
}

// Head returns the sections of the only field of a message that come before its bitmap and data: sections 1 to 5 of edition 2, sections 1
// and 2 of edition 1. It reads nothing else.
func Head(view View, offset, end int64, edition int) (*Field, error) {
	var f Field
	last, at := 5, offset+header2
	if edition == 1 {
		list, err := walk1(view, offset, end-End)
		for _, s := range list {
			f.Sections[s.Number] = s
		}
		return &f, err
	}
	for at < end && f.Sections[last].Length == 0 {
		b, err := view(at, int(min(5, end-at)))
		if err != nil {
			return nil, err
		}
		if len(b) < 5 {
			return nil, corrupt.Errorf("%d bytes at offset %d of the message are too few for a section", len(b), at-offset)
		}
		s := Section{int(b[4]), at, int64(keys.Unsigned(b[:4]))}
		if s.Length < 5 || s.Length > end-at || s.Number < 1 || s.Number > last || f.Sections[s.Number].Length > 0 {
			return nil, corrupt.Errorf("section %d at offset %d of the message claims a length of %d bytes", s.Number, at-offset, s.Length)
		}
		f.Sections[s.Number] = s
		at += s.Length
	}
	for _, n := range []int{1, 3, 4, 5} {
		if f.Sections[n].Length == 0 {
			return nil, corrupt.Errorf("the message has no section %d before its data", n)
		}
	}
	return &f, nil
}

// Field has the sections of one field of a message by their numbers. An absent section has length 0.
type Field struct {
	Sections [8]Section
	// Bitmap is the section 6 of an earlier field, if the field uses the bitmap of that field.
	Bitmap Section
}

// Span returns the range of bytes that decoding a field of edition 2 needs: its grid, packing, bitmap and data.
func (f *Field) Span() (from, to int64) {
	data := f.Sections[7]
	from = min(f.Sections[3].Offset, f.Sections[5].Offset)
	if f.Bitmap.Length > 0 {
		from = min(from, f.Bitmap.Offset)
	}
	return from, data.Offset + data.Length
}

// needed are the sections that every field of edition 2 must have.
var needed = [...]int{3, 4, 5, 6, 7}

// bitmapBefore is the indicator of a section 6 without a bitmap: the field uses the bitmap of an earlier field.
const bitmapBefore = 254

// Fields returns the fields of a list of sections. If part is true, the list may lack sections 3 and 4, since it is not a whole
// message.
func Fields(view View, sections []Section, edition int, part bool) ([]Field, error) {
	if edition == 1 {
		var f Field
		for _, s := range sections {
			f.Sections[s.Number] = s
		}
		return []Field{f}, nil
	}
	var out []Field
	var now Field
	var bitmap Section
	last := 0
	for _, s := range sections {
		if s.Number <= last && last != 7 {
			return out, corrupt.Errorf("section %d at offset %d follows section %d", s.Number, s.Offset, last)
		}
		last = s.Number
		if now.Sections[s.Number] = s; s.Number == 6 {
			b, err := view(s.Offset, int(min(s.Length, 6)))
			if err != nil {
				return out, err
			}
			now.Bitmap = Section{}
			switch {
			case len(b) < 6:
				return out, corrupt.Errorf("section 6 at offset %d has %d bytes", s.Offset, s.Length)
			case b[5] == bitmapBefore:
				now.Bitmap = bitmap
			case b[5] == 0:
				bitmap = s
			}
		}
		if s.Number != 7 {
			continue
		}
		for _, n := range needed {
			if now.Sections[n].Length == 0 && !(part && n <= 4) {
				return out, corrupt.Errorf("section 7 at offset %d has no section %d before it", s.Offset, n)
			}
		}
		out = append(out, now)
		// The next field needs a packing, a bitmap and data of its own, and may have a product of its own.
		now.Sections[5], now.Sections[6], now.Sections[7] = Section{}, Section{}, Section{}
	}
	if len(out) == 0 {
		return nil, corrupt.Errorf("a message without data: no section 7")
	}
	if last != 7 {
		return out, corrupt.Errorf("a message that ends with section %d", last)
	}
	return out, nil
}
