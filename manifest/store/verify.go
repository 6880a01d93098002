package store

import (
	"context"
	"fmt"
	"hash/crc32"

	"varve/codec"
	"varve/manifest"
	"varve/readers/source"
)

// castagnoli selects CRC-32C, for which processors have instructions: it takes much less time than decoding.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkSum returns a codec.ErrCorrupt if a compacted chunk differs from the bytes that were written.
func checkSum(b []byte, want uint32) error {
	if got := crc32.Checksum(b, castagnoli); got != want {
		return fmt.Errorf("%w: its CRC-32C is %08x instead of %08x", codec.ErrCorrupt, got, want)
	}
	return nil
}

// CheckScanned returns a source.ErrChanged if the bytes of a stored chunk have changed since the scan. want is
// the checksum of its ref, or 0 if none is recorded.
func CheckScanned(b []byte, offset int64, want uint32) error {
	if want == 0 {
		return nil
	}
	if got := crc32.Checksum(b, castagnoli); got != want {
		return changedBytes(offset, int64(len(b)), got, want)
	}
	return nil
}

func changedBytes(offset, size int64, got, want uint32) error {
	return fmt.Errorf("%w: size and time are as before, but the %d bytes at offset %d have CRC-32C %08x instead of %08x",
		source.ErrChanged, size, offset, got, want)
}

// verifyLocation checks all bytes of a declared chunk that are stored somewhere.
func verifyLocation(b []byte, l *manifest.Location) error {
	if l.Compacted {
		return checkSum(b, l.Checksum)
	}
	return CheckScanned(b, l.Offset, l.Checksum)
}

// verifiedBytes is the size up to which a stored chunk is read as a whole to verify its checksum, where a chunk
// without checksum is read in parts.
const verifiedBytes = 64 << 20

// verify checks the stored bytes that a job decodes.
func (a *Array) verify(j *job, stored []byte) error {
	if j.patch != nil {
		return checkSum(stored, j.patch.checksum)
	}
	err := CheckScanned(stored, j.ref.Offset, j.ref.Checksum)
	if err == nil {
		return nil
	}
	if coords, _, failed := a.grid.Locate(j.Box.Origin); failed == nil {
		err = fmt.Errorf("chunk %v: %w", coords, err)
	}
	return err
}

// isVerified reports whether the job needs all data of a chunk that has a checksum. Then it reads the chunk as a whole.
func (j *job) isVerified() bool {
	return j.ref.Checksum != 0 && j.HasAllData && j.ref.Size <= verifiedBytes
}

// readVerified reads all bytes of a stored chunk that could be read in parts, and checks them. Between the rows of a
// strided variable there may be gaps, which the checksum does not cover.
func (a *Array) readVerified(ctx context.Context, src *source.Source, j *job) ([]byte, error) {
	var stored []byte
	var err error
	if row, stride := j.Fit.Strides(); j.Fit.Variable.Storage.Layout == manifest.Strided && j.Fit.IsRaw() && row != stride {
		rows := &rowReader{src: src, offset: j.ref.Offset, row: row, stride: stride, rows: j.Codec[0]}
		var read [1][]byte
		err = rows.ReadRanges(ctx, []codec.Range{{Length: rows.Size()}}, read[:])
		stored = read[0]
	} else {
		stored, err = readAt(ctx, src, j.ref.Offset, j.ref.Size)
	}
	if err != nil {
		return nil, err
	}
	return stored, a.verify(j, stored)
}
