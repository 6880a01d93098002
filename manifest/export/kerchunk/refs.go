package kerchunk

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"varve/codec"
	"varve/manifest"
)

// ref is the reference of a chunk: a range of a source or of the file of patches, or the bytes themselves.
type ref struct {
	source       int64 // row of the source, or one of the constants below
	offset, size int64
	raw          []byte // if source is inRefs
}

// Values of ref.source that are not rows.
const (
	nowhere   = -1 // the chunk is missing and omitted
	inPatches = -2
	inRefs    = -3
)

// sink receives the refs of an array in C order of its chunks.
type sink interface {
	put(ctx context.Context, r *ref) error
	// putRanges puts refs of ranges of one source.
	putRanges(ctx context.Context, source int64, offsets, sizes []int64) error
	// fits reports whether the references have room for the bytes.
	fits(raw []byte) bool
}

// stream passes an array's chunks to a sink. Several cores re-encode chunks; later refs wait, so that the
// order is kept.
type stream struct {
	*export
	array
	leaveOut bool
	sink     sink
	fills    map[string]ref // refs of missing chunks, by decoded shape
	unfit    Unpatched
	number   int64 // number of the current chunk

	ahead   sync.WaitGroup
	waiting []waiting
	making  int
}

// waiting is a ref, or a chunk that is being re-encoded.
type waiting struct {
	ref    ref
	made   chan made // nil if the ref is ready
	coords []int64   // of the chunk that is being re-encoded
}

type made struct {
	data []byte // nil if all elements are the fill value
	err  error
}

// maxWaiting bounds the refs that wait for a re-encoded chunk.
const maxWaiting = 1 << 16

// stream passes the refs of the n-th array to a sink, starting at a chunk number.
func (e *export) stream(ctx context.Context, n int, from int64, to sink) error {
	a := e.arrays[n]
	s := &stream{export: e, array: a, leaveOut: e.docs.leaveOut[n] && e.isJSON(), sink: to, fills: map[string]ref{}, number: from}
	ctx, cancel := context.WithCancel(ctx)
	defer s.ahead.Wait()
	defer cancel()
	if from >= a.Grid().Chunks() {
		return ctx.Err()
	}
	for runs, err := range e.locations(ctx, a, from) {
		for i := range runs {
			if err == nil {
				err = s.add(ctx, &runs[i])
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	for len(s.waiting) > 0 {
		if err := s.pass(ctx); err != nil {
			return fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	if s.unfit.Chunks > 0 {
		s.unfit.Path = a.Path()
		e.refused.Arrays = append(e.refused.Arrays, s.unfit)
	}
	return ctx.Err()
}

// coords returns the coordinates of the current chunk.
func (s *stream) coords() []int64 {
	coords := make([]int64, s.Grid().Rank())
	s.Grid().Coords(s.number, coords)
	return coords
}

// add passes on a run of chunks.
func (s *stream) add(ctx context.Context, l *manifest.Run) error {
	// A remote reader cannot open local files of the manifest, so compacted chunks are re-encoded.
	if l.Compacted && s.patches.remote {
		l.Kind, l.Offsets, l.Sizes = manifest.Reencoded, nil, nil
	}
	// The common case: ranges pass in bulk when nothing waits before them.
	if l.Offsets != nil && len(s.waiting) == 0 && !slices.Contains(l.Sizes, 0) {
		s.number += l.Chunks
		s.result.Refs += l.Chunks
		s.seen.Add(l.Chunks)
		return s.sink.putRanges(ctx, l.Source, l.Offsets, l.Sizes)
	}
	for i := range l.Chunks {
		if err := s.addOne(ctx, l, i); err != nil {
			return err
		}
		s.number++
	}
	return nil
}

// addOne passes on the i-th chunk of a run.
func (s *stream) addOne(ctx context.Context, l *manifest.Run, i int64) (err error) {
	var r ref
	switch {
	case l.Kind == manifest.Reencoded:
		return s.reencode(ctx)
	case l.Kind == manifest.Missing && s.leaveOut:
		r = ref{source: nowhere}
	case l.Kind == manifest.Missing:
		r, err = s.missing(s.coords())
	case l.Source < 0 || l.Inline != nil:
		r = ref{source: inRefs, raw: l.Inline}
	case l.Sizes[i] == 0: // fsspec would read the whole source
		r = ref{source: inRefs, raw: []byte{}}
	default:
		r = ref{source: l.Source, offset: l.Offsets[i], size: l.Sizes[i]}
	}
	if err != nil {
		return err
	}
	if len(s.waiting) == 0 {
		return s.hand(ctx, &r)
	}
	return s.wait(ctx, waiting{ref: r})
}

// wait queues a ref, and passes on the first ones while the queue is full.
func (s *stream) wait(ctx context.Context, w waiting) error {
	s.waiting = append(s.waiting, w)
	for s.making > 2*s.opts.Workers || len(s.waiting) > maxWaiting {
		if err := s.pass(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reencode starts re-encoding the current chunk.
func (s *stream) reencode(ctx context.Context) error {
	// Count all chunks, so that the error is complete.
	if s.opts.NoPatch {
		s.seen.Add(1)
		if s.unfit.Chunks++; s.unfit.Chunks == 1 {
			s.unfit.First = s.coords()
		}
		return nil
	}
	w := waiting{made: make(chan made, 1), coords: s.coords()}
	s.making++
	s.ahead.Go(func() {
		data, err := s.Chunk(ctx, w.coords)
		if err != nil {
			err = fmt.Errorf("chunk %v: %w", w.coords, err)
		}
		w.made <- made{data, err}
	})
	return s.wait(ctx, w)
}

// pass passes on the first ref of the queue.
func (s *stream) pass(ctx context.Context) error {
	w := s.waiting[0]
	// Release the memory of the entry; the slice keeps its array.
	s.waiting[0] = waiting{}
	if s.waiting = s.waiting[1:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	if w.made == nil {
		return s.hand(ctx, &w.ref)
	}
	s.making--
	m := <-w.made
	if m.err != nil {
		return m.err
	}
	var r ref
	var err error
	if m.data == nil {
		r, err = s.missing(w.coords)
	} else {
		r, err = s.keep(m.data, s.opts.InlineBytes)
	}
	if err != nil {
		return err
	}
	return s.hand(ctx, &r)
}

// maxManifestInline bounds the size of a chunk from the manifest that is put into the references.
const maxManifestInline = 1 << 20

// hand puts a ref into the sink.
func (s *stream) hand(ctx context.Context, r *ref) error {
	s.seen.Add(1)
	switch r.source {
	case nowhere:
		s.result.Missing++
	case inPatches:
		s.result.Patched++
	case inRefs:
		if int64(len(r.raw)) > maxManifestInline || !s.sink.fits(r.raw) {
			moved, err := s.keep(r.raw, maxManifestInline)
			if err != nil {
				return err
			}
			if moved.source == inPatches {
				s.result.Patched++
				return s.sink.put(ctx, &moved)
			}
		}
		s.result.Inline++
	default:
		s.result.Refs++
	}
	return s.sink.put(ctx, r)
}

// keep stores the bytes of a chunk: in the references up to limit bytes, otherwise in the file of patches.
func (s *stream) keep(data []byte, limit int64) (ref, error) {
	fits := s.sink.fits(data)
	if fits && (int64(len(data)) <= limit || s.patches.unreachable) {
		return ref{source: inRefs, raw: data}, nil
	}
	if s.patches.unreachable {
		return ref{}, errPatchURL
	}
	offset, err := s.patches.append(data)
	return ref{source: inPatches, offset: offset, size: int64(len(data))}, err
}

// missing returns the ref of a chunk of fill values: none if all clients use the same fill value, otherwise
// an encoded chunk, which all missing chunks of the same shape share.
func (s *stream) missing(coords []int64) (ref, error) {
	if s.leaveOut {
		return ref{source: nowhere}, nil
	}
	p, err := s.Pipeline(coords)
	if err != nil {
		return ref{}, err
	}
	key := string(wholes(p.Form().Shape))
	if r, ok := s.fills[key]; ok && (r.source == inPatches || s.sink.fits(r.raw)) {
		return r, nil
	}
	if err := p.Form().CheckSize(); err != nil {
		return ref{}, fmt.Errorf("chunk %v: a chunk of fill values: %w", coords, err)
	}
	fill := codec.NewElems(p.Form())
	fill.SetFill(p.Form())
	raw, err := p.Encode(nil, fill)
	if err != nil {
		return ref{}, manifest.WithRemedy(fmt.Errorf("chunk %v is not stored, clients would fill it differently, and a chunk of fill values cannot be encoded: %w; export it as Zarr instead", coords, err), "build/drop", s.Path())
	}
	r, err := s.keep(raw, s.fillLimit())
	if err != nil {
		return ref{}, err
	}
	if len(s.fills) >= maxFills {
		clear(s.fills)
	}
	s.fills[key] = r
	return r, nil
}

// maxFills bounds the shapes of cached fill chunks.
const maxFills = 256

// fillLimit is the maximum size of a chunk of fill values in the references. In a Parquet file, all of them
// share one dictionary value.
func (e *export) fillLimit() int64 {
	if e.isJSON() {
		return e.opts.InlineBytes
	}
	return max(e.opts.InlineBytes, 64<<10)
}
