package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/readers/source"
)

// spansOf plans to decode the job's part of a stored chunk at the chunk's access points. It returns nil if the chunk has
// no points that fit it, or if decoding the whole chunk would cost about the same.
func (p *planner) spansOf(ctx context.Context, j *job) *codec.SpanReader {
	s := p.a.store
	if j.HasAllData || int64(j.pipe.Form().Bytes()) < 2*codec.MinSpan {
		return nil
	}
	found, ok, err := s.tables.ReadPoints(ctx, j.Row)
	if err == nil && !ok {
		return nil
	}
	var spans *codec.SpanReader
	if err == nil {
		spans, err = p.checkPoints(ctx, j, found)
	}
	if err != nil {
		// Points only save time, so a chunk with damaged or foreign points is decoded as a whole.
		_, end := s.trace.Begin(ctx, source.Operation{Name: "store.points", Object: p.a.Path(), Offset: j.ref.Offset, Bytes: j.ref.Size})
		end(err)
		return nil
	}
	if spans.Inflates() > int64(j.pipe.Form().Bytes())/2 {
		return nil
	}
	j.windows = found.ReadWindows
	return spans
}

// errOtherPoints says that access points do not belong to the bytes that a ref locates.
var errOtherPoints = errors.New("the access points belong to another version of the source, or to other bytes")

func (p *planner) checkPoints(ctx context.Context, j *job, found *table.ChunkPoints) (*codec.SpanReader, error) {
	src, err := p.a.store.Source(ctx, j.source)
	if err != nil {
		return nil, err
	}
	if !found.IsOf(&src, j.ref) {
		return nil, errOtherPoints
	}
	return j.pipe.NewSpanReader(&found.AccessPoints, j.ref.Size, j.Within, &spanCache{p.a.store.cache, spansOwner{p.a, j.Row}})
}

// limitSpans decides for each chunk that several jobs read: if these decompress about as many bytes as the chunk has, it
// is decoded once as a whole.
func (p *planner) limitSpans(jobs []*job) {
	total := map[int64]int64{}
	for _, j := range jobs {
		if j.spans != nil {
			total[j.Row] += j.spans.Inflates()
		}
	}
	for _, j := range jobs {
		if j.spans != nil && total[j.Row] > int64(j.pipe.Form().Bytes())/2 {
			j.spans, j.windows, j.isAlone = nil, nil, false
			j.isReusable = p.a.store.cache.limit > 0
		}
	}
}

// decodeSpans decodes the job's part at access points. If the points turn out to be wrong, it decodes the whole chunk.
func (a *Array) decodeSpans(ctx context.Context, j *job, section *source.Section) error {
	err := a.decodeInto(j, func(dst codec.Elems) error {
		ctx, end := a.traceDecode(ctx, j, j.spans.Inflates())
		err := j.spans.Decode(ctx, section, j.windows, dst)
		end(err)
		return err
	})
	if err == nil || ctx.Err() != nil || codec.IsReadError(err) {
		return err
	}
	if err := j.pipe.Form().CheckGrowth(section.Size()); err != nil {
		return err
	}
	stored := make([][]byte, 1)
	if err := section.ReadRanges(ctx, []codec.Range{{Length: section.Size()}}, stored); err != nil {
		return err
	}
	return a.decode(ctx, j, stored[0])
}

// traceDecode begins the trace of decoding a stored chunk to a number of bytes.
func (a *Array) traceDecode(ctx context.Context, j *job, bytes int64) (context.Context, func(error)) {
	return a.store.trace.Begin(ctx, source.Operation{Name: "store.decode", Object: a.Path(), Offset: j.ref.Offset, Bytes: bytes})
}

// spanCache keeps decompressed spans of a chunk in the store's cache: neighbouring parts of the chunk need them too.
type spanCache struct {
	cache *cache
	owner spansOwner
}

// spansOwner is the owner of the spans of a stored chunk in the cache.
type spansOwner struct {
	array *Array
	row   int64
}

// Get implements codec.SpanCache.
func (c *spanCache) Get(span int) []byte {
	e, _ := c.cache.peek(key{owner: c.owner, number: int64(span)})
	return e.Fixed
}

// Put implements codec.SpanCache.
func (c *spanCache) Put(span int, b []byte) {
	c.cache.put(key{owner: c.owner, number: int64(span)}, codec.Elems{Fixed: b})
}

// StoredChunk is a stored chunk that can have access points.
type StoredChunk struct {
	Row  int64 // of its ref
	Size int64 // bytes of its elements

	array  *Array
	pipe   *codec.Pipeline
	ref    manifest.Ref
	source int64
	path   string // of the variable
}

// Bytes returns the number of stored bytes.
func (c *StoredChunk) Bytes() int64 { return c.ref.Size }

// HasFewPoints reports whether most chunks with these codecs have one access point only.
func (c *StoredChunk) HasFewPoints() bool { return c.pipe.HasFewPoints() }

// LargeChunks yields the stored chunks of the array's tiles that have at least a number of bytes of elements, and can
// have access points. If there are such chunks without access points, noPoints says why for one of them.
func (a *Array) LargeChunks(ctx context.Context, least int64) (chunks iter.Seq2[*StoredChunk, error], noPoints func() error) {
	var reason error
	noPoints = func() error { return reason }
	return func(yield func(*StoredChunk, error) bool) {
		if a.isInManifest() {
			return
		}
		m, err := a.tiles(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		refs := make([]manifest.Ref, 1)
		for part, err := range m.Parts(ctx, grid.Whole(a.grid.Shape())) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			size := codec.Form{Type: part.Fit.Variable.Type, Shape: part.Codec}.Bytes()
			if part.Row < 0 || int64(size) < least {
				continue
			}
			if err := a.store.tables.ReadRefs(ctx, part.Row, refs); err != nil {
				yield(nil, err)
				return
			}
			if _, inline := refs[0].Inline(); inline || !refs[0].Stored() {
				continue
			}
			pipe, err := part.Pipeline(refs[0].Mask)
			if err != nil {
				yield(nil, err)
				return
			}
			if err := pipe.CheckPoints(); err != nil {
				reason = err
				continue
			}
			c := &StoredChunk{part.Row, int64(size), a, pipe, refs[0], m.SourceOf(part.Tile, refs[0]), part.Fit.Variable.Path}
			if !yield(c, nil) {
				return
			}
		}
	}, noPoints
}

// HasPoints reports whether the first large chunk of the array has access points.
func (a *Array) HasPoints(ctx context.Context) (bool, error) {
	if a.store.snapshot.Rows(manifest.Points) == 0 {
		return false, ctx.Err()
	}
	chunks, _ := a.LargeChunks(ctx, 2*codec.MinSpan)
	for c, err := range chunks {
		if err != nil {
			return false, err
		}
		return c.HasPoints(ctx)
	}
	return false, nil
}

// HasPoints reports whether the manifest has access points of the chunk that are valid for it.
func (c *StoredChunk) HasPoints(ctx context.Context) (bool, error) {
	found, ok, err := c.array.store.tables.ReadPoints(ctx, c.Row)
	if err != nil || !ok {
		return false, ctx.Err() // damaged points are replaced
	}
	src, err := c.array.store.Source(ctx, c.source)
	return err == nil && found.IsOf(&src, c.ref), err
}

// FindPoints reads and decodes the chunk, and returns its access points.
func (c *StoredChunk) FindPoints(ctx context.Context, every int64) (*table.ChunkPoints, error) {
	a := c.array
	src, err := a.store.Source(ctx, c.source)
	if err != nil {
		return nil, err
	}
	stored, err := a.read(ctx, &manifest.Location{Source: c.source}, src, c.ref.Offset, c.ref.Size)
	if err != nil {
		return nil, err
	}
	err = CheckScanned(stored, c.ref.Offset, c.ref.Checksum)
	var found *codec.AccessPoints
	var windows [][]byte
	if err == nil {
		found, windows, err = c.pipe.FindPoints(stored, every)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %s: chunk at offset %d: %w", a.Path(), src.URL, c.path, c.ref.Offset, err)
	}
	return &table.ChunkPoints{Ref: c.Row, Source: src.ScanID(), Offset: c.ref.Offset, Length: c.ref.Size, AccessPoints: *found,
		Windows: slices.DeleteFunc(windows, func(w []byte) bool { return w == nil })}, nil
}
