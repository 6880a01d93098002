// Package source reads byte ranges of the files that readers understand.
//
// A Source is one file or object as it was when it was opened. Its bytes come through
// a Ranges, the small interface that a new kind of storage has to satisfy; what is
// common to all of them stands here: a cache of blocks, so that reading metadata a few
// bytes at a time costs few requests, and the promise that all bytes of a Source are
// of the same version of the file.
//
//	0        64 KiB     128 KiB                           size
//	├──────────┼──────────┼──────────┼── … ──┼──────────┼───┤
//	  block 0    block 1    block 2            block n-1  tail
//
// Blocks are read whole, several at once where reads walk forward, by one goroutine for
// all that want them, and never changed afterwards. How large they are is up to the
// Ranges: a request costs a local file little and a server much.
//
// Metadata is read through the cache, with View. Chunks are read past it, with ReadAt one
// at a time and with ReadRanges many, near ones in one request.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

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

// Blocker is a Ranges that says in which sizes it is best read. Others are read in blocks
// of 64 KiB.
type Blocker interface {
	// BlockBits is the logarithm of the size of blocks to base 2.
	BlockBits() int
}

// Tuner is a Ranges that says how to make fewer reads of many.
type Tuner interface {
	Tuning() Tuning
}

// Tuning says how a Ranges is best read. All sizes are in bytes.
type Tuning struct {
	Least    int64 // what is read at once when metadata is read here and there
	Ahead    int64 // most that is read at once when reads of metadata walk forward
	Tail     int64 // what is read at once when metadata is read this near the end
	Gap      int64 // most that is read for nothing to have one read instead of two
	Joined   int64 // longest read that is made of several
	Parallel int   // how many reads to make at a time
}

// Prefetcher is a Ranges that got bytes from the beginning of the file when it was opened.
type Prefetcher interface {
	// Prefetched returns these bytes, once.
	Prefetched() []byte
}

// Meter is a Ranges that counts what it asks for itself, because one read can take several
// requests.
type Meter interface {
	Stats() Stats
}

// Stats counts what reading a source has cost so far.
type Stats struct {
	Requests int64 // system calls to a file, requests to a server
	Bytes    int64 // that came back
}

const (
	defaultBlockBits  = 16
	defaultCacheBytes = 16 << 20
)

// localTuning is for storage whose reads cost next to nothing.
var localTuning = Tuning{Gap: 32 << 10, Joined: 16 << 20, Parallel: 4}

// Source is an open file or object. It may be used by any number of goroutines.
type Source struct {
	name   string
	ranges Ranges
	size   int64
	bits   int // of the size of blocks
	far    bool
	tuning Tuning
	cache  *cache
	opener *Opener // to be closed with the source, if nobody else has it

	requests, bytes atomic.Int64

	mu     sync.Mutex
	closed bool
	blocks map[int64]*block // in memory or being read
	next   int64            // the block after those that were read last,
	run    int64            // and how many these were
}

// New returns a Source that reads ranges; errors call it by name. It has a cache of its
// own, of 16 MiB.
func New(name string, ranges Ranges) *Source {
	return newSource(name, ranges, newCache(defaultCacheBytes))
}

func newSource(name string, ranges Ranges, c *cache) *Source {
	s := &Source{
		name:   name,
		ranges: ranges,
		size:   ranges.Identity().Size,
		bits:   defaultBlockBits,
		tuning: localTuning,
		cache:  c,
		blocks: map[int64]*block{},
	}
	if b, ok := ranges.(Blocker); ok {
		s.bits = b.BlockBits()
	}
	if t, ok := ranges.(Tuner); ok {
		s.tuning = t.Tuning()
	}
	s.far = s.bits >= defaultBlockBits || s.tuning.Ahead > 0
	s.tuning.Ahead = min(s.tuning.Ahead, c.limit/4) // or the cache would drop what it just got
	if p, ok := ranges.(Prefetcher); ok {
		s.prefetched(p.Prefetched())
	}
	return s
}

// Name returns the path or URL that the source was opened by.
func (s *Source) Name() string { return s.name }

// Size returns the number of bytes.
func (s *Source) Size() int64 { return s.size }

// Identity tells the version of the file that is read.
func (s *Source) Identity() Identity { return s.ranges.Identity() }

// Stats counts what reading has cost so far, opening included.
func (s *Source) Stats() Stats {
	if m, ok := s.ranges.(Meter); ok {
		return m.Stats()
	}
	return Stats{Requests: s.requests.Load(), Bytes: s.bytes.Load()}
}

// Close releases the file and the memory of its blocks. Slices that View gave out stay
// valid. Reading a closed source is fs.ErrClosed.
func (s *Source) Close() error {
	s.cache.remove(s)
	err := s.ranges.Close()
	if s.opener != nil {
		err = errors.Join(err, s.opener.Close())
	}
	return err
}

// Far reports whether reads take so long that it pays to think about them. Whoever asks
// for small blocks, and for one at a time, says that they do not.
func (s *Source) Far() bool { return s.far }

// ReadAt fills p from offset off. What it reads is not kept: it is meant for the bytes of
// chunks.
func (s *Source) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := s.within(off, int64(len(p))); err != nil {
		return 0, err
	}
	if len(p) > 0 && s.far && ctx.Err() == nil && s.held(p, off) {
		return len(p), nil
	}
	if err := s.read(ctx, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
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
		block, err := s.block(ctx, first, last)
		if err != nil {
			return nil, err
		}
		start := int(off - first<<s.bits)
		return block[start : start+n : start+n], nil
	}
	out := make([]byte, n)
	if last-first > max(3, s.tuning.Ahead>>s.bits) || int64(n) > s.cache.limit/4 {
		_, err := s.ReadAt(ctx, out, off)
		return out, err
	}
	for i, at := first, 0; i <= last; i++ {
		block, err := s.block(ctx, i, last)
		if err != nil {
			return nil, err
		}
		at += copy(out[at:], block[max(off-i<<s.bits, 0):])
	}
	return out, nil
}

// read fills p from the storage itself.
func (s *Source) read(ctx context.Context, p []byte, off int64) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return s.closedError()
	}
	n, err := s.ranges.ReadAt(ctx, p, off)
	s.requests.Add(1)
	s.bytes.Add(int64(n))
	if n == len(p) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return s.wrap(off, len(p), err)
}

// within refuses ranges that do not lie in the source.
func (s *Source) within(off, n int64) error {
	if off >= 0 && n >= 0 && off <= s.size && n <= s.size-off {
		return nil
	}
	return &RangeError{Source: s.name, Offset: off, Length: n, Size: s.size}
}

func (s *Source) wrap(off int64, n int, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("%w: it ended early", ErrChanged)
	}
	return fmt.Errorf("%s: reading %d bytes at offset %d: %w", s.name, n, off, err)
}

func (s *Source) closedError() error {
	return fmt.Errorf("%s: reading: %w", s.name, fs.ErrClosed)
}

// RangeError is the error of reading what lies outside the source.
type RangeError struct {
	Source               string
	Offset, Length, Size int64
}

// Error says where, and how many bytes there are.
func (e *RangeError) Error() string {
	return fmt.Sprintf("%s: %d bytes at offset %d lie outside the %d bytes there are", e.Source, e.Length, e.Offset, e.Size)
}
