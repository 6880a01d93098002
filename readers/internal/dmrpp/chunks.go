package dmrpp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"

	"varve/codec"
	"varve/readers"
	"varve/readers/internal/byteswap"
	"varve/readers/source"
)

// chunks is the content of a chunks element without its refs.
type chunks struct {
	filters     []string
	levels      []string
	fill        *string
	isBigEndian bool
	shape       []uint64 // shape of a chunk; nil if absent
	from, to    int64    // position of the element in the document
	count       int
	bytes       uint64
	first       chunk
	isLinked    bool // chunks are stored in several blocks
}

// chunk is the content of a chunk tag.
type chunk struct {
	offset   int64
	size     uint64
	mask     uint32
	href     string
	position []byte
}

// chunks reads a chunks element. It counts the refs and keeps only the first.
func (p *parser) chunks(v *variable, tok *token) error {
	c := &chunks{from: tok.at}
	c.filters = strings.Fields(string(tok.attr("compressionType")))
	c.levels = strings.Fields(string(tok.attr("deflateLevel")) + " " + string(tok.attr("deflate_level")))
	if fill := tok.attr("fillValue"); fill != nil {
		text := string(fill)
		c.fill = &text
	}
	if order := string(tok.attr("byteOrder")); order == "BE" {
		c.isBigEndian = true
	} else if order != "" && order != "LE" {
		v.fail(readers.Corruptf("byteOrder is %q (want LE or BE)", order))
	}
	c.isLinked = string(tok.attr("LBChunk")) == "true"
	if err := p.account(len(tok.attr("compressionType"))); err != nil {
		return err
	}
	if v.chunks != nil {
		v.fail(readers.Corruptf("variable has more than one chunks element"))
	}
	v.chunks = c
	for {
		tok, err := p.child(nil)
		if err != nil {
			return err
		}
		if tok == nil {
			c.to = p.s.offset()
			return nil
		}
		if err := p.inChunks(c, tok); err != nil {
			return err
		}
	}
}

// inChunks reads one child of a chunks element.
func (p *parser) inChunks(c *chunks, tok *token) error {
	switch string(tok.name) {
	case "chunkDimensionSizes":
		return p.chunkShape(c)
	case "block":
		c.isLinked = true
	case "chunk", "byteStream":
		if tok.attr("LinkedBlockIndex") != nil {
			c.isLinked = true
		}
		one, err := p.s.chunk(tok)
		if err != nil {
			return err
		}
		if c.count++; c.count == 1 {
			c.first = one
			// The position's bytes belong to the scanner, and only refs need it.
			c.first.position = nil
		}
		c.bytes += one.size
	}
	return p.skip()
}

func (p *parser) chunkShape(c *chunks) error {
	text, err := p.text()
	if err != nil {
		return err
	}
	c.shape = nil
	for _, field := range bytes.Fields(text) {
		n, err := p.length(field, "chunk length")
		if err != nil {
			return err
		}
		if n == 0 || len(c.shape) == maxRank {
			return p.s.corrupt("chunkDimensionSizes is %q (want 1 to %d lengths above 0)", text, maxRank)
		}
		c.shape = append(c.shape, n)
	}
	return nil
}

// contiguousChunk reads a chunk outside a chunks element: contiguous storage.
func (p *parser) contiguousChunk(v *variable, tok *token) error {
	one, err := p.s.chunk(tok)
	if err != nil {
		return err
	}
	if v.chunks == nil {
		v.chunks = &chunks{}
	}
	v.chunks.count++
	one.position = bytes.Clone(one.position)
	v.chunks.first, v.chunks.bytes = one, one.size
	return p.skip()
}

// chunk decodes the attributes of a chunk tag. Its position is valid until the next tag.
func (s *scanner) chunk(tok *token) (chunk, error) {
	var c chunk
	seen := 0
	for _, a := range tok.attrs {
		var n uint64
		var err error
		switch string(a.name) {
		case "offset":
			n, err = number(a.value, 63)
			c.offset = int64(n)
			seen |= 1
		case "nBytes":
			c.size, err = number(a.value, 48)
			seen |= 2
		case "fm":
			n, err = number(a.value, 32)
			c.mask = uint32(n)
		case "href":
			c.href = string(a.value)
		case "chunkPositionInArray":
			c.position = a.value
		}
		if err != nil {
			return c, s.corrupt("%s is %q: %w", a.name, a.value, err)
		}
	}
	if seen != 3 {
		return c, s.corrupt("chunk has no offset or no nBytes")
	}
	return c, nil
}

var errNumber = errors.New("not a number in range")

// number decodes a number without allocating a string, because documents have millions of them.
func number(text []byte, bits int) (uint64, error) {
	if len(text) == 0 || len(text) > 19 {
		return 0, errNumber
	}
	n := uint64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, errNumber
		}
		n = 10*n + uint64(c-'0')
	}
	if n>>bits != 0 {
		return 0, errNumber
	}
	return n, nil
}

// storeChunks sets the storage of values in the data file.
func (p *parser) storeChunks(v *variable) error {
	c, s := v.chunks, &v.Storage
	s.Source, s.Bytes = p.data.resolve(p.data.href, p.s.src.Name()), c.bytes
	if err := v.setFill(c); err != nil {
		return err
	}
	if c.isBigEndian {
		v.Type = bigEndian(v.Type)
	}
	// A scalar string of known size is stored inline like a string of fixed size.
	if v.Type.Class == readers.VarLen && len(v.Shape) == 0 && c.count == 1 && c.first.size > 0 && c.first.size < 1<<30 && len(c.filters) == 0 {
		v.Type = &readers.Type{Class: readers.String, Size: int(c.first.size), Padding: readers.NullPadded, UTF8: true}
	}
	s.Pipeline.Filters = p.filters(c, v.Type)
	for _, f := range s.Pipeline.Filters {
		if f.Err != nil && s.Undecodable == nil {
			s.Undecodable = f.Err
		}
	}
	if c.isLinked && s.Undecodable == nil {
		s.Undecodable = unsupported("chunks in linked blocks")
	}
	defer v.setPlain()
	switch {
	case c.shape == nil && c.count == 0:
		s.Source, s.Layout = "", readers.Unallocated
	case c.shape == nil && c.count == 1 && len(c.filters) == 0 && !c.isLinked:
		return p.storeContiguous(v)
	case c.shape == nil && !c.isLinked && c.count != 1:
		return readers.Corruptf("%d chunks, but no chunkDimensionSizes", c.count)
	default:
		return p.storeChunked(v)
	}
	return nil
}

func (p *parser) storeContiguous(v *variable) error {
	c, s := v.chunks, &v.Storage
	if want := product(v.Shape) * uint64(v.Type.Size); c.first.size != want && !v.Type.Varies() {
		return readers.Corruptf("chunk has %d bytes, but shape %v of %s takes %d", c.first.size, v.Shape, v.Type, want)
	}
	s.Layout, s.Offset = readers.Contiguous, c.first.offset
	if c.first.href != "" {
		s.Source = p.data.resolve(c.first.href, p.s.src.Name())
	}
	return nil
}

func (p *parser) storeChunked(v *variable) error {
	c, s := v.chunks, &v.Storage
	s.Layout, s.ChunkShape, s.Index = readers.Chunked, c.shape, "dmrpp"
	if c.shape == nil {
		s.ChunkShape = v.Shape
	}
	if len(s.ChunkShape) != len(v.Shape) {
		return readers.Corruptf("chunks of shape %v do not fit shape %v", s.ChunkShape, v.Shape)
	}
	if product(s.ChunkShape) > 1<<62/uint64(v.Type.Size) {
		return readers.Corruptf("chunks of shape %v take more than 2^62 bytes", s.ChunkShape)
	}
	if c.count > 0 && !c.isLinked {
		x := index{src: p.s.src, from: c.from, to: c.to, shape: v.Shape, chunk: s.ChunkShape, path: v.Path}
		x.resolve = func(href string) string { return p.data.resolve(href, p.s.src.Name()) }
		if c.to == 0 {
			x.only = &c.first
		}
		s.ReadIndex = x.refs
	}
	return nil
}

// bigEndian returns a type with big-endian byte order.
func bigEndian(t *readers.Type) *readers.Type {
	out := *t
	out.Order = readers.BigEndian
	if t.Class == readers.Enum {
		out.Base = bigEndian(t.Base)
		out.Choices = nil
		for _, c := range t.Choices {
			value := bytes.Clone(c.Value)
			byteswap.Elements(value, t.Size)
			out.Choices = append(out.Choices, readers.Choice{Name: c.Name, Value: value})
		}
	}
	return &out
}

// setFill sets the fill value. Writers also use this field to report that they could not describe
// the values.
func (v *variable) setFill(c *chunks) error {
	if c.fill == nil || *c.fill == "" {
		return nil
	}
	if *c.fill == "undefined" {
		v.Fill.State = readers.FillUndefined
		return nil
	}
	if strings.HasPrefix(*c.fill, "unsupported") {
		if v.strings == 0 && len(v.Shape) > 0 {
			v.Storage.Undecodable = unsupported("values that the writer of the document could not describe (fillValue is %q)", *c.fill)
		}
		return nil
	}
	t := v.Type
	if t.Class == readers.Enum {
		t = t.Base
	}
	switch t.Class {
	case readers.Integer, readers.Float:
	case readers.String:
		return v.setTextFill(*c.fill)
	default:
		return nil
	}
	value, err := appendNumber(nil, t, *c.fill)
	v.Fill = readers.Fill{State: readers.FillUser, Value: value}
	return err
}

// setTextFill sets the fill value of strings of a fixed size, with padding.
func (v *variable) setTextFill(text string) error {
	size := v.Type.Size
	if len(text) > size {
		return readers.Corruptf("fill value %q has more than %d bytes", text, size)
	}
	padding := byte(0)
	if v.Type.Padding == readers.SpacePadded {
		padding = ' '
	}
	value := append([]byte(text), bytes.Repeat([]byte{padding}, size-len(text))...)
	v.Fill = readers.Fill{State: readers.FillUser, Value: value}
	return nil
}

// filterNames lists the known filters, in the order to use if the document's order has no meaning.
var filterNames = []string{"shuffle", "deflate", "fletcher32"}

// filters returns the filters of a variable by their names in the document.
func (p *parser) filters(c *chunks, t *readers.Type) []readers.Filter {
	names := c.filters
	if !p.data.isOrdered {
		names = nil
		all := strings.Join(c.filters, " ")
		for _, known := range filterNames {
			if strings.Contains(all, known) {
				names = append(names, known)
				all = strings.ReplaceAll(all, known, "")
			}
		}
		names = append(names, strings.Fields(all)...)
	}
	var out []readers.Filter
	levels := c.levels
	for _, name := range names {
		level := 6 // the level does not affect decoding
		if name == "deflate" && len(levels) > 0 {
			if n, err := strconv.Atoi(levels[0]); err == nil {
				level = min(max(n, 0), 9)
			}
			levels = levels[1:]
		}
		out = append(out, filter(name, level, t.Size))
	}
	return out
}

// filter returns a filter with its number in HDF5 and its codec.
func filter(name string, level, size int) readers.Filter {
	f := readers.Filter{Name: name}
	config := map[string]any{}
	switch strings.ToLower(name) {
	case "deflate":
		f.ID, f.Values, config["level"] = 1, []uint32{uint32(level)}, level
	case "shuffle":
		f.ID, f.Values, config["elementsize"] = 2, []uint32{uint32(size)}, size
	case "fletcher32":
		f.ID = 3
	}
	info, ok := codec.LookupFilter(f.ID)
	if !ok {
		f.Err = unsupported("filter %q", name)
		return f
	}
	raw, err := json.Marshal(config)
	f.Codec, f.Err = codec.Spec{Name: info.Name, Config: raw}, err
	return f
}

// index reads the refs of a variable from the document, when they are requested.
type index struct {
	src          *source.Source
	from, to     int64
	shape, chunk []uint64
	path         string
	only         *chunk // the only chunk, if there is no chunks element
	resolve      func(href string) string
}

func (x *index) refs(ctx context.Context) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		ref := &readers.Ref{Index: make([]uint64, len(x.shape))}
		err := x.visitChunks(ctx, func(s *scanner, c chunk) (bool, error) {
			inside, err := x.place(s, ref, c)
			// Chunks outside the shape are not part of the array.
			if err != nil || !inside {
				return err == nil, err
			}
			return yield(ref, nil), nil
		})
		if err != nil {
			yield(nil, &readers.Error{Source: x.src.Name(), Path: x.path, Offset: x.from, Err: err})
		}
	}
}

// visitChunks calls visit for every chunk of the list, until visit returns false.
func (x *index) visitChunks(ctx context.Context, visit func(*scanner, chunk) (bool, error)) error {
	s := newScanner(ctx, x.src, x.from, x.to)
	if x.only != nil {
		_, err := visit(s, *x.only)
		return errors.Join(err, ctx.Err())
	}
	for {
		tok, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if name := string(tok.name); tok.kind != startTag || name != "chunk" && name != "byteStream" {
			continue
		}
		c, err := s.chunk(tok)
		if err != nil {
			return err
		}
		if more, err := visit(s, c); err != nil || !more {
			return err
		}
	}
}

// place sets a ref to a chunk. It reports whether the chunk is inside the shape.
func (x *index) place(s *scanner, ref *readers.Ref, c chunk) (bool, error) {
	ref.Offset, ref.Size, ref.Mask = c.offset, c.size, c.mask
	switch {
	case c.href == "":
		ref.Other = nil
	// Consecutive chunks of one file share the Other.
	case ref.Other == nil || ref.Other.Source != x.resolve(c.href):
		ref.Other = &readers.Other{Source: x.resolve(c.href)}
	}
	rest := skipSpace(bytes.TrimPrefix(skipSpace(c.position), []byte{'['}))
	if i := bytes.IndexByte(rest, ']'); i >= 0 {
		rest = rest[:i]
	}
	// Without a position it is the only chunk.
	if len(rest) == 0 {
		clear(ref.Index)
		return true, nil
	}
	inside := true
	for d := range ref.Index {
		var field []byte
		field, rest = cutPosition(rest)
		at, err := number(field, 63)
		if err != nil || at%x.chunk[d] != 0 {
			return false, s.corrupt("chunkPositionInArray is %q, not a multiple of the chunk shape %v", c.position, x.chunk)
		}
		ref.Index[d] = at / x.chunk[d]
		inside = inside && at < x.shape[d]
	}
	if len(rest) > 0 {
		return false, s.corrupt("chunkPositionInArray is %q (want %d numbers)", c.position, len(x.shape))
	}
	return inside, nil
}

// cutPosition cuts the first number off a list that is separated by commas or blanks.
func cutPosition(b []byte) (first, rest []byte) {
	n := 0
	for n < len(b) && b[n] != ',' && !isSpace(b[n]) {
		n++
	}
	first, rest = b[:n], b[n:]
	for len(rest) > 0 && (rest[0] == ',' || isSpace(rest[0])) {
		rest = rest[1:]
	}
	return first, rest
}
