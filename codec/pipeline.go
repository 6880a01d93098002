package codec

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Pipeline is a validated chain of codecs for chunks of one type and shape.
type Pipeline struct {
	specs   []Spec
	forms   []Form // of the chunk, then after each array codec
	arrays  []ArrayToArray
	toBytes ArrayToBytes
	bytes   []BytesToBytes
	sizes   []int // encoded sizes: after toBytes, then after each of bytes; -1 varies
}

// New builds the pipeline that specs name, in the order of encoding, for chunks of
// the given form.
func New(specs []Spec, form Form) (*Pipeline, error) {
	p := &Pipeline{specs: slices.Clone(specs)}
	if err := checkForm(form); err != nil {
		return nil, err
	}
	stage := form
	for _, spec := range specs {
		c, err := newCodec(spec, stage)
		if err == nil {
			stage, err = p.add(c, spec.Name, stage)
		}
		if err != nil {
			return nil, err
		}
	}
	if p.toBytes == nil {
		return nil, fmt.Errorf("codecs [%s]: none of them turns the array into bytes; add \"bytes\"", p.names())
	}
	return p.bind(form)
}

func checkForm(f Form) error {
	if f.Type.Size < 1 && !f.Type.Varies() {
		return fmt.Errorf("elements of %v have %d bytes; want at least 1", f.Type, f.Type.Size)
	}
	if f.Bytes() < 0 {
		return fmt.Errorf("chunk of shape %v of %v is too large", f.Shape, f.Type)
	}
	if f.Fill != nil && !f.Type.Varies() && len(f.Fill) != f.Type.Size {
		return fmt.Errorf("fill value has %d bytes, an element of %v has %d", len(f.Fill), f.Type, f.Type.Size)
	}
	return nil
}

// add appends a codec that sees chunks of form in, and returns what the next sees.
func (p *Pipeline) add(c Codec, name string, in Form) (Form, error) {
	switch c := c.(type) {
	case ArrayToArray:
		if p.toBytes != nil {
			return in, fmt.Errorf("codec %q works on arrays and must stand before the codec that makes bytes; the order is [%s]", name, p.names())
		}
		out, err := c.Encoded(in)
		if err != nil {
			return in, fmt.Errorf("codec %q: %w", name, err)
		}
		p.arrays = append(p.arrays, c)
		return out, nil
	case ArrayToBytes:
		if p.toBytes != nil {
			return in, fmt.Errorf("codec %q: a second codec that turns the array into bytes; the order is [%s]", name, p.names())
		}
		p.toBytes = c
		return in, nil
	case BytesToBytes:
		if p.toBytes == nil {
			return in, fmt.Errorf("codec %q works on bytes and must stand behind the codec that makes them; the order is [%s]", name, p.names())
		}
		p.bytes = append(p.bytes, c)
		return in, nil
	}
	return in, fmt.Errorf("codec %q belongs to no stage", name)
}

// bind completes a pipeline whose codecs are set for chunks of the given form.
func (p *Pipeline) bind(form Form) (*Pipeline, error) {
	p.forms = []Form{form}
	for i, c := range p.arrays {
		next, err := c.Encoded(p.forms[i])
		if err == nil {
			err = checkForm(next)
		}
		if err != nil {
			return nil, fmt.Errorf("codec %q: %w", p.specs[i].Name, err)
		}
		p.forms = append(p.forms, next)
	}
	if err := p.bindBytes(p.innermost()); err != nil {
		return nil, fmt.Errorf("codec %q: %w", p.specs[len(p.arrays)].Name, err)
	}
	p.sizes = make([]int, len(p.bytes)+1)
	size, fixed := p.toBytes.EncodedSize(p.innermost())
	for i := range p.sizes {
		if i > 0 && fixed {
			size, fixed = p.bytes[i-1].EncodedSize(size)
		}
		p.sizes[i] = -1
		if fixed {
			p.sizes[i] = size
		}
	}
	return p, nil
}

// bindBytes has the codec that makes bytes take chunks of form in.
func (p *Pipeline) bindBytes(in Form) (err error) {
	if s, ok := p.toBytes.(shaped); ok {
		p.toBytes, err = s.bound(in)
		return err
	}
	return p.toBytes.Accepts(in)
}

// WithShape returns the same pipeline for chunks of another shape.
func (p *Pipeline) WithShape(shape []int64) (*Pipeline, error) {
	form := p.Form()
	if slices.Equal(shape, form.Shape) {
		return p, nil
	}
	if len(shape) != len(form.Shape) {
		return nil, fmt.Errorf("chunk shape %v has %d dimensions, the array %d", shape, len(shape), len(form.Shape))
	}
	form.Shape = slices.Clone(shape)
	if err := checkForm(form); err != nil {
		return nil, err
	}
	q := *p
	return q.bind(form)
}

// Skip returns the pipeline of a chunk whose HDF5 filter mask is mask: bit i says that
// the i-th codec from bytes to bytes was not applied to it.
func (p *Pipeline) Skip(mask uint32) *Pipeline {
	if mask == 0 {
		return p
	}
	q := *p
	q.bytes, q.specs = nil, slices.Clone(p.specs[:len(p.arrays)+1])
	for i, c := range p.bytes {
		if i < 32 && mask>>i&1 == 1 {
			continue
		}
		q.bytes = append(q.bytes, c)
		q.specs = append(q.specs, p.specs[len(p.arrays)+1+i])
	}
	r, err := q.bind(p.Form())
	if err != nil {
		panic(err) // Accepts and Encoded have said yes to the same form before
	}
	return r
}

// Form returns the form of the chunks that p decodes to.
func (p *Pipeline) Form() Form { return p.forms[0] }

// Specs returns the codecs as they were named.
func (p *Pipeline) Specs() []Spec { return slices.Clone(p.specs) }

func (p *Pipeline) innermost() Form { return p.forms[len(p.forms)-1] }

func (p *Pipeline) names() string {
	var names []string
	for _, s := range p.specs {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// EncodedSize returns the size of every stored chunk, where it does not depend on
// the elements.
func (p *Pipeline) EncodedSize() (int, bool) {
	size := p.sizes[len(p.sizes)-1]
	return size, size >= 0
}

// CanEncode returns nil, or an error that names a codec that only decodes.
func (p *Pipeline) CanEncode() error {
	for i, c := range p.codecs() {
		if d, ok := c.(decodeOnly); ok {
			if err := d.cannotEncode(); err != nil {
				return fmt.Errorf("codec %q: %w", p.specs[i].Name, err)
			}
		}
	}
	return nil
}

// Exact returns nil, or an error that names a codec which cannot encode, or which may encode
// elements as something that decodes to others. Chunks that others stored so can be read, but
// not any elements can be stored so.
func (p *Pipeline) Exact() error {
	if err := p.CanEncode(); err != nil {
		return err
	}
	for i, c := range p.codecs() {
		if l, ok := c.(lossy); ok && l.loses() {
			return fmt.Errorf("codec %q gives not all elements back as they were: %w", p.specs[i].Name, errors.ErrUnsupported)
		}
	}
	return nil
}

// codecs yields every stage in the order of encoding, without an allocation.
func (p *Pipeline) codecs() iter.Seq2[int, Codec] {
	return func(yield func(int, Codec) bool) {
		for i, c := range p.arrays {
			if !yield(i, c) {
				return
			}
		}
		if !yield(len(p.arrays), p.toBytes) {
			return
		}
		for i, c := range p.bytes {
			if !yield(len(p.arrays)+1+i, c) {
				return
			}
		}
	}
}

// SameDecode reports whether p and q turn the same bytes into the same elements.
// What only matters for encoding, such as a compressor's level, does not count.
func (p *Pipeline) SameDecode(q *Pipeline) bool {
	return p.Form().Type.Equal(q.Form().Type) && slices.Equal(p.Form().Shape, q.Form().Shape) && p.decodeKey() == q.decodeKey()
}

func (p *Pipeline) decodeKey() string {
	var keys []string
	for _, c := range p.codecs() {
		if k := c.DecodeKey(); k != "" {
			keys = append(keys, k)
		}
	}
	return strings.Join(keys, "|")
}

// Clients returns what a reader other than varve needs to decode this pipeline.
func (p *Pipeline) Clients() Client {
	worst := AnyClient
	for _, s := range p.specs {
		info, _ := Lookup(s.Name)
		worst = max(worst, info.Client)
	}
	for _, c := range p.codecs() {
		if c, ok := c.(configured); ok {
			worst = max(worst, c.clients())
		}
	}
	for i, c := range p.bytes {
		if d, ok := c.(demanding); ok {
			worst = max(worst, d.clientsFor(p.sizes[i]))
		}
	}
	return worst
}

// onlyDecodes is embedded by codecs that nobody should write any more.
type onlyDecodes struct{}

func (onlyDecodes) cannotEncode() error {
	return fmt.Errorf("varve only decodes it; encode with \"zstd\" or \"numcodecs.zlib\": %w", errors.ErrUnsupported)
}

func (o onlyDecodes) Encode(dst, _ []byte) ([]byte, error) { return dst, o.cannotEncode() }
