// Package dest writes exports to prefixes of object stores.
//
// A prefix cannot be written under another name and then renamed, as a folder can. Instead, the
// order of writing matters. Data objects come first. The object through which readers find them
// comes last, and is stored on condition, so that only one of several exporters wins:
//
//	PREFIX/c/0/0, PREFIX/manifests/…   readers do not look for these yet
//	PREFIX/zarr.json, PREFIX/repo      Place.Replace: replaces a known version, or creates the object
//
// That suffices if each exporter chooses its own names of data objects. If all exporters use the
// same names, a Claim excludes other exporters.
package dest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"varve/manifest/repo"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// Prefix is the destination of an export. Any number of goroutines may use it.
type Prefix struct {
	*source.Place
	opener *source.Opener
	claim  atomic.Pointer[Claim] // must be held for storing and removing; nil if the prefix was not claimed
}

// Open returns the prefix of a name such as s3://bucket/name. It sends no request.
func Open(ctx context.Context, name string) (*Prefix, error) {
	opener := source.NewOpener(nil)
	place, err := opener.Place(ctx, name)
	if err != nil {
		return nil, errors.Join(err, opener.Close())
	}
	return &Prefix{Place: place, opener: opener}, nil
}

// OpenOf returns the prefix that contains an object, and the key of the object.
func OpenOf(ctx context.Context, name string) (*Prefix, string, error) {
	opener := source.NewOpener(nil)
	place, key, err := opener.PlaceOf(ctx, name)
	if err != nil {
		return nil, "", errors.Join(err, opener.Close())
	}
	return &Prefix{Place: place, opener: opener}, key, nil
}

// Close closes all connections.
func (p *Prefix) Close() error { return p.opener.Close() }

// held returns an error if the prefix was claimed and the claim is lost.
func (p *Prefix) held() error {
	if c := p.claim.Load(); c != nil {
		return c.check()
	}
	return nil
}

// Put is Place.Put. It fails if a claim is lost.
func (p *Prefix) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if err := p.held(); err != nil {
		return err
	}
	return p.Place.Put(ctx, key, content, size)
}

// Remove is Place.Remove. It fails if a claim is lost.
func (p *Prefix) Remove(ctx context.Context, key string) error {
	if err := p.held(); err != nil {
		return err
	}
	return p.Place.Remove(ctx, key)
}

// Store stores an object, or replaces it.
func (p *Prefix) Store(ctx context.Context, key string, data []byte) error {
	return p.Put(ctx, key, bytes.NewReader(data), int64(len(data)))
}

// Publish stores the object through which readers find the others. It replaces the given version; an empty version means
// that the object must not exist.
func (p *Prefix) Publish(ctx context.Context, key string, content Content, version string) error {
	if err := p.held(); err != nil {
		return err
	}
	err := p.Replace(ctx, key, content, content.Size(), version)
	if errors.Is(err, source.ErrConflict) {
		return fmt.Errorf("%s: %w: another process wrote it during this export; check its content and export again: %w", p.Name(key), repo.ErrConflict, err)
	}
	return err
}

// patience is the time limit for cleaning up.
const patience = 10 * time.Second

// Heeds returns an error if the store ignores conditions, since then two exporters could both win. It tries a condition on
// an object with a random name.
func (p *Prefix) Heeds(ctx context.Context, start string) error {
	key := start + "-" + rand.Text()
	err := p.Check(ctx, key, key)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return cmp.Or(err, p.RemoveThese(ctx, key))
}

// Content is the content of an object.
type Content interface {
	io.ReaderAt
	Size() int64
}

// Stream stores an object that write writes. It keeps the content in a temporary file, because uploads need the size first
// and may have to send parts again.
func (p *Prefix) Stream(ctx context.Context, key string, write func(io.Writer) error) (err error) {
	f, err := atomicfile.NewTemporary("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return p.Put(ctx, key, f, info.Size())
}

// removedAtOnce is the number of concurrent removals.
const removedAtOnce = 16

// RemoveAll removes objects. It ignores objects that do not exist.
func (p *Prefix) RemoveAll(ctx context.Context, keys iter.Seq2[string, error]) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(removedAtOnce)
	for key, err := range keys {
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			err := p.Remove(within, key)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}

// RemoveThese is RemoveAll for a list of keys.
func (p *Prefix) RemoveThese(ctx context.Context, keys ...string) error {
	return p.RemoveAll(ctx, func(yield func(string, error) bool) {
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	})
}

// Clear removes all objects except a claim. The objects in first go first, one after another, so that readers do not find
// the rest.
func (p *Prefix) Clear(ctx context.Context, first ...string) error {
	for _, key := range first {
		if err := p.RemoveThese(ctx, key); err != nil {
			return err
		}
	}
	return p.RemoveAll(ctx, func(yield func(string, error) bool) {
		for key, err := range p.Walk(ctx, "") {
			if key != ClaimKey && !yield(key, err) {
				return
			}
		}
	})
}

// maxTop bounds the number of names that Top returns.
const maxTop = 1000

// Top returns the names directly below the prefix, in ascending order and at most maxTop. Names of folders end with a slash.
func (p *Prefix) Top(ctx context.Context) (names []string, err error) {
	for e, err := range p.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		name := e.Name
		if e.Folder {
			name += "/"
		}
		if names = append(names, name); len(names) >= maxTop {
			break
		}
	}
	slices.Sort(names)
	return names, nil
}

// IsRest reports whether varve's folder in the prefix has nothing except the claim of a stopped export. If readers find no
// export there either, all objects of the prefix are the rest of that export.
func (p *Prefix) IsRest(ctx context.Context) (bool, error) {
	n := 0
	for key, err := range p.Walk(ctx, Folder+"/") {
		if err != nil || key != ClaimKey {
			return false, err
		}
		n++
	}
	return n > 0, nil
}

// Has reports whether an object exists.
func (p *Prefix) Has(ctx context.Context, key string) (bool, error) {
	_, err := p.Stat(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
