package dmrpp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"varve/readers"
	"varve/readers/source"
)

const (
	readSize = 128 << 10
	maxTag   = 1 << 20 // bytes of one tag
	maxDepth = 64
	holdBack = 16 // bytes of the longest reference
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	startTag tokenKind = iota
	endTag
	characters
)

// attr is an attribute of a tag; its name has no prefix.
type attr struct{ name, value []byte }

// token is a part of a document. Its bytes are valid until the next token.
type token struct {
	kind  tokenKind
	name  []byte // name of a tag, without prefix
	attrs []attr
	text  []byte // characters, with references replaced
	at    int64  // offset of the token
}

// attr returns the value of an attribute, or nil.
func (t *token) attr(name string) []byte {
	for i := range t.attrs {
		if string(t.attrs[i].name) == name {
			return t.attrs[i].value
		}
	}
	return nil
}

// scanner splits a range of a source into tokens. An empty-element tag gives a start and an end.
type scanner struct {
	ctx            context.Context
	src            *source.Source
	buf            []byte // bytes at offset start
	pos            int    // in buf
	start          int64
	limit          int64  // end of the range
	names          []byte // names of the open elements, concatenated
	ends           []int  // end of each of these names
	isEmptyElement bool   // the last start tag was an empty-element tag
	tok            token
	plain          []byte // text without references
	values         []byte // attribute values without references
}

func newScanner(ctx context.Context, src *source.Source, from, to int64) *scanner {
	return &scanner{ctx: ctx, src: src, start: from, limit: to}
}

// offset returns the offset of the next token.
func (s *scanner) offset() int64 { return s.start + int64(s.pos) }

func (s *scanner) corrupt(format string, args ...any) error {
	return &readers.Error{Source: s.src.Name(), Offset: s.offset(), Err: readers.Corruptf(format, args...)}
}

// depth returns the number of open elements.
func (s *scanner) depth() int { return len(s.ends) }

// innermost returns the name of the element that was opened last.
func (s *scanner) innermost() []byte {
	from := 0
	if n := len(s.ends); n > 1 {
		from = s.ends[n-2]
	}
	return s.names[from:]
}

// fill reads more bytes into the buffer, and drops those before pos.
func (s *scanner) fill() error {
	n := copy(s.buf, s.buf[s.pos:])
	s.start += int64(s.pos)
	s.buf, s.pos = s.buf[:n], 0
	more := int(min(s.limit-s.start-int64(n), int64(max(readSize, n))))
	if more <= 0 {
		return io.EOF
	}
	s.buf = slices.Grow(s.buf, more)[:n+more]
	if _, err := s.src.ReadAt(s.ctx, s.buf[n:], s.start+int64(n)); err != nil {
		return err
	}
	return s.ctx.Err()
}

// find returns the distance from pos to the end of pattern, which is searched after skip bytes. It
// reads more as needed.
func (s *scanner) find(pattern string, skip int, what string) (int, error) {
	for from := skip; ; {
		if s.pos+from <= len(s.buf) {
			if i := bytes.Index(s.buf[s.pos+from:], []byte(pattern)); i >= 0 {
				return from + i + len(pattern), nil
			}
			from = max(len(s.buf)-s.pos-len(pattern)+1, skip)
		}
		if len(s.buf)-s.pos > maxTag {
			return 0, s.corrupt("%s has more than %d bytes", what, maxTag)
		}
		if err := s.more(what); err != nil {
			return 0, err
		}
	}
}

// more reads on inside a token.
func (s *scanner) more(what string) error {
	err := s.fill()
	if errors.Is(err, io.EOF) {
		return s.corrupt("document ends inside %s", what)
	}
	return err
}

// next returns the next token, or io.EOF at the end of the range.
func (s *scanner) next() (*token, error) {
	if s.isEmptyElement {
		s.isEmptyElement = false
		return s.end(s.innermost())
	}
	for {
		if s.pos == len(s.buf) {
			if err := s.fill(); err != nil {
				return nil, s.atEnd(err)
			}
		}
		s.tok = token{at: s.offset(), attrs: s.tok.attrs[:0]}
		if s.buf[s.pos] != '<' {
			return s.characters()
		}
		for len(s.buf)-s.pos < 9 { // enough for <![CDATA[
			if err := s.fill(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
		}
		tok, err := s.markup()
		if tok != nil || err != nil {
			return tok, err
		}
	}
}

// atEnd returns the error for the end of the range.
func (s *scanner) atEnd(err error) error {
	if errors.Is(err, io.EOF) && s.depth() > 0 {
		return s.corrupt("document ends inside element %s", s.innermost())
	}
	return err
}

// characters returns text up to the next tag, or a part of it.
func (s *scanner) characters() (*token, error) {
	n := bytes.IndexByte(s.buf[s.pos:], '<')
	if n < 0 {
		n = len(s.buf) - s.pos
		amp := bytes.LastIndexByte(s.buf[s.pos:], '&')
		// A reference may be cut by the end of the buffer: leave it for the next token.
		if atEnd := s.start+int64(len(s.buf)) >= s.limit; amp >= 0 && n-amp < holdBack && !atEnd {
			n = amp
		}
		if n == 0 {
			if err := s.fill(); err != nil {
				return nil, err
			}
			return s.characters()
		}
	}
	s.tok.kind = characters
	var err error
	s.plain, err = s.resolve(s.plain[:0], s.buf[s.pos:s.pos+n])
	s.tok.text = s.plain
	s.pos += n
	return &s.tok, err
}

// markup reads markup that starts with <. It returns neither a token nor an error for skipped
// markup.
func (s *scanner) markup() (*token, error) {
	rest := s.buf[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		return nil, s.skip("-->", 4, "comment")
	case bytes.HasPrefix(rest, []byte("<?")):
		return nil, s.skip("?>", 2, "processing instruction")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		n, err := s.find("]]>", 9, "CDATA section")
		if err != nil {
			return nil, err
		}
		s.tok.kind, s.tok.text = characters, s.buf[s.pos+9:s.pos+n-3]
		s.pos += n
		return &s.tok, nil
	case bytes.HasPrefix(rest, []byte("<!")):
		return nil, &readers.Error{Source: s.src.Name(), Offset: s.offset(), Err: unsupported("DOCTYPE or another declaration")}
	}
	return s.tag()
}

func (s *scanner) skip(end string, begin int, what string) error {
	n, err := s.find(end, begin, what)
	s.pos += n
	return err
}

// tag reads a start or an end tag.
func (s *scanner) tag() (*token, error) {
	n, err := s.tagEnd()
	if err != nil {
		return nil, err
	}
	inner := s.buf[s.pos+1 : s.pos+n-1]
	s.pos += n
	if name, isEnd := bytes.CutPrefix(inner, []byte("/")); isEnd {
		return s.end(bytes.TrimRight(name, space))
	}
	inner, s.isEmptyElement = bytes.CutSuffix(inner, []byte("/"))
	n = 0
	for n < len(inner) && !isSpace(inner[n]) {
		n++
	}
	name, inner := inner[:n], inner[n:]
	if len(name) == 0 || s.depth() == maxDepth {
		return nil, s.corrupt("tag without a name, or elements nested more than %d deep", maxDepth)
	}
	// One buffer for all open names avoids an allocation per tag.
	s.names = append(s.names, name...)
	s.ends = append(s.ends, len(s.names))
	s.tok.kind, s.tok.name = startTag, local(name)
	return &s.tok, s.attributes(inner)
}

const space = " \t\r\n"

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func skipSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// local returns a name without its prefix.
func local(name []byte) []byte {
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		return name[i+1:]
	}
	return name
}

// tagEnd returns the length of the tag at pos. A > in quotes does not end it.
func (s *scanner) tagEnd() (int, error) {
	if n := simpleTag(s.buf[s.pos:]); n > 0 {
		return n, nil
	}
	quote := byte(0)
	for i := 1; ; i++ {
		if i > maxTag {
			return 0, s.corrupt("tag has more than %d bytes", maxTag)
		}
		if s.pos+i >= len(s.buf) {
			if err := s.more("tag"); err != nil {
				return 0, err
			}
		}
		switch c := s.buf[s.pos+i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1, nil
		case c == '<':
			return 0, s.corrupt("< inside a tag")
		}
	}
}

// simpleTag returns the length of a tag that needs no further inspection, or 0. It is the fast path
// for chunk tags.
func simpleTag(b []byte) int {
	n := bytes.IndexByte(b, '>')
	if n < 0 || n > maxTag || bytes.Count(b[:n], []byte{'"'})%2 != 0 || bytes.IndexByte(b[:n], '\'') >= 0 || bytes.IndexByte(b[1:n], '<') >= 0 {
		return 0
	}
	return n + 1
}

// end closes the innermost element.
func (s *scanner) end(name []byte) (*token, error) {
	if s.depth() == 0 || !bytes.Equal(s.innermost(), name) {
		return nil, s.corrupt("</%s> does not close the open element", name)
	}
	s.names = s.names[:len(s.names)-len(name)]
	s.ends = s.ends[:len(s.ends)-1]
	s.tok = token{kind: endTag, name: local(name), at: s.offset(), attrs: s.tok.attrs[:0]}
	return &s.tok, nil
}

// attributes decodes the attributes of a tag.
func (s *scanner) attributes(rest []byte) error {
	s.values = s.values[:0]
	for {
		rest = skipSpace(rest)
		if len(rest) == 0 {
			return nil
		}
		equals := bytes.IndexByte(rest, '=')
		if equals <= 0 {
			return s.corrupt("attribute does not have the form name=\"value\"")
		}
		name, value := rest[:equals], skipSpace(rest[equals+1:])
		if isSpace(name[equals-1]) {
			name = bytes.TrimRight(name, space)
		}
		if len(value) == 0 || value[0] != '"' && value[0] != '\'' {
			return s.corrupt("attribute does not have the form name=\"value\"")
		}
		end := bytes.IndexByte(value[1:], value[0]) + 1
		if end == 0 {
			return s.corrupt("value of attribute %s has no end", name)
		}
		plain := value[1:end]
		if !isPlain(plain) {
			begin := len(s.values)
			var err error
			if s.values, err = s.resolve(s.values, plain); err != nil {
				return err
			}
			plain = s.values[begin:len(s.values):len(s.values)]
		}
		// Declarations keep their prefix, to be distinguishable from attributes.
		if !bytes.HasPrefix(name, []byte("xmlns:")) {
			name = local(name)
		}
		s.tok.attrs = append(s.tok.attrs, attr{name, plain})
		rest = value[end+1:]
	}
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...)
}
