package store

import (
	"context"
	"errors"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/readers/source"
)

// work fetches the stored chunks for the jobs of a batch and copies their elements to the targets.
func (a *Array) work(ctx context.Context, b *batch) error {
	first := b.jobs[0]
	if first.source < 0 {
		return a.workWithoutSource(ctx, first)
	}
	taken, err := a.store.flight.take(ctx, b.bytes())
	if err != nil {
		return err
	}
	defer a.store.flight.give(taken)
	h, err := a.store.sources.acquire(ctx, first.source, b.src)
	if err != nil {
		return err
	}
	err = a.workOnSource(ctx, h.Source, b)
	a.store.sources.release(h, err)
	if err != nil {
		return a.blame(h.Source, err)
	}
	return nil
}

// bytes returns the approximate memory that the batch needs while it is worked on.
func (b *batch) bytes() int64 {
	n := b.span.Length
	for _, j := range b.jobs {
		if j.isAlone {
			n = max(int64(j.pipe.Form().Bytes()), 0)
			switch {
			case j.spans != nil:
				n = j.spans.Inflates() + j.spans.Fetches()
			case j.pipe.Form().Type.Varies() || !j.IsWhole():
				n = pieceBytes
			}
			continue
		}
		n += max(int64(j.pipe.Form().Bytes()), 0)
	}
	return n
}

// blame adds the array and the source to an error. A ref that points outside its source is an error of
// the manifest.
func (a *Array) blame(src *source.Source, err error) error {
	var outside *source.RangeError
	if errors.As(err, &outside) {
		err = fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
	}
	if errors.Is(err, codec.ErrIndex) {
		return manifest.WithRemedy(fmt.Errorf("%s: %s: %w", a.Path(), src.Name(), err), "build/grib-index", "ignore")
	}
	return fmt.Errorf("%s: %s: %w", a.Path(), src.Name(), err)
}

// workWithoutSource does a job that reads no source.
func (a *Array) workWithoutSource(ctx context.Context, j *job) error {
	j.into.begin(a)
	switch {
	case j.decoded != nil:
		if err := a.copyPart(j, *j.decoded); err != nil {
			return err
		}
	case j.Fit == nil:
	case !j.hasRef() || !j.ref.Stored():
		j.into.fill(j.Box, j.Fit.Conversion.Fill())
	default:
		row, _ := j.ref.Inline()
		stored, err := a.store.tables.Inline(ctx, row)
		if err == nil {
			err = a.decode(ctx, j, stored)
		}
		if err != nil {
			return fmt.Errorf("%s: inline bytes %d: %w", a.Path(), row, err)
		}
	}
	return j.done()
}

// workOnSource fetches the batch from an open source, decodes it and fills the targets.
func (a *Array) workOnSource(ctx context.Context, src *source.Source, b *batch) error {
	if b.jobs[0].isAlone {
		j := b.jobs[0]
		j.into.begin(a)
		if err := a.decodeAlone(ctx, src, j); err != nil {
			return j.wrap(err)
		}
		return j.done()
	}
	stored, room, err := a.fetch(ctx, src, b)
	defer room.release()
	if err != nil {
		return err
	}
	for i, j := range b.jobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := j.pipe.Form().CheckGrowth(int64(len(stored[i]))); err != nil {
			return j.wrap(err)
		}
		j.into.begin(a)
		if err := a.decode(ctx, j, stored[i]); err != nil {
			return j.wrap(err)
		}
		if err := j.done(); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) wrap(err error) error {
	if j.patch != nil {
		return fmt.Errorf("compacted chunk at offset %d: %w", j.span.Offset, err)
	}
	return fmt.Errorf("%s: chunk at offset %d: %w", j.Fit.Variable.Path, j.ref.Offset, err)
}

// fetch reads the stored bytes of all jobs of a batch.
func (a *Array) fetch(ctx context.Context, src *source.Source, b *batch) (stored [][]byte, room *buffer, err error) {
	stored = make([][]byte, len(b.jobs))
	// Elements of varying length alias the fetched bytes, so the bytes cannot be in a buffer that is used
	// again.
	if b.isFar || a.varies(b) {
		ranges := make([]source.Range, len(b.jobs))
		for i, j := range b.jobs {
			ranges[i] = j.span
		}
		return stored, nil, src.ReadRanges(ctx, ranges, stored)
	}
	if b.span.Offset < 0 || b.span.Length < 0 || b.span.Length > src.Size()-b.span.Offset {
		return nil, nil, &source.RangeError{Source: src.Name(), Offset: b.span.Offset, Length: b.span.Length, Size: src.Size()}
	}
	room = a.store.buffers.get(int(b.span.Length))
	if _, err := src.ReadAt(ctx, room.bytes, b.span.Offset); err != nil {
		return nil, room, err
	}
	for i, j := range b.jobs {
		at := j.span.Offset - b.span.Offset
		stored[i] = room.bytes[at : at+j.span.Length]
	}
	return stored, room, nil
}

// varies reports whether decoded elements may alias the fetched bytes.
func (a *Array) varies(b *batch) bool {
	for _, j := range b.jobs {
		if j.pipe.Form().Type.Varies() || j.into.unit == 0 {
			return true
		}
	}
	return false
}

// room returns temporary memory for elements. Texts in the target may alias it, so for texts it is not a buffer
// that is used again.
func (a *Array) room(j *job, f codec.Form) (codec.Elems, *buffer) {
	if j.into.unit == 0 {
		return codec.NewElems(f), nil
	}
	return a.store.elems(f)
}

// decode decodes a stored chunk and copies the job's part of it to the target.
func (a *Array) decode(ctx context.Context, j *job, stored []byte) error {
	if err := a.verify(j, stored); err != nil {
		return err
	}
	form := j.pipe.Form()
	if err := form.CheckGrowth(int64(len(stored))); err != nil {
		return err
	}
	// The fastest way: decode directly into the target, if its memory has the same order and type.
	if j.IsWhole() && j.isPlain() {
		if into, ok := j.into.slice(j.Box); ok {
			return a.decodeWhole(ctx, j, into, stored)
		}
	}
	if j.Fit != nil && j.Fit.IsMemoryForm() && len(stored) == form.Bytes() {
		return a.copyPart(j, codec.Elems{Fixed: stored})
	}
	// If the part is small, decode only the part, where the codec can do so.
	if !j.isReusable && !j.IsWhole() && isSmall(j) {
		return a.decodeRegion(ctx, j, codec.Memory(stored))
	}
	if err := form.CheckSize(); err != nil {
		return err
	}
	if j.isReusable {
		e, err := a.store.cache.get(ctx, j.key(a), func() (codec.Elems, error) {
			e := codec.NewElems(form)
			return e, a.decodeWhole(ctx, j, e, copyIfAliased(form, stored))
		})
		if err != nil {
			return err
		}
		return a.copyPart(j, e)
	}
	e, room := a.room(j, form)
	defer room.release()
	if err := a.decodeWhole(ctx, j, e, stored); err != nil {
		return err
	}
	return a.copyPart(j, e)
}

// decodeWhole decodes all elements of a stored chunk.
func (a *Array) decodeWhole(ctx context.Context, j *job, dst codec.Elems, stored []byte) error {
	_, end := a.traceDecode(ctx, j, max(int64(j.pipe.Form().Bytes()), 0))
	err := j.pipe.Decode(dst, stored)
	end(err)
	return err
}

// copyIfAliased returns stored, or a copy if decoded elements alias it: otherwise a chunk in the cache would keep
// all bytes in memory that were fetched with it.
func copyIfAliased(f codec.Form, stored []byte) []byte {
	if f.Type.Varies() {
		return append([]byte(nil), stored...)
	}
	return stored
}

// isSmall reports whether a part is so small that decoding only the part is worth it.
func isSmall(j *job) bool {
	part, _ := j.Within.Elements()
	return part < int64(j.pipe.Form().Count())/4
}

// decodeAlone fetches only the bytes of the chunk that the part needs.
func (a *Array) decodeAlone(ctx context.Context, src *source.Source, j *job) error {
	if ok, err := a.readDirect(ctx, src, j); ok || err != nil {
		return err
	}
	if j.isVerified() {
		stored, err := a.readVerified(ctx, src, j)
		if err != nil {
			return err
		}
		return a.decodeRegion(ctx, j, codec.Memory(stored))
	}
	if j.Fit.Variable.Storage.Layout == manifest.Strided {
		return a.decodeStrided(ctx, src, j)
	}
	section, err := src.Section(j.ref.Offset, j.ref.Size)
	if err != nil {
		return err
	}
	if j.spans != nil {
		return a.decodeSpans(ctx, j, section)
	}
	return a.decodeRegion(ctx, j, section)
}

// decodeStrided reads rows, with or without gaps between them.
func (a *Array) decodeStrided(ctx context.Context, src *source.Source, j *job) error {
	row, stride := j.Fit.Strides()
	if !j.Fit.IsRaw() || row == stride {
		size, ok := j.pipe.EncodedSize()
		if !ok {
			size = int(j.ref.Size)
		}
		section, err := src.Section(j.ref.Offset, int64(size))
		if err != nil {
			return err
		}
		return a.decodeRegion(ctx, j, section)
	}
	rows := &rowReader{src: src, offset: j.ref.Offset, row: row, stride: stride, rows: j.Codec[0]}
	return a.decodeRegion(ctx, j, rows)
}

// decodeRegion decodes a part of a stored chunk into its target.
func (a *Array) decodeRegion(ctx context.Context, j *job, stored codec.Reader) error {
	bytes := int64(j.pipe.Form().Bytes()) // unless some codec can decode a part
	if j.pipe.Partial() != codec.WholeChunks {
		form := j.pipe.Form()
		form.Shape = j.Within.Shape
		bytes = int64(form.Bytes())
	}
	ctx, end := a.traceDecode(ctx, j, max(bytes, 0))
	err := a.decodeInto(j, func(dst codec.Elems) error { return j.pipe.DecodeRegion(ctx, stored, j.Within, dst) })
	end(err)
	return err
}

// decodeInto calls decode with memory for the job's part of a stored chunk, and copies the part to the target.
func (a *Array) decodeInto(j *job, decode func(dst codec.Elems) error) error {
	if j.isPlain() {
		if into, ok := j.into.slice(j.Box); ok {
			return decode(into)
		}
	}
	form := j.pipe.Form()
	form.Shape = j.Within.Shape
	e, room := a.room(j, form)
	defer room.release()
	if err := decode(e); err != nil {
		return err
	}
	part := *j
	part.Within = grid.Whole(j.Within.Shape)
	part.Codec = j.Within.Shape
	return a.copyPart(&part, e)
}
