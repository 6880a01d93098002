package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/codec"
	"varve/manifest"
	"varve/readers/source"
)

// SummedRefs are consecutive refs with the CRC-32C of their chunks. The columns have the checksums that are recorded.
type SummedRefs struct {
	manifest.RefColumns
	Row  int64    // of the first ref
	Sums []uint32 // 0 for chunks without bytes in a source, and for those that were left out
	// Damaged has the chunks whose own codecs store a checksum that differs, by index.
	Damaged map[int]error
	Sources []int64 // rows of the sources that were read, in order
	Err     error   // the chunks could not be read

	done chan struct{}
}

// Limits of the refs that are read together. The ref that reaches one of them is the last.
const (
	summedRefs  = 512
	summedBytes = 32 << 20
	sumWorkers  = 32
)

// SumRefs reads the chunks of rows of refs, and calls do with the refs and checksums, in order. It decodes chunks whose codecs
// store checksums. It leaves out refs for which skip returns true. workers is the number of concurrent reads; 0 means one
// per processor, but at least 32 because servers answer slowly.
//
//	refs ─┬─ worker: read the chunks ─┬─ in order ── do
//	      └─ worker                   ┘
func (s *Store) SumRefs(ctx context.Context, row, rows int64, workers int, skip func(*manifest.Variable, manifest.Ref) bool, do func(*SummedRefs) error) error {
	if workers <= 0 {
		workers = max(runtime.GOMAXPROCS(0), sumWorkers)
	}
	group, within := errgroup.WithContext(ctx)
	todo, inOrder := make(chan *SummedRefs), make(chan *SummedRefs, 2*workers)
	group.Go(func() error {
		defer close(todo)
		defer close(inOrder)
		for batch, err := range s.Tables().ScanRefs(within, row, rows) {
			if err != nil {
				return err
			}
			for from := 0; from < len(batch.Offsets); {
				to := summedEnd(&batch.RefColumns, from)
				r := &SummedRefs{Row: batch.Row + int64(from), RefColumns: cloneRefs(batch.Slice(from, to)), done: make(chan struct{})}
				for _, queue := range []chan *SummedRefs{inOrder, todo} {
					select {
					case queue <- r:
					case <-within.Done():
						return within.Err()
					}
				}
				from = to
			}
		}
		return nil
	})
	for range workers {
		group.Go(func() error {
			for r := range todo {
				r.Err = s.sum(within, r, skip)
				close(r.done)
			}
			return within.Err()
		})
	}
	group.Go(func() error {
		for r := range inOrder {
			select {
			case <-r.done:
			case <-within.Done():
				return within.Err()
			}
			if err := within.Err(); err != nil {
				return err // Err may be its consequence
			}
			if err := do(r); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// summedEnd returns the end of the refs that are read together, from a ref on.
func summedEnd(refs *manifest.RefColumns, from int) int {
	to, size := from, int64(0)
	for to < len(refs.Offsets) && to-from < summedRefs && size < summedBytes {
		size += refs.Sizes[to]
		to++
	}
	return to
}

func cloneRefs(r manifest.RefColumns) manifest.RefColumns {
	return manifest.RefColumns{Offsets: slices.Clone(r.Offsets), Sizes: slices.Clone(r.Sizes), Masks: slices.Clone(r.Masks),
		Others: slices.Clone(r.Others), Checksums: slices.Clone(r.Checksums)}
}

// sum sets the sums of refs. In a chunk with gaps between rows, only the rows count.
func (s *Store) sum(ctx context.Context, r *SummedRefs, skip func(*manifest.Variable, manifest.Ref) bool) error {
	files, err := s.files(ctx)
	if err != nil {
		return err
	}
	r.Sums = make([]uint32, len(r.Offsets))
	all, cursor := make([]storedBytes, 0, len(r.Sums)), refCursor{files: files}
	for i := range r.Sums {
		ref := r.At(i)
		if _, isInline := ref.Inline(); isInline || !ref.Stored() {
			continue
		}
		v, err := cursor.find(ctx, r.Row+int64(i))
		if err != nil {
			return err
		}
		if skip(v, ref) {
			continue
		}
		one, err := cursor.storedBytes(ctx, r.Row+int64(i), ref)
		if err == nil {
			one.pipeline, err = cursor.verifying(v, r.Row+int64(i), ref)
		}
		if err != nil {
			return err
		}
		one.index, one.sum = i, &r.Sums[i]
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b storedBytes) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.Offset, b.Offset))
	})
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].source == all[0].source {
			n++
		}
		r.Sources = append(r.Sources, all[0].source)
		if err := s.sumSource(ctx, r, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// storedBytes are the bytes of a stored chunk: a range of a source, or rows of bytes at equal distances.
type storedBytes struct {
	source      int64
	codec.Range // from the first byte to the last
	row, stride int64
	index       int             // in the SummedRefs
	pipeline    *codec.Pipeline // to compare a checksum that codecs store; nil if there is none
	sum         *uint32
}

// verifying returns the pipeline that compares the checksum in the chunk of a row, or nil if it has none. v is the variable of
// the row, to which find has moved.
func (c *refCursor) verifying(v *manifest.Variable, row int64, ref manifest.Ref) (*codec.Pipeline, error) {
	if c.sums == nil || c.sums.v != v {
		c.sums = newChunkSums(v)
	}
	if c.sums == nil {
		return nil, nil
	}
	p, err := c.sums.of(row-c.first, ref)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil // nobody can decode it
	}
	if err != nil {
		return nil, fmt.Errorf("ref %d: %w", row, err)
	}
	return p, nil
}

// storedBytes returns the bytes of a ref.
func (c *refCursor) storedBytes(ctx context.Context, row int64, ref manifest.Ref) (b storedBytes, err error) {
	v, err := c.find(ctx, row)
	if err != nil {
		return b, err
	}
	if ref.Size < 0 || ref.Offset > math.MaxInt64/2 || ref.Size > math.MaxInt64/4 {
		return b, fmt.Errorf("ref %d: %w: %d bytes at offset %d of source %d", row, codec.ErrCorrupt, ref.Size, ref.Offset, c.file)
	}
	b = storedBytes{source: c.file, Range: codec.Range{Offset: ref.Offset, Length: ref.Size}}
	if ref.Other > 0 {
		b.source = int64(ref.Other) - 1
	}
	stride := v.Storage.Stride
	if v.Storage.Layout != manifest.Strided || stride <= 0 || len(v.Shape) == 0 || v.Shape[0] < 2 {
		return b, nil
	}
	rows := v.Shape[0]
	b.row, b.stride = ref.Size/rows, stride
	if b.row*rows != ref.Size || b.row > stride || rows > math.MaxInt64/4/stride {
		return b, fmt.Errorf("ref %d: %w: %d rows in %d bytes, %d bytes apart", row, codec.ErrCorrupt, rows, ref.Size, stride)
	}
	b.Length = (rows-1)*stride + b.row
	return b, nil
}

// refCursor finds the variables that rows of refs belong to. The rows may only rise, so that a file with many variables
// costs no search for each row.
type refCursor struct {
	files *fileIndex

	file   int64
	header *manifest.Header
	number int   // of the variable in the header
	first  int64 // row of the variable
	rows   int64
	sums   *chunkSums // of the variable of the last call of verifying; nil if its chunks store no checksums
}

// find moves to the variable of a row.
func (c *refCursor) find(ctx context.Context, row int64) (*manifest.Variable, error) {
	file := int64(c.files.SourceIndex.Row.Search(row) - 1)
	if c.header == nil || file != c.file {
		h, err := c.files.Header(ctx, file)
		if err != nil {
			return nil, err
		}
		if h == nil {
			h = manifest.NewFileHeader(&manifest.Header{})
		}
		// Rows and storage do not depend on the values of attributes.
		*c = refCursor{files: c.files, file: file, header: h.Base(), number: -1}
		if file >= 0 {
			c.first = c.files.Row(file)
		}
	}
	for row >= c.first+c.rows || c.number < 0 {
		if c.number+1 >= len(c.header.Variables) {
			return nil, fmt.Errorf("ref %d: %w: source %d has no variable for it", row, codec.ErrCorrupt, file)
		}
		c.number++
		c.first += c.rows
		c.rows = c.header.Variables[c.number].Rows()
	}
	return c.header.Variables[c.number], nil
}

// sumBlock is the number of bytes that are read at once for checksums.
const sumBlock = 1 << 20

// sumSource sets the checksums of chunks of one source, sorted by offset.
func (s *Store) sumSource(ctx context.Context, out *SummedRefs, all []storedBytes) error {
	row := all[0].source
	src, err := s.Source(ctx, row)
	if err != nil {
		return err
	}
	h, err := s.sources.acquire(ctx, row, src)
	if err != nil {
		return err
	}
	r := &sumReader{src: h.Source, gap: nearGap, block: sumBlock}
	if isFar(src.URL) {
		r.gap, r.block = farGap, farBatch
	}
	for i := 0; i < len(all) && err == nil; {
		end := i + 1
		span := all[i].Range
		for end < len(all) && all[end].Offset-span.End() <= r.gap && max(all[end].End(), span.End())-span.Offset <= r.block {
			span.Length = max(all[end].End(), span.End()) - span.Offset
			end++
		}
		if err = r.sum(ctx, s, span, all[i:end], out); err != nil {
			err = fmt.Errorf("%s: chunk at offset %d: %w", h.Source.Name(), all[i].Offset, err)
		}
		i = end
	}
	s.sources.release(h, err)
	return err
}

// sumReader reads a source to compute checksums.
type sumReader struct {
	src        *source.Source
	gap, block int64
}

// sum sets the checksums of chunks in a span. A span is longer than a block only if it is one chunk. It is read in blocks,
// because a chunk may be larger than memory, unless it is decoded.
func (r *sumReader) sum(ctx context.Context, s *Store, span codec.Range, chunks []storedBytes, out *SummedRefs) error {
	if span.Offset < 0 || span.Length > r.src.Size()-span.Offset {
		return &source.RangeError{Source: r.src.Name(), Offset: span.Offset, Length: span.Length, Size: r.src.Size()}
	}
	size, decoded := min(span.Length, r.block), int64(0)
	for i := range chunks {
		if p := chunks[i].pipeline; p != nil {
			size, decoded = span.Length, max(decoded, int64(p.Form().Bytes()))
		}
	}
	taken, err := s.flight.take(ctx, size+decoded)
	if err != nil {
		return err
	}
	defer s.flight.give(taken)
	room := s.buffers.get(int(size))
	defer room.release()
	for at := span.Offset; at < span.End(); at += int64(len(room.bytes)) {
		b := room.bytes[:min(int64(len(room.bytes)), span.End()-at)]
		if _, err := r.src.ReadAt(ctx, b, at); err != nil {
			return err
		}
		for i := range chunks {
			chunks[i].add(b, at)
		}
	}
	for i := range chunks {
		c := &chunks[i]
		if c.pipeline == nil {
			continue
		}
		if err := s.verifyDecoding(c.pipeline, room.bytes[c.Offset-span.Offset:][:c.Length]); err != nil {
			if out.Damaged == nil {
				out.Damaged = map[int]error{}
			}
			out.Damaged[c.index] = fmt.Errorf("%s: chunk at offset %d: %w", r.src.Name(), c.Offset, err)
		}
	}
	return nil
}

// add adds the bytes at an offset of the source to the checksum, as far as they belong to the chunk.
func (c *storedBytes) add(b []byte, at int64) {
	from, to := max(c.Offset, at), min(c.End(), at+int64(len(b)))
	for from < to {
		end := to
		if c.stride > 0 {
			// Only the first bytes of each stride are of the chunk.
			k := (from - c.Offset) / c.stride
			begin := c.Offset + k*c.stride
			if end = min(to, begin+c.row); end <= from {
				from = begin + c.stride
				continue
			}
		}
		*c.sum = crc32.Update(*c.sum, castagnoli, b[from-at:end-at])
		from = end
	}
}

// VerifyRefs compares the checksums of stored chunks that decoding the chunks of all arrays may not compare:
//
//   - recorded checksums of chunks of which parts can be read alone; not if isSlice is set, because VerifyStored compares them,
//   - checksums in chunks of variables that no array reads, for example because the manifest has their values.
//
// It reads chunks of the files in some rows of the sources. It calls report for each chunk that differs or cannot be read.
func (s *Store) VerifyRefs(ctx context.Context, fromFile, toFile int64, isSlice bool, workers int, report func(*RefProblem)) error {
	files, err := s.files(ctx)
	if err != nil {
		return err
	}
	read := map[string]bool{} // paths of variables whose chunks reading all arrays decodes
	for _, a := range s.arrays {
		for _, path := range a.spec.Variables {
			read[path] = read[path] || !a.isInManifest()
		}
	}
	hasSums := func(v *manifest.Variable) bool { return s.snapshot.Checksums && !isSlice && canReadParts(v) }
	isHidden := func(v *manifest.Variable) bool { return !read[v.Path] && hasChecksum(v) }
	from, to := int64(0), int64(0) // rows that are not verified yet
	verify := func() error {
		skip := func(v *manifest.Variable, ref manifest.Ref) bool { return ref.Checksum == 0 && !hasChecksum(v) }
		return s.SumRefs(ctx, from, to-from, workers, skip, func(r *SummedRefs) error {
			return s.compareSums(ctx, files, r, report)
		})
	}
	for file := fromFile; file < min(toFile, int64(files.SourceIndex.Row.Len())); file++ {
		h, err := files.Header(ctx, file)
		if err != nil {
			return err
		}
		row := files.Row(file)
		for _, v := range h.Base().Variables {
			rows := v.Rows()
			if rows > 0 && (hasSums(v) || isHidden(v)) {
				if row != to {
					if err := verify(); err != nil {
						return err
					}
					from = row
				}
				to = row + rows
			}
			row += rows
		}
	}
	return verify()
}

// canReadParts reports whether parts of the variable's chunks can be read alone.
func canReadParts(v *manifest.Variable) bool {
	return v.Storage.Layout != manifest.Inline && v.Storage.Filters == 0
}

// RefProblem is a ref whose chunk differs from its checksum, or which names bytes that do not exist.
type RefProblem struct {
	Source, Variable string
	Coords           []int64 // of the chunk, in the variable's own grid
	Err              error
}

// compareSums reports refs whose checksums differ.
func (s *Store) compareSums(ctx context.Context, files *fileIndex, r *SummedRefs, report func(*RefProblem)) error {
	cursor := refCursor{files: files}
	for i := range r.Sums {
		ref := r.At(i)
		differs := ref.Checksum != 0 && ref.Checksum != r.Sums[i]
		if r.Err == nil && !differs && r.Damaged[i] == nil || r.Err != nil && !ref.Stored() {
			continue
		}
		v, err := cursor.find(ctx, r.Row+int64(i))
		if err != nil {
			return err
		}
		file := cursor.file
		if ref.Other > 0 {
			file = int64(ref.Other) - 1
		}
		src, err := s.Source(ctx, file)
		if err != nil {
			return err
		}
		c := &RefProblem{Source: src.URL, Variable: v.Path, Coords: make([]int64, len(v.Shape)), Err: r.Err}
		if g, err := v.Grid(); err == nil {
			g.Coords(r.Row+int64(i)-cursor.first, c.Coords)
		}
		switch {
		case c.Err != nil:
		case differs:
			c.Err = fmt.Errorf("%s: %w", src.URL, changedBytes(ref.Offset, ref.Size, r.Sums[i], ref.Checksum))
		default:
			c.Err = r.Damaged[i]
		}
		report(c)
		if r.Err != nil {
			return nil // one report for all that were read together
		}
	}
	return nil
}

// VerifyStored verifies the checksums of stored chunks that a read of a declared chunk would read only in part. It
// leaves out chunks of more than 64 MiB.
func (a *Array) VerifyStored(ctx context.Context, coords []int64) error {
	if a.isInManifest() || !a.store.snapshot.Checksums {
		return nil
	}
	c, err := a.chunk(coords)
	if err != nil {
		return err
	}
	m, err := a.tiles(ctx)
	if err != nil {
		return err
	}
	files, err := a.store.files(ctx)
	if err != nil {
		return err
	}
	for p, err := range m.Parts(ctx, c.Region) {
		if err != nil {
			return err
		}
		if p.Row < 0 || !canReadParts(p.Fit.Variable) {
			continue
		}
		r := &SummedRefs{Row: p.Row}
		if err := a.store.tables.ReadColumns(ctx, p.Row, 1, &r.RefColumns); err != nil {
			return err
		}
		skip := func(_ *manifest.Variable, ref manifest.Ref) bool {
			return ref.Checksum == 0 || ref.Size > verifiedBytes
		}
		if err := a.store.sum(ctx, r, skip); err != nil {
			return err
		}
		if r.At(0).Size > verifiedBytes {
			continue
		}
		var changed error
		if err := a.store.compareSums(ctx, files, r, func(c *RefProblem) { changed = c.Err }); err != nil || changed != nil {
			return cmp.Or(err, changed)
		}
	}
	return nil
}
