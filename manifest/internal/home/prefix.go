package home

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// Prefix is a prefix of an object store. It cannot be written under another name and then renamed, as a folder can. So the
// order of writing matters: data objects come first. The object through which readers find them comes last, and is stored on
// condition, so that only one of several writers wins.
//
// That suffices if each writer chooses its own keys of data objects. If all writers use the same keys, Claim excludes others.
type Prefix struct {
	*source.Place
	opener  *source.Opener
	isOwner bool            // the opener is closed with the prefix
	life    context.Context // ends reads of opened files
	small   smallFiles

	claim atomic.Pointer[Lease] // must be held for storing and removing; nil if the prefix is not claimed
	dirty atomic.Bool           // the claimed prefix has changes
}

// OpenPrefix returns the prefix of a name such as s3://bucket/name. It sends no request. Reads of opened files end with ctx.
// The opener may be nil.
func OpenPrefix(ctx context.Context, name string, opener *source.Opener) (*Prefix, error) {
	p := newPrefix(ctx, opener)
	var err error
	if p.Place, err = p.opener.Place(ctx, name); err != nil {
		return nil, p.Close(err)
	}
	return p, nil
}

// PrefixOf returns the prefix that contains an object, and the key of the object.
func PrefixOf(ctx context.Context, name string) (p *Prefix, key string, err error) {
	p = newPrefix(ctx, nil)
	if p.Place, key, err = p.opener.PlaceOf(ctx, name); err != nil {
		return nil, "", p.Close(err)
	}
	return p, key, nil
}

func newPrefix(ctx context.Context, opener *source.Opener) *Prefix {
	p := &Prefix{opener: opener, isOwner: opener == nil, life: ctx}
	if p.isOwner {
		p.opener = source.NewOpener(nil)
	}
	return p
}

// Close releases a claim and closes all connections. err is the error of the work in the prefix. Close returns it, or the
// reason if the claim was lost.
func (p *Prefix) Close(err error) error {
	if l := p.claim.Swap(nil); l != nil {
		if lost := l.Release(err != nil && p.dirty.Load()); lost != nil {
			err = fmt.Errorf("%s: %w", p.Name(""), lost)
		}
	}
	if !p.isOwner {
		return err
	}
	return closed(err, p.opener.Close())
}

// closed returns the errors of some work and of closing what it used.
func closed(err, failed error) error {
	if failed == nil {
		return err
	}
	return errors.Join(err, failed)
}

// ClaimKey is the key of the claim.
const ClaimKey = StateFolder + "/claim"

// errLost is the error of a claim that expired or that another process took.
var errLost = fmt.Errorf("%w: this export was suspended, or did not reach the store, for so long that another export may have begun: export again", ErrBusy)

// Claim reserves the prefix until it is closed, or returns ErrBusy. It checks that the store respects conditions. Write with
// the returned context: it is cancelled when the claim is lost. After that, the prefix stores and removes nothing.
//
// If the process is killed, the claim expires. If the work fails after it changed the prefix, the claim stays as an empty
// object: the other objects are the rest of that work.
func (p *Prefix) Claim(ctx context.Context) (context.Context, error) {
	l, err := Take(ctx, p.Place, ClaimKey, errLost)
	if errors.Is(err, ErrHeld) {
		err = fmt.Errorf("%s: %w there, or was killed less than %s ago (%s): wait, or export to another place", p.Name(""), ErrBusy, Life, p.Name(ClaimKey))
	}
	if err != nil {
		return nil, err
	}
	p.dirty.Store(l.TookOver()) // the prefix has the rest of another export
	p.claim.Store(l)
	return l.Context(), nil
}

// Dirty notes that the claimed prefix is about to be changed.
func (p *Prefix) Dirty() { p.dirty.Store(true) }

// IsLost reports whether another process may have the claim by now.
func (p *Prefix) IsLost() bool { return p.held() != nil }

// held returns an error if the prefix was claimed and the claim is lost.
func (p *Prefix) held() error {
	if l := p.claim.Load(); l != nil {
		if err := l.Held(); err != nil {
			return fmt.Errorf("%s: %w", p.Name(""), err)
		}
	}
	return nil
}

// Content is the content of an object.
type Content interface {
	io.ReaderAt
	Size() int64
}

// Put stores an object, or replaces it.
func (p *Prefix) Put(ctx context.Context, key string, data []byte, _ How) error {
	return p.PutContent(ctx, key, bytes.NewReader(data))
}

// PutContent is Put for content that is not in memory.
func (p *Prefix) PutContent(ctx context.Context, key string, content Content) error {
	if err := p.held(); err != nil {
		return err
	}
	return p.Place.Put(ctx, key, content, content.Size())
}

// Write stores an object that write writes. It keeps the content in a temporary file, because uploads need the size first
// and may have to send parts again.
func (p *Prefix) Write(ctx context.Context, key string, _ How, write func(io.Writer) error) (err error) {
	f, err := atomicfile.NewTemporary("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return p.PutContent(ctx, key, io.NewSectionReader(f, 0, size))
}

// Settle returns at once, because stored objects are durable.
func (p *Prefix) Settle() error { return nil }

// Replace stores an object if it has a version.
func (p *Prefix) Replace(ctx context.Context, key string, data []byte, version string) (string, error) {
	now, err := p.replace(ctx, key, bytes.NewReader(data), version)
	if err != nil || now != "" {
		return now, err
	}
	// The answer had no version.
	is, now, err := p.ReadVersion(ctx, key, maxDocument)
	if err == nil && !bytes.Equal(is, data) {
		err = fmt.Errorf("%s: %w", p.Name(key), source.ErrConflict)
	}
	return now, err
}

func (p *Prefix) replace(ctx context.Context, key string, content Content, version string) (string, error) {
	if err := p.held(); err != nil {
		return "", err
	}
	return p.Place.Replace(ctx, key, content, content.Size(), version)
}

// Publish stores the object through which readers find the others. It replaces the given version; an empty version means
// that the object must not exist.
func (p *Prefix) Publish(ctx context.Context, key string, content Content, version string) error {
	_, err := p.replace(ctx, key, content, version)
	return exportConflict(p.Name(key), err)
}

// exportConflict adds the advice for an export to a conflict.
func exportConflict(name string, err error) error {
	if !errors.Is(err, source.ErrConflict) {
		return err
	}
	return fmt.Errorf("%s: %w: another process wrote it during this export; check its content and export again: %w", name, ErrConflict, err)
}

// Publish replaces the file through which readers find the other files of an export.
func Publish(ctx context.Context, h Home, key string, data []byte, version string) error {
	_, err := h.Replace(ctx, key, data, version)
	return exportConflict(h.Name(key), err)
}

// Begin starts an object. Its draft is a temporary local file.
func (p *Prefix) Begin() (Draft, error) { return newSpool() }

// maxConcurrentPuts is the number of files that are uploaded at a time. Large files are uploaded in
// several concurrent parts.
const maxConcurrentPuts = 4

// Finish uploads drafts. It discards the local drafts only when all of them are uploaded, so that Finish
// can be called again after an error.
func (p *Prefix) Finish(ctx context.Context, drafts ...Named) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentPuts)
	for _, n := range drafts {
		group.Go(func() error {
			content, err := n.Draft.Open()
			if err != nil {
				return err
			}
			return errors.Join(p.PutContent(within, n.Key, content), content.Close())
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var all error
	for _, n := range drafts {
		all = errors.Join(all, n.Draft.Discard())
	}
	return all
}

// Remove removes objects, many with one request if the store can. If one of a request fails, none of it counts as removed.
func (p *Prefix) Remove(ctx context.Context, keys ...string) (int, error) {
	if err := p.held(); err != nil {
		return 0, err
	}
	return p.Place.RemoveAll(ctx, keys)
}

// Clear removes all objects except a claim. The objects in first go first, one after another, so that readers do not find
// the rest.
func (p *Prefix) Clear(ctx context.Context, first ...string) error {
	for _, key := range first {
		if _, err := p.Remove(ctx, key); err != nil {
			return err
		}
	}
	return RemoveAll(ctx, p, func(yield func(string, error) bool) {
		for key, err := range p.Walk(ctx, "") {
			if key != ClaimKey && !yield(key, err) {
				return
			}
		}
	})
}

// IsRest reports whether the prefix has no state except the claim of a stopped export. If readers find no export there
// either, all objects of the prefix are the rest of that export.
func (p *Prefix) IsRest(ctx context.Context) (bool, error) {
	n := 0
	for key, err := range p.Walk(ctx, StateFolder+"/") {
		if err != nil || key != ClaimKey {
			return false, err
		}
		n++
	}
	return n > 0, nil
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
	_, removed := p.Remove(ctx, key)
	return cmp.Or(err, removed)
}
