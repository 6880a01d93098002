// Package source reads byte ranges of the files that readers understand.
//
// A Source is one file or object as it was when it was opened. Its bytes come through
// a Ranges, the small interface that a new kind of storage has to satisfy; what is
// common to all of them stands here: a cache of blocks, so that reading metadata a few
// bytes at a time costs few requests, and the promise that all bytes of a Source are
// of the same version of the file.
//
//	0        8 KiB      16 KiB                            size
//	├──────────┼──────────┼──────────┼── … ──┼──────────┼───┤
//	  block 0    block 1    block 2            block n-1  tail
//
// Blocks are read whole, never changed afterwards, and dropped oldest first. How large
// they are is up to the Ranges: a request costs a local file little and a server much.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrChanged marks errors caused by a source that is no longer the one that was opened.
var ErrChanged = errors.New("source has changed")

// Ranges reads byte ranges of one version of a file or an object.
type Ranges interface {
	// ReadAt fills p from offset off. Like io.ReaderAt it may be called by any number
	// of goroutines and returns an error whenever it returns less than len(p) bytes.
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	// Identity tells the version of the file that ReadAt reads.
	Identity() Identity
	// Close releases what the Ranges holds.
	Close() error
}

// Identity tells one version of a file from another.
type Identity struct {
	Size     int64
	Modified time.Time // the zero time where it is not known
	ETag     string    // empty where there is none
}

// Blocker is a Ranges that says in which sizes it is best read. Others are read in blocks
// of 64 KiB.
type Blocker interface {
	// BlockBits is the logarithm of the size of blocks to base 2.
	BlockBits() int
}

const (
	defaultBlockBits = 16
	cacheBytes       = 16 << 20
)

// Source is an open file or object.
type Source struct {
	name   string
	ranges Ranges
	size   int64
	bits   int // of the size of blocks
	limit  int // of blocks held

	mu     sync.Mutex
	blocks map[int64][]byte
	order  []int64 // the blocks held, oldest first, as a ring
	next   int
}

// New returns a Source that reads ranges; errors call it by name.
func New(name string, ranges Ranges) *Source {
	bits := defaultBlockBits
	if b, ok := ranges.(Blocker); ok {
		bits = b.BlockBits()
	}
	return &Source{
		name:   name,
		ranges: ranges,
		size:   ranges.Identity().Size,
		bits:   bits,
		limit:  max(cacheBytes>>bits, 1),
		blocks: map[int64][]byte{},
	}
}

// Open opens a local file or folder.
func Open(ctx context.Context, name string) (*Source, error) {
	ranges, err := openFile(ctx, name)
	if errors.Is(err, errFolder) {
		return OpenFolder(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return New(name, ranges), nil
}

// Name returns the path or URL that the source was opened by.
func (s *Source) Name() string { return s.name }

// Size returns the number of bytes.
func (s *Source) Size() int64 { return s.size }

// Identity tells the version of the file that is read.
func (s *Source) Identity() Identity { return s.ranges.Identity() }

// Close releases the file. Slices that View gave out stay valid.
func (s *Source) Close() error { return s.ranges.Close() }

// ReadAt fills p from offset off, past the cache: it is meant for the bytes of chunks.
func (s *Source) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := s.within(off, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := s.ranges.ReadAt(ctx, p, off)
	if err != nil && n < len(p) {
		return n, s.wrap(off, len(p), err)
	}
	return n, nil
}

// View returns n bytes from offset off, which the caller must not change. It is meant
// for metadata: what lies within one block is a slice of the cache and not a copy.
func (s *Source) View(ctx context.Context, off int64, n int) ([]byte, error) {
	if err := s.within(off, int64(n)); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	first, last := off>>s.bits, (off+int64(n)-1)>>s.bits
	if first == last {
		block, err := s.block(ctx, first)
		if err != nil {
			return nil, err
		}
		start := int(off - first<<s.bits)
		return block[start : start+n : start+n], nil
	}
	out := make([]byte, n)
	if last-first > 3 {
		_, err := s.ReadAt(ctx, out, off)
		return out, err
	}
	for i, at := first, 0; i <= last; i++ {
		block, err := s.block(ctx, i)
		if err != nil {
			return nil, err
		}
		at += copy(out[at:], block[max(off-i<<s.bits, 0):])
	}
	return out, nil
}

func (s *Source) block(ctx context.Context, i int64) ([]byte, error) {
	s.mu.Lock()
	b, ok := s.blocks[i]
	s.mu.Unlock()
	if ok {
		return b, nil
	}
	start := i << s.bits
	b = make([]byte, min(int64(1)<<s.bits, s.size-start))
	if n, err := s.ranges.ReadAt(ctx, b, start); err != nil && n < len(b) {
		return nil, s.wrap(start, len(b), err)
	}
	s.keep(i, b)
	return b, nil
}

func (s *Source) keep(i int64, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.blocks[i]; ok {
		return
	}
	s.blocks[i] = b
	if len(s.order) < s.limit {
		s.order = append(s.order, i)
		return
	}
	delete(s.blocks, s.order[s.next])
	s.order[s.next] = i
	s.next = (s.next + 1) % len(s.order)
}

// within refuses ranges that do not lie in the source.
func (s *Source) within(off, n int64) error {
	if off >= 0 && n >= 0 && off <= s.size && n <= s.size-off {
		return nil
	}
	return &RangeError{Source: s.name, Offset: off, Length: n, Size: s.size}
}

func (s *Source) wrap(off int64, n int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: it ended early", ErrChanged)
	}
	return fmt.Errorf("%s: reading %d bytes at offset %d: %w", s.name, n, off, err)
}

// RangeError is the error of reading what lies outside the source.
type RangeError struct {
	Source               string
	Offset, Length, Size int64
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s: %d bytes at offset %d lie outside the %d bytes there are", e.Source, e.Length, e.Offset, e.Size)
}
