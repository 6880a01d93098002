package grib

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"varve/codec/grib"
	"varve/codec/grib/geo"
	"varve/codec/grib/message"
	"varve/codec/grib/section"
	"varve/readers"
	"varve/readers/source"
)

// Format is the readers.Reader of GRIB files.
type Format struct {
	Names   NameScheme   // how variables are named
	Times   Times        // by which times fields are placed
	Indexes *IndexReader // nil: index files are not used
}

// maxPreamble is the number of bytes at the beginning of a file in which Detect looks for the first message: bulletins begin with a header.
const maxPreamble = 4096

// Detect reports whether a message of edition 1 or 2 begins within the first maxPreamble bytes of a source.
func (Format) Detect(ctx context.Context, src *source.Source) (bool, error) {
	if src.IsFolder() || src.Size() < 16 {
		return false, ctx.Err()
	}
	head, err := src.View(ctx, 0, int(min(src.Size(), maxPreamble)))
	if err != nil {
		return false, err
	}
	for at := 0; ; at++ {
		i := bytes.Index(head[at:], magic)
		if at += i; i < 0 || at+8 > len(head) {
			return false, nil
		}
		if edition := head[at+7]; edition == 1 || edition == 2 {
			return true, nil
		}
	}
}

// Open reads the headers of all messages. With Indexes, it does not read the headers that follow from the index file of the source.
func (format Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	f, err := format.Indexes.OpenFile(ctx, src, format.Names)
	if err != nil {
		return nil, err
	}
	return f.Dataset(format.Names, format.Times)
}

// magic is at the beginning of each message.
var magic = []byte("GRIB")

// File holds the headers of all fields of a GRIB file.
type File struct {
	src    *source.Source
	Fields []*Field
	// Problems lists the messages that cannot be read.
	Problems []readers.Problem
}

// OpenFile reads the headers of all messages of a file. It returns an error if no message can be read.
func OpenFile(ctx context.Context, src *source.Source) (*File, error) {
	f := &File{src: src}
	s := scanner{File: f, ctx: ctx, grids: map[string]parsedGrid{}}
	if err := s.scanRange(0, src.Size()); err != nil {
		return nil, err
	}
	return f.checked()
}

// checked returns the file, or an error if it has no field.
func (f *File) checked() (*File, error) {
	if len(f.Fields) == 0 {
		err := error(readers.Corruptf("no GRIB message of edition 1 or 2"))
		if len(f.Problems) > 0 {
			err = f.Problems[0].Err
		}
		return nil, asError(f.src, err)
	}
	return f, nil
}

func asError(src *source.Source, err error) error {
	var known *readers.Error
	if errors.As(err, &known) {
		return err
	}
	return &readers.Error{Source: src.Name(), Offset: -1, Err: err}
}

// parsedGrid is a grid definition: the bytes of its section, and the grid or the reason why there is none.
type parsedGrid struct {
	section []byte
	grid    *geo.Grid
	err     error
}

// scanner finds the messages of a file and reads their headers.
type scanner struct {
	*File
	ctx   context.Context
	grids map[string]parsedGrid // by the bytes of the section
	from  section.View          // instead of the source, if it is set

	// The fields of one message share sections. So the last section of each number is kept: a message with a large section and
	// many fields must not take memory and time for a copy per field.
	sections [8]struct {
		section.Section
		bytes []byte
	}
	lastGrid struct {
		section.Section
		parsedGrid
	}
}

func (s *scanner) view(offset int64, n int) ([]byte, error) {
	if s.from != nil {
		return s.from(offset, n)
	}
	return s.viewSource(offset, n)
}

func (s *scanner) viewSource(offset int64, n int) ([]byte, error) {
	if offset < 0 || int64(n) > s.src.Size()-offset {
		return nil, readers.Corruptf("%d bytes at offset %d reach over the end of the file, at %d", n, offset, s.src.Size())
	}
	return s.src.View(s.ctx, offset, n)
}

// scanRange reads the headers of all messages that begin between two offsets.
func (s *scanner) scanRange(at, end int64) error {
	for {
		next, err := s.find(at)
		if err != nil || next < 0 || next >= end {
			return err
		}
		length, err := s.message(next)
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err != nil {
			if !errors.Is(err, readers.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
			path := fmt.Sprintf("/message at %d", next)
			s.Problems = addProblem(s.Problems, path, &readers.Error{Source: s.src.Name(), Offset: next, Err: err})
		}
		at = next + max(length, int64(len(magic)))
	}
}

// searchWindow is the number of bytes that find searches at once.
const searchWindow = 1 << 12

// find returns the offset of the first message at or after an offset, or -1 if there is none.
func (s *scanner) find(at int64) (int64, error) {
	for at < s.src.Size() {
		n := int(min(s.src.Size()-at, searchWindow))
		b, err := s.src.View(s.ctx, at, n)
		if err != nil {
			return -1, err
		}
		if i := bytes.Index(b, magic); i >= 0 {
			return at + int64(i), nil
		}
		if n < searchWindow {
			break
		}
		at += int64(n - len(magic) + 1) // magic may straddle two windows
	}
	return -1, nil
}

// message reads the headers of the message at an offset. It returns the length of the message, or 0 if the length is not known.
func (s *scanner) message(at int64) (int64, error) {
	rest := s.src.Size() - at
	h, err := section.ReadHeader(s.view, at, rest)
	if err != nil {
		return 0, err
	}
	if h.Length > rest {
		return 0, readers.Corruptf("the message declares %d bytes, but the file ends after %d", h.Length, rest)
	}
	ends, err := section.Ends(s.view, at, h.Length)
	if err != nil {
		return 0, err
	}
	if !ends {
		return 0, readers.Corruptf("the message declares %d bytes, but these do not end with 7777", h.Length)
	}
	list, err := section.Walk(s.view, at, at+h.Length, h.Edition)
	if err != nil {
		return h.Length, err
	}
	fields, err := section.Fields(s.view, list, h.Edition, false)
	if err != nil {
		return h.Length, err
	}
	for i := range fields {
		f := &Field{Offset: at, Length: h.Length, Index: i, Count: len(fields), Edition: h.Edition, Discipline: h.Discipline, From: at, To: at + h.Length}
		if len(fields) > 1 {
			f.From, f.To = fields[i].Span()
		}
		if err := s.field(f, &fields[i]); err != nil {
			return h.Length, err
		}
		s.Fields = append(s.Fields, f)
	}
	return h.Length, nil
}

// maxHeader bounds the length of a section other than the values and the bitmap.
const maxHeader = 64 << 20

// load returns the bytes of a section other than the values and the bitmap, or nil if the message does not have it.
func (s *scanner) load(sec section.Section) ([]byte, error) {
	last := &s.sections[sec.Number]
	if last.Section == sec {
		return last.bytes, nil
	}
	if sec.Length > maxHeader {
		return nil, readers.Corruptf("section %d at offset %d has %d bytes, more than %d", sec.Number, sec.Offset, sec.Length, maxHeader)
	}
	b, err := s.view(sec.Offset, int(sec.Length))
	if err != nil {
		return nil, err
	}
	last.Section, last.bytes = sec, bytes.Clone(b) // a view keeps a whole block in memory
	return last.bytes, nil
}

// field reads the headers of a field from its sections.
func (s *scanner) field(f *Field, sections *section.Field) (err error) {
	gridIn := 3
	if f.identification, err = s.load(sections.Sections[1]); err != nil {
		return err
	}
	if f.Edition == 1 {
		gridIn = 2
		if len(f.identification) < 28 {
			return readers.Corruptf("section 1 has %d bytes, at least 28 are expected", len(f.identification))
		}
	} else {
		if f.local, err = s.load(sections.Sections[2]); err != nil {
			return err
		}
		if f.product, err = s.load(sections.Sections[4]); err != nil {
			return err
		}
		if len(f.identification) < 21 || len(f.product) < 9 {
			return readers.Corruptf("sections 1 and 4 have %d and %d bytes, at least 21 and 9 are expected", len(f.identification), len(f.product))
		}
	}
	grid := sections.Sections[gridIn]
	f.GridOffset, f.GridLength = grid.Offset, grid.Length
	if err = s.grid(f, grid, sections); err != nil {
		return err
	}
	if err = s.packing(f, sections.Sections[5]); err != nil {
		return err
	}
	f.read()
	return nil
}

// grid parses the grid definition of a field, in section sec. Most messages of a file have equal grid definitions, so each is parsed once.
func (s *scanner) grid(f *Field, sec section.Section, sections *section.Field) error {
	if sec.Length == 0 {
		f.Grid, f.GridErr = geo.Predefined(int(f.identification[6]))
		return nil
	}
	if s.lastGrid.Section != sec {
		b, err := s.load(sec)
		if err != nil {
			return err
		}
		known, ok := s.grids[string(b)]
		if !ok {
			known.section = b
			known.grid, known.err = geo.Parse(f.Edition, b)
			if f.Edition == 1 && known.err == nil && known.grid.IsCountUnclear() {
				if err := s.count(known.grid, sections); err != nil {
					return err
				}
			}
			s.grids[string(b)] = known
		}
		s.lastGrid.Section, s.lastGrid.parsedGrid = sec, known
	}
	f.Grid, f.GridErr, f.definition = s.lastGrid.grid, s.lastGrid.err, s.lastGrid.section
	return nil
}

// count sets the number of points of a grid to the number of values of a field of edition 1. It leaves a grid unchanged if the values
// are damaged: the error is that of reading them.
func (s *scanner) count(g *geo.Grid, sections *section.Field) error {
	var err error
	_, counted, fault := message.Field(1, sections, func(sec section.Section) []byte {
		var b []byte
		if err == nil && sec.Length > 0 {
			b, err = s.view(sec.Offset, int(sec.Length))
		}
		return bytes.Clone(b) // the next view may use the same memory
	})
	if err == nil && fault == nil {
		g.Points = counted.Points
	}
	return err
}

// packing sets PackingErr if values cannot be unpacked. Only edition 2 names the packing in its headers; a field of edition 1 with an
// unsupported packing fails when its values are read.
func (s *scanner) packing(f *Field, sec section.Section) error {
	if f.Grid == nil {
		f.PackingErr = f.GridErr
		return nil
	}
	if f.Edition == 1 {
		return nil
	}
	b, err := s.load(sec)
	if err != nil {
		return err
	}
	if _, err = (&grib.Field{Edition: 2, Section5: b, Section7: make([]byte, 5)}).Describe(); errors.Is(err, errors.ErrUnsupported) {
		f.PackingErr = err
	}
	return nil
}

// Read returns the packed values of a field, and its grid.
func (f *File) Read(ctx context.Context, field *Field) (*grib.Field, *geo.Grid, error) {
	b := make([]byte, field.To-field.From)
	if _, err := f.src.ReadAt(ctx, b, field.From); err != nil {
		return nil, nil, err
	}
	packed, grid, err := message.Open(b)
	if err != nil {
		err = &readers.Error{Source: f.src.Name(), Offset: field.Offset, Err: err}
	}
	return packed, grid, err
}
