package tiff

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve/readers"
	"varve/readers/source"
)

// Limits of a file. They are far above real files, and bound the memory that a hostile file can use.
const (
	maxDirectories = 1 << 16
	maxEntries     = 1 << 12
	maxTag         = 16 << 20 // bytes of a tag that is read when a file is opened
	maxTags        = 64 << 20 // bytes of all of these
)

// fieldType is the type of a tag's values.
type fieldType uint16

const (
	byteField fieldType = iota + 1
	asciiField
	shortField
	longField
	rationalField
	signedByteField
	undefinedField
	signedShortField
	signedLongField
	signedRationalField
	floatField
	doubleField
	ifdField
	long8Field       fieldType = 16
	signedLong8Field fieldType = 17
	ifd8Field        fieldType = 18
)

// size returns the bytes of a value, or 0 for an unknown type.
func (t fieldType) size() uint64 {
	sizes := [...]uint64{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8}
	if int(t) >= len(sizes) {
		return 0
	}
	return sizes[t]
}

// file reads the directories of one source.
type file struct {
	src   *source.Source
	order binary.ByteOrder
	isBig bool // BigTIFF
	left  uint64
}

// entry is one tag of a directory.
type entry struct {
	tag   uint16
	typ   fieldType
	count uint64
	at    uint64 // offset of the values
}

func (e *entry) size() uint64 {
	if n := e.typ.size(); n == 0 || e.count <= math.MaxInt64/n {
		return n * e.count
	}
	return math.MaxInt64
}

// directory is an IFD.
type directory struct {
	file    *file
	offset  uint64
	path    string // "0", "1", "0/1": as the oracle of GDAL names them
	entries []entry
	subs    []*directory
	extras  *extras // of the first directory: what sidecars say; or nil
}

// openFile reads the header. It returns the offset of the first directory.
func openFile(ctx context.Context, src *source.Source) (*file, uint64, error) {
	f := &file{src: src, left: maxTags}
	head, err := f.read(ctx, 0, min(16, uint64(src.Size())))
	if err != nil {
		return nil, 0, err
	}
	order, isBig, ok := magic(head)
	if !ok {
		return nil, 0, f.fail(0, readers.Corruptf("not a TIFF file: it does not start with II*, MM* or BigTIFF's numbers"))
	}
	f.order, f.isBig = order, isBig
	if !isBig {
		return f, uint64(order.Uint32(head[4:])), nil
	}
	if len(head) < 16 {
		return nil, 0, f.fail(0, readers.Corruptf("file is truncated: its header has %d bytes, want 16; fetch it again", len(head)))
	}
	if size := order.Uint16(head[4:]); size != 8 {
		return nil, 0, f.fail(4, readers.Corruptf("BigTIFF with offsets of %d bytes, want 8", size))
	}
	return f, order.Uint64(head[8:]), nil
}

// magic reports the byte order that the first bytes of a file say, and whether it is a BigTIFF.
func magic(head []byte) (order binary.ByteOrder, isBig, ok bool) {
	if len(head) < 8 {
		return nil, false, false
	}
	switch string(head[:2]) {
	case "II":
		order = binary.LittleEndian
	case "MM":
		order = binary.BigEndian
	default:
		return nil, false, false
	}
	version := order.Uint16(head[2:])
	return order, version == 43, version == 42 || version == 43
}

func (f *file) fail(at int64, err error) error {
	return &readers.Error{Source: f.src.Name(), Offset: at, Err: err}
}

// read returns n bytes at an offset. They are shared with the cache of the source.
func (f *file) read(ctx context.Context, at, n uint64) ([]byte, error) {
	if size := uint64(f.src.Size()); at > size || n > size-at {
		return nil, f.fail(int64(min(at, math.MaxInt64)), readers.Corruptf("file is truncated: %d bytes at offset %d, but it has %d; fetch it again", n, at, size))
	}
	return f.src.View(ctx, int64(at), int(n))
}

// directories reads a chain of directories and their sub-IFDs. Damage ends the chain; the directories before it are
// returned with the error.
func (f *file) directories(ctx context.Context, at uint64) (list []*directory, err error) {
	seen := map[uint64]bool{}
	for n := 0; at != 0; n++ {
		if n == maxDirectories {
			return list, f.fail(int64(at), unsupported("more than %d images in one file", maxDirectories))
		}
		d, next, err := f.directory(ctx, at, fmt.Sprint(n), seen)
		if d != nil {
			list = append(list, d)
		}
		if err != nil {
			return list, err
		}
		if at = next; seen[at] {
			return list, f.fail(int64(at), readers.Corruptf("the list of directories leads back to the one at offset %d", at))
		}
	}
	return list, nil
}

// directory reads an IFD and its sub-IFDs. It returns the offset of the next IFD. With an error it may return an IFD whose
// successors cannot be read.
func (f *file) directory(ctx context.Context, at uint64, path string, seen map[uint64]bool) (*directory, uint64, error) {
	if len(seen) >= maxDirectories {
		return nil, 0, f.fail(int64(at), unsupported("more than %d images in one file", maxDirectories))
	}
	seen[at] = true
	countSize, entrySize, wordSize := uint64(2), uint64(12), uint64(4)
	if f.isBig {
		countSize, entrySize, wordSize = 8, 20, 8
	}
	head, err := f.read(ctx, at, countSize)
	if err != nil {
		return nil, 0, fmt.Errorf("IFD %s: %w", path, err)
	}
	n := f.word(head)
	if n == 0 || n > maxEntries {
		return nil, 0, f.fail(int64(at), readers.Corruptf("IFD %s has %d tags; 1 to %d are possible", path, n, maxEntries))
	}
	body, err := f.read(ctx, at+countSize, n*entrySize)
	if err != nil {
		return nil, 0, fmt.Errorf("IFD %s: %w", path, err)
	}
	d := &directory{file: f, offset: at, path: path, entries: make([]entry, 0, n)}
	for i := range n {
		b := body[i*entrySize : (i+1)*entrySize]
		e := entry{tag: f.order.Uint16(b), typ: fieldType(f.order.Uint16(b[2:])), count: f.word(b[4 : 4+wordSize])}
		if e.at = at + countSize + i*entrySize + 4 + wordSize; e.size() > wordSize {
			e.at = f.word(b[4+wordSize:])
		}
		// The specification asks readers to skip types that they do not know.
		if e.typ.size() > 0 && !slices.ContainsFunc(d.entries, func(o entry) bool { return o.tag == e.tag }) {
			d.entries = append(d.entries, e)
		}
	}
	if err := f.readSubs(ctx, d, seen); err != nil {
		return d, 0, err
	}
	tail, err := f.read(ctx, at+countSize+n*entrySize, wordSize)
	if err != nil {
		return d, 0, fmt.Errorf("IFD %s: the offset of the next one: %w", path, err)
	}
	return d, f.word(tail), nil
}

// readSubs reads the sub-IFDs of a directory, each of which may start a chain.
func (f *file) readSubs(ctx context.Context, d *directory, seen map[uint64]bool) error {
	offsets, err := d.numbers(ctx, subIFDs)
	if err != nil {
		return err
	}
	for _, at := range offsets {
		for at != 0 && !seen[at] {
			sub, next, err := f.directory(ctx, at, fmt.Sprint(d.path, "/", len(d.subs)), seen)
			if sub != nil {
				d.subs = append(d.subs, sub)
			}
			if err != nil {
				return err
			}
			at = next
		}
	}
	return nil
}

// word decodes an offset or a count, whose size depends on the format.
func (f *file) word(b []byte) uint64 {
	switch {
	case len(b) == 2:
		return uint64(f.order.Uint16(b))
	case f.isBig:
		return f.order.Uint64(b)
	}
	return uint64(f.order.Uint32(b))
}

// lookup returns a tag, or nil.
func (d *directory) lookup(tag uint16) *entry {
	for i := range d.entries {
		if d.entries[i].tag == tag {
			return &d.entries[i]
		}
	}
	return nil
}

// bytes returns the bytes of a tag's values as stored, or nil if there is no such tag.
func (d *directory) bytes(ctx context.Context, tag uint16) ([]byte, error) {
	e := d.lookup(tag)
	if e == nil {
		return nil, nil
	}
	n := e.size()
	if n > maxTag || n > d.file.left {
		return nil, d.fail(tag, unsupported("%d values take more than %d bytes", e.count, min(maxTag, d.file.left)))
	}
	d.file.left -= n
	b, err := d.file.read(ctx, e.at, n)
	if err != nil {
		return nil, d.fail(tag, err)
	}
	return b, nil
}

// fail adds the directory and the tag to an error.
func (d *directory) fail(tag uint16, err error) error {
	return fmt.Errorf("IFD %s, tag %s: %w", d.path, tagName(tag), err)
}

// numbers returns the integers of a tag, or nil if there is no such tag.
func (d *directory) numbers(ctx context.Context, tag uint16) ([]uint64, error) {
	e := d.lookup(tag)
	if e == nil {
		return nil, nil
	}
	b, err := d.bytes(ctx, tag)
	if err != nil {
		return nil, err
	}
	list, ok := integers(d.file.order, e.typ, b)
	if !ok {
		return nil, d.fail(tag, readers.Corruptf("values of type %d are not integers", e.typ))
	}
	return list, nil
}

// integers decodes integers, or returns false for values of another type.
func integers(order binary.ByteOrder, t fieldType, b []byte) ([]uint64, bool) {
	list := make([]uint64, 0, len(b))
	switch t {
	case byteField, undefinedField:
		for _, v := range b {
			list = append(list, uint64(v))
		}
	case signedByteField:
		for _, v := range b {
			list = append(list, uint64(int8(v)))
		}
	case shortField:
		for ; len(b) >= 2; b = b[2:] {
			list = append(list, uint64(order.Uint16(b)))
		}
	case signedShortField:
		for ; len(b) >= 2; b = b[2:] {
			list = append(list, uint64(int16(order.Uint16(b))))
		}
	case longField, ifdField:
		for ; len(b) >= 4; b = b[4:] {
			list = append(list, uint64(order.Uint32(b)))
		}
	case signedLongField:
		for ; len(b) >= 4; b = b[4:] {
			list = append(list, uint64(int32(order.Uint32(b))))
		}
	case long8Field, signedLong8Field, ifd8Field:
		for ; len(b) >= 8; b = b[8:] {
			list = append(list, order.Uint64(b))
		}
	default:
		return nil, false
	}
	return list, true
}

// number returns the first integer of a tag, or absent if there is none.
func (d *directory) number(ctx context.Context, tag uint16, absent uint64) (uint64, error) {
	list, err := d.numbers(ctx, tag)
	if err != nil || len(list) == 0 {
		return absent, err
	}
	return list[0], nil
}

// floats returns the numbers of a tag as floating-point numbers, or nil if there is no such tag.
func (d *directory) floats(ctx context.Context, tag uint16) ([]float64, error) {
	e := d.lookup(tag)
	if e == nil {
		return nil, nil
	}
	b, err := d.bytes(ctx, tag)
	if err != nil {
		return nil, err
	}
	order, list := d.file.order, make([]float64, 0, len(b)/4)
	switch e.typ {
	case floatField:
		for ; len(b) >= 4; b = b[4:] {
			list = append(list, float64(math.Float32frombits(order.Uint32(b))))
		}
	case doubleField:
		for ; len(b) >= 8; b = b[8:] {
			list = append(list, math.Float64frombits(order.Uint64(b)))
		}
	case rationalField:
		for ; len(b) >= 8; b = b[8:] {
			list = append(list, float64(order.Uint32(b))/float64(order.Uint32(b[4:])))
		}
	case signedRationalField:
		for ; len(b) >= 8; b = b[8:] {
			list = append(list, float64(int32(order.Uint32(b)))/float64(int32(order.Uint32(b[4:]))))
		}
	default:
		whole, ok := integers(order, e.typ, b)
		if !ok {
			return nil, d.fail(tag, readers.Corruptf("values of type %d are not numbers", e.typ))
		}
		for _, v := range whole {
			list = append(list, float64(v))
		}
	}
	return list, nil
}

// text returns the bytes of a tag up to the first NUL, or false if there is no such tag.
func (d *directory) text(ctx context.Context, tag uint16) (string, bool, error) {
	b, err := d.bytes(ctx, tag)
	if err != nil || b == nil {
		return "", false, err
	}
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b), true, nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...)
}
