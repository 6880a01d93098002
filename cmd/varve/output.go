package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"varve/readers/formats"
	"varve/readers/source"
)

// checkLocal refuses object-store names for files that varve writes locally only. They would otherwise
// become local files called "s3:".
func checkLocal(dest string) error {
	if !source.IsObject(dest) {
		return nil
	}
	return fmt.Errorf("%s: varve writes only manifests, scan parts and exports to object stores; write a local file, and copy it there: %w", dest, errors.ErrUnsupported)
}

// checkFile returns an error if the folder of an output file does not exist. A command calls it before
// its work. Object stores have no folders.
func checkFile(dest string) error {
	if source.IsObject(dest) {
		return nil
	}
	folder := filepath.Dir(dest)
	if info, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("%s: the folder %s does not exist", dest, folder)
	}
	return nil
}

// checkReplaced is checkFile for local files. It also refuses folders, devices and pipes: a rename
// over a device would remove the device.
func checkReplaced(dest string) error {
	if err := checkLocal(dest); err != nil {
		return err
	}
	switch info, err := os.Stat(dest); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder; want a file name", dest)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is a device or a pipe; want a file name", dest)
	}
	return checkFile(dest)
}

// checkNoData is checkReplaced, and also refuses to overwrite a file that varve can read. A glob in the
// wrong place names such a file: scan -o archive/*.nc.
func checkNoData(ctx context.Context, dest string) error {
	if err := checkReplaced(dest); err != nil {
		return err
	}
	path, err := filepath.Abs(dest) // so that it cannot be taken for a URL
	if err != nil {
		return err
	}
	src, err := source.Open(ctx, path)
	if err != nil {
		return nil // an unreadable file is replaced
	}
	return checkNoFormat(ctx, dest, src)
}

// checkNoObject is checkNoData for objects. It fails if the store cannot be reached, before any work.
func checkNoObject(ctx context.Context, dest string) error {
	src, err := source.Open(ctx, dest)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission): // credentials may permit only writing
		return nil
	case err != nil:
		return err
	}
	return checkNoFormat(ctx, dest, src)
}

// checkNoFormat returns an error if varve can read a source, and closes it.
func checkNoFormat(ctx context.Context, dest string, src *source.Source) error {
	defer src.Close()
	if format, err := formats.Detect(ctx, src, nil); err == nil {
		return usageError{fmt.Errorf("%s is a %s file, and is not overwritten; choose another name", dest, format.Name)}
	}
	return nil
}

// draftFile is a file that is being written under a temporary name. Its errors have the final name.
type draftFile struct {
	*os.File
	name string
}

// longestBase limits the part of a draft's name that comes from the final name. File systems allow 255
// bytes.
const longestBase = 200

// newDraftFile creates a draft in the folder of the final file, so that it can be renamed.
func newDraftFile(name string) (*draftFile, error) {
	base := filepath.Base(name)
	at := filepath.Join(filepath.Dir(name), "."+base[:min(len(base), longestBase)]+"-"+rand.Text())
	file, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	d := &draftFile{file, name}
	return d, d.called(err)
}

func (d *draftFile) Write(p []byte) (int, error) {
	n, err := d.File.Write(p)
	return n, d.called(err)
}

func (d *draftFile) called(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: d.name, Err: p.Err}
	}
	return err
}

// writeWhole writes a file atomically: it appears when it is complete.
func writeWhole(name string, write func(io.Writer) error) error {
	file, err := newDraftFile(name)
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.called(file.Close()))
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
