package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"varve/readers/formats"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// checkLocal refuses object-store names for files that varve writes locally only. They would otherwise
// become local files called "s3:".
func checkLocal(dest string) error {
	if !source.IsObject(dest) {
		return source.CheckWritable(dest)
	}
	return fmt.Errorf("%s: varve writes only manifests, scan parts and exports to object stores; write a local file, and copy it there: %w", source.Shown(dest), errors.ErrUnsupported)
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

// checkNew is checkNoData, and also refuses an output file of an export that exists, unless force says to replace it.
func checkNew(ctx context.Context, dest string, force bool) error {
	if err := checkNoData(ctx, dest); err != nil {
		return err
	}
	if _, err := os.Lstat(dest); err == nil && !force {
		return exportError(ctx, fmt.Errorf("%s exists: %w", dest, fs.ErrExist))
	}
	return nil
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
	if format, err := formats.New(nil).Detect(ctx, src); err == nil {
		return usageError{fmt.Errorf("%s is a %s file, and is not overwritten; choose another name", dest, format.Name)}
	}
	return nil
}

// writeWhole writes a file that appears when it is complete.
func writeWhole(name string, write func(io.Writer) error) error {
	return atomicfile.Write(name, atomicfile.Volatile, func(f *os.File) error { return write(f) })
}
