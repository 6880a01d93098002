// Package strided reads blocks of bytes at equal distances in a source, such as the records of a
// classic netCDF variable or the column of a FITS table.
//
//	offset      offset+stride
//	├ run 0 ┼ … ┼ run 1 ┼ … ┼ run 2 ┼ …
//	└ size ─┘
package strided

import (
	"context"

	"varve/readers/source"
)

// Runs holds the positions of equally spaced blocks ("runs"), in bytes.
type Runs struct {
	Offset              int64
	Size, Stride, Count uint64
}

const (
	maxSpan = 1 << 20 // bytes of one read that covers several runs
	sparse  = 16      // a stride of this many run sizes makes runs sparse: read one by one
	near    = 4096    // but runs closer than this are read together
)

// Read reads the runs in order into dst, whose length must be the size of all runs. The runs must
// be inside the source.
func Read(ctx context.Context, src *source.Source, dst []byte, runs Runs) error {
	if len(dst) == 0 {
		return ctx.Err()
	}
	if runs.Count == 1 || runs.Stride == runs.Size {
		_, err := src.ReadAt(ctx, dst, runs.Offset)
		return err
	}
	// Reading the gaps of close runs costs less than one request a run.
	together := uint64(1)
	if runs.Stride/sparse < runs.Size || runs.Stride < near {
		together = min(max(maxSpan/runs.Stride, 1), runs.Count)
	}
	if together == 1 {
		return readSingly(ctx, src, dst, runs)
	}
	buf := make([]byte, (together-1)*runs.Stride+runs.Size)
	for first := uint64(0); first < runs.Count; first += together {
		n := min(together, runs.Count-first)
		b := buf[:(n-1)*runs.Stride+runs.Size]
		if _, err := src.ReadAt(ctx, b, runs.Offset+int64(first*runs.Stride)); err != nil {
			return err
		}
		for i := range n {
			dst = dst[copy(dst[:runs.Size], b[i*runs.Stride:]):]
		}
	}
	return nil
}

func readSingly(ctx context.Context, src *source.Source, dst []byte, runs Runs) error {
	for i := range runs.Count {
		if _, err := src.ReadAt(ctx, dst[i*runs.Size:][:runs.Size], runs.Offset+int64(i*runs.Stride)); err != nil {
			return err
		}
	}
	return nil
}
