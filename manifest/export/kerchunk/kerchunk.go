// Package kerchunk exports a manifest as kerchunk references. zarr-python, xarray and other clients read them
// through fsspec, without varve:
//
//	DEST.json           {"version":1,"refs":{
//	                      ".zgroup":"{…}", "x/.zarray":"{…}",      documents, as text
//	                      "x/0.0":["/data/a.nc",4016,1032],        a range of a source
//	                      "x/0.1":"base64:AAAA"                    the bytes themselves
//	                    }}
//	DEST.json.patches   re-encoded chunks
//
//	DEST.parquet/       any name that does not end in .json
//	  .zmetadata        {"metadata":{".zgroup":{…},"x/.zarray":{…}},"record_size":100000}
//	  x/refs.0.parq     a row per chunk, in C order: path, offset, size, raw
//	  x/refs.1.parq     chunks from number record_size on
//	  .patches
//
// The documents are in Zarr format 2, which every reader of references supports, if it can represent all
// arrays. Otherwise all documents are in format 3: fsspec and zarr-python read those too, including
// rectilinear grids. For Parquet, fsspec counts chunks from .zarray documents, so format 3 adds stubs with
// only shape and chunks.
//
// Every reader gets the right values:
//   - A chunk whose stored bytes do not match the schema is re-encoded. Its bytes go into the references or
//
// into the file of patches.
//   - A missing chunk is written out if a reader would fill it with another value than the array's fill
//
// value.
//   - In Parquet every missing chunk is written out, because readers disagree about rows without a path.
//
// References contain nothing that identifies the version of a source: no size, time or ETag. Readers do not
// notice when a file has changed.
package kerchunk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/export/internal/gribcodec"
	"varve/manifest/export/internal/progress"
	"varve/manifest/internal/home"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers"
	"varve/readers/source"
	"varve/zarrjson"
)

// Options configure an export. Zero values select the defaults.
type Options struct {
	// Force replaces existing references at the destination.
	Force bool
	// Append is the repository of the manifest. If it is set, an export to Parquet references from an earlier
	// snapshot keeps the records whose chunks are unchanged, and writes the others. References at the destination are
	// updated without Force, if they have the same Zarr format.
	Append *repo.Repository
	// Regular re-chunks arrays with rectilinear grids to regular ones, for clients that support no others.
	// Chunks with other edges are re-encoded.
	Regular bool
	// GRIBCodec is the codec by which readers decode GRIB messages: "grib" (kerchunk with ecCodes), "gribberish", or
	// empty to re-encode them for all readers.
	GRIBCodec string
	// NoPatch makes exports that need re-encoded chunks fail with a PatchError.
	NoPatch bool
	// RecordSize is the number of chunks per Parquet file; 0 means 100,000.
	RecordSize int64
	// InlineBytes is the maximum size of a re-encoded chunk in the references; 0 means 4 KiB. It is ignored
	// if the sources are remote and PatchURL is empty, because fsspec reads from one kind of file system at a
	// time.
	InlineBytes int64
	// PatchURL is the URL at which readers will find the file of patches, if you move it there; empty means
	// the location where it is written.
	PatchURL string
	// Relative is a folder or prefix of all sources. Names of sources in references are relative to it, and readers
	// say where it is. Empty means absolute names.
	Relative string
	// Workers bounds the cores that re-encode and compress; 0 means GOMAXPROCS.
	Workers int
	// Progress is called from time to time, by one goroutine at a time.
	Progress func(done, total int64)
}

// Defaults and limits of Options.
const (
	defaultRecord = 100_000
	maxRecord     = 1_000_000
	defaultInline = 4 << 10
)

// Result describes an export.
type Result struct {
	Format  int    // of the Zarr documents: 2 or 3
	Because string // why Format is 3
	// Irregular reports that an array has chunks of different lengths, so that Format is 3; with
	// Options.Regular it would be 2.
	Irregular bool
	Regular   []string // arrays that were re-chunked to a regular grid
	Arrays    int
	Refs      int64 // ranges of sources
	Inline    int64 // chunks in the references: fill values, re-encoded chunks, and values stored in the manifest
	Patched   int64 // chunks in the file of patches
	Missing   int64 // omitted chunks
	// GRIBVerbatim lists the arrays of GRIB messages that are declared with Options.GRIBCodec. GRIBReencoded lists the
	// arrays that are re-encoded, because the codec would give other values.
	GRIBVerbatim, GRIBReencoded []string
	Kept                        int64 // chunks in records kept from the old set, not counted above
	// Patches is the file of patches and PatchBytes its size; empty if there is none.
	Patches    string
	PatchBytes int64
}

// PatchError lists the arrays with chunks that would have to be re-encoded.
type PatchError struct{ Arrays []Unpatched }

// Unpatched is an array with chunks that would have to be re-encoded.
type Unpatched struct {
	Path   string
	Chunks int64
	First  []int64 // coordinates
}

// Error lists the arrays, one per line.
func (e *PatchError) Error() string {
	var b strings.Builder
	b.WriteString("some chunks have to be re-encoded, but re-encoding is disabled; varve compact stores such chunks as ranges of files:")
	for _, a := range e.Arrays {
		fmt.Fprintf(&b, "\n  %s: %d chunks, the first at %v", a.Path, a.Chunks, a.First)
	}
	return b.String()
}

// Write exports the arrays of a manifest as references to dest, which is local or in an object store. dest
// appears when the export is complete.
func Write(ctx context.Context, s *store.Store, dest string, opts *Options) (*Result, error) {
	if err := s.CheckListed(); err != nil {
		return nil, err
	}
	if err := s.Snapshot().CheckNames(); err != nil {
		return nil, err
	}
	if opts != nil && opts.Force {
		if err := s.CheckReplaced(ctx, dest); err != nil {
			return nil, err
		}
	}
	h := hierarchy{groups: s.Groups(), source: s.Source, sources: s.Snapshot().Sources, snapshot: s.Snapshot().ID, padded: s.Snapshot().HasPadding()}
	if opts == nil {
		opts = &Options{}
	}
	if opts.Append != nil && opts.GRIBCodec != "" {
		return nil, manifest.WithRemedy(fmt.Errorf("references with the codec %s for GRIB are not updated: %w", opts.GRIBCodec, errors.ErrUnsupported), "force", "")
	}
	arrays, messages, err := gribcodec.Apply(ctx, s, gribcodec.Codec(opts.GRIBCodec))
	if err != nil {
		return nil, err
	}
	for _, a := range arrays {
		h.arrays = append(h.arrays, a)
	}
	if opts.Append == nil {
		result, err := write(ctx, h, dest, opts)
		if result != nil {
			result.GRIBVerbatim, result.GRIBReencoded = messages.Verbatim, messages.Reencoded
		}
		return result, err
	}
	var done func() error
	h.past, done = pastOf(opts.Append, s.Snapshot())
	result, err := write(ctx, h, dest, opts)
	return result, errors.Join(err, done())
}

// array is an array to export; *store.Array implements it.
type array interface {
	Path() string
	Schema() *zarrjson.Array
	Grid() *grid.Grid
	Pipeline(coords []int64) (*codec.Pipeline, error)
	Runs(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Run]
	Locate(ctx context.Context, coords []int64) (manifest.Location, error)
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
	ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error
}

// hierarchy is the manifest to export.
type hierarchy struct {
	groups []manifest.GroupSchema
	arrays []array
	source func(ctx context.Context, row int64) (manifest.Source, error)
	// sources is the number of sources.
	sources int64
	// snapshot is the exported snapshot; past compares with older ones, or is nil.
	snapshot string
	past     past
	// padded reports whether arrays have padded chunks inside.
	padded bool
}

// export is one call of Write.
type export struct {
	hierarchy
	opts    Options
	dest    string // absolute path, or URL in an object store
	own     string // unique suffix of the patches' name, in an object store
	docs    *documents
	paths   *paths
	patches *sideFile
	result  Result
	refused PatchError
	seen    *progress.Counter
}

func write(ctx context.Context, h hierarchy, dest string, opts *Options) (*Result, error) {
	e, err := newExport(ctx, h, dest, opts)
	if err != nil {
		return nil, err
	}
	if err := e.prepare(ctx); err != nil {
		return nil, err
	}
	if h.past != nil && (opts == nil || !opts.Force) {
		if err := e.checkFormat(); err != nil {
			return nil, err
		}
	}
	if e.isJSON() {
		err = e.writeJSON(ctx)
	} else {
		err = e.writeParquet(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dest, err)
	}
	return &e.result, nil
}

func newExport(ctx context.Context, h hierarchy, dest string, opts *Options) (*export, error) {
	e := &export{hierarchy: h}
	if opts != nil {
		e.opts = *opts
	}
	e.opts.Force = e.opts.Force || e.past != nil
	if e.opts.RecordSize == 0 {
		e.opts.RecordSize = defaultRecord
	}
	if e.opts.InlineBytes == 0 {
		e.opts.InlineBytes = defaultInline
	}
	if e.opts.Workers <= 0 {
		e.opts.Workers = runtime.GOMAXPROCS(0)
	}
	if n := e.opts.RecordSize; n < 1 || n > maxRecord {
		return nil, fmt.Errorf("RecordSize: want 1 to %[2]d chunks, got %[1]d", n, maxRecord)
	}
	var err error
	if err := source.CheckWritable(dest); err != nil {
		return nil, err
	}
	if e.dest = strings.TrimSuffix(dest, "/"); !source.IsObject(dest) {
		e.dest, err = filepath.Abs(dest)
	} else if e.past != nil {
		return nil, manifest.WithRemedy(fmt.Errorf("%s: cannot append to references in an object store, because objects cannot be shared by two sets: %w", dest, errors.ErrUnsupported), "force", "")
	} else if e.isJSON() {
		e.own = "-" + rand.Text()
	}
	if err != nil {
		return nil, err
	}
	return e, e.checkDest(ctx)
}

func (e *export) isJSON() bool { return strings.HasSuffix(e.dest, ".json") }

// checkDest rejects destinations that fsspec would misread or that exist.
func (e *export) checkDest(ctx context.Context) error {
	switch {
	case e.isJSON() && source.IsObject(e.dest):
		return chooseAnother(home.CheckFree(ctx, e.dest, e.opts.Force))
	case e.isJSON():
		return errors.Join(e.checkFree(e.dest), e.checkFree(e.patchesFile()))
	case strings.ContainsAny(e.dest, "{}"):
		return fmt.Errorf("%s: fsspec cannot read Parquet references below a name with braces; choose another name, or write .json", e.dest)
	case strings.Contains(e.dest, ".json"):
		return fmt.Errorf("%s: fsspec reads every name that contains .json as JSON; choose another name for Parquet references", e.dest)
	}
	if source.IsObject(e.dest) {
		return e.checkPrefix(ctx)
	}
	return e.checkFree(e.dest)
}

// chooseAnother adds the advice for a name that exists.
func chooseAnother(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; choose another name or replace it", err)
}

// checkPrefix is checkFree for a prefix in an object store. Objects of a stopped export may be replaced.
func (e *export) checkPrefix(ctx context.Context) (err error) {
	p, err := home.OpenPrefix(ctx, e.dest, nil)
	if err != nil {
		return err
	}
	defer func() { err = p.Close(err) }()
	names, err := home.Top(ctx, p)
	switch {
	case err != nil || len(names) == 0:
		return err
	case slices.Contains(names, metadataName) && e.opts.Force:
		return nil
	case slices.Contains(names, metadataName):
		return chooseAnother(fmt.Errorf("%s: %w", e.dest, fs.ErrExist))
	}
	if rest, err := p.IsRest(ctx); rest || err != nil {
		return err
	}
	return notReferences(e.dest)
}

// notReferences returns the error for a folder that is not an earlier export.
func notReferences(name string) error {
	return fmt.Errorf("%s: %w: the folder contains no references, so it is not replaced; choose another name", name, manifest.ErrForeign)
}

// checkFree rejects a name that exists. With Force, it still rejects everything that is not an earlier
// export.
func (e *export) checkFree(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type()&^(fs.ModeSymlink|fs.ModeDir) != 0:
		return fmt.Errorf("%s: %w: neither a file nor a folder, so it is not replaced; choose another name", name, manifest.ErrForeign)
	case info.IsDir() && e.isJSON():
		return fmt.Errorf("%s: %w: a folder, which is not replaced by a file; choose another name", name, manifest.ErrForeign)
	case info.IsDir():
		if _, err := os.Lstat(filepath.Join(name, metadataName)); err != nil {
			return notReferences(name)
		}
	}
	if e.opts.Force {
		return nil
	}
	return chooseAnother(fmt.Errorf("%s: %w", name, fs.ErrExist))
}

// prepare translates the documents and initialises everything that arrays share.
func (e *export) prepare(ctx context.Context) error {
	if e.opts.Regular {
		if err := e.regularize(); err != nil {
			return err
		}
	}
	if err := e.checkNames(); err != nil {
		return err
	}
	base, err := baseOf(e.opts.Relative)
	if err != nil {
		return err
	}
	if e.docs, err = e.translate(); err != nil {
		return err
	}
	e.result.Format, e.result.Because, e.result.Irregular, e.result.Arrays = e.docs.format, e.docs.because, e.docs.irregular, len(e.arrays)
	e.paths = &paths{base: base, source: e.source, last: -1}
	total := int64(0)
	for _, a := range e.arrays {
		total += a.Grid().Chunks()
	}
	e.seen = progress.New(e.opts.Progress, total)
	e.patches, err = e.newSideFile(ctx)
	return err
}

// checkNames rejects names of arrays and groups that have another meaning in references.
func (e *export) checkNames() error {
	for _, a := range e.arrays {
		if err := e.checkName(a.Path()); err != nil {
			return err
		}
	}
	for _, g := range e.groups {
		if err := e.checkName(g.Path); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) checkName(name string) error {
	if key := strings.Trim(name, "/"); key != "" && !fs.ValidPath(path.Clean(key)) {
		return fmt.Errorf("%q is not a valid path of an array or group", name)
	}
	if e.isJSON() {
		return nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".z") || part == patchesName {
			return fmt.Errorf("%s: the name %s is reserved in Parquet references; rename the variable or write .json: %w", name, part, errors.ErrUnsupported)
		}
	}
	return nil
}
