package codec

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Pipeline is a validated codec pipeline for chunks of one type and shape.
type Pipeline struct {
	specs       []Spec
	forms       []Form // of the chunk, then after each array codec
	arrayCodecs []ArrayToArray
	toBytes     ArrayToBytes
	bytesCodecs []BytesToBytes
	sizes       []int // encoded sizes after toBytes and after each of bytesCodecs; -1 if it varies
}

// New returns the pipeline of specs, which are in the order of encoding, for chunks of
// the given form.
func New(specs []Spec, form Form) (*Pipeline, error) {
	if len(specs) > MaxCodecs {
		return nil, fmt.Errorf("%d codecs in a list (limit %d): %w", len(specs), MaxCodecs, errors.ErrUnsupported)
	}
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
		return nil, fmt.Errorf("codecs [%s]: no array-to-bytes codec; add \"bytes\"", p.names())
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

// add appends a codec whose input has form in, and returns the form of its output.
func (p *Pipeline) add(c Codec, name string, in Form) (Form, error) {
	switch c := c.(type) {
	case ArrayToArray:
		if p.toBytes != nil {
			return in, fmt.Errorf("codec %q: an array-to-array codec must be before the array-to-bytes codec; the order is [%s]", name, p.names())
		}
		out, err := c.Encoded(in)
		if err != nil {
			return in, fmt.Errorf("codec %q: %w", name, err)
		}
		p.arrayCodecs = append(p.arrayCodecs, c)
		return out, nil
	case ArrayToBytes:
		if p.toBytes != nil {
			return in, fmt.Errorf("codec %q: a second array-to-bytes codec; the order is [%s]", name, p.names())
		}
		p.toBytes = c
		return in, nil
	case BytesToBytes:
		if p.toBytes == nil {
			return in, fmt.Errorf("codec %q: a bytes-to-bytes codec must be after the array-to-bytes codec; the order is [%s]", name, p.names())
		}
		p.bytesCodecs = append(p.bytesCodecs, c)
		return in, nil
	}
	return in, fmt.Errorf("codec %q is neither array-to-array nor array-to-bytes nor bytes-to-bytes", name)
}

// bind completes a pipeline with given codecs for chunks of a form.
func (p *Pipeline) bind(form Form) (*Pipeline, error) {
	p.forms = []Form{form}
	for i, c := range p.arrayCodecs {
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
		return nil, fmt.Errorf("codec %q: %w", p.specs[len(p.arrayCodecs)].Name, err)
	}
	p.sizes = make([]int, len(p.bytesCodecs)+1)
	size, fixed := p.toBytes.EncodedSize(p.innermost())
	for i := range p.sizes {
		if i > 0 && fixed {
			size, fixed = p.bytesCodecs[i-1].EncodedSize(size)
		}
		p.sizes[i] = -1
		if fixed {
			p.sizes[i] = size
		}
	}
	return p, nil
}

// bindBytes prepares the array-to-bytes codec for chunks of form in.
func (p *Pipeline) bindBytes(in Form) (err error) {
	if s, ok := p.toBytes.(formBinder); ok {
		p.toBytes, err = s.bind(in)
		return err
	}
	return p.toBytes.Accepts(in)
}

// WithShape returns the pipeline for chunks of another shape.
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
	// Codecs are immutable, so a shallow copy can share them.
	q := *p
	return q.bind(form)
}

// Skip returns the pipeline of a chunk with the given HDF5 filter mask: bit i means that
// the i-th bytes-to-bytes codec was not applied.
func (p *Pipeline) Skip(mask uint32) *Pipeline {
	if mask == 0 {
		return p
	}
	q := *p
	q.bytesCodecs, q.specs = nil, slices.Clone(p.specs[:len(p.arrayCodecs)+1])
	for i, c := range p.bytesCodecs {
		// A mask has 32 bits; filters beyond are never skipped.
		if i < 32 && mask>>i&1 == 1 {
			continue
		}
		q.bytesCodecs = append(q.bytesCodecs, c)
		q.specs = append(q.specs, p.specs[len(p.arrayCodecs)+1+i])
	}
	r, err := q.bind(p.Form())
	if err != nil {
		panic(err) // cannot fail: Accepts and Encoded accepted the same form before
	}
	return r
}

// checker is an array-to-bytes codec that can recognise the bytes of a chunk.
type checker interface {
	// withCheck returns a codec that decodes only bytes with this check.
	withCheck(check uint32) ArrayToBytes
}

// WithCheck returns the pipeline of a chunk that an index file located. It decodes only bytes with this check, and otherwise fails with
// ErrIndex. If check is 0, or the codecs have no checks, it returns the pipeline itself. Only GRIB has checks.
func (p *Pipeline) WithCheck(check uint32) *Pipeline {
	c, ok := p.toBytes.(checker)
	if check == 0 || !ok {
		return p
	}
	q := *p
	q.toBytes = c.withCheck(check)
	return &q
}

// Form returns the form of the decoded chunk.
func (p *Pipeline) Form() Form { return p.forms[0] }

// Specs returns the codecs as they were specified.
func (p *Pipeline) Specs() []Spec { return slices.Clone(p.specs) }

func (p *Pipeline) innermost() Form { return p.forms[len(p.forms)-1] }

func (p *Pipeline) names() string {
	var names []string
	for _, s := range p.specs {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// EncodedSize returns the size of every stored chunk, or false if it depends on the
// elements.
func (p *Pipeline) EncodedSize() (int, bool) {
	size := p.sizes[len(p.sizes)-1]
	return size, size >= 0
}

// CanEncode returns an error that names the first codec that cannot encode, or nil.
func (p *Pipeline) CanEncode() error {
	for i, c := range p.codecs() {
		if d, ok := c.(encodeChecker); ok {
			if err := d.cannotEncode(); err != nil {
				return fmt.Errorf("codec %q: %w", p.specs[i].Name, err)
			}
		}
	}
	return nil
}

// CheckExact returns an error that names the first codec that cannot encode or is lossy,
// or nil. Chunks of a lossy pipeline can be read, but arbitrary elements cannot be stored
// with it.
func (p *Pipeline) CheckExact() error {
	if err := p.CanEncode(); err != nil {
		return err
	}
	for i, c := range p.codecs() {
		if l, ok := c.(lossReporter); ok && l.isLossy() {
			return fmt.Errorf("codec %q is lossy: %w", p.specs[i].Name, errors.ErrUnsupported)
		}
	}
	return nil
}

// codecs yields every stage in the order of encoding, without an allocation.
func (p *Pipeline) codecs() iter.Seq2[int, Codec] {
	return func(yield func(int, Codec) bool) {
		for i, c := range p.arrayCodecs {
			if !yield(i, c) {
				return
			}
		}
		if !yield(len(p.arrayCodecs), p.toBytes) {
			return
		}
		for i, c := range p.bytesCodecs {
			if !yield(len(p.arrayCodecs)+1+i, c) {
				return
			}
		}
	}
}

// SameDecode reports whether p and q decode the same bytes to the same elements. It
// ignores parameters that matter for encoding only, such as a compressor's level.
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

// Clients returns the most common client that can decode this pipeline.
func (p *Pipeline) Clients() Client {
	worst := AnyClient
	for _, s := range p.specs {
		info, _ := Lookup(s.Name)
		// Clients are ordered from the most to the least common.
		worst = max(worst, info.Client)
	}
	for _, c := range p.codecs() {
		if c, ok := c.(clientReporter); ok {
			worst = max(worst, c.clients())
		}
	}
	for i, c := range p.bytesCodecs {
		if d, ok := c.(sizeClientReporter); ok {
			worst = max(worst, d.clientsFor(p.sizes[i]))
		}
	}
	return worst
}

// noEncoder is embedded by codecs that varve only decodes.
type noEncoder struct{}

func (noEncoder) cannotEncode() error {
	return fmt.Errorf("varve only decodes it; encode with \"zstd\" or \"numcodecs.zlib\": %w", errors.ErrUnsupported)
}

func (o noEncoder) Encode(dst, _ []byte) ([]byte, error) { return dst, o.cannotEncode() }
