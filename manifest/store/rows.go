package store

import (
	"context"
	"math"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/readers/source"
)

// rowReader is a codec.Reader of rows with gaps between them. It presents the rows without the gaps.
//
//	offset     offset+stride
//	├─ row ─┤ … ├─ row ─┤ … ├─ row ─┤
type rowReader struct {
	src         *source.Source
	offset      int64
	row, stride int64
	rows        int64
}

// Size implements codec.Reader.
func (r *rowReader) Size() int64 { return r.row * r.rows }

// ReadRanges implements codec.Reader.
func (r *rowReader) ReadRanges(ctx context.Context, ranges []codec.Range, out [][]byte) error {
	var pieces []source.Range
	for _, want := range ranges {
		pieces = r.pieces(pieces, want)
	}
	read := make([][]byte, len(pieces))
	if err := r.src.ReadRanges(ctx, pieces, read); err != nil {
		return err
	}
	for i, want := range ranges {
		out[i] = make([]byte, 0, want.Length)
		for int64(len(out[i])) < want.Length {
			out[i] = append(out[i], read[0]...)
			read = read[1:]
		}
	}
	return nil
}

// pieces appends the ranges of the source that contain the bytes of a range.
func (r *rowReader) pieces(pieces []source.Range, want codec.Range) []source.Range {
	for at := want.Offset; at < want.End(); {
		n := min(want.End()-at, r.row-at%r.row)
		pieces = append(pieces, source.Range{Offset: r.offset + at/r.row*r.stride + at%r.row, Length: n})
		at += n
	}
	return pieces
}

// maxSparse limits the bytes of a run that is read to get a part: the run may be this many times as long as the
// part. A run of at most 4096 bytes is always allowed.
const maxSparse = 4

// narrow changes the job to read only the run of elements from the first to the last of its part. It
// does so if the elements are uncompressed and the run is not much longer than the part.
func (j *job) narrow() error {
	row, stride := j.Fit.Strides()
	if !j.Fit.IsRaw() || row != stride || len(j.Codec) == 0 {
		return nil
	}
	unit := int64(j.Fit.Variable.Type.Size)
	if j.Fit.Variable.Storage.Layout != manifest.Strided && j.ref.Size != int64(j.pipe.Form().Bytes()) {
		return nil // a wrong size: decoding will report it
	}
	run := grid.Region{Origin: make([]int64, len(j.Codec)), Shape: slices.Clone(j.Codec)}
	// Before its first long axis the part has a single index along each axis, so the run starts there. The
	// axes after the first long one are read in full.
	at, n, long := int64(0), int64(1), false
	for k, length := range j.Codec {
		if !long {
			run.Origin[k], run.Shape[k] = j.Within.Origin[k], j.Within.Shape[k]
		}
		long = long || j.Within.Shape[k] > 1
		at, n = at*length+run.Origin[k], n*run.Shape[k]
	}
	part, err := j.Within.Elements()
	if err != nil || n*unit > max(maxSparse*part*unit, 4096) || at*unit > math.MaxInt64/4 {
		return err
	}
	if isAll := at == 0 && n*unit == j.ref.Size; !isAll {
		if j.isVerified() {
			return nil
		}
		j.ref.Checksum = 0 // of the whole chunk
	}
	if j.pipe, err = j.Fit.Pipeline(run.Shape, 0, false); err != nil {
		return err
	}
	j.ref.Offset, j.ref.Size = j.ref.Offset+at*unit, n*unit
	j.Codec, j.isNarrowed = run.Shape, true
	j.Within.Shift(run.Origin)
	return nil
}

// readDirect reads uncompressed elements directly into the target, if they are contiguous there and in
// the source. Otherwise ok is false.
func (a *Array) readDirect(ctx context.Context, src *source.Source, j *job) (ok bool, err error) {
	if !j.Fit.IsRaw() || !j.isPlain() {
		return false, nil
	}
	at, ok := j.runAt()
	if !ok || j.Fit.Variable.Storage.Layout != manifest.Strided && j.ref.Size != int64(j.pipe.Form().Bytes()) {
		return false, nil
	}
	into, ok := j.into.slice(j.Box)
	if !ok {
		return false, nil
	}
	if _, err := src.ReadAt(ctx, into.Fixed, j.ref.Offset+at); err != nil {
		return true, err
	}
	if at == 0 && int64(len(into.Fixed)) == j.ref.Size {
		if err := a.verify(j, into.Fixed); err != nil {
			return true, err
		}
	}
	if j.Fit.IsMemoryForm() {
		return true, nil
	}
	pipe, err := j.Fit.Pipeline(j.Within.Shape, 0, false)
	if err != nil {
		return true, err
	}
	return true, pipe.Decode(into, into.Fixed)
}

// runAt returns the position of the part's bytes after the ref's offset, if they are contiguous there.
func (j *job) runAt() (at int64, ok bool) {
	row, stride := j.Fit.Strides()
	gaps, long := row != stride, false
	unit, skipped := int64(j.Fit.Variable.Type.Size), int64(0)
	for k, length := range j.Codec {
		n := j.Within.Shape[k]
		switch {
		case long && n != length:
			return 0, false
		case !gaps || k > 0:
			at = at*length + j.Within.Origin[k]
		case n > 1:
			return 0, false
		default:
			skipped = j.Within.Origin[0] * stride
		}
		long = long || n > 1
	}
	return skipped + at*unit, true
}
