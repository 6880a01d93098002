package draft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/export/internal/dest"
	"varve/manifest/repo"
	"varve/readers/source"
)

// away is where a draft goes that is to stand in an object store. A file is stored in place of
// what was there when the draft was made. The files of a folder have the same names whoever
// exports, so that it is claimed; the one that leads to the others goes first of what was there,
// and comes last of what is to be.
type away struct {
	*dest.Prefix
	key     string // of a file
	version string // of it, when the draft was made
	claim   *dest.Claim
	alone   bool // the claim was all that there was when it was taken
}

// NewFile is New of a draft that is to stand somewhere as a file, in a folder or in an object
// store.
func NewFile(ctx context.Context, name string) (*Draft, error) {
	if !source.IsObject(name) {
		return New(name)
	}
	p, key, err := dest.OpenOf(ctx, name)
	if err != nil {
		return nil, err
	}
	err = p.Heeds(ctx, key+".check")
	var version string
	if err == nil {
		version, err = p.Version(ctx, key)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return newAway(name, &away{Prefix: p, key: key, version: version})
}

// NewFolder is New of a draft that is to stand somewhere as a folder, or as a prefix of an
// object store. What goes on goes by the context that is returned.
func NewFolder(ctx context.Context, name string) (*Draft, context.Context, error) {
	if !source.IsObject(name) {
		d, err := New(name)
		return d, ctx, err
	}
	p, err := dest.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	claim, ctx, err := p.Claim(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	a := &away{Prefix: p, claim: claim}
	if a.alone, err = a.isAlone(ctx); err != nil {
		return nil, nil, a.discard(err)
	}
	d, err := newAway(name, a)
	return d, ctx, err
}

// isAlone reports whether there is nothing but the claim.
func (a *away) isAlone(ctx context.Context) (bool, error) {
	names, err := a.Top(ctx)
	return len(names) == 1, err
}

// CheckFree is an fs.ErrExist of a name where something stands that a file is not to replace:
// anything, or what is no file: a device, or a folder, which is what keys go on behind in an
// object store.
func CheckFree(ctx context.Context, name string, replace bool) (err error) {
	if !source.IsObject(name) {
		if info, err := os.Lstat(name); err == nil && (!replace || info.Mode().Type()&^fs.ModeSymlink != 0) {
			return &manifest.ExistsError{Name: name}
		}
		return nil
	}
	p, key, err := dest.OpenOf(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if !replace {
		if has, err := p.Has(ctx, key); has || err != nil {
			return cmp.Or[error](err, &manifest.ExistsError{Name: name})
		}
	}
	for _, err := range p.Walk(ctx, key+"/") {
		return cmp.Or[error](err, &manifest.ExistsError{Name: name + "/"})
	}
	return nil
}

func newAway(name string, a *away) (*Draft, error) {
	local := filepath.Join(os.TempDir(), filepath.Base(strings.TrimSuffix(name, "/")))
	_ = sweep(local, "") // others use the folder too, whose drafts are not for us to remove
	d, err := begin(local, 0o700)
	if err != nil {
		return nil, a.discard(err)
	}
	d.away = a
	return d, nil
}

// discard gives the place back, of an export that ended with an error.
func (a *away) discard(err error) error {
	if a.claim != nil {
		err = a.claim.Release(err)
	}
	return errors.Join(err, a.Close())
}

// storedAtOnce is how many files are stored at a time.
const storedAtOnce = 8

// publish stores the files of a folder, one of them last. What was there when the place was
// claimed goes; what somebody stored since, who does not heed claims, is not for us to remove.
func (a *away) publish(ctx context.Context, dir, last string) error {
	if a.alone {
		if alone, err := a.isAlone(ctx); err != nil || !alone {
			return cmp.Or(err, fmt.Errorf("%s: %w: somebody else wrote there meanwhile; look what it is, and export to another place", a.Name(""), repo.ErrConflict))
		}
	}
	a.claim.Dirty()
	if err := a.Clear(ctx, last); err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(storedAtOnce)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || within.Err() != nil {
			return err
		}
		key, err := filepath.Rel(dir, path)
		if key = filepath.ToSlash(key); err == nil && key != last {
			group.Go(func() error {
				return withFile(path, func(f file) error { return a.Put(within, key, f, f.size) })
			})
		}
		return err
	})
	if err := errors.Join(group.Wait(), err); err != nil {
		return err
	}
	return withFile(filepath.Join(dir, last), func(f file) error { return a.Publish(ctx, last, f, "") })
}

// file is one of the draft's.
type file struct {
	*os.File
	size int64
}

// Size is how long it is.
func (f file) Size() int64 { return f.size }

func withFile(path string, do func(file) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = do(file{f, info.Size()})
	}
	return errors.Join(err, f.Close())
}

// publishFile stores a file: in place of what was there when the draft was made, if that is what
// it was made of, or whatever is there.
func (a *away) publishFile(ctx context.Context, path, key string, replace bool) error {
	return withFile(path, func(f file) error {
		version := a.version
		switch {
		case key != a.key:
			return a.Put(ctx, key, f, f.size)
		case !replace:
			version = ""
		}
		return a.Publish(ctx, key, f, version)
	})
}
