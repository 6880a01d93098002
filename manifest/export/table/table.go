// Package table lists the chunks of a manifest for programs that read Parquet or Arrow, such as DuckDB, Polars and pandas.
// Each chunk is a row:
//
//	array   text          "/sst"
//	coords  list of ints  the chunk's position in the array's chunk grid
//	kind    text          verbatim, prefix, inline, re-encoded or missing
//	source  text or null  the file or URL that contains the bytes
//	offset  int or null   the offset of the first byte in the source
//	length  int or null   the number of bytes
//	codecs  text          the array's codecs, which decode them, as in its zarr.json
//	sources list of text  the files or URLs from which a re-encoded chunk is made; else empty
//
// Verbatim and prefix chunks have a source, an offset and a length. The bytes of an inline chunk are in the manifest, so it
// has only a length. Re-encoded chunks are made from any number of stored chunks, so they have none of the three. Missing
// chunks have none either. A compacted chunk is listed as a verbatim chunk of its file, and also has the sources from which
// it was made.
//
// There is no column for HDF5's filter masks: a stored chunk that skips a filter does not match the array's codecs, so it
// is re-encoded.
package table

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/export/internal/progress"
	"varve/manifest/internal/home"
	"varve/manifest/store"
	"varve/readers"
	"varve/zarrjson"
)

// Options say how a table is written.
type Options struct {
	// Force replaces an existing destination.
	Force bool
	// Progress is called from time to time with the number of listed chunks, by one goroutine at a time.
	Progress func(done, total int64)
}

// Result counts the written rows and bytes.
type Result struct {
	Rows   int64
	Arrays int
}

// Write writes the chunks of all arrays to a file, or an object of an object store: an Arrow
// file if its name ends in .arrow, an Arrow stream if it ends in .arrows, else Parquet. The file appears when it is
// complete.
func Write(ctx context.Context, s *store.Store, dest string, opts *Options) (*Result, error) {
	if opts != nil && opts.Force {
		if err := s.CheckReplaced(ctx, dest); err != nil {
			return nil, err
		}
	}
	if err := s.CheckListed(); err != nil {
		return nil, err
	}
	return write(ctx, listingOf(s), dest, opts)
}

// array is the part of *store.Array that a listing needs.
type array interface {
	Path() string
	Schema() *zarrjson.Array
	Grid() *grid.Grid
	Runs(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Run]
	Origins(ctx context.Context, coords []int64) ([]int64, error)
}

// listing is all that is listed.
type listing struct {
	arrays   []array
	source   func(ctx context.Context, row int64) (manifest.Source, error)
	rows     int // of a batch
	progress func(done, total int64)
}

func listingOf(s *store.Store) *listing {
	l := &listing{source: s.Source, rows: 1 << 17}
	for _, a := range s.Arrays() {
		l.arrays = append(l.arrays, a)
	}
	return l
}

func write(ctx context.Context, l *listing, dest string, opts *Options) (result *Result, err error) {
	if opts == nil {
		opts = &Options{}
	}
	l.progress = opts.Progress
	if err := home.CheckFree(ctx, dest, opts.Force); err != nil {
		return nil, fmt.Errorf("%w; choose another name, or have it replaced if it is a file", err)
	}
	d, err := home.StageFile(ctx, dest)
	if err != nil {
		return nil, err
	}
	defer func() { err = d.Discard(err) }()
	f, err := os.OpenFile(d.Path(draftName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	form := l.parquet
	switch {
	case strings.HasSuffix(dest, ".arrow"):
		form = l.arrowFile
	case strings.HasSuffix(dest, ".arrows"):
		form = l.arrowStream
	}
	if result, err = form(ctx, out); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dest, err), f.Close())
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		return nil, err
	}
	return result, d.PublishFile(ctx, draftName, dest, opts.Force)
}

// draftName is the name of the table in the draft.
const draftName = "table"

// kinds are the words of the column kind; those of manifest.ChunkKind come first.
var kinds = []string{manifest.Missing.String(), manifest.Verbatim.String(), manifest.Prefix.String(), manifest.Reencoded.String(), "inline"}

const inline = 4

// batch is some rows, a column each. Names of arrays, sources and codecs are numbers.
type batch struct {
	array, kind, source []int32 // source -1: null
	lengths             []int32 // of coords
	coords              []int64
	hasOffset           []uint8 // 1, or 0 for null
	hasLength           []uint8
	offset, length      []int64
	sources             [][]byte
	made                []int32 // how many sources each row's chunk is made of
	origins             []int32 // those, as numbers
	next                []int64 // coordinates of the next row

	known  map[int64]int32
	last   int64
	lastAt int32
}

func (b *batch) reset() {
	*b = batch{
		array: b.array[:0], kind: b.kind[:0], source: b.source[:0], lengths: b.lengths[:0], coords: b.coords[:0],
		hasOffset: b.hasOffset[:0], hasLength: b.hasLength[:0], offset: b.offset[:0], length: b.length[:0],
		sources: b.sources[:0], made: b.made[:0], origins: b.origins[:0], next: b.next, known: map[int64]int32{}, last: -1, lastAt: -1,
	}
}

// full reports whether no row is to be added any more.
func (b *batch) full(rows int) bool { return len(b.array) >= rows || len(b.origins) >= maxOrigins }

// maxOrigins is how many sources re-encoded chunks may name before a batch ends.
const maxOrigins = 1 << 20

// counted returns a yield function that counts its calls.
func (l *listing) counted(yield func(*batch) error) func(*batch) error {
	total := int64(0)
	for _, a := range l.arrays {
		total += a.Grid().Chunks()
	}
	seen := progress.New(l.progress, total)
	return func(b *batch) error {
		err := yield(b)
		seen.Add(int64(len(b.array)))
		return err
	}
}

// batches yields all chunks, array by array in C order. A batch is overwritten by the next.
func (l *listing) batches(ctx context.Context, yield func(*batch) error) (int64, error) {
	yield = l.counted(yield)
	b := &batch{origins: []int32{}} // not nil: sources are named by number, also if no row has any
	b.reset()
	total := int64(0)
	for n, a := range l.arrays {
		s := &span{array: a, number: int32(n), chunks: grid.Whole(a.Grid().Counts())}
		b.next = make([]int64, len(s.chunks.Shape))
		for r, err := range a.Runs(ctx, s.chunks) {
			if err == nil {
				total += r.Chunks
				s.run, s.from = r, 0
				err = l.addRun(ctx, b, s, yield)
			}
			if err != nil {
				return total, fmt.Errorf("%s: %w", a.Path(), err)
			}
		}
	}
	if len(b.array) > 0 {
		return total, yield(b)
	}
	return total, ctx.Err()
}

// span is some chunks of a run.
type span struct {
	array    array
	number   int32 // among the arrays
	chunks   grid.Region
	run      *manifest.Run
	from, to int64
}

// isMade reports whether the chunks are made of any number of stored ones.
func (s *span) isMade() bool { return s.run.Kind == manifest.Reencoded || s.run.Compacted }

// addRun adds all chunks of a run, and yields batches that are full.
func (l *listing) addRun(ctx context.Context, b *batch, s *span, yield func(*batch) error) error {
	for s.from < s.run.Chunks {
		s.to = min(s.run.Chunks, s.from+int64(l.rows-len(b.array)))
		if s.isMade() {
			s.to = s.from + 1 // any number of sources
		}
		if err := l.add(ctx, b, s); err != nil {
			return err
		}
		b.addCoords(s)
		if s.from = s.to; b.full(l.rows) {
			if err := yield(b); err != nil {
				return err
			}
			b.reset()
		}
	}
	return nil
}

// addCoords adds the coordinates of the next chunks in C order.
func (b *batch) addCoords(s *span) {
	for range s.to - s.from {
		b.array, b.lengths = append(b.array, s.number), append(b.lengths, int32(len(b.next)))
		b.coords = append(b.coords, b.next...)
		s.chunks.Next(b.next)
	}
}

// add adds the columns of some chunks of a run, except their coordinates.
func (l *listing) add(ctx context.Context, b *batch, s *span) (err error) {
	r := s.run
	kind, source, made := int32(r.Kind), int32(-1), int32(0)
	hasOffset, hasLength := uint8(0), uint8(0)
	had, n := len(b.offset), int(s.to-s.from)
	if s.isMade() {
		if made, err = l.addOrigins(ctx, b, s.array); err != nil {
			return err
		}
	}
	switch {
	case r.Kind != manifest.Verbatim && r.Kind != manifest.Prefix:
	case r.Source < 0 || r.Inline != nil:
		kind, hasLength = inline, 1
		b.length = append(b.length, int64(len(r.Inline)))
	default:
		if source, err = l.sourceOf(ctx, b, r.Source); err != nil {
			return err
		}
		hasOffset, hasLength = 1, 1
		b.offset, b.length = append(b.offset, r.Offsets[s.from:s.to]...), append(b.length, r.Sizes[s.from:s.to]...)
	}
	// Nulls are zeros.
	b.offset = append(b.offset, make([]int64, had+n-len(b.offset))...)
	b.length = append(b.length, make([]int64, had+n-len(b.length))...)
	for range n {
		b.kind, b.source, b.made = append(b.kind, kind), append(b.source, source), append(b.made, made)
		b.hasOffset, b.hasLength = append(b.hasOffset, hasOffset), append(b.hasLength, hasLength)
	}
	return nil
}

// addOrigins adds the sources of the next chunk, and returns how many they are.
func (l *listing) addOrigins(ctx context.Context, b *batch, a array) (int32, error) {
	rows, err := a.Origins(ctx, b.next)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		at, err := l.sourceOf(ctx, b, row)
		if err != nil {
			return 0, err
		}
		b.origins = append(b.origins, at)
	}
	return int32(len(rows)), nil
}

// sourceOf is the number of a source in the batch.
func (l *listing) sourceOf(ctx context.Context, b *batch, row int64) (int32, error) {
	if row == b.last {
		return b.lastAt, nil
	}
	at, ok := b.known[row]
	if !ok {
		src, err := l.source(ctx, row)
		if err != nil {
			return 0, err
		}
		at = int32(len(b.sources))
		b.sources = append(b.sources, []byte(strings.ToValidUTF8(src.URL, "\uFFFD")))
		b.known[row] = at
	}
	b.last, b.lastAt = row, at
	return at, nil
}

// names are the paths of all arrays, and their codecs as JSON.
func (l *listing) names() (paths, codecs [][]byte, err error) {
	for _, a := range l.arrays {
		chain, err := json.Marshal(a.Schema().Codecs)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
		paths, codecs = append(paths, []byte(a.Path())), append(codecs, chain)
	}
	return paths, codecs, nil
}
