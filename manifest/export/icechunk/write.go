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
	"varve/manifest/export/internal/dest"
	"varve/manifest/export/internal/draft"
	"varve/manifest/internal/change"
	"varve/manifest/store"
	"varve/readers/source"
)

// Options say how an export is written. What is zero is as the field says.
type Options struct {
	// Replace has a repository that stands there replaced, with all its history.
	Replace bool
	// Branch is what is committed to; empty for main. A repository that is made has only main.
	Branch string
	// Message is that of the commit; empty for one that says which snapshot was exported.
	Message string
	// Manifest is the manifest that the store was opened from. Without it nothing can be
	// appended, as nobody knows what was exported before.
	Manifest *manifest.Repository
	// ManifestRefs is how many refs a manifest may hold; 0 stands for 65,536.
	ManifestRefs int64
	// InlineBytes is the size up to which a chunk that is not in a source is kept in a
	// manifest, and not as an object of its own; 0 stands for 512, as in Icechunk.
	InlineBytes int
	// Workers is how many manifests are written at a time; 0 stands for GOMAXPROCS.
	Workers int
	// S3 is put into the configuration for chunks in buckets.
	S3 S3
	// Progress is told how many chunks are done, now and then, by one goroutine at a time.
	Progress func(done, total int64)

	random io.Reader
	clock  func() time.Time
}

// Result is what was written.
type Result struct {
	Counts              // of refs in new manifests
	Snapshot   string   // the id of the commit, or of the one that holds all of it already
	Appended   bool     // to a repository that was there
	Unchanged  bool     // there was nothing to commit
	Manifests  int      // that were written
	Bytes      int64    // of these
	Containers []string // the prefixes that a reader has to allow
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

// Write exports what a store holds to an Icechunk repository in a local folder, or below a
// prefix of an object store.
//
// If there is none it is made, and appears when all of it is written. If varve made it from
// an earlier snapshot of the same manifest, what is new is committed on top: history, tags,
// and what others committed stay. Anything else that stands there is left alone, and an
// error, as is a commit of somebody else to an array that would have to be written.
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
	in := storeInput(s)
	if o.Manifest == nil {
		return write(ctx, in, dest, o, nil)
	}
	h := change.NewPlaces(o.Manifest)
	result, err := write(ctx, in, dest, o, h)
	return result, errors.Join(err, h.Close())
}

func write(ctx context.Context, in *input, dest string, o *Options, p change.Past) (*Result, error) {
	e := &export{in: in, opts: o, past: p}
	if source.IsObject(dest) {
		return e.away(ctx, dest)
	}
	dest = filepath.Clean(dest)
	is, err := standing(dest)
	if err != nil {
		return nil, err
	}
	switch {
	case is == somethingElse:
		return nil, noRepository(dest)
	case is == repository && !o.Replace:
		return e.appendTo(ctx, openFolder(dest))
	default:
		return e.create(ctx, dest, is == repository)
	}
}

func noRepository(dest string) error {
	return fmt.Errorf("%s is there and is no Icechunk repository: export to another folder: %w", dest, manifest.ErrForeign)
}

// standing is what stands where an export is to go.
type standsThere uint8

const (
	nothing standsThere = iota
	repository
	leftovers // what a repository has but for the file repo
	somethingElse
)

func standing(dest string) (standsThere, error) {
	if strings.Contains(dest, "://") || strings.HasPrefix(dest, "s3:/") {
		return 0, fmt.Errorf("%s: repositories are written to local folders and to s3://, gs:// and az://: %w", dest, errors.ErrUnsupported)
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

// create writes a whole repository beside where it is to stand, and moves it there.
func (e *export) create(ctx context.Context, dest string, replace bool) (result *Result, err error) {
	if err := e.checkBranch(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return nil, err
	}
	d, err := draft.New(dest)
	if err != nil {
		return nil, err
	}
	defer func() { err = d.Discard(err) }()
	c := e.commit(openFolder(d.Path()))
	if result, err = c.whole(ctx); err != nil {
		return nil, err
	}
	file, err := c.encodeRepo()
	if err != nil {
		return nil, err
	}
	if err := c.home.create(ctx, file, repoKey); err != nil {
		return nil, err
	}
	return result, d.Publish(ctx, repoKey, replace)
}

func (e *export) checkBranch() error {
	if e.opts.Branch != defaultBranch {
		return fmt.Errorf("a new repository has only the branch %s, and not %q", defaultBranch, e.opts.Branch)
	}
	return nil
}

// whole writes all of a repository but the file that says that it is there.
func (c *commit) whole(ctx context.Context) (*Result, error) {
	if err := c.first(ctx); err != nil {
		return nil, err
	}
	result, err := c.run(ctx)
	c.repo.backup(c.initial)
	return result, err
}

// away exports to an object store.
func (e *export) away(ctx context.Context, name string) (result *Result, err error) {
	at, err := dest.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	p := prefix{at}
	is, err := p.standing(ctx)
	switch {
	case err != nil:
		return nil, err
	case is == somethingElse:
		return nil, noRepository(name)
	case is == leftovers && !e.opts.Replace:
		return nil, fmt.Errorf("%s holds what is left of a repository, or of an export that was stopped or is under way: export to another place, or replace it: %w", name, fs.ErrExist)
	}
	if err := p.Heeds(ctx, overwrittenFolder+"/check"); err != nil {
		return nil, err
	}
	if is == repository && !e.opts.Replace {
		return e.appendTo(ctx, p)
	}
	return e.createAway(ctx, p)
}

// createAway writes a repository where it is to stand, repo last. What it replaces is there until
// then, and is removed when nobody can come to it any more. What others write meanwhile is not
// among that; if it is to become the repository, it fails.
func (e *export) createAway(ctx context.Context, p prefix) (result *Result, err error) {
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
	c := e.commit(p)
	if result, err = c.whole(ctx); err == nil {
		err = c.swap(ctx, was)
	}
	if err != nil {
		return nil, c.takeBack(ctx, err)
	}
	return result, p.RemoveThese(ctx, old...)
}

func lastSlash(path string) int { return strings.LastIndexByte(path, '/') }
