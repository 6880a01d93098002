// Package source reads byte ranges of files: local files, files on HTTP servers, and objects in object stores.
//
// A Source is one version of a file, the one that existed when it was opened: all its bytes are of the same version, or reading
// is an error. The bytes come from a Ranges, the small interface that a kind of storage implements. The package adds a cache of
// blocks, so that reading metadata a few bytes at a time needs few requests:
//
//	0        64 KiB     128 KiB                           size
//	├──────────┼──────────┼──────────┼── … ──┼──────────┼───┤
//	  block 0    block 1    block 2            block n-1  tail
//
// Blocks are read completely, several at once if reads move forward. If several goroutines need a block, one of them reads it.
// Blocks never change afterwards. The Ranges chooses their size, because a request to a server costs much more than a system
// call.
//
// Read metadata with View, through the cache. Read chunks with ReadAt (one) or ReadRanges (many, near ones in one request), which
// do not fill the cache.
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
	// ReadAt fills p from offset off. Like io.ReaderAt, any number of goroutines may call it, and it returns an
	// error if it returns fewer than len(p) bytes.
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	// Identity returns the version of the file that ReadAt reads.
	Identity() Identity
	// Close releases resources of the Ranges.
	Close() error
}

// Blocker is a Ranges that chooses the size of blocks. Others use blocks of 64 KiB.
type Blocker interface {
	// BlockBits returns the binary logarithm of the size of blocks.
	BlockBits() int
}

// Tuner is a Ranges that chooses how reads are combined.
type Tuner interface {
	Tuning() Tuning
}

// Tuning describes how reads are combined. All sizes are in bytes.
type Tuning struct {
	Least    int64 // size of a single read of metadata
	Ahead    int64 // maximum size of a read when reads of metadata move forward
	Tail     int64 // size of the end of the file that is read at once when metadata in it is read
	Gap      int64 // maximum number of unneeded bytes to read so that one read replaces two
	Joined   int64 // maximum size of a read that replaces several
	Parallel int   // maximum number of reads at a time
}

// Prefetcher is a Ranges that received the beginning of the file when it was opened.
type Prefetcher interface {
	// Prefetched returns these bytes. A second call returns nil.
	Prefetched() []byte
}

// Meter is a Ranges that counts its requests itself, because one read may need several.
type Meter interface {
	Stats() Stats
}

// sized is a Ranges with another number of bytes than its Identity has: a packed file, which has the version of its outer file.
type sized interface{ Size() int64 }

// verifier is a Ranges whose bytes have checksums that reading a part of them does not compare: a packed file.
type verifier interface {
	Verify(ctx context.Context) error
}

// Verify reads all bytes of a packed file, and compares its checksums: those of the compressed file, or of the member of the
// archive. It does nothing for other sources.
func (s *Source) Verify(ctx context.Context) error {
	v, ok := s.ranges.(verifier)
	if !ok {
		return nil
	}
	if err := v.Verify(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// Stats is the cost of reading a source so far.
type Stats struct {
	Requests int64 // system calls for a file, requests to a server
	Bytes    int64 // bytes received
}

const (
	defaultBlockBits  = 16
	defaultCacheBytes = 16 << 20
)

// localTuning is the tuning of local storage, whose reads are cheap.
var localTuning = Tuning{Gap: 32 << 10, Joined: 16 << 20, Parallel: 4}

// Source is an open file or object. Any number of goroutines may use it.
type Source struct {
	name   string
	ranges Ranges
	size   int64
	bits   int // binary logarithm of the size of blocks
	far    bool
	tuning Tuning
	cache  *cache
	opener *Opener // if not nil, it is closed with the source
	trace  TraceFunc

	requests, bytes atomic.Int64

	mu     sync.Mutex
	closed bool
	blocks map[int64]*block // in memory or being read
	next   int64            // index of the block after the last read
	run    int64            // number of blocks of the last read
}

// New returns a Source that reads ranges. Errors contain name. It has its own cache of 16 MiB.
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
	if r, ok := ranges.(sized); ok {
		s.size = r.Size()
	}
	if b, ok := ranges.(Blocker); ok {
		s.bits = b.BlockBits()
	}
	if t, ok := ranges.(Tuner); ok {
		s.tuning = t.Tuning()
	}
	// A storage that asks for large blocks or reading ahead has expensive reads.
	s.far = s.bits >= defaultBlockBits || s.tuning.Ahead > 0
	c.addSource(s)
	s.tuning.Ahead = min(s.tuning.Ahead, c.limit/4) // a larger read could push its own first blocks out of the cache
	if p, ok := ranges.(Prefetcher); ok {
		s.prefetched(p.Prefetched())
	}
	return s
}

// Name returns the path or URL that the source was opened by.
func (s *Source) Name() string { return s.name }

// Size returns the number of bytes.
func (s *Source) Size() int64 { return s.size }

// Identity returns the version of the file.
func (s *Source) Identity() Identity { return s.ranges.Identity() }

// Stats returns the cost of reading so far, including opening.
func (s *Source) Stats() Stats {
	if m, ok := s.ranges.(Meter); ok {
		return m.Stats()
	}
	return Stats{Requests: s.requests.Load(), Bytes: s.bytes.Load()}
}

// Close releases the file and the memory of its blocks. Slices that View returned stay valid. Reading a closed source returns
// fs.ErrClosed.
func (s *Source) Close() error {
	s.cache.remove(s)
	err := s.ranges.Close()
	if s.opener != nil {
		err = errors.Join(err, s.opener.Close())
	}
	return err
}

// Far reports whether reads are so slow that callers should avoid or combine them. It is false for a Ranges with blocks smaller
// than 64 KiB and without reading ahead, such as a local file.
func (s *Source) Far() bool { return s.far }

// ReadAt fills p from offset off. It is for the bytes of chunks: they do not enter the cache.
func (s *Source) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := s.within(off, int64(len(p))); err != nil {
		return 0, err
	}
	// For local files, looking at the blocks would cost more than the system call saves.
	if len(p) > 0 && s.far && ctx.Err() == nil && s.held(p, off) {
		return len(p), nil
	}
	if err := s.read(ctx, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// View returns n bytes from offset off. The caller must not change them. It is for metadata, and uses the cache: bytes within
// one block are a slice of the cache, not a copy.
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
	// A long view would fill the cache with bytes that are rarely needed again.
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

// read fills p from the storage, without the cache.
func (s *Source) read(ctx context.Context, p []byte, off int64) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return s.closedError()
	}
	if s.trace == nil {
		return s.readStorage(ctx, p, off)
	}
	ctx, end := s.trace.Begin(ctx, Operation{Name: "source.read", Object: s.name, Offset: off, Bytes: int64(len(p))})
	err := s.readStorage(ctx, p, off)
	end(err)
	return err
}

// readStorage is read of an open source.
func (s *Source) readStorage(ctx context.Context, p []byte, off int64) error {
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

// within returns a RangeError unless the range is in the source.
func (s *Source) within(off, n int64) error {
	if off >= 0 && n >= 0 && off <= s.size && n <= s.size-off {
		return nil
	}
	return &RangeError{Source: s.name, Offset: off, Length: n, Size: s.size}
}

func (s *Source) wrap(off int64, n int, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("%w: it is shorter than when it was opened", ErrChanged)
	}
	return fmt.Errorf("%s: reading %d bytes at offset %d: %w", s.name, n, off, err)
}

func (s *Source) closedError() error {
	return fmt.Errorf("%s: reading: %w", s.name, fs.ErrClosed)
}

// RangeError is the error of reading a range outside the source.
type RangeError struct {
	Source               string
	Offset, Length, Size int64
}

// Error returns the bytes that were asked for and the size of the source.
func (e *RangeError) Error() string {
	return fmt.Sprintf("%s: %d bytes at offset %d are outside the source, which has %d bytes", e.Source, e.Length, e.Offset, e.Size)
}
