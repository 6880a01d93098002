package home

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
	"varve/readers/source"
)

// away is a destination in an object store. A file replaces the version that existed when the draft was made. A folder is
// claimed, because all exporters use the same names in it. The object through which readers find the others is the first
// that is removed, and the last that is stored.
type away struct {
	*Prefix
	key     string // of a file; empty for a folder
	version string // of the file, when the draft was made
	alone   bool   // only the claim existed when it was taken
}

// StageFile is NewStage for a file, in a local folder or in an object store.
func StageFile(ctx context.Context, name string) (*Stage, error) {
	if !source.IsObject(name) {
		return NewStage(name)
	}
	p, key, err := PrefixOf(ctx, name)
	if err != nil {
		return nil, err
	}
	err = p.Heeds(ctx, key+".check")
	var version string
	if err == nil {
		version, err = p.Version(ctx, key)
	}
	if err != nil {
		return nil, p.Close(err)
	}
	return newAway(name, &away{Prefix: p, key: key, version: version})
}

// StageFolder is NewStage for a local folder or a prefix of an object store. Export with the returned context: it is cancelled if
// the claim is lost.
func StageFolder(ctx context.Context, name string) (*Stage, context.Context, error) {
	if !source.IsObject(name) {
		d, err := NewStage(name)
		return d, ctx, err
	}
	p, err := OpenPrefix(ctx, name, nil)
	if err != nil {
		return nil, nil, err
	}
	ctx, err = p.Claim(ctx)
	a := &away{Prefix: p}
	if err == nil {
		a.alone, err = a.isAlone(ctx)
	}
	if err != nil {
		return nil, nil, p.Close(err)
	}
	d, err := newAway(name, a)
	return d, ctx, err
}

// isAlone reports whether the prefix has no object except the claim.
func (a *away) isAlone(ctx context.Context) (bool, error) {
	names, err := Top(ctx, a)
	return len(names) == 1, err
}

// CheckFree returns a manifest.ExistsError if a new file must not have a name. With replace, an existing file may be
// replaced, but not a device or a folder. In an object store, a name is a folder if keys continue after it with a slash.
func CheckFree(ctx context.Context, name string, replace bool) (err error) {
	if err := source.CheckWritable(name); err != nil {
		return err
	}
	if !source.IsObject(name) {
		if info, err := os.Lstat(name); err == nil && (!replace || info.Mode().Type()&^fs.ModeSymlink != 0) {
			return &manifest.ExistsError{Name: name}
		}
		return nil
	}
	p, key, err := PrefixOf(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = p.Close(err) }()
	if !replace {
		if has, err := Has(ctx, p, key); has || err != nil {
			return cmp.Or[error](err, &manifest.ExistsError{Name: name})
		}
	}
	for _, err := range p.Walk(ctx, key+"/") {
		return cmp.Or[error](err, &manifest.ExistsError{Name: name + "/"})
	}
	return nil
}

func newAway(name string, a *away) (*Stage, error) {
	local := filepath.Join(os.TempDir(), filepath.Base(strings.TrimSuffix(name, "/")))
	_ = sweep(local, "") // other users share the folder, and their drafts cannot be removed
	d, err := newStage(local, 0o700)
	if err != nil {
		return nil, a.Close(err)
	}
	d.away = a
	return d, nil
}

// storedAtOnce is the number of concurrent uploads.
const storedAtOnce = 8

// publish removes the former objects and stores the files of a folder, last at the end. If the prefix was empty when it was
// claimed, and is not empty now, another program ignores claims, and its objects are not removed: that is an error.
func (a *away) publish(ctx context.Context, dir, last string) error {
	if a.alone {
		if alone, err := a.isAlone(ctx); err != nil || !alone {
			return cmp.Or(err, fmt.Errorf("%s: %w: another program wrote there during this export; check the content and export to another place", a.Name(""), ErrConflict))
		}
	}
	a.Dirty()
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
				return withFile(path, func(f file) error { return a.PutContent(within, key, f) })
			})
		}
		return err
	})
	if err := errors.Join(group.Wait(), err); err != nil {
		return err
	}
	return withFile(filepath.Join(dir, last), func(f file) error { return a.Publish(ctx, last, f, "") })
}

// file is a file of the draft.
type file struct {
	*os.File
	size int64
}

// Size returns the length in bytes.
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

// publishFile stores a file. For the file of StageFile, replace replaces the version that existed when the draft was made;
// without replace, the file must not exist. A file with another key is stored unconditionally.
func (a *away) publishFile(ctx context.Context, path, key string, replace bool) error {
	return withFile(path, func(f file) error {
		version := a.version
		switch {
		case key != a.key:
			return a.PutContent(ctx, key, f)
		case !replace:
			version = ""
		}
		return a.Publish(ctx, key, f, version)
	})
}
