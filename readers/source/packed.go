package source

import (
	"bufio"
	"container/list"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sort"
	"sync"
	"sync/atomic"

	"varve/codec"
	"varve/readers/internal/zipfile"
)

// Points are the access points of a packed file that is compressed: places at which decompression can start. They are found
// while the file is decompressed once, in bounded memory.
//
//	outer file    ├───────┼──────────┼──────┼────────┤   compressed; the bits of points count from its start
//	              point 0 point 1    point 2
//	decompressed  ├───────────┼───────────┼──────────┤
//	packed file          ├──────────────────────┤        Length bytes, after Skip bytes
type Points struct {
	codec.AccessPoints
	Skip, Length int64
	// Windows returns the windows of points.
	Windows codec.Windows
}

// Points returns the access points of a source that is a packed file, or nil if its bytes are a range of another file.
func (s *Source) Points() *Points {
	if r, ok := s.ranges.(*inflated); ok {
		return r.current().points
	}
	return nil
}

// openPacked opens a packed file. If id is not nil, the outer file must have that version.
func (o *Opener) openPacked(ctx context.Context, p packed, id *Identity) (*Source, error) {
	outer, err := o.open(ctx, p.outer, id)
	if err != nil {
		return nil, err
	}
	return o.unpack(ctx, outer, p, nil)
}

// Unpack opens a packed file in an open outer file, which is closed with it, or after an error. points, if not nil, are its
// access points; otherwise the file is decompressed once to find them.
func (o *Opener) Unpack(ctx context.Context, outer *Source, name string, points *Points) (*Source, error) {
	p, ok := parsePacked(name)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s: not the name of a file in another file: %w", Shown(name), errors.ErrUnsupported), outer.Close())
	}
	return o.unpack(ctx, outer, p, points)
}

func (o *Opener) unpack(ctx context.Context, outer *Source, p packed, points *Points) (*Source, error) {
	name := outer.Name() + p.steps
	ranges, err := o.rangesIn(ctx, outer, p, points)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), outer.Close())
	}
	s := newSource(name, ranges, o.cache)
	s.trace = o.opts.Trace
	if r, ok := ranges.(*inflated); ok {
		r.name, r.trace = name, s.trace
	}
	return s, nil
}

// rangesIn returns the bytes of a packed file.
func (o *Opener) rangesIn(ctx context.Context, outer *Source, p packed, points *Points) (Ranges, error) {
	if outer.IsFolder() {
		return nil, errFolder
	}
	find := func(ctx context.Context) (*Points, *Range, error) { return o.locate(ctx, outer, p) }
	isGiven := points != nil
	if !isGiven {
		var plain *Range
		var err error
		if points, plain, err = find(ctx); err != nil {
			return nil, err
		}
		if plain != nil {
			return &member{outer, *plain, func(ctx context.Context) error { return o.verifyMember(ctx, outer, p) }}, nil
		}
	}
	r := &inflated{outer: outer, spans: &o.spans, isGiven: isGiven, find: find}
	if err := r.use(points); err != nil {
		if !isGiven {
			return nil, err
		}
		// Points only save time.
		if err := r.again(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// locate finds a packed file: its range, or the access points of a compressed one.
func (o *Opener) locate(ctx context.Context, outer *Source, p packed) (*Points, *Range, error) {
	if p.archive == "zip" {
		return o.locateInZip(ctx, outer, p)
	}
	whole, err := o.scanned(ctx, outer, p)
	if err != nil {
		return nil, nil, err
	}
	if p.archive == "" {
		return whole.part(0, whole.points.Size), nil, nil
	}
	span, err := whole.find(p.member)
	if err != nil {
		return nil, nil, err
	}
	if whole.points == nil {
		return nil, &span, nil
	}
	return whole.part(span.Offset, span.End()), nil, nil
}

// locateInZip finds a member of a zip file. A deflated one is decompressed once, and its checksum is verified.
func (o *Opener) locateInZip(ctx context.Context, outer *Source, p packed) (*Points, *Range, error) {
	dir, err := o.zipOf(ctx, outer)
	if err != nil {
		return nil, nil, err
	}
	e := dir.Find(p.member)
	if e == nil {
		return nil, nil, &fs.PathError{Op: "open", Path: p.member, Err: fs.ErrNotExist}
	}
	offset, err := dir.Locate(ctx, outer, e)
	if err != nil {
		return nil, nil, err
	}
	if !e.IsDeflated() {
		return nil, &Range{Offset: offset, Length: int64(e.Size)}, nil
	}
	points, err := cachedIn(ctx, &o.unpacked, outer, p.steps, func() (*codec.StreamPoints, int64, error) {
		ctx, end := o.opts.Trace.Begin(ctx, Operation{Name: "source.unpack", Object: outer.Name() + p.steps, Bytes: int64(e.Stored)})
		points, err := scanEntry(ctx, outer, e, offset)
		end(err)
		return points, sizeOf(points), err
	})
	if err != nil {
		return nil, nil, err
	}
	return (&compressed{points: points}).part(0, points.Size), nil, nil
}

// inflatedBytes limits how many bytes a read decompresses before it copies them.
const inflatedBytes = 8 << 20

// inflated reads a packed file that is compressed, from access points.
type inflated struct {
	name    string
	outer   *Source
	trace   TraceFunc
	spans   *spanCache
	isGiven bool // the first points come from the caller, so they may be wrong
	find    func(ctx context.Context) (*Points, *Range, error)

	state atomic.Pointer[inflatedState]
	mu    sync.Mutex // held while points are found again
}

// inflatedState are the access points of an inflated.
type inflatedState struct {
	points *Points
	reader *codec.StreamReader
}

func (r *inflated) current() *inflatedState { return r.state.Load() }

// use takes access points, if they fit the outer file.
func (r *inflated) use(points *Points) error {
	if points.Skip < 0 || points.Length < 0 || points.Skip > points.AccessPoints.Size-points.Length {
		return fmt.Errorf("access points of %d bytes, but the file has %d bytes after %d: %w", points.AccessPoints.Size, points.Length, points.Skip, codec.ErrCorrupt)
	}
	reader, err := codec.NewStreamReader(&points.AccessPoints, r.outer.Size())
	if err != nil {
		return err
	}
	r.state.Store(&inflatedState{points, reader})
	return nil
}

// Verify implements verifier. Finding the access points compares the checksums of the compressed data. It is done once for each
// version of an outer file that the Opener has read.
func (r *inflated) Verify(ctx context.Context) error {
	_, _, err := r.find(ctx)
	return err
}

// again finds the access points again.
func (r *inflated) again(ctx context.Context) error {
	points, plain, err := r.find(ctx)
	if err != nil {
		return err
	}
	if plain != nil {
		return fmt.Errorf("access points of a file that is not compressed: %w", codec.ErrCorrupt)
	}
	return r.use(points)
}

// Identity returns the version of the outer file.
func (r *inflated) Identity() Identity { return r.outer.Identity() }

// Size implements sized.
func (r *inflated) Size() int64 { return r.current().points.Length }

// BlockBits returns 18: each read decompresses from an access point on, on average half a MiB.
func (r *inflated) BlockBits() int { return 18 }

// Tuning combines reads whose distance costs less than to start again at an access point.
func (r *inflated) Tuning() Tuning {
	return Tuning{Least: 256 << 10, Ahead: 1 << 20, Gap: 256 << 10, Joined: inflatedBytes, Parallel: 2}
}

// Stats returns the cost of reading the outer file.
func (r *inflated) Stats() Stats { return r.outer.Stats() }

// Close closes the outer file.
func (r *inflated) Close() error {
	fileSpans{r.spans, r.current()}.forget()
	return r.outer.Close()
}

// ReadAt implements Ranges.
func (r *inflated) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		piece := p[n:min(n+r.current().piece(off+int64(n)), len(p))]
		if err := r.readPiece(ctx, piece, off+int64(n)); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// piece returns how many bytes to read at once from an offset on: spans of about inflatedBytes.
func (s *inflatedState) piece(off int64) int {
	at, all := s.points.Skip+off, s.points.AccessPoints.Points
	after := sort.Search(len(all), func(i int) bool { return all[i].Out > at })
	last := sort.Search(len(all), func(i int) bool { return all[i].Out > at+inflatedBytes }) - 1
	if last = max(last, after); last < len(all) {
		return int(all[last].Out - at)
	}
	return int(s.points.AccessPoints.Size - at)
}

func (r *inflated) readPiece(ctx context.Context, p []byte, off int64) error {
	s := r.current()
	err := r.readAt(ctx, s, p, off)
	if err == nil || ctx.Err() != nil || codec.IsReadError(err) || !r.isGiven {
		return err
	}
	// The points that the caller gave may be damaged. If the file itself is, finding them again says so.
	r.mu.Lock()
	if s == r.current() {
		if found := r.again(ctx); found != nil {
			r.mu.Unlock()
			return found
		}
	}
	r.mu.Unlock()
	return r.readAt(ctx, r.current(), p, off)
}

func (r *inflated) readAt(ctx context.Context, s *inflatedState, p []byte, off int64) error {
	file, err := r.outer.Section(0, r.outer.Size())
	if err != nil {
		return err
	}
	n, err := s.reader.Plan(s.points.Skip+off, int64(len(p)), fileSpans{r.spans, s})
	if err != nil {
		return err
	}
	ctx, end := r.trace.Begin(ctx, Operation{Name: "source.inflate", Object: r.name, Offset: off, Bytes: n.Inflates()})
	err = n.Decode(ctx, file, s.points.Windows, codec.Elems{Fixed: p})
	end(err)
	return err
}

// spanBytes limits the memory of a spanCache.
const spanBytes = 32 << 20

// spanCache keeps the decompressed spans of all packed files of an Opener that were used last.
type spanCache struct {
	mu    sync.Mutex
	spans map[spanKey]*list.Element // of cachedSpan
	order list.List                 // the span used last is in front
	held  int
}

// spanKey is a span of a file. Points that are found again make another file.
type spanKey struct {
	of   *inflatedState
	span int
}

type cachedSpan struct {
	spanKey
	b []byte
}

// fileSpans are the spans of one file in a spanCache.
type fileSpans struct {
	cache *spanCache
	of    *inflatedState
}

// Get implements codec.SpanCache.
func (f fileSpans) Get(span int) []byte {
	c := f.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.spans[spanKey{f.of, span}]
	if at == nil {
		return nil
	}
	c.order.MoveToFront(at)
	return at.Value.(cachedSpan).b
}

// Put implements codec.SpanCache.
func (f fileSpans) Put(span int, b []byte) {
	c, key := f.cache, spanKey{f.of, span}
	if len(b) > spanBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spans == nil {
		c.spans = map[spanKey]*list.Element{}
	}
	if old := c.spans[key]; old != nil {
		c.drop(old)
	}
	c.spans[key] = c.order.PushFront(cachedSpan{key, b})
	for c.held += len(b); c.held > spanBytes; {
		c.drop(c.order.Back())
	}
}

// forget drops all spans of the file.
func (f fileSpans) forget() {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	for at := f.cache.order.Front(); at != nil; {
		next := at.Next()
		if at.Value.(cachedSpan).of == f.of {
			f.cache.drop(at)
		}
		at = next
	}
}

func (c *spanCache) drop(at *list.Element) {
	s := c.order.Remove(at).(cachedSpan)
	delete(c.spans, s.spanKey)
	c.held -= len(s.b)
}

// member reads a packed file whose bytes are a range of the outer file.
type member struct {
	outer  *Source
	span   Range
	verify func(ctx context.Context) error
}

// Verify implements verifier.
func (m *member) Verify(ctx context.Context) error { return m.verify(ctx) }

// verifyMember compares the CRC-32 of a stored member of a zip file. A tar file has no checksums of its members.
func (o *Opener) verifyMember(ctx context.Context, outer *Source, p packed) error {
	if p.archive != "zip" {
		return nil
	}
	dir, err := o.zipOf(ctx, outer)
	if err != nil {
		return err
	}
	e := dir.Find(p.member)
	if e == nil {
		return &fs.PathError{Op: "open", Path: p.member, Err: fs.ErrNotExist}
	}
	return dir.Verify(ctx, outer, e)
}

// Identity returns the version of the outer file.
func (m *member) Identity() Identity { return m.outer.Identity() }

// Size implements sized.
func (m *member) Size() int64 { return m.span.Length }

// BlockBits returns that of the outer file.
func (m *member) BlockBits() int { return m.outer.bits }

// Tuning returns that of the outer file.
func (m *member) Tuning() Tuning { return m.outer.tuning }

// Stats returns the cost of reading the outer file.
func (m *member) Stats() Stats { return m.outer.Stats() }

func (m *member) Close() error { return m.outer.Close() }

// ReadAt implements Ranges.
func (m *member) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 || off > m.span.Length || int64(len(p)) > m.span.Length-off {
		return 0, io.ErrUnexpectedEOF
	}
	return m.outer.ReadAt(ctx, p, m.span.Offset+off)
}

// forward reads a range of a source from start to end. It is an io.Reader.
type forward struct {
	ctx context.Context
	src *Source
	Range
}

// newForward returns a reader of a range. A far source is read in large parts.
func newForward(ctx context.Context, src *Source, span Range) io.Reader {
	r := &forward{ctx, src, span}
	if src.Far() {
		return bufio.NewReaderSize(r, int(max(min(src.tuning.Joined, span.Length), 4<<10)))
	}
	return r
}

func (f *forward) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if f.Length == 0 {
		return 0, io.EOF
	}
	n, err := f.src.ReadAt(f.ctx, p[:min(int64(len(p)), f.Length)], f.Offset)
	f.Offset, f.Length = f.Offset+int64(n), f.Length-int64(n)
	return n, err
}

// scanEntry decompresses an entry of a zip file once.
func scanEntry(ctx context.Context, outer *Source, e *zipfile.Entry, offset int64) (*codec.StreamPoints, error) {
	if err := e.CheckSize(); err != nil {
		return nil, err
	}
	size, sum := uint64(0), crc32.NewIEEE()
	points, err := codec.ScanStream(codec.DeflateStream, newForward(ctx, outer, Range{Offset: offset, Length: int64(e.Stored)}), func(b []byte) error {
		if size += uint64(len(b)); size > e.Size {
			return fmt.Errorf("zip entry %q has more than its %d bytes: %w", e.Name, e.Size, codec.ErrCorrupt)
		}
		_, err := sum.Write(b)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case size != e.Size:
		return nil, fmt.Errorf("zip entry %q has %d of its %d bytes: %w", e.Name, size, e.Size, codec.ErrCorrupt)
	case sum.Sum32() != e.CRC:
		return nil, fmt.Errorf("zip entry %q: CRC-32 is %08x, but the decompressed bytes have %08x: %w", e.Name, e.CRC, sum.Sum32(), codec.ErrCorrupt)
	}
	return points.Moved(offset), nil
}
