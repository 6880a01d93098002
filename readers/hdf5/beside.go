package hdf5

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"varve/readers"
	"varve/readers/source"
)

// openBeside opens a file that this one names: one in its folder or below, or in a folder that
// was allowed. It returns nil if there is none. Beside files of servers nothing is looked for.
func (f *File) openBeside(ctx context.Context, name string) (*source.Source, error) {
	here, err := source.LocalPath(f.src.Name())
	if err != nil {
		return nil, unsupported("the file %q is beside one that is not local, which takes copies of both in a folder", name)
	}
	beside, err := source.OpenBeside(here, name, func(place string) (*source.Source, error) {
		return source.OpenWithin(ctx, place, append([]string{filepath.Dir(here)}, f.allow...)...)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return beside, err
}

// readExternalFiles reads the values that lie one after another in other files. Where a file
// ends early libhdf5 takes zeros.
func (d *Dataset) readExternalFiles(ctx context.Context, out []byte) error {
	for _, run := range d.External {
		n := min(run.Size, uint64(len(out)))
		if n == 0 {
			continue
		}
		if err := d.readExternalFile(ctx, run, out[:n]); err != nil {
			return err
		}
		out = out[n:]
	}
	if len(out) > 0 {
		return readers.Corruptf("the other files hold %d bytes less than the values take", len(out))
	}
	return nil
}

func (d *Dataset) readExternalFile(ctx context.Context, run readers.ExternalFile, out []byte) (err error) {
	if run.Offset > math.MaxInt64 {
		return readers.Corruptf("values begin at %d of the file %q", run.Offset, run.Name)
	}
	src, err := d.f.openBeside(ctx, run.Name)
	if err != nil {
		return err
	}
	if src == nil {
		return fmt.Errorf("values are in the file %q, which is not there: %w", run.Name, fs.ErrNotExist)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if run.Offset >= uint64(src.Size()) {
		return nil
	}
	n := min(uint64(len(out)), uint64(src.Size())-run.Offset)
	_, err = src.ReadAt(ctx, out[:n], int64(run.Offset))
	return err
}
