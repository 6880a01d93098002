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

// checkLocal refuses to write to object stores what is neither a manifest nor a part nor an export,
// which would otherwise become local files of such names.
func checkLocal(dest string) error {
	if !source.IsObject(dest) {
		return nil
	}
	return fmt.Errorf("%s: only manifests, parts and exports are written to object stores: name a local file or folder, and copy it there: %w", dest, errors.ErrUnsupported)
}

// checkFile sees whether a file can be where it is to be written, before much is done to write
// it. That its folder is missing says nothing about a source; in object stores none has to be.
func checkFile(dest string) error {
	if source.IsObject(dest) {
		return nil
	}
	folder := filepath.Dir(dest)
	if info, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("%s: there is no folder %s", dest, folder)
	}
	return nil
}

// checkReplaced is checkFile of a file that is local, and refuses a name of what is no file: a
// device that a file takes the place of is gone.
func checkReplaced(dest string) error {
	if err := checkLocal(dest); err != nil {
		return err
	}
	switch info, err := os.Stat(dest); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder: name a file", dest)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is a device or a pipe, which no file takes the place of: name a file", dest)
	}
	return checkFile(dest)
}

// checkNoData is checkReplaced of a file that is not to be read again, and refuses the name of
// one that varve reads, which a glob in the wrong place puts there: scan -o archive/*.nc.
func checkNoData(ctx context.Context, dest string) error {
	if err := checkReplaced(dest); err != nil {
		return err
	}
	path, err := filepath.Abs(dest) // never a URL
	if err != nil {
		return err
	}
	src, err := source.Open(ctx, path)
	if err != nil {
		return nil // nothing that could be read; what stands there else is replaced
	}
	return checkNoFormat(ctx, dest, src)
}

// checkNoObject is checkNoData of an object. A store that cannot be reached now will not be later.
func checkNoObject(ctx context.Context, dest string) error {
	src, err := source.Open(ctx, dest)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission): // may still be written
		return nil
	case err != nil:
		return err
	}
	return checkNoFormat(ctx, dest, src)
}

// checkNoFormat refuses what varve reads, and closes it.
func checkNoFormat(ctx context.Context, dest string, src *source.Source) error {
	defer src.Close()
	if format, err := formats.Detect(ctx, src); err == nil {
		return usageError{fmt.Errorf("%s is a file of %s, which is not written over: choose another name", dest, format.Name)}
	}
	return nil
}

// draftFile is a file that is being written. Errors call it as it is to be called.
type draftFile struct {
	*os.File
	name string
}

// longestBase is how much of a file's name its draft's begins with, as names have limits.
const longestBase = 200

// newDraftFile makes a file beside the one that is to be.
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

// writeWhole writes a file, which is there whole or not at all.
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
