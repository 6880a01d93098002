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

// Algorithms, as a configuration names them.
const (
	neighbours    = 0
	interpolation = 2
)

// config is a chunk's configuration, as far as it says how to decode.
type config struct {
	dims         []int
	algorithm    byte
	bound        float64
	lorenzo      [2]bool // of order 1, of order 2
	plane, curve bool    // predictors of order 1 and 2
}

// laterMagic is what chunks of version 3.2 and later begin with.
const laterMagic = 0xf342f310

// split reads the configuration at the end of a chunk, and returns it with what stands before.
func (c *Chunk) split(src []byte) (config, []byte, error) {
	var conf config
	if len(src) < sizeBytes+4 {
		return conf, nil, corrupt.Errorf("sz3: chunk of %d bytes", len(src))
	}
	if binary.LittleEndian.Uint32(src) == laterMagic {
		return conf, nil, fmt.Errorf("sz3: chunk of version 3.2 or later: %w", errors.ErrUnsupported)
	}
	end := len(src) - 4
	n := binary.LittleEndian.Uint32(src[end:])
	if uint64(n) > uint64(end-sizeBytes) {
		return conf, nil, corrupt.Errorf("sz3: configuration of %d bytes at the end of a chunk of %d", n, len(src))
	}
	packed := src[:end-int(n)]
	r := cursor{buf: src[end-int(n) : end]}
	if err := conf.read(&r); err != nil {
		return conf, nil, fmt.Errorf("sz3: configuration: %w", err)
	}
	if !slices.Equal(conf.dims, c.dims) {
		return conf, nil, corrupt.Errorf("sz3: stream of %d elements, the filter's values say %d", conf.dims, c.dims)
	}
	return conf, packed, nil
}

func (c *config) read(r *cursor) error {
	axes := int(r.u8())
	if axes < 1 || axes > maxAxes {
		return corrupt.Errorf("%d axes, want 1 to %d", axes, maxAxes)
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
	r.bytes(1+1+4+1+1+4+4+4+4, "field") // the bodies tell again what of these matters
	parallel := r.u8() != 0
	if r.err != nil {
		return r.err
	}
	if left := len(r.rest()); left > 0 {
		return corrupt.Errorf("%d bytes behind its end", left)
	}
	if parallel {
		return fmt.Errorf("stream made of parts, by many threads: %w", errors.ErrUnsupported)
	}
	return nil
}

// workspace is what decoding needs beside its output and the elements, kept for the next chunk.
type workspace struct {
	body  []byte
	tree  sz.Tree
	codes []int32
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// unpack undoes the lossless stage.
func (w *workspace) unpack(packed []byte, c *Chunk) ([]byte, error) {
	size := binary.LittleEndian.Uint64(packed)
	if room := min(c.room(), len(packed)*mostExpanded); size > uint64(room) {
		return nil, corrupt.Errorf("sz3: body of %d bytes, of a chunk of %d elements in %d bytes it takes at most %d", size, c.count, len(packed), room)
	}
	w.body = grow(w.body, int(size))
	n, err := zstd.Decode(w.body, packed[sizeBytes:])
	if err != nil {
		return nil, fmt.Errorf("sz3: %w", err)
	}
	if n != len(w.body) {
		return nil, corrupt.Errorf("sz3: body of %d bytes, want %d", n, len(w.body))
	}
	return w.body, nil
}

// mostExpanded is more than what zstd can make of a byte.
const mostExpanded = 1 << 16

// room returns how large a body may be: elements and as many coefficients, all stored and with
// a code of 32 bits, and for each of the two a tree of as many different symbols as are met.
func (c *Chunk) room() int {
	const tree = 2 * (4 + 4 + 4 + 1) // bytes, a symbol
	return 1<<16 + 2*c.count*(c.size+4) + 2*tree*min(c.count, 1<<18)
}

// grow returns a slice of n elements, in the room of s if there is enough. They hold anything.
func grow[S any](s []S, n int) []S {
	if cap(s) < n {
		return make([]S, n)
	}
	return s[:n]
}

// decode decodes a body whose elements are of type T, in the type that they are calculated in.
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

// store writes elements, of which floats are worth a loop of their own.
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

// symbols reads n codes and what they are made of, into buf if there is room.
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
	if w.tree.Constant() {
		bits = 0
	}
	src := r.bytes(bits, "codes")
	if r.err != nil {
		return nil, r.err
	}
	buf = grow(buf, n)
	return buf, w.tree.Decode(buf, src)
}

// cursor reads a stream's fields. After the first that is not there it reads zeros.
type cursor struct {
	buf []byte
	at  int
	err error
}

// bytes returns the next n bytes, or nothing if they are not there.
func (c *cursor) bytes(n int, what string) []byte {
	if c.err != nil || n < 0 || n > len(c.buf)-c.at {
		if c.err == nil {
			c.err = corrupt.Errorf("%s of %d bytes at offset %d, %d are left", what, n, c.at, len(c.buf)-c.at)
		}
		return nil
	}
	b := c.buf[c.at : c.at+n : c.at+n]
	c.at += n
	return b
}

// rest returns the bytes that are not read.
func (c *cursor) rest() []byte { return c.buf[c.at:] }

// fixed returns n of up to 8 bytes.
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

// size reads a size or a count; one that nothing can have becomes one that no chunk has room for.
func (c *cursor) size() int { return int(min(c.u64(), 16*sz.MaxElements)) }

func (c *cursor) lengths(axes int) []int {
	dims := make([]int, axes)
	for i := range dims {
		dims[i] = c.size()
	}
	return dims
}
