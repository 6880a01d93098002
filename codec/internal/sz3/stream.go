package sz3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/sz"
	"varve/codec/internal/zstd"
)

const sizeBytes = 8

// Algorithms in a configuration.
const (
	neighbours    = 0
	interpolation = 2
)

// config holds the fields of a chunk's configuration that decoding needs.
type config struct {
	dims         []int
	algorithm    byte
	bound        float64
	lorenzo      [2]bool // Lorenzo predictors of order 1 and 2
	plane, curve bool    // plane predictors of order 1 and 2
}

// laterMagic is the beginning of chunks of version 3.2 and later.
const laterMagic = 0xf342f310

// split reads the configuration at the end of a chunk. It returns the configuration and the bytes before
// it.
func (c *Chunk) split(src []byte) (config, []byte, error) {
	var conf config
	if len(src) < sizeBytes+4 {
		return conf, nil, corrupt.Errorf("sz3: the chunk has %d bytes, must have at least %d", len(src), sizeBytes+4)
	}
	if binary.LittleEndian.Uint32(src) == laterMagic {
		return conf, nil, fmt.Errorf("sz3: chunk of version 3.2 or later, supported is 3.1: %w", errors.ErrUnsupported)
	}
	end := len(src) - 4
	n := binary.LittleEndian.Uint32(src[end:])
	if uint64(n) > uint64(end-sizeBytes) {
		return conf, nil, corrupt.Errorf("sz3: configuration of %d bytes does not fit in the chunk of %d bytes", n, len(src))
	}
	packed := src[:end-int(n)]
	r := cursor{buf: src[end-int(n) : end]}
	if err := conf.read(&r); err != nil {
		return conf, nil, fmt.Errorf("sz3: configuration: %w", err)
	}
	if !slices.Equal(conf.dims, c.dims) {
		return conf, nil, corrupt.Errorf("sz3: the stream has the shape %d, but the filter's values give %d", conf.dims, c.dims)
	}
	return conf, packed, nil
}

// read reads a configuration, which must fill r.
func (c *config) read(r *cursor) error {
	axes := int(r.u8())
	if axes < 1 || axes > maxAxes {
		return corrupt.Errorf("%d axes, must be 1 to %d", axes, maxAxes)
	}
	c.dims = r.lengths(axes)
	r.u64() // elements
	c.algorithm = r.u8()
	r.u8() // mode
	c.bound = r.f64()
	r.f64() // relative bound
	for _, has := range []*bool{&c.lorenzo[0], &c.lorenzo[1], &c.plane, &c.curve} {
		*has = r.u8() != 0
	}
	r.bytes(1+1+4+1+1+4+4+4+4, "field") // bodies repeat the fields that matter
	isParallel := r.u8() != 0
	if r.err != nil {
		return r.err
	}
	if left := len(r.rest()); left > 0 {
		return corrupt.Errorf("%d bytes follow its last field, must be 0", left)
	}
	if isParallel {
		return fmt.Errorf("stream of several parts, written by several threads: %w", errors.ErrUnsupported)
	}
	return nil
}

// workspace is reusable memory for decoding.
type workspace struct {
	body  []byte
	tree  sz.Tree
	codes []int32
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// unpack decompresses the body of a chunk.
func (w *workspace) unpack(packed []byte, c *Chunk) ([]byte, error) {
	size := binary.LittleEndian.Uint64(packed)
	if room := min(c.room(), len(packed)*mostExpanded); size > uint64(room) {
		return nil, corrupt.Errorf("sz3: body of %d bytes, at most %d are possible for %d elements in a chunk of %d bytes", size, room, c.count, len(packed))
	}
	w.body = grow(w.body, int(size))
	n, err := zstd.Decode(w.body, packed[sizeBytes:])
	if err != nil {
		return nil, fmt.Errorf("sz3: %w", err)
	}
	if n != len(w.body) {
		return nil, corrupt.Errorf("sz3: the body decodes to %d bytes, %d are expected", n, len(w.body))
	}
	return w.body, nil
}

// mostExpanded is an upper limit of the ratio of zstd's output to its input.
const mostExpanded = 1 << 16

// room returns the maximum size of a body. It assumes as many coefficients as elements, all of them stored
// and with codes of 32 bits, and two trees of the most symbols.
func (c *Chunk) room() int {
	const tree = 2 * (4 + 4 + 4 + 1) // bytes per symbol: two nodes
	return 1<<16 + 2*c.count*(c.size+4) + 2*tree*min(c.count, 1<<18)
}

// grow returns a slice of n elements of arbitrary content, in the memory of s if its capacity suffices.
func grow[S any](s []S, n int) []S {
	if cap(s) < n {
		return make([]S, n)
	}
	return s[:n]
}

// decode decodes a body whose elements have the type T. W is the type of computations.
func decode[T number, W wide](w *workspace, conf config, r *cursor, dst []byte) error {
	var elements []T
	var err error
	switch {
	case conf.algorithm == interpolation:
		elements, err = interpolate[T, W](w, conf, r)
	case conf.algorithm != neighbours:
		return fmt.Errorf("sz3: algorithm %d: %w", conf.algorithm, errors.ErrUnsupported)
	case len(conf.dims) == 3 && !conf.curve:
		elements, err = threeAxes[T, W](w, conf, r)
	default:
		elements, err = fromNeighbours[T, W](w, conf, r)
	}
	if err != nil {
		return fmt.Errorf("sz3: %w", err)
	}
	if err := store(dst, elements); err != nil {
		return fmt.Errorf("sz3: %w", err)
	}
	return nil
}

// store writes elements to dst, little-endian. Floats have loops of their own because binary.Encode is
// slow and floats are the usual case.
func store(dst []byte, elements any) error {
	switch e := elements.(type) {
	case []float32:
		for i, v := range e {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case []float64:
		for i, v := range e {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(v))
		}
	default:
		_, err := binary.Encode(dst, binary.LittleEndian, e)
		return err
	}
	return nil
}

// symbols reads a Huffman tree and decodes n symbols, to buf if its capacity suffices.
func (w *workspace) symbols(r *cursor, buf []int32, n int) ([]int32, error) {
	least := int32(r.u32())
	nodes := int(binary.BigEndian.Uint32(r.fixed(4)))
	r.u32() // symbols
	if r.err != nil {
		return nil, r.err
	}
	size, err := w.tree.Read(r.rest(), nodes, n)
	if err != nil {
		return nil, err
	}
	w.tree.Shift(least)
	r.bytes(size, "tree")
	bits := r.size()
	if w.tree.IsConstant() {
		bits = 0
	}
	src := r.bytes(bits, "codes")
	if r.err != nil {
		return nil, r.err
	}
	buf = grow(buf, n)
	return buf, w.tree.Decode(buf, src)
}

// cursor reads the fields of a stream. After the first field that is missing it returns zeros, and err is
// set.
type cursor struct {
	buf []byte
	at  int
	err error
}

// bytes returns the next n bytes, or nil if fewer are left. name is the name of the field, for errors.
func (c *cursor) bytes(n int, name string) []byte {
	if c.err != nil || n < 0 || n > len(c.buf)-c.at {
		if c.err == nil {
			c.err = corrupt.Errorf("offset %d: %s of %d bytes, only %d are left", c.at, name, n, len(c.buf)-c.at)
		}
		return nil
	}
	b := c.buf[c.at : c.at+n : c.at+n]
	c.at += n
	return b
}

// rest returns the bytes that are not yet read.
func (c *cursor) rest() []byte { return c.buf[c.at:] }

// fixed returns the next n bytes, n <= 8, or zeros.
func (c *cursor) fixed(n int) []byte {
	if b := c.bytes(n, "field"); b != nil {
		return b
	}
	var zeros [8]byte
	return zeros[:n]
}

func (c *cursor) u8() byte     { return c.fixed(1)[0] }
func (c *cursor) u32() uint32  { return binary.LittleEndian.Uint32(c.fixed(4)) }
func (c *cursor) u64() uint64  { return binary.LittleEndian.Uint64(c.fixed(8)) }
func (c *cursor) f32() float32 { return math.Float32frombits(c.u32()) }
func (c *cursor) f64() float64 { return math.Float64frombits(c.u64()) }

// size reads a size or a count. It limits the number to one that no chunk has room for, so that products
// with it cannot overflow.
func (c *cursor) size() int { return int(min(c.u64(), 16*sz.MaxElements)) }

// lengths reads the lengths of axes.
func (c *cursor) lengths(axes int) []int {
	dims := make([]int, axes)
	for i := range dims {
		dims[i] = c.size()
	}
	return dims
}
