// Package formats tells the format of a source by its content and opens it.
//
// The table below is the one place that knows all readers. A reader is added there and
// nowhere else; the name of a file never counts.
package formats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve/readers"
	"varve/readers/dmrpp"
	"varve/readers/fits"
	"varve/readers/hdf4"
	"varve/readers/hdf5"
	"varve/readers/icechunk"
	"varve/readers/kerchunk"
	"varve/readers/netcdf3"
	"varve/readers/source"
	"varve/readers/zarr"
)

// Format is a reader with the name of what it reads.
type Format struct {
	Name string
	readers.Reader
}

// Table returns the formats in the order in which they are tried. Files that sources name are
// read where they lie in the source's own folder, or in one that is allowed.
func Table(allow ...string) []Format {
	return []Format{
		{"HDF5", hdf5.Format{Allow: allow}},
		{"netCDF-3", netcdf3.Format{}},
		{"HDF4", hdf4.Format{Allow: allow}},
		{"FITS", fits.Format{}},
		{"DMR++", dmrpp.Format{}},
		{"Icechunk", icechunk.Format{Allow: allow}},
		{"kerchunk", kerchunk.Format{Allow: allow}}, // before Zarr: its folders have a .zmetadata too
		{"Zarr", zarr.Format{}},
	}
}

// Detect returns the format of a source; allow is that of Table.
func Detect(ctx context.Context, src *source.Source, allow ...string) (Format, error) {
	f, is, err := find(ctx, src, allow)
	if err == nil && !is {
		err = &readers.Error{Source: src.Name(), Offset: -1, Err: unknown(ctx, src)}
	}
	return f, err
}

func find(ctx context.Context, src *source.Source, allow []string) (Format, bool, error) {
	for _, f := range Table(allow...) {
		if is, err := f.Detect(ctx, src); is || err != nil {
			return f, is, err
		}
	}
	return Format{}, false, nil
}

// IsStore reports whether a folder is one source, and the files in it are none: a store of a format of
// the table, or of one that varve does not read.
func IsStore(ctx context.Context, folder *source.Source) bool {
	_, is, err := find(ctx, folder, nil)
	return err == nil && (is || recognizeFolder(ctx, folder) != nil)
}

// Open reads the metadata of a source of any format; allow is that of Table.
func Open(ctx context.Context, src *source.Source, allow ...string) (*readers.Dataset, error) {
	f, err := Detect(ctx, src, allow...)
	if err != nil {
		return nil, err
	}
	return f.Open(ctx, src)
}

// unknown says what is wrong with a source of no known format, as far as its first bytes
// tell.
func unknown(ctx context.Context, src *source.Source) error {
	if src.IsFolder() {
		if err := recognizeFolder(ctx, src); err != nil {
			return unread(err.Error())
		}
		return fmt.Errorf("the folder is not in itself a source that varve reads (%s)", names())
	}
	if src.Size() == 0 {
		return readers.Corruptf("the file is empty")
	}
	head, err := src.View(ctx, 0, int(min(src.Size(), headBytes)))
	if err != nil {
		return err
	}
	if err := recognize(head); err != nil {
		return unread(err.Error())
	}
	if looksLikeHTML(head) {
		return readers.Corruptf("the file is a page of HTML or XML: a server's error message, or its list of a folder, of which each file has to be named")
	}
	if slices.Contains(zarrDocuments, path.Base(filepath.ToSlash(src.Name()))) {
		return unread("it is a document of a Zarr store: name the folder that it is in; stores on HTTP servers, of which nobody knows what is there, are not read")
	}
	return unread(fmt.Sprintf("it begins with %q", head[:min(len(head), 8)]))
}

// zarrDocuments are names of files within a Zarr store.
var zarrDocuments = []string{"zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"}

// unread is the error of a source of no known format, with what is known of it.
type unread string

func (u unread) Error() string {
	return fmt.Sprintf("not a format that varve reads (%s): %s", names(), string(u))
}

// Unwrap makes it something that is not understood, and not something that is damaged.
func (u unread) Unwrap() error { return errors.ErrUnsupported }

func names() string {
	var list []string
	for _, f := range Table() {
		list = append(list, f.Name)
	}
	return strings.Join(list, ", ")
}

// trimmed is text without what may stand in front of its first tag.
func trimmed(head []byte) []byte { return bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf") }

func looksLikeXML(head []byte) bool { return bytes.HasPrefix(trimmed(head), []byte("<")) }

func looksLikeHTML(head []byte) bool {
	head = trimmed(head)
	for _, start := range []string{"<!DOCTYPE", "<!doctype", "<html", "<HTML", "<?xml"} {
		if bytes.HasPrefix(head, []byte(start)) {
			return true
		}
	}
	return false
}
