package icechunk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"varve/manifest"
	"varve/manifest/export/internal/gribcodec"
	"varve/manifest/internal/change"
	"varve/manifest/internal/home"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
)

// Options configure an export. Zero values select the defaults.
type Options struct {
	// Replace replaces an existing repository with all its history.
	Replace bool
	// Branch is the branch to commit to; empty means main. A new repository has only main.
	Branch string
	// Message is the message of the commit; empty means one that names the exported snapshot.
	Message string
	// Manifest is the repository from which the store was opened. It is needed to append, because appending
	// compares snapshots.
	Manifest *repo.Repository
	// ManifestRefs is the maximum number of refs in a manifest; 0 means 65,536.
	ManifestRefs int64
	// ManifestChunks cuts manifests along dimensions, by their names: after each of these numbers of chunks begins another. A reader
	// of a part of an array then gets the manifests of that part only.
	ManifestChunks map[string]int64
	// InlineBytes is the maximum size of a chunk that is stored in a manifest instead of an object; 0 means
	// 512, as in Icechunk.
	InlineBytes int
	// Rectilinear lets an update change regular chunk grids to rectilinear ones.
	Rectilinear bool
	// Workers is the number of concurrent manifest writers; 0 means GOMAXPROCS.
	Workers int
	// GRIBCodec is the codec by which readers decode GRIB messages: "gribberish", or empty to re-encode them for
	// all readers. With a codec, an existing repository has to be replaced.
	GRIBCodec string
	// Containers are named places of sources.
	Containers []Container
	// S3 is stored in the repository's configuration, for sources in S3 buckets.
	S3 S3
	// Progress is called from time to time, by one goroutine at a time.
	Progress func(done, total int64)

	named  []named // Containers
	random io.Reader
	clock  func() time.Time
}

// Result describes an export.
type Result struct {
	Counts              // refs in new manifests
	Snapshot   string   // id of the commit, or of the existing one if nothing changed
	Appended   bool     // whether the repository existed
	Unchanged  bool     // whether there was nothing to commit
	Manifests  int      // number of written manifests
	Bytes      int64    // size of the written manifests
	Containers []string // prefixes that readers have to allow
	// GRIBVerbatim lists the arrays of GRIB messages that are declared with Options.GRIBCodec. GRIBReencoded lists the
	// arrays that are re-encoded, because the codec would give other values.
	GRIBVerbatim, GRIBReencoded []string
}

const (
	defaultBranch = "main"
	defaultRefs   = 1 << 16
	defaultInline = 512
)

func (o *Options) defaults() *Options {
	d := Options{}
	if o != nil {
		d = *o
	}
	if d.Branch == "" {
		d.Branch = defaultBranch
	}
	if d.ManifestRefs <= 0 {
		d.ManifestRefs = defaultRefs
	}
	if d.InlineBytes <= 0 {
		d.InlineBytes = defaultInline
	}
	if d.clock == nil {
		d.clock = time.Now
	}
	return &d
}

// Write exports a store to an Icechunk repository in a local folder or below a prefix of an object store.
//
// A new repository appears when it is complete. If varve created the existing repository from an earlier
// snapshot of the same manifest, the changes are committed on top; history, tags and commits of other writers
// stay. Write fails without changes if anything else exists at dest, or if another writer has changed an
// array that the commit would change.
func Write(ctx context.Context, s *store.Store, dest string, opts *Options) (*Result, error) {
	if err := s.Snapshot().CheckNames(); err != nil {
		return nil, err
	}
	o := opts.defaults()
	if o.Replace {
		if err := s.CheckReplaced(ctx, dest); err != nil {
			return nil, err
		}
	}
	arrays, messages, err := gribArrays(ctx, s, o.GRIBCodec)
	if err != nil {
		return nil, err
	}
	in := storeInput(s, arrays)
	result, err := writeInput(ctx, in, dest, o)
	if result != nil {
		result.GRIBVerbatim, result.GRIBReencoded = messages.Verbatim, messages.Reencoded
	}
	return result, err
}

// gribArrays returns the arrays of a store. Arrays of GRIB messages are declared with the codec where it gives the right values.
func gribArrays(ctx context.Context, s *store.Store, c string) ([]*store.Array, gribcodec.Result, error) {
	if c == string(gribcodec.Kerchunk) {
		return nil, gribcodec.Result{}, fmt.Errorf("GRIB codec %s: kerchunk's codec works in Zarr format 2, and Icechunk has format 3: %w", c, errors.ErrUnsupported)
	}
	return gribcodec.Apply(ctx, s, gribcodec.Codec(c))
}

func writeInput(ctx context.Context, in *input, dest string, o *Options) (*Result, error) {
	if o.Manifest == nil {
		return write(ctx, in, dest, o, nil)
	}
	h := change.NewPlaces(o.Manifest)
	result, err := write(ctx, in, dest, o, h)
	return result, errors.Join(err, h.Close())
}

func write(ctx context.Context, in *input, dest string, o *Options, p change.Past) (_ *Result, err error) {
	e := &export{in: in, opts: o, past: p}
	if err := source.CheckWritable(dest); err != nil {
		return nil, err
	}
	if o.named, err = containersOf(o.Containers); err != nil {
		return nil, err
	}
	if source.IsObject(dest) {
		return e.exportToStore(ctx, dest)
	}
	dest = filepath.Clean(dest)
	is, err := inspect(dest)
	if err != nil {
		return nil, err
	}
	switch {
	case is == somethingElse:
		return nil, notRepository(dest)
	case is == repository && !o.Replace && o.GRIBCodec != "":
		return nil, &manifest.ExistsError{Name: dest}
	case is == repository && !o.Replace:
		return e.appendTo(ctx, home.At(dest))
	default:
		return e.create(ctx, dest, is == repository)
	}
}

func notRepository(dest string) error {
	return fmt.Errorf("%s exists and is not an Icechunk repository; export to another folder: %w", dest, manifest.ErrForeign)
}

// destination is the kind of content at the destination.
type destination uint8

const (
	nothing destination = iota
	repository
	leftovers // files of a repository without the file repo
	somethingElse
)

func inspect(dest string) (destination, error) {
	if strings.Contains(dest, "://") || strings.HasPrefix(dest, "s3:/") {
		return 0, fmt.Errorf("%s: want a local folder, s3://, gs:// or az://: %w", dest, errors.ErrUnsupported)
	}
	entries, err := os.ReadDir(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return nothing, nil
	case err != nil:
		return 0, err
	}
	for _, name := range []string{repoKey, filepath.Join("refs", "branch.main")} {
		if _, err := os.Stat(filepath.Join(dest, name)); err == nil {
			return repository, nil
		}
	}
	return somethingElse, nil
}

// export is one call of Write.
type export struct {
	in   *input
	opts *Options
	past change.Past
}

// create writes a new repository next to its destination and renames it when it is complete.
func (e *export) create(ctx context.Context, dest string, replace bool) (result *Result, err error) {
	if err := e.checkBranch(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return nil, err
	}
	d, err := home.NewStage(dest)
	if err != nil {
		return nil, err
	}
	defer func() { err = d.Discard(err) }()
	c := e.commit(home.At(d.Path()))
	if result, err = c.whole(ctx); err != nil {
		return nil, err
	}
	file, err := c.encodeRepo()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.home.Put(ctx, repoKey, file, home.Flushed), c.home.Settle()); err != nil {
		return nil, err
	}
	return result, d.Publish(ctx, repoKey, replace)
}

func (e *export) checkBranch() error {
	if e.opts.Branch != defaultBranch {
		return fmt.Errorf("a new repository has only the branch %s; %q does not exist", defaultBranch, e.opts.Branch)
	}
	return nil
}

// whole writes a repository except for the file repo.
func (c *commit) whole(ctx context.Context) (*Result, error) {
	if err := c.first(ctx); err != nil {
		return nil, err
	}
	result, err := c.run(ctx)
	c.repo.backup(c.initial)
	return result, err
}

// exportToStore exports to an object store.
func (e *export) exportToStore(ctx context.Context, name string) (result *Result, err error) {
	p, err := home.OpenPrefix(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = p.Close(err) }()
	is, err := destinationIn(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case is == somethingElse:
		return nil, notRepository(name)
	case is == leftovers && !e.opts.Replace:
		return nil, fmt.Errorf("%s contains parts of a repository, or of an export that was stopped or is still running; export to another place or replace it: %w", name, fs.ErrExist)
	}
	if err := p.Heeds(ctx, overwrittenFolder+"/check"); err != nil {
		return nil, err
	}
	if is == repository && !e.opts.Replace {
		return e.appendTo(ctx, p)
	}
	return e.createInStore(ctx, p)
}

// createInStore writes a repository in place, repo last. The files of a replaced repository stay until then,
// and are removed when no reader can find them any more. Files that other writers add in the meantime are not
// removed; if one of them is repo, the export fails.
func (e *export) createInStore(ctx context.Context, p *home.Prefix) (result *Result, err error) {
	if err := e.checkBranch(); err != nil {
		return nil, err
	}
	var was fetched
	if was.version, err = p.Version(ctx, repoKey); err != nil {
		return nil, err
	}
	var old []string
	for key, err := range p.Walk(ctx, "") {
		if err != nil {
			return nil, err
		}
		if key != repoKey && !strings.HasSuffix(key, "/"+firstSnapshot.String()) {
			old = append(old, key)
		}
	}
	// List the old files before writing, so that the new ones are not among them.
	c := e.commit(p)
	if result, err = c.whole(ctx); err == nil {
		err = c.swap(ctx, was)
	}
	if err != nil {
		return nil, c.takeBack(ctx, err)
	}
	_, err = p.Remove(ctx, old...)
	return result, err
}

func lastSlash(path string) int { return strings.LastIndexByte(path, '/') }
