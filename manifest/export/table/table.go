// Package table lists the chunks of a manifest, one a row, for DuckDB, Polars, pandas and
// whatever else reads Parquet or Arrow:
//
//	array   text          "/sst"
//	coords  list of ints  the chunk's place in the array's chunk grid
//	kind    text          verbatim, prefix, inline, rebuilt or missing
//	source  text or null  the file or URL that holds the bytes
//	offset  int or null   of the first of them in the source
//	length  int or null   how many they are
//	codecs  text          what decodes them: the array's codecs as in its zarr.json
//
// Verbatim and prefix chunks have a source, an offset and a length. The bytes of an inline
// chunk are in the manifest: it has a length. Rebuilt chunks are made of any number of
// stored ones and have none of the three, and neither have missing ones.
//
// There is no column for HDF5's filter masks: a stored chunk that skips a filter of its
// array's codecs is not what the array declares, and so is rebuilt.
package table

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/export/internal/draft"
	"varve/manifest/mosaic"
	"varve/manifest/store"
	"varve/zarrjson"
)

// Options say how a table is written.
type Options struct {
	// Force replaces what stands at the destination.
	Force bool
}

// Result is what was written.
type Result struct {
	Rows   int64
	Arrays int
}

// Write writes the chunks of all arrays to a file: an Arrow stream if its name ends in
// .arrow or .arrows, else Parquet. Nothing is at dest before everything is.
func Write(ctx context.Context, s *store.Store, dest string, opts *Options) (*Result, error) {
	return write(ctx, listingOf(s), dest, opts)
}

// WriteParquet writes the chunks of all arrays as Parquet.
func WriteParquet(ctx context.Context, s *store.Store, w io.Writer) (*Result, error) {
	return listingOf(s).parquet(ctx, w)
}

// WriteArrow writes the chunks of all arrays as an Arrow stream.
func WriteArrow(ctx context.Context, s *store.Store, w io.Writer) (*Result, error) {
	return listingOf(s).arrow(ctx, w)
}

// array is what a listing asks of an array; *store.Array is one.
type array interface {
	Path() string
	Face() *zarrjson.Array
	Grid() *grid.Grid
	Runs(ctx context.Context, chunks grid.Region) iter.Seq2[*store.Run, error]
}

// listing is all that is listed.
type listing struct {
	arrays []array
	source func(ctx context.Context, row int64) (manifest.Source, error)
	rows   int // of a batch
}

func listingOf(s *store.Store) *listing {
	l := &listing{source: s.Source, rows: 1 << 17}
	for _, a := range s.Arrays() {
		l.arrays = append(l.arrays, a)
	}
	return l
}

func write(ctx context.Context, l *listing, dest string, opts *Options) (result *Result, err error) {
	force := opts != nil && opts.Force
	if info, err := os.Lstat(dest); err == nil && (!force || info.IsDir()) {
		return nil, fmt.Errorf("%s: %w; choose another name, or have it replaced if it is a file", dest, fs.ErrExist)
	}
	d, err := draft.New(dest)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Discard()) }()
	f, err := os.OpenFile(d.Path(draftName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	form := l.parquet
	if strings.HasSuffix(dest, ".arrow") || strings.HasSuffix(dest, ".arrows") {
		form = l.arrow
	}
	if result, err = form(ctx, out); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dest, err), f.Close())
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		return nil, err
	}
	return result, d.PublishFile(draftName, dest, force)
}

// draftName is what the table is called in the draft.
const draftName = "table"

// kinds are the words of the column kind; those of mosaic.Kind come first.
var kinds = []string{mosaic.Missing.String(), mosaic.Verbatim.String(), mosaic.Prefix.String(), mosaic.Rebuilt.String(), "inline"}

const inline = 4

// batch is some rows, a column each. Names of arrays, sources and codecs are numbers.
type batch struct {
	array, kind, source []int32 // source -1: null
	lengths             []int32 // of coords
	coords              []int64
	hasOffset           []int32 // 0, or -1 for null
	hasLength           []int32
	offset, length      []int64 // without nulls
	sources             [][]byte

	next []int64 // coordinates of the next row

	known  map[int64]int32
	last   int64
	lastAt int32
}

func (b *batch) reset() {
	*b = batch{
		array: b.array[:0], kind: b.kind[:0], source: b.source[:0], lengths: b.lengths[:0], coords: b.coords[:0],
		hasOffset: b.hasOffset[:0], hasLength: b.hasLength[:0], offset: b.offset[:0], length: b.length[:0],
		sources: b.sources[:0], next: b.next, known: map[int64]int32{}, last: -1, lastAt: -1,
	}
}

// batches yields all chunks, array by array in C order. A batch is overwritten by the next.
func (l *listing) batches(ctx context.Context, yield func(*batch) error) (int64, error) {
	b := &batch{}
	b.reset()
	total := int64(0)
	for n, a := range l.arrays {
		chunks := grid.Whole(a.Grid().Counts())
		b.next = make([]int64, len(chunks.Shape))
		for r, err := range a.Runs(ctx, chunks) {
			for from := int64(0); err == nil && from < r.Chunks; {
				to := min(r.Chunks, from+int64(l.rows-len(b.array)))
				if err = l.add(ctx, b, r, from, to); err != nil {
					break
				}
				b.addCoords(int32(n), chunks, to-from)
				total += to - from
				if from = to; len(b.array) == l.rows {
					err = yield(b)
					b.reset()
				}
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

// addCoords adds what the next chunks in C order are called.
func (b *batch) addCoords(array int32, chunks grid.Region, n int64) {
	for range n {
		b.array, b.lengths = append(b.array, array), append(b.lengths, int32(len(b.next)))
		b.coords = append(b.coords, b.next...)
		chunks.Next(b.next)
	}
}

// add adds some chunks of a run but for what they are called.
func (l *listing) add(ctx context.Context, b *batch, r *store.Run, from, to int64) error {
	kind, source, offset, length := int32(r.Kind), int32(-1), int32(-1), int32(-1)
	switch {
	case r.Kind != store.Verbatim && r.Kind != store.Prefix:
	case r.Source < 0 || r.Inline != nil:
		kind, length = inline, 0
		b.length = append(b.length, int64(len(r.Inline)))
	default:
		var err error
		if source, err = l.sourceOf(ctx, b, r.Source); err != nil {
			return err
		}
		offset, length = 0, 0
		b.offset, b.length = append(b.offset, r.Offsets[from:to]...), append(b.length, r.Sizes[from:to]...)
	}
	for range to - from {
		b.kind, b.source = append(b.kind, kind), append(b.source, source)
		b.hasOffset, b.hasLength = append(b.hasOffset, offset), append(b.hasLength, length)
	}
	return nil
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
		chain, err := json.Marshal(a.Face().Codecs)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
		paths, codecs = append(paths, []byte(a.Path())), append(codecs, chain)
	}
	return paths, codecs, nil
}
