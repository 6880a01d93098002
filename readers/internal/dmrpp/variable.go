package dmrpp

import (
	"bytes"
	"context"
	"fmt"

	"varve/codec"
	"varve/readers"
)

// variable is a variable while its element is read.
type variable struct {
	*readers.Variable
	within  []*readers.Group
	kind    string // name of the element
	problem error  // why it cannot be listed

	chunks     *chunks // content of chunks, or of a chunk alone
	inline     []byte  // content of compact or missingdata
	isDeflated bool    // the content is from missingdata
	texts      [][]byte
	hasTexts   bool
	hasInline  bool
	strings    uint64 // size of strings of a fixed size, or 0
	padding    readers.Padding
}

// variable reads a variable.
func (p *parser) variable(within []*readers.Group, kind string, tok *token) error {
	g := within[len(within)-1]
	name := string(tok.attr("name"))
	if err := p.account(1024 + 3*len(name) + len(g.Path)); err != nil {
		return err
	}
	v := &variable{
		Variable: &readers.Variable{Name: name, Path: join(g.Path, name), Type: types[kind]},
		within:   within,
		kind:     kind,
	}
	if isTextType(kind) {
		v.Type = textType
	}
	if kind == "Enum" {
		enum := string(tok.attr("enum"))
		if v.Type, _ = lookup(p.enum, within, enum); v.Type == nil {
			v.fail(readers.Corruptf("enumeration %q is not defined", enum))
		}
	}
	if name == "" {
		v.fail(readers.Corruptf("variable without a name"))
	}
	if err := p.content(v); err != nil {
		return err
	}
	p.finish(g, v)
	return nil
}

// fail records why a variable cannot be listed. It keeps the first error.
func (v *variable) fail(err error) {
	if v.problem == nil {
		v.problem = err
	}
}

// content reads the children of a variable's element.
func (p *parser) content(v *variable) error {
	for {
		tok, err := p.child(nil)
		if err != nil || tok == nil {
			return err
		}
		switch string(tok.name) {
		case "Dim":
			err = p.dim(v, tok)
		case "Attribute":
			err = p.attribute(&v.Attributes, "", tok)
		case "chunks":
			err = p.chunks(v, tok)
		case "chunk", "byteStream":
			err = p.contiguousChunk(v, tok)
		case "compact", "missingdata":
			v.hasInline, v.isDeflated = true, string(tok.name) == "missingdata"
			v.inline, err = p.text()
		case "vlsa":
			err = p.vlsa(v)
		case "FixedLengthStringArray":
			err = p.fixedStrings(v, tok)
		case "specialstructuredata":
			v.Storage.Undecodable = unsupported("inline values of structures")
			err = p.skip()
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
}

// dim adds a dimension, which has either a name or a size.
func (p *parser) dim(v *variable, tok *token) error {
	if len(v.Dims) == maxRank {
		return p.s.corrupt("variable has more than %d dimensions", maxRank)
	}
	if err := p.account(0); err != nil {
		return err
	}
	name := string(tok.attr("name"))
	d, known := lookup(p.dims, v.within, name)
	switch {
	case name == "":
		size, err := p.length(tok.attr("size"), "size of a dimension")
		if err != nil {
			return err
		}
		name = fmt.Sprintf("%s_dim_%d", v.Name, len(v.Dims))
		d = &readers.Dimension{Name: name, Path: v.Path + "#" + name, Length: size, Anonymous: true}
	// The variable cannot be listed, but the rest of the document can.
	case !known:
		v.fail(readers.Corruptf("dimension %q is not defined", name))
		return p.skip()
	}
	v.Dims = append(v.Dims, d)
	v.Shape = append(v.Shape, d.Length)
	return p.skip()
}

// fixedStrings reads the size and the padding of the strings of an array.
func (p *parser) fixedStrings(v *variable, tok *token) error {
	size, err := p.length(tok.attr("string_length"), "string_length")
	if err != nil {
		return err
	}
	if size == 0 || size > 1<<30 {
		v.fail(readers.Corruptf("string_length is %d (want 1 to 2^30)", size))
	}
	v.strings = size
	switch pad := tok.attr("pad"); {
	case bytes.HasPrefix(pad, []byte("null_t")), bytes.HasPrefix(pad, []byte("null-t")):
		v.padding = readers.NullTerminated
	case bytes.HasPrefix(pad, []byte("space")):
		v.padding = readers.SpacePadded
	default:
		v.padding = readers.NullPadded
	}
	return p.skip()
}

// finish adds a variable to its group.
func (p *parser) finish(g *readers.Group, v *variable) {
	v.MaxShape = v.Shape
	if v.problem == nil {
		v.problem = p.store(v)
	}
	if v.problem != nil {
		p.addProblem(v.Path, v.problem)
		return
	}
	if v.ReadAll == nil && v.Storage.Layout == readers.Unallocated && v.Storage.Undecodable == nil {
		v.ReadAll = v.fillAll
	}
	if v.ReadAll == nil {
		err := v.Storage.Undecodable
		if err == nil {
			err = errElsewhere(v.Storage.Source)
		}
		err = &readers.Error{Source: p.s.src.Name(), Path: v.Path, Offset: -1, Err: err}
		v.ReadAll = func(context.Context, uint64) (readers.Value, error) { return readers.Value{}, err }
	}
	g.Variables = append(g.Variables, v.Variable)
}

// fillAll returns the fill values of a variable that has no stored values.
func (v *variable) fillAll(_ context.Context, limit uint64) (readers.Value, error) {
	if v.Type.Varies() || v.Type.Class == readers.String {
		texts := make([][]byte, min(product(v.Shape), limit/24))
		for i := range texts {
			texts[i] = v.Type.Padding.Trim(v.Fill.Value)
		}
		return readers.Value{Type: v.Type, Shape: v.Shape, Texts: texts}, v.checkLimit(limit, 24)
	}
	if err := v.checkLimit(limit, uint64(v.Type.Size)); err != nil {
		return readers.Value{}, err
	}
	one := v.Fill.Value
	if one == nil {
		one = make([]byte, v.Type.Size)
	}
	return readers.Value{Type: v.Type, Shape: v.Shape, Data: bytes.Repeat(one, int(product(v.Shape)))}, nil
}

// checkLimit returns an error if the elements, of size bytes each, take more than limit bytes.
func (v *variable) checkLimit(limit, size uint64) error {
	if n := product(v.Shape); n > limit/size {
		return fmt.Errorf("%s: %d values of %d bytes exceed the limit of %d bytes", v.Path, n, size, limit)
	}
	return nil
}

// store sets the storage of a variable from the content of its element.
func (p *parser) store(v *variable) error {
	if v.strings > 0 && isTextType(v.kind) {
		v.Type = &readers.Type{Class: readers.String, Size: int(v.strings), Padding: v.padding, UTF8: true}
	}
	if product(v.Shape) > 1<<62/uint64(v.Type.Size) {
		return readers.Corruptf("shape %v takes more than 2^62 bytes", v.Shape)
	}
	switch {
	case v.hasTexts:
		return v.storeTexts(v.texts)
	case v.hasInline:
		return v.storeInline()
	case v.chunks != nil:
		return p.storeChunks(v)
	}
	v.setPlain()
	return nil // some sidecars leave the values out
}

// setPlain sets the codec "bytes", if it decodes the elements.
func (v *variable) setPlain() {
	s := &v.Storage
	_, order, plain := v.Type.Plain()
	s.Plain, s.Pipeline.Bytes = plain, codec.InOrder(order)
	if v.Type.Varies() && s.Undecodable == nil && s.Layout != readers.Unallocated {
		s.Undecodable = unsupported("strings of varying length in a heap, whose content the document does not locate")
	}
}
