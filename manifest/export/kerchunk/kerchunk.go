// Package kerchunk writes a manifest as references that fsspec reads, so that zarr-python,
// xarray and what stands on them open an archive without varve:
//
//	DEST.json           {"version":1,"refs":{
//	                      ".zgroup":"{…}", "x/.zarray":"{…}",      documents, as text
//	                      "x/0.0":["/data/a.nc",4016,1032],        a range of a source
//	                      "x/0.1":"base64:AAAA"                    the bytes themselves
//	                    }}
//	DEST.json.patches   chunks that no source holds as a client reads them
//
//	DEST.parquet/       any name that does not end in .json
//	  .zmetadata        {"metadata":{".zgroup":{…},"x/.zarray":{…}},"record_size":100000}
//	  x/refs.0.parq     a row a chunk, in C order: path, offset, size, raw
//	  x/refs.1.parq     chunks from number record_size on
//	  .patches
//
// Where every array can be said in Zarr format 2, all of them are, which every reader of
// references knows. Otherwise all are documents of format 3: fsspec and zarr-python read
// those too, grids with chunks of different lengths among them. In Parquet fsspec counts
// chunks by .zarray documents, and gets some that hold shape and chunks and nothing else.
//
// What the references hold is right in every reader, or is not written:
//   - a chunk that is not stored as its array declares it is re-encoded, and its bytes go
//     among the references or into the file of patches;
//   - a missing chunk that a reader would fill with something else than the array's own
//     fill value is written out;
//   - in Parquet every missing chunk is, since readers do not agree on a row without path.
//
// References carry nothing that identifies a source: not its size, time or ETag. Whoever
// reads them will not notice that a file has changed.
package kerchunk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/export/internal/dest"
	"varve/manifest/export/internal/draft"
	"varve/manifest/export/internal/progress"
	"varve/manifest/store"
	"varve/readers/source"
	"varve/zarrjson"
)

// Options say how references are written. What is zero is as the field says.
type Options struct {
	// Force replaces what stands at the destination.
	Force bool
	// Append, the repository of the manifest, has a Parquet set that was written from an
	// earlier snapshot carried on: records whose chunks are as they were are kept as they
	// are. What cannot be carried on is written anew. It replaces what Force would.
	Append *manifest.Repository
	// Regular gives arrays whose chunks differ in length chunks of one shape, for clients
	// that know no other: what does not coincide is re-encoded.
	Regular bool
	// NoPatch refuses, with a PatchError, what would need re-encoded chunks.
	NoPatch bool
	// RecordSize is the number of chunks in a Parquet file; 0 stands for 100,000.
	RecordSize int64
	// InlineBytes is the most that a re-encoded chunk may have to stand among the references;
	// 0 stands for 4 KiB. It does not bind where the sources are remote and PatchURL is
	// empty: fsspec reads one kind of file system at a time.
	InlineBytes int64
	// PatchURL is where readers will find the file of patches, once somebody has put it
	// there; empty for where it is written.
	PatchURL string
	// Workers bounds the cores that re-encode and compress; 0 stands for GOMAXPROCS.
	Workers int
	// Progress is told how many chunks are done, now and then, by one goroutine at a time.
	Progress func(done, total int64)
}

// The defaults and limits of Options.
const (
	defaultRecord = 100_000
	maxRecord     = 1_000_000
	defaultInline = 4 << 10
)

// Result is what was written.
type Result struct {
	Format  int      // of the Zarr documents: 2 or 3
	Because string   // why Format is 3
	Regular []string // arrays that were given another grid
	Arrays  int
	Refs    int64 // ranges of sources
	Inline  int64 // chunks among the references: fill, re-encoded ones, what the manifest holds
	Patched int64 // chunks in the file of patches
	Missing int64 // chunks that were left out
	Kept    int64 // chunks in records of the set that was carried on, none of the above
	// Patches is the name of the file of patches, and PatchBytes its size, where there is one.
	Patches    string
	PatchBytes int64
}

// PatchError says which arrays have chunks that would have to be re-encoded.
type PatchError struct{ Arrays []Unpatched }

// Unpatched is an array with chunks that would have to be re-encoded.
type Unpatched struct {
	Path   string
	Chunks int64
	First  []int64 // coordinates
}

// Error lists the arrays, one a line.
func (e *PatchError) Error() string {
	var b strings.Builder
	b.WriteString("chunks are not stored as clients read them, and patches are not wanted; varve compact keeps such chunks as ranges of files:")
	for _, a := range e.Arrays {
		fmt.Fprintf(&b, "\n  %s: %d chunks, the first at %v", a.Path, a.Chunks, a.First)
	}
	return b.String()
}

// Write writes the arrays of a manifest as references at dest, which is local or in an object
// store. Nothing is at dest before everything is.
func Write(ctx context.Context, s *store.Store, dest string, opts *Options) (*Result, error) {
	if err := s.Snapshot().CheckNames(); err != nil {
		return nil, err
	}
	if opts != nil && opts.Force {
		if err := s.CheckReplaced(ctx, dest); err != nil {
			return nil, err
		}
	}
	h := hierarchy{groups: s.Groups(), source: s.Source, sources: s.Snapshot().Sources, snapshot: s.Snapshot().ID}
	for _, a := range s.Arrays() {
		h.arrays = append(h.arrays, a)
	}
	if opts == nil || opts.Append == nil {
		return write(ctx, h, dest, opts)
	}
	var done func() error
	h.past, done = pastOf(opts.Append, s.Snapshot())
	result, err := write(ctx, h, dest, opts)
	return result, errors.Join(err, done())
}

// array is what an export asks of an array; *store.Array is one.
type array interface {
	Path() string
	Schema() *zarrjson.Array
	Grid() *grid.Grid
	Pipeline(coords []int64) (*codec.Pipeline, error)
	Runs(ctx context.Context, chunks grid.Region) iter.Seq2[*store.Run, error]
	Locate(ctx context.Context, coords []int64) (store.Location, error)
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
	ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error
}

// hierarchy is what an export asks of a manifest.
type hierarchy struct {
	groups []manifest.GroupSchema
	arrays []array
	source func(ctx context.Context, row int64) (manifest.Source, error)
	// sources is how many of them there are.
	sources int64
	// snapshot is what is exported, past how it differs from others; nil if nobody asks.
	snapshot string
	past     past
}

// export is one run of Write.
type export struct {
	hierarchy
	opts    Options
	dest    string // absolute, or in an object store
	own     string // behind the name of patches whose own name nobody else uses
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
		return nil, fmt.Errorf("a record of %d chunks; allowed are 1 to %d", n, maxRecord)
	}
	var err error
	if e.dest = strings.TrimSuffix(dest, "/"); !source.IsObject(dest) {
		e.dest, err = filepath.Abs(dest)
	} else if e.past != nil {
		return nil, fmt.Errorf("%s: references in object stores are not carried on (--append), as their files cannot be shared: have them replaced (--force): %w", dest, errors.ErrUnsupported)
	} else if e.isJSON() {
		e.own = "-" + rand.Text()
	}
	if err != nil {
		return nil, err
	}
	return e, e.checkDest(ctx)
}

func (e *export) isJSON() bool { return strings.HasSuffix(e.dest, ".json") }

// checkDest refuses names that fsspec reads as something else, and what is there already.
func (e *export) checkDest(ctx context.Context) error {
	switch {
	case e.isJSON() && source.IsObject(e.dest):
		return chooseAnother(draft.CheckFree(ctx, e.dest, e.opts.Force))
	case e.isJSON():
		return errors.Join(e.checkFree(e.dest), e.checkFree(e.patchesFile()))
	case strings.ContainsAny(e.dest, "{}"):
		return fmt.Errorf("%s: fsspec finds no chunk of Parquet references under a name with braces; write them elsewhere, or as .json", e.dest)
	case strings.Contains(e.dest, ".json"):
		return fmt.Errorf("%s: fsspec takes every name that holds .json for a file of JSON; write Parquet references elsewhere", e.dest)
	}
	if source.IsObject(e.dest) {
		return e.checkPrefix(ctx)
	}
	return e.checkFree(e.dest)
}

// chooseAnother says what to do about a name that is taken.
func chooseAnother(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; choose another name, or have it replaced", err)
}

// checkPrefix is checkFree of a prefix in an object store. What a stopped export left there may
// go.
func (e *export) checkPrefix(ctx context.Context) (err error) {
	p, err := dest.Open(ctx, e.dest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	names, err := p.Top(ctx)
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
	return holdsNone(e.dest)
}

// holdsNone is the error of a place that is no former export.
func holdsNone(name string) error {
	return fmt.Errorf("%s: %w; it is a folder that holds no references, and is not replaced", name, manifest.ErrForeign)
}

// checkFree refuses a name that is taken. Even with Force no folder goes but one of
// references.
func (e *export) checkFree(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type()&^(fs.ModeSymlink|fs.ModeDir) != 0:
		return fmt.Errorf("%s: %w; it is neither a file nor a folder, and is not replaced", name, manifest.ErrForeign)
	case info.IsDir() && e.isJSON():
		return fmt.Errorf("%s: %w; it is a folder, which is not replaced by a file", name, manifest.ErrForeign)
	case info.IsDir():
		if _, err := os.Lstat(filepath.Join(name, metadataName)); err != nil {
			return holdsNone(name)
		}
	}
	if e.opts.Force {
		return nil
	}
	return chooseAnother(fmt.Errorf("%s: %w", name, fs.ErrExist))
}

// prepare translates the documents and readies what all arrays share.
func (e *export) prepare(ctx context.Context) error {
	if e.opts.Regular {
		if err := e.regularize(); err != nil {
			return err
		}
	}
	if err := e.checkNames(); err != nil {
		return err
	}
	var err error
	if e.docs, err = e.translate(); err != nil {
		return err
	}
	e.result.Format, e.result.Because, e.result.Arrays = e.docs.format, e.docs.because, len(e.arrays)
	e.paths = &paths{source: e.source, last: -1}
	total := int64(0)
	for _, a := range e.arrays {
		total += a.Grid().Chunks()
	}
	e.seen = progress.New(e.opts.Progress, total)
	e.patches, err = e.newSideFile(ctx)
	return err
}

// checkNames refuses arrays and groups whose names mean something else among references.
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
		return fmt.Errorf("%q is no path of an array or a group", name)
	}
	if e.isJSON() {
		return nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".z") || part == patchesName {
			return fmt.Errorf("%s: a name like %s is no array's in Parquet references; rename it, or write .json: %w", name, part, errors.ErrUnsupported)
		}
	}
	return nil
}
