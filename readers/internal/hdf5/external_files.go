package hdf5

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"varve/readers"
	"varve/readers/source"
)

// openSibling opens a file that this file refers to. The file must be in the folder of this file or
// below, in its archive, or in an allowed folder. openSibling returns nil if the file does not exist. It rejects
// sources that are not local.
func (f *File) openSibling(ctx context.Context, name string) (*source.Source, error) {
	beside, err := f.opener.OpenLocalBeside(ctx, f.src, name, f.allow...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return beside, err
}

// readExternalFiles reads values that are stored in other files, one after another. Bytes after the
// end of a file are zeros, as in libhdf5.
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
		return readers.Corruptf("external files: %d bytes of the values are in no file", len(out))
	}
	return nil
}

func (d *Dataset) readExternalFile(ctx context.Context, run readers.ExternalFile, out []byte) (err error) {
	if run.Offset > math.MaxInt64 {
		return readers.Corruptf("external file %q: offset %d is out of range", run.Name, run.Offset)
	}
	src, err := d.f.openSibling(ctx, run.Name)
	if err != nil {
		return err
	}
	if src == nil {
		return fmt.Errorf("external file %q does not exist; put it into the folder of this file: %w", run.Name, fs.ErrNotExist)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	// The bytes stay zero, as in libhdf5.
	if run.Offset >= uint64(src.Size()) {
		return nil
	}
	n := min(uint64(len(out)), uint64(src.Size())-run.Offset)
	_, err = src.ReadAt(ctx, out[:n], int64(run.Offset))
	return err
}
