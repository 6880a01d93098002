package grib

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"varve/codec/grib/message"
	"varve/codec/grib/section"
	"varve/readers"
	"varve/readers/internal/grib/index"
	"varve/readers/source"
)

// indexed reads a file with its index file:
//
//	line of a message whose kind is known     nothing is read; its headers are derived from a template
//	line of any other message                 the headers are read, and become a template
//	bytes that no line covers                 the headers of all messages in them are read
//
// If a line and the headers of its message disagree, the index file is refused.
type indexed struct {
	scanner
	name          string // of the index file
	list          *index.File
	shared, local *kinds // the templates of other files, and of this file
	all           bool   // read the headers of all messages

	heads map[int64][]byte // the beginnings of messages by their offsets
	read  map[int64]*Field // the fields that were read, by the offsets of their messages
}

// gapError reports bytes after a message that no line describes, so that the index file does not show where messages end.
type gapError struct{ end, next int64 }

// Error names the place of the bytes.
func (e *gapError) Error() string {
	return fmt.Sprintf("the message ends at byte %d, but the next line begins at byte %d; the index file does not describe the bytes between", e.end, e.next)
}

func (s *indexed) refuse(e *index.Entry, err error) error { return &IndexError{s.name, e.Line, err} }

func (s *indexed) scan() error {
	if err := s.checkPlaces(); err != nil {
		return err
	}
	if err := s.checkFirst(); err != nil {
		return err
	}
	s.heads, s.read = map[int64][]byte{}, map[int64]*Field{}
	// The first round reads one message of each kind, the second all messages that cannot be derived from these.
	for round := range 2 {
		list := s.unknown(round == 0 && !s.all)
		if err := s.prefetch(list); err != nil {
			return err
		}
		for _, e := range list {
			if err := s.readHead(e); err != nil {
				return err
			}
		}
	}
	return s.assemble()
}

// checkPlaces sorts the lines by offset, and refuses lines that overlap or reach over the end of the data file.
func (s *indexed) checkPlaces() error {
	list := s.list.Entries
	if s.list.Format == index.ECMWF {
		slices.SortStableFunc(list, func(a, b index.Entry) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	size := s.src.Size()
	if last := &list[len(list)-1]; last.Length == index.Unknown && !last.IsField && !s.list.IsCut && last.Offset < size {
		last.Length = size - last.Offset // if its header is read, the length is compared with it
	}
	for i := range list {
		e := &list[i]
		if e.Offset > size || e.Length > size-e.Offset || e.Length == index.Unknown && e.Offset >= size {
			return s.refuse(e, readers.Corruptf("a message at %d to %d, but the data file %s has %d bytes: the index file is of another file, or the data file is not complete",
				e.Offset, e.Offset+max(e.Length, 0), s.src.Name(), size))
		}
		if i == 0 {
			continue
		}
		before := &list[i-1]
		if e.IsField && before.IsField && e.Offset == before.Offset {
			continue
		}
		if e.Offset < before.Offset+max(before.Length, 1) {
			return s.refuse(e, readers.Corruptf("the message at %d begins before the end of the message of line %d", e.Offset, before.Line))
		}
	}
	return nil
}

// detected is the number of bytes at the beginning of a file that Detect has read, so that reading them again costs nothing.
const detected = maxPreamble

// checkFirst compares the first message with its line, if its headers are derived from a message of another file: most index files of
// other data are found in this way when a file is scanned, and not only when values are read.
func (s *indexed) checkFirst() error {
	e := &s.list.Entries[0]
	t, isOther := s.find(e)
	n := min(headBytes, s.src.Size()-e.Offset)
	if !isOther || e.Offset+n > detected {
		return nil
	}
	head, err := s.view(e.Offset, int(n))
	if err != nil {
		return err
	}
	if err := t.fieldAt(e, true).verifyHead(head); err != nil {
		return s.refuse(e, err)
	}
	return nil
}

// verifyHead compares the headers of a derived field with the beginning of its message, as far as the beginning has them.
func (f *Field) verifyHead(head []byte) error {
	view := func(offset int64, n int) ([]byte, error) {
		if offset < f.Offset || offset-f.Offset+int64(n) > int64(len(head)) {
			return nil, errTooShort
		}
		return head[offset-f.Offset:][:n], nil
	}
	h, err := section.ReadHeader(view, f.Offset, f.Length)
	if errors.Is(err, errTooShort) {
		return nil // a long message of edition 1, whose length is in section 4, behind a large section
	}
	if err != nil {
		return readers.Corruptf("the data file has no message at %d: %w; the index file is of another file, or older than the data", f.Offset, err)
	}
	sections, err := section.Head(view, f.Offset, f.Offset+f.Length, h.Edition)
	if err != nil {
		return nil // large sections, or damage, which reading reports
	}
	list := sections.Sections
	load := func(n int) []byte {
		b, _ := view(list[n].Offset, int(list[n].Length))
		return b
	}
	grid := 3
	headers := message.Headers{Edition: h.Edition, Discipline: h.Discipline, Identification: load(1), Product: load(4)}
	if h.Edition == 1 {
		grid, headers.Product = 2, nil
	}
	headers.Grid = load(grid)
	reference := message.Reference(h.Edition, headers.Identification)
	switch {
	case h.Length != f.Length:
		return readers.Corruptf("the message at %d has %d bytes, the index file says %d: the index file is of another file, or older than the data", f.Offset, h.Length, f.Length)
	case !reference.Equal(f.reference):
		return disagrees("reference time", f.reference.Format(time.DateTime), reference.Format(time.DateTime))
	case len(headers.Grid) == 0 && list[grid].Length > 0:
		return nil // the grid definition is larger than the head
	case message.Check(headers.Identity(), reference) != f.check:
		return readers.Corruptf("the parameter, level, step, member or grid of the message at %d differs from the line and the template file", f.Offset)
	}
	return nil
}

var errTooShort = errors.New("the section is not in the beginning of the message")

// find returns the template for a line, and whether it is of another file.
func (s *indexed) find(e *index.Entry) (t *template, isOther bool) {
	if e.IsField || e.Length == index.Unknown || s.all {
		return nil, false
	}
	if t := s.shared.find(s.list.Format, e.Text); t != nil {
		return t, true
	}
	return s.local.find(s.list.Format, e.Text), false
}

// unknown returns the lines of messages that have to be read. If first is true, it returns only the first one of each kind.
func (s *indexed) unknown(first bool) (out []*index.Entry) {
	seen := map[string]bool{}
	for i := range s.list.Entries {
		e := &s.list.Entries[i]
		if s.read[e.Offset] != nil || e.IsField || e.Length == index.Unknown {
			continue // the message is in the bytes that scanRange reads
		}
		if t, _ := s.find(e); t != nil && !(s.isLast(e) && s.mustCheckEnd()) {
			continue
		}
		if first {
			kind := s.list.Format.Describe(e.Text).Kind
			if seen[kind] && !(s.isLast(e) && s.mustCheckEnd()) {
				continue
			}
			seen[kind] = true
		}
		out = append(out, e)
	}
	return out
}

func (s *indexed) isLast(e *index.Entry) bool { return e == &s.list.Entries[len(s.list.Entries)-1] }

// mustCheckEnd reports whether the last message has to be read, since wgrib2 does not say how long it is. With templates, no message is
// read to save a request for each file; a wrong length is found when the message is read.
func (s *indexed) mustCheckEnd() bool {
	return s.list.Format == index.WGRIB2 && len(s.shared.byKind) == 0
}

// headBytes is the length of the beginning of a message that is read: sections 0 to 5, except large ones.
const headBytes = 1 << 10

// prefetch reads the beginnings of messages, in few requests if the source is far.
func (s *indexed) prefetch(list []*index.Entry) error {
	ranges, out := make([]source.Range, len(list)), make([][]byte, len(list))
	for i, e := range list {
		ranges[i] = source.Range{Offset: e.Offset, Length: min(headBytes, s.src.Size()-e.Offset)}
	}
	if err := s.src.ReadScattered(s.ctx, ranges, out); err != nil {
		return err
	}
	for i, e := range list {
		s.heads[e.Offset] = out[i]
	}
	return nil
}

// viewHead is scanner.viewSource, with the beginning of a message from memory.
func (s *indexed) viewHead(e *index.Entry) section.View {
	head := s.heads[e.Offset]
	return func(offset int64, n int) ([]byte, error) {
		if at := offset - e.Offset; at >= 0 && at+int64(n) <= int64(len(head)) {
			return head[at : at+int64(n)], nil
		}
		return s.viewSource(offset, n)
	}
}

// readHead reads the headers of the message of a line, and makes a template of it.
func (s *indexed) readHead(e *index.Entry) error {
	view := s.viewHead(e)
	h, err := section.ReadHeader(view, e.Offset, s.src.Size()-e.Offset)
	if err != nil {
		if errors.Is(err, readers.ErrCorrupt) {
			err = s.refuse(e, readers.Corruptf("the data file has no message at %d: %w; the index file is of another file, or older than the data", e.Offset, err))
		}
		return err
	}
	if h.Length > e.Length || s.list.Format == index.ECMWF && h.Length != e.Length {
		return s.refuse(e, readers.Corruptf("the message at %d has %d bytes, the index file says %d: the index file is of another file, or older than the data", e.Offset, h.Length, e.Length))
	}
	isShorter, next := h.Length < e.Length && !s.isLast(e), e.Offset+e.Length
	e.Length = h.Length
	sections, err := section.Head(view, e.Offset, e.Offset+h.Length, h.Edition)
	if err != nil {
		return s.damaged(e, err)
	}
	f := &Field{Offset: e.Offset, Length: h.Length, Count: 1, Edition: h.Edition, Discipline: h.Discipline, From: e.Offset, To: e.Offset + h.Length}
	s.from = view
	err = s.field(f, sections)
	s.from = nil
	if err != nil {
		return s.damaged(e, err)
	}
	t, err := newTemplate(f, s.list.Format, e)
	if err != nil {
		return s.refuse(e, err)
	}
	if isShorter {
		return s.refuse(e, &gapError{e.Offset + h.Length, next})
	}
	s.read[e.Offset] = f
	s.local.add(e.Text, t)
	return nil
}

// damaged returns nil for a message that is damaged or not supported, so that it is read and reported as without an index file.
func (s *indexed) damaged(e *index.Entry, err error) error {
	if errors.Is(err, readers.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported) {
		e.Length = index.Unknown
		return nil
	}
	return err
}

// assemble adds the fields of all messages in the order of their offsets.
func (s *indexed) assemble() error {
	at := int64(0)
	s.Fields = make([]*Field, 0, len(s.list.Entries))
	for i := range s.list.Entries {
		e := &s.list.Entries[i]
		f := s.read[e.Offset]
		if f == nil {
			if t, isOther := s.find(e); t != nil {
				f = t.fieldAt(e, isOther)
			}
		}
		if f == nil {
			continue // the message is in the bytes that are scanned before the next known one
		}
		if err := s.scanTo(at, e.Offset); err != nil {
			return err
		}
		s.Fields = append(s.Fields, f)
		at = e.Offset + e.Length
	}
	return s.scanTo(at, s.src.Size())
}

// scanTo reads the headers of all messages that begin between two offsets.
func (s *indexed) scanTo(from, to int64) error {
	if from >= to {
		return nil
	}
	return s.scanner.scanRange(from, to)
}
