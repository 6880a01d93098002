package codec

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/shuffle"
	"varve/grid"
)

// SpanReader decodes a region of a stored chunk from access points. It decompresses only the spans that contain bytes of
// the region, each up to the last block of SumBlock bytes that is needed, and verifies the checksums of these blocks.
type SpanReader struct {
	p      *Pipeline
	points *AccessPoints
	at     int // of the compressor, among the bytes-to-bytes codecs
	region grid.Region

	stored, before, after int64 // bytes of the stored chunk, and those before and after the compressor's bytes
	wants                 []spanWant
	sums                  []int64 // index of the first checksum of each span
	cache                 SpanCache
	decoded               [][]byte
	spans                 []int // the spans that Decode has to decode, in order
	keepBelow             int64 // spans of which at most so many bytes are decoded are kept, whatever part of them is needed
}

// spanWant says which part of a span is needed.
type spanWant struct {
	from, to int64 // bytes of the span; to is the end of a block with a checksum
}

// Windows returns the windows of access points, by their index. The points have windows, and are in order.
type Windows func(ctx context.Context, points []int) ([][]byte, error)

// SpanCache keeps decoded spans of one stored chunk.
type SpanCache interface {
	// Get returns the decoded bytes from the start of a span on, perhaps not all of the span, or nil.
	Get(span int) []byte
	// Put adds what Get returns.
	Put(span int, b []byte)
}

// NewSpanReader plans to decode a region of a chunk of stored bytes. It returns an ErrCorrupt if the access points do
// not fit the pipeline and the size. cache may be nil.
func (p *Pipeline) NewSpanReader(points *AccessPoints, stored int64, region grid.Region, cache SpanCache) (*SpanReader, error) {
	at, err := p.compressor()
	if err != nil {
		return nil, err
	}
	if key := p.pointsKey(at); key != points.Codecs || points.Size != int64(p.sizes[at]) {
		return nil, corrupt.Errorf("access points of codecs %.80q with %d bytes, but the chunk has codecs %q with %d bytes", points.Codecs, points.Size, key, p.sizes[at])
	}
	if _, err := p.regionForm(region); err != nil {
		return nil, err
	}
	r := &SpanReader{p: p, points: points, at: at, region: region, stored: stored, cache: cache}
	for _, c := range p.bytesCodecs[at+1:] {
		before, after := c.(surrounder).surrounds()
		r.before, r.after = r.before+before, r.after+after
	}
	if err := points.Check(stored - r.before - r.after); err != nil {
		return nil, err
	}
	n := len(points.Points)
	r.wants, r.sums, r.decoded = make([]spanWant, n), make([]int64, n), make([][]byte, n)
	for i := range points.Points[1:] {
		r.sums[i+1] = r.sums[i] + blocks(points.end(i)-points.Points[i].Out)
	}
	if region.IsEmpty() {
		return r, nil
	}
	form := p.innermost()
	inner := region
	if len(p.arrayCodecs) > 0 {
		inner = p.encodedRegions(region)[len(p.arrayCodecs)]
	}
	size := int64(form.Type.Size)
	eachRow(form.Shape, inner, func(at, n int64) { r.want(0, at*size, (at+n)*size) })
	for i, w := range r.wants {
		if w.to > 0 && !r.takeCached(i) {
			r.spans = append(r.spans, i)
		}
	}
	return r, nil
}

// takeCached takes a decoded span from the cache, if that has enough of it.
func (r *SpanReader) takeCached(i int) bool {
	if r.cache == nil {
		return false
	}
	b := r.cache.Get(i)
	if int64(len(b)) >= r.wants[i].to {
		r.decoded[i] = b
		return true
	}
	// This is the second read that needs the span, so decode all of it.
	if b != nil {
		r.wants[i].to = r.points.end(i) - r.points.Points[i].Out
	}
	return false
}

// want notes that a range of the bytes before codec i was applied is needed.
func (r *SpanReader) want(i int, from, to int64) {
	if from >= to {
		return
	}
	if i == r.at {
		r.wantDecoded(from, to)
		return
	}
	switch c := r.p.bytesCodecs[i].(type) {
	case surrounder:
		before, _ := c.surrounds()
		r.want(i+1, from+before, to+before)
	case *shuffleCodec:
		size, whole := int64(c.size), r.wholeElements(i)
		if from < whole*size {
			first, end := from/size, (min(to, whole*size)+size-1)/size
			for plane := range size {
				r.want(i+1, plane*whole+first, plane*whole+end)
			}
		}
		r.want(i+1, max(from, whole*size), to)
	}
}

// wholeElements returns the number of elements that the shuffle codec i shuffles. It leaves the bytes after them.
func (r *SpanReader) wholeElements(i int) int64 {
	return int64(r.p.sizes[i] / r.p.bytesCodecs[i].(*shuffleCodec).size)
}

// spanOf returns the last span that begins at or before a decoded byte.
func (r *SpanReader) spanOf(at int64) int {
	return sort.Search(len(r.points.Points), func(i int) bool { return r.points.Points[i].Out > at }) - 1
}

// wantDecoded notes that a range of the compressor's output is needed.
func (r *SpanReader) wantDecoded(from, to int64) {
	for i := r.spanOf(from); from < to; i++ {
		start, end := r.points.Points[i].Out, r.points.end(i)
		if start == end {
			continue
		}
		last := min(to, end)
		w := &r.wants[i]
		if w.to == 0 {
			w.from = from - start
		}
		w.from = min(w.from, from-start)
		w.to = max(w.to, min(blocks(last-start)*SumBlock, end-start))
		from = last
	}
}

// Inflates returns the number of bytes that Decode decompresses.
func (r *SpanReader) Inflates() (n int64) {
	for _, i := range r.spans {
		n += r.wants[i].to
	}
	return n
}

// Fetches returns the number of stored bytes that Decode reads.
func (r *SpanReader) Fetches() (n int64) {
	for _, i := range r.spans {
		n += r.rangeOf(i).Length
	}
	return n
}

// rangeOf returns the range of the stored bytes of a span.
func (r *SpanReader) rangeOf(i int) Range {
	start := r.before + r.points.Points[i].Bit/8
	end := r.stored - r.after
	if i+1 < len(r.points.Points) {
		end = r.before + (r.points.Points[i+1].Bit+7)/8
	}
	return Range{start, end - start}
}

// Decode fills dst with the elements of the region, in C order.
func (r *SpanReader) Decode(ctx context.Context, stored Reader, windows Windows, dst Elems) error {
	form, err := r.p.regionForm(r.region)
	if err == nil {
		err = dst.checkSize(form)
	}
	if err != nil || r.region.IsEmpty() {
		return err
	}
	a := getArena()
	defer a.release()
	if err := r.decompress(ctx, a, stored, windows); err != nil {
		return err
	}
	d := &regionDecode{a: a}
	d.addBy(part{p: r.p, region: r.region, into: window{dst, r.region, form.Type.unit()}}, bySpans)
	if err := r.fill(a, &d.parts[0]); err != nil {
		return err
	}
	return d.finish()
}

// isWorthKeeping reports whether a span is kept in the cache. If a read needs a large part of a span, reads of
// neighbouring regions will need the rest; a read of one element says nothing about others.
func (r *SpanReader) isWorthKeeping(i int) bool {
	w := r.wants[i]
	return w.to <= r.keepBelow || (w.to-w.from)*8 >= r.points.end(i)-r.points.Points[i].Out
}

// decompress decodes the spans.
func (r *SpanReader) decompress(ctx context.Context, a *arena, stored Reader, windows Windows) error {
	var ranges []Range
	var withWindow []int
	for _, i := range r.spans {
		ranges = append(ranges, r.rangeOf(i))
		if r.points.Points[i].HasWindow {
			withWindow = append(withWindow, i)
		}
	}
	var before [][]byte
	if len(withWindow) > 0 {
		var err error
		if before, err = windows(ctx, withWindow); err != nil {
			return err
		}
		if len(before) != len(withWindow) {
			return corrupt.Errorf("%d windows of %d access points", len(before), len(withWindow))
		}
	}
	got, err := fetch(ctx, stored, ranges)
	if err != nil {
		return &readError{err}
	}
	c := r.p.bytesCodecs[r.at].(spanCodec)
	for k, i := range r.spans {
		if err := ctx.Err(); err != nil {
			return err
		}
		point, size := r.points.Points[i], int(r.wants[i].to)
		var needed []byte
		if point.HasWindow {
			needed, before = before[0], before[1:]
		}
		var room []byte
		isKept := r.cache != nil && r.isWorthKeeping(i)
		if isKept {
			room = make([]byte, c.spanRoom(size)) // not from the arena, which uses its memory again
		} else {
			room = a.bytes(c.spanRoom(size))
		}
		b, err := c.decodeSpan(room, size, needed, got[k], int(point.Bit%8))
		if err == nil {
			err = r.verify(i, b)
		}
		if err != nil {
			return r.p.stageError(len(r.p.arrayCodecs)+1+r.at, fmt.Errorf("span of %d bytes from byte %d on: %w", size, point.Out, err))
		}
		r.decoded[i] = b
		if isKept {
			r.cache.Put(i, b)
		}
	}
	return nil
}

// readError is an error of reading stored bytes, which reading the whole chunk would return too.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// IsReadError reports whether an error of Decode comes from reading the stored bytes, and not from their content or the
// access points.
func IsReadError(err error) bool {
	var failed *readError
	return errors.As(err, &failed)
}

// verify checks the checksums of a decoded span. Blocks before the needed ones are verified too: they may be kept in the
// cache for other reads.
func (r *SpanReader) verify(i int, b []byte) error {
	for at := int64(0); at*SumBlock < int64(len(b)); at++ {
		block := b[at*SumBlock : min((at+1)*SumBlock, int64(len(b)))]
		if got, want := sumCRC32C(block), r.points.Sums[r.sums[i]+at]; got != want {
			return corrupt.Errorf("CRC-32C of %d bytes from byte %d on is %08x instead of %08x", len(block), at*SumBlock, got, want)
		}
	}
	return nil
}

// fill copies the elements of the region to the part's window.
func (r *SpanReader) fill(a *arena, pt *part) error {
	form := r.p.innermost()
	form.Shape = pt.region.Shape
	out, dense := pt.into.slice(pt.region)
	if !dense {
		out = a.newElems(form)
	}
	size, to := int64(form.Type.Size), int64(0)
	scratch := []byte(nil)
	eachRow(r.p.innermost().Shape, pt.region, func(at, n int64) {
		scratch = r.read(0, out.Fixed[to:to+n*size], at*size, scratch)
		to += n * size
	})
	if err := r.p.toBytes.(*bytesCodec).decodeInPlace(out.Fixed, form); err != nil || dense {
		return err
	}
	return pt.into.copyFrom(window{out, pt.region, form.Type.unit()}, pt.region)
}

// read copies bytes before codec i was applied to dst, from a position on. It returns scratch memory for the next call.
func (r *SpanReader) read(i int, dst []byte, from int64, scratch []byte) []byte {
	if i == r.at {
		r.readDecoded(dst, from)
		return scratch
	}
	if c, ok := r.p.bytesCodecs[i].(surrounder); ok {
		before, _ := c.surrounds()
		return r.read(i+1, dst, from+before, scratch)
	}
	return r.readShuffled(i, dst, from, scratch)
}

// readShuffled reads the range of each plane of bytes, and puts the bytes of an element together.
func (r *SpanReader) readShuffled(i int, dst []byte, from int64, scratch []byte) []byte {
	size, whole := int64(r.p.bytesCodecs[i].(*shuffleCodec).size), r.wholeElements(i)
	to := from + int64(len(dst))
	if tail := max(from, whole*size); tail < to {
		scratch = r.read(i+1, dst[tail-from:], tail, scratch)
		if to = tail; from >= to {
			return scratch
		}
	}
	first, end := from/size, (to+size-1)/size
	n := (end - first) * size
	if int64(len(scratch)) < 2*n {
		scratch = make([]byte, 2*n)
	}
	planes, elements := scratch[:n], scratch[n:2*n]
	rest := scratch[2*n:]
	for plane := range size {
		r.read(i+1, planes[plane*(end-first):(plane+1)*(end-first)], plane*whole+first, rest)
	}
	shuffle.Unshuffle(elements, planes, int(size))
	copy(dst[:to-from], elements[from-first*size:])
	return scratch
}

// readDecoded copies bytes of the compressor's output.
func (r *SpanReader) readDecoded(dst []byte, from int64) {
	for i := r.spanOf(from); len(dst) > 0; i++ {
		if start := r.points.Points[i].Out; r.points.end(i) > start {
			n := copy(dst, r.decoded[i][from-start:min(r.points.end(i)-start, int64(len(r.decoded[i])))])
			dst, from = dst[n:], from+int64(n)
		}
	}
}
