// Package dest is where exports go that do not stay on this machine: prefixes of object stores.
//
// There a folder cannot be made beside where it is to stand, and be renamed. What takes the
// place of that is an order: first objects that nothing leads to, last the one that has readers
// find them, and that one on condition, so that of several exporters one wins:
//
//	PREFIX/c/0/0, PREFIX/manifests/…   nobody looks for them yet
//	PREFIX/zarr.json, PREFIX/repo      Place.Replace: in place of what was seen, or of nothing
//
// Where objects have names that only their exporter knows that is all there is to it. Where
// names are the same whoever exports, a Claim keeps others away meanwhile.
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
	"os"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"varve/manifest/repo"
	"varve/readers/source"
)

// Prefix is where an export goes. It may be used by any number of goroutines.
type Prefix struct {
	*source.Place
	opener *source.Opener
	claim  atomic.Pointer[Claim] // without which nothing is stored or removed; nil if there is none to hold
}

// Open returns the prefix of a name such as s3://bucket/name. It asks nobody for anything.
func Open(ctx context.Context, name string) (*Prefix, error) {
	opener := source.NewOpener(nil)
	place, err := opener.Place(ctx, name)
	if err != nil {
		return nil, errors.Join(err, opener.Close())
	}
	return &Prefix{Place: place, opener: opener}, nil
}

// OpenOf returns the prefix that an object is in, and its key there.
func OpenOf(ctx context.Context, name string) (*Prefix, string, error) {
	opener := source.NewOpener(nil)
	place, key, err := opener.PlaceOf(ctx, name)
	if err != nil {
		return nil, "", errors.Join(err, opener.Close())
	}
	return &Prefix{Place: place, opener: opener}, key, nil
}

// Close ends all connections.
func (p *Prefix) Close() error { return p.opener.Close() }

// held is an error if the prefix was claimed, and the claim is lost.
func (p *Prefix) held() error {
	if c := p.claim.Load(); c != nil {
		return c.check()
	}
	return nil
}

// Put is that of the place, while a claim is held.
func (p *Prefix) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if err := p.held(); err != nil {
		return err
	}
	return p.Place.Put(ctx, key, content, size)
}

// Remove is that of the place, while a claim is held.
func (p *Prefix) Remove(ctx context.Context, key string) error {
	if err := p.held(); err != nil {
		return err
	}
	return p.Place.Remove(ctx, key)
}

// Store stores an object, whatever was there.
func (p *Prefix) Store(ctx context.Context, key string, data []byte) error {
	return p.Put(ctx, key, bytes.NewReader(data), int64(len(data)))
}

// Publish stores the object that has readers find the others, in place of a version, or of none.
func (p *Prefix) Publish(ctx context.Context, key string, content Content, version string) error {
	if err := p.held(); err != nil {
		return err
	}
	err := p.Replace(ctx, key, content, content.Size(), version)
	if errors.Is(err, source.ErrConflict) {
		return fmt.Errorf("%s: %w: somebody else wrote it meanwhile; look what it is, and export again: %w", p.Name(key), repo.ErrConflict, err)
	}
	return err
}

// Heeds sees whether the store heeds conditions, without which two exporters could both win, by
// way of an object that is nobody else's.
func (p *Prefix) Heeds(ctx context.Context, start string) error {
	key := start + "-" + rand.Text()
	err := p.Check(ctx, key, key)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return cmp.Or(err, p.RemoveThese(ctx, key))
}

// Content is what an object is to hold.
type Content interface {
	io.ReaderAt
	Size() int64
}

// Stream stores an object that somebody writes: by way of a temporary file, as parts can only
// be sent again, and their sizes told, if they are somewhere.
func (p *Prefix) Stream(ctx context.Context, key string, write func(io.Writer) error) (err error) {
	f, err := Temporary()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Discard(f)) }()
	if err := write(f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return p.Put(ctx, key, f, info.Size())
}

// Temporary makes a file that is gone when it is discarded, and when its process is killed.
func Temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "varve-export-")
	if err == nil {
		_ = os.Remove(f.Name()) // which not every system does of a file that is open
	}
	return f, err
}

// Discard closes a temporary file, and removes it where that could not be done before.
func Discard(f *os.File) error {
	err := f.Close()
	if removed := os.Remove(f.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// removedAtOnce is how many objects are removed at a time.
const removedAtOnce = 16

// RemoveAll removes objects, those of them that are there.
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

// RemoveThese is RemoveAll of keys that are known.
func (p *Prefix) RemoveThese(ctx context.Context, keys ...string) error {
	return p.RemoveAll(ctx, func(yield func(string, error) bool) {
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	})
}

// Clear removes all that is there but a claim: what has readers find it first, key by key.
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

// maxTop bounds what Top returns.
const maxTop = 1000

// Top returns the names of what lies directly below the prefix, with a slash behind those of
// folders: a good many, if there are more.
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

// IsRest reports whether what varve keeps in a prefix, where readers find nothing, is no more than
// the claim of an export that was stopped: what else is there is its rest then.
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

// Has reports whether there is an object.
func (p *Prefix) Has(ctx context.Context, key string) (bool, error) {
	_, err := p.Stat(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
