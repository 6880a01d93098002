// Package formats detects the format of a source by its content and opens it. File names are
// ignored.
//
// Table lists all readers; a new reader is added there.
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
	"varve/readers/grib"
	"varve/readers/hdf4"
	"varve/readers/hdf5"
	"varve/readers/icechunk"
	"varve/readers/kerchunk"
	"varve/readers/netcdf3"
	"varve/readers/source"
	"varve/readers/zarr"
)

// Format is a reader with the name of its format.
type Format struct {
	Name string
	readers.Reader
}

// Options say how readers read sources. Nil options equal the zero value.
type Options struct {
	// Allow lists the folders in which a source may refer to other files, besides its own folder.
	Allow []string
	// Opener opens the local files to which HDF5 and HDF4 files refer. It does not read an archive again that it has read.
	// nil means that an Opener is made for each file.
	Opener *source.Opener
	// Names says how variables of GRIB files are named.
	Names grib.NameScheme
	// GRIBTimes says by which times fields of GRIB files are placed.
	GRIBTimes grib.Times
	// GRIBIndexes reads the index files of GRIB files. nil means that they are not used.
	GRIBIndexes *grib.IndexReader
}

// Table returns the formats in the order of detection.
func Table(opts *Options) []Format {
	if opts == nil {
		opts = &Options{}
	}
	allow := opts.Allow
	return []Format{
		{"HDF5", hdf5.Format{Allow: allow, Opener: opts.Opener}},
		{"netCDF-3", netcdf3.Format{}},
		{"HDF4", hdf4.Format{Allow: allow, Opener: opts.Opener}},
		{"FITS", fits.Format{}},
		{"GRIB", grib.Format{Names: opts.Names, Times: opts.GRIBTimes, Indexes: opts.GRIBIndexes}},
		{"DMR++", dmrpp.Format{}},
		{"Icechunk", icechunk.Format{Allow: allow}},
		{"kerchunk", kerchunk.Format{Allow: allow}}, // before Zarr, because its folders also have a .zmetadata
		{"Zarr", zarr.Format{}},
	}
}

// Detect returns the format of a source.
func Detect(ctx context.Context, src *source.Source, opts *Options) (Format, error) {
	f, is, err := find(ctx, src, opts)
	if err == nil && !is {
		err = &readers.Error{Source: src.Name(), Offset: -1, Err: describeUnknown(ctx, src)}
	}
	return f, err
}

func find(ctx context.Context, src *source.Source, opts *Options) (Format, bool, error) {
	for _, f := range Table(opts) {
		if is, err := f.Detect(ctx, src); is || err != nil {
			return f, is, err
		}
	}
	return Format{}, false, nil
}

// IsStore reports whether a folder is a single source, so that its files are not sources: a store
// of a format in the table, or of one that varve does not read.
func IsStore(ctx context.Context, folder *source.Source) bool {
	_, is, err := find(ctx, folder, nil)
	return err == nil && (is || recognizeFolder(ctx, folder) != nil)
}

// Open reads the metadata of a source of any format.
func Open(ctx context.Context, src *source.Source, opts *Options) (*readers.Dataset, error) {
	f, err := Detect(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return f.Open(ctx, src)
}

// describeUnknown returns the error for a source of no known format. It names the format and a remedy if
// the first bytes show it.
func describeUnknown(ctx context.Context, src *source.Source) error {
	if src.IsFolder() {
		if err := recognizeFolder(ctx, src); err != nil {
			return unknownError(err.Error())
		}
		return fmt.Errorf("the folder is not a store of a format that varve reads (%s); name the files in it", names())
	}
	if src.Size() == 0 {
		return readers.Corruptf("the file is empty; fetch it again")
	}
	head, err := src.View(ctx, 0, int(min(src.Size(), headBytes)))
	if err != nil {
		return err
	}
	// A known format gets a remedy; for others the first bytes must do.
	if err := recognize(head); err != nil {
		return unknownError(err.Error())
	}
	if looksLikeHTML(head) {
		return readers.Corruptf("the file is a page of HTML or XML: an error message of a server, or its list of a folder; name the files themselves")
	}
	if slices.Contains(zarrDocuments, path.Base(filepath.ToSlash(src.Name()))) {
		return unknownError("it is a metadata document of a Zarr store; name the folder that contains it (on an HTTP server this does not work, because folders cannot be listed)")
	}
	return unknownError(fmt.Sprintf("it starts with %q", head[:min(len(head), 8)]))
}

// zarrDocuments lists the metadata documents of a Zarr store.
var zarrDocuments = []string{"zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"}

// unknownError is the error of a source of no known format; its text describes the source.
type unknownError string

func (u unknownError) Error() string {
	return fmt.Sprintf("not a format that varve reads (%s): %s", names(), string(u))
}

// Unwrap returns ErrUnsupported: the source is not damaged.
func (u unknownError) Unwrap() error { return errors.ErrUnsupported }

func names() string {
	var list []string
	for _, f := range Table(nil) {
		list = append(list, f.Name)
	}
	return strings.Join(list, ", ")
}

// trimStart returns text without blanks and a byte order mark before its first tag.
func trimStart(head []byte) []byte { return bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf") }

func looksLikeXML(head []byte) bool { return bytes.HasPrefix(trimStart(head), []byte("<")) }

func looksLikeHTML(head []byte) bool {
	head = trimStart(head)
	for _, start := range []string{"<!DOCTYPE", "<!doctype", "<html", "<HTML", "<?xml"} {
		if bytes.HasPrefix(head, []byte(start)) {
			return true
		}
	}
	return false
}
