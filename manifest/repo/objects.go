package repo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/readers/source"
)

// objects stores a repository below a prefix of an object store. Drafts are temporary local files,
// which finish uploads. current is replaced by a conditional request that names its version, and no
// two states of it are equal:
//
//	{"varve":1,"snapshot":"ID","write":"…"}
//	{"varve":1,"snapshot":"ID","write":"…","sweeping":true}     a GC is removing files
//
// A writer reads current before it checks that the files it needs exist, and before it uploads its
// own. GC replaces current before it removes anything. So a writer whose files may have been removed
// can no longer replace current. That does not depend on any clock, or on how long the writer was
// suspended. Leases (package lease) only prevent that such a writer has worked for nothing.
type objects struct {
	place  *source.Place
	opener *source.Opener
	life   context.Context // ends reads of opened files

	mu    sync.Mutex
	sweep *sweep // the mark of the GC that is running; nil if there is none
	// small are small files that were read as a whole, so that they are not read again.
	small      map[string]*wholeBlob
	smallBytes int64 // total size of small
}

func openObjects(ctx context.Context, name string) (*objects, error) {
	opener := source.NewOpener(nil)
	place, err := opener.Place(ctx, name)
	if err != nil {
		return nil, errors.Join(err, opener.Close())
	}
	return &objects{place: place, opener: opener, life: ctx, small: map[string]*wholeBlob{}}, nil
}

func (o *objects) path(name string) string { return o.place.Name(name) }
func (o *objects) close() error            { return o.opener.Close() }
func (o *objects) begin() (draft, error)   { return newSpool() }

// maxConcurrentPuts is the number of files that are uploaded at a time. Large files are uploaded in
// several concurrent parts.
const maxConcurrentPuts = 4

// finish uploads drafts. It discards the local drafts only when all of them are uploaded, so that finish
// can be called again after an error.
func (o *objects) finish(ctx context.Context, drafts ...namedDraft) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentPuts)
	for _, n := range drafts {
		group.Go(func() error {
			content, err := n.draft.open()
			if err != nil {
				return err
			}
			err = o.place.Put(within, n.name, content, content.Size())
			return errors.Join(err, content.Close())
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var all error
	for _, n := range drafts {
		all = errors.Join(all, n.draft.discard())
	}
	return all
}

func (o *objects) list(ctx context.Context, folder string) (entries []entry, err error) {
	for e, err := range o.place.List(ctx, folder) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{e.Name, e.Size, e.Modified})
	}
	return entries, nil
}

func (o *objects) stat(ctx context.Context, name string) (manifest.Source, error) {
	id, err := o.place.Stat(ctx, name)
	if err != nil {
		return manifest.Source{}, err
	}
	return manifest.Source{URL: o.path(name), Size: id.Size, Modified: id.Modified, ETag: id.ETag}, nil
}

// removeBatch is the number of files that are removed at a time.
const removeBatch = 16

// remove removes files in batches. If one of a batch fails, none of the batch counts as removed.
func (o *objects) remove(ctx context.Context, names ...string) (n int, err error) {
	for some := range slices.Chunk(names, removeBatch) {
		if err := o.removeSome(ctx, some); err != nil {
			return n, err
		}
		n += len(some)
	}
	return n, nil
}

func (o *objects) removeSome(ctx context.Context, names []string) error {
	ctx, cancel, err := o.mayRemove(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	group, within := errgroup.WithContext(ctx)
	for _, name := range names {
		group.Go(func() error {
			err := o.place.Remove(within, name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	return group.Wait()
}

// readCurrent returns the content and version of current.
func (o *objects) readCurrent(ctx context.Context) (pointerState, error) {
	data, version, err := o.place.ReadVersion(ctx, currentName, maxPointer)
	if errors.Is(err, fs.ErrNotExist) {
		return pointerState{}, nil
	}
	return pointerState{data, version}, err
}

// maxPointer limits the size of the file current. It follows from maxTags and maxKept.
const maxPointer = 1 << 20

// swapCurrent replaces the version of current that waitForGC returned.
func (o *objects) swapCurrent(ctx context.Context, since pointerState, old, new []byte) error {
	if !sameSnapshot(since.data, old) {
		return ErrConflict
	}
	var p pointer
	if err := json.Unmarshal(new, &p); err != nil {
		return err
	}
	return o.replace(ctx, &p, since.version)
}

// replace stores a new state of current, with a Write that no earlier state had.
func (o *objects) replace(ctx context.Context, p *pointer, version string) error {
	p.Write = rand.Text()
	err := o.place.PutIf(ctx, currentName, p.encode(), version)
	if errors.Is(err, source.ErrConflict) {
		return ErrConflict
	}
	return err
}

// sameSnapshot reports whether two states of current name the same snapshot.
func sameSnapshot(a, b []byte) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var p, q pointer
	return json.Unmarshal(a, &p) == nil && json.Unmarshal(b, &q) == nil && p.Snapshot == q.Snapshot
}

// wholeBytes is the size up to which a file is read with one request.
const wholeBytes = 1 << 20

// open returns a reader of a file. It reads small files as a whole, and ranges of large ones through a
// cache.
func (o *objects) open(ctx context.Context, name string, size int64) (blob, error) {
	// A file of unknown size is a document of the manifest, which the caller needs as a whole.
	if size < 0 {
		data, err := o.place.Read(ctx, name, maxDocument)
		if err != nil {
			return nil, err
		}
		return memory{bytes.NewReader(data)}, nil
	}
	if size > wholeBytes {
		src, err := o.place.Open(name, size)
		if err != nil {
			return nil, err
		}
		return &farBlob{o, src}, nil
	}
	return o.whole(name, size), nil
}

// maxSmallBytes limits the total size of small files that are remembered.
const maxSmallBytes = 64 << 20

// whole returns a small file, which is downloaded on the first read and then remembered.
func (o *objects) whole(name string, size int64) *wholeBlob {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b := o.small[name]; b != nil && b.size == size {
		return b
	}
	// Forget all files when the limit is reached: that is simpler than evicting the least recently used.
	if o.smallBytes += size; o.smallBytes > maxSmallBytes {
		clear(o.small)
		o.smallBytes = size
	}
	b := &wholeBlob{size: size}
	b.load = sync.OnceValues(func() (memory, error) {
		m, err := o.loadWhole(name, size)
		if err != nil { // the next attempt may succeed, so do not remember the error
			o.forget(name, b)
		}
		return m, err
	})
	o.small[name] = b
	return b
}

func (o *objects) forget(name string, b *wholeBlob) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.small[name] == b {
		delete(o.small, name)
		o.smallBytes -= b.size
	}
}

func (o *objects) loadWhole(name string, size int64) (memory, error) {
	// Accept more bytes than expected, so that the error can say how long the file is.
	data, err := o.place.Read(o.life, name, max(2*size, wholeBytes))
	if err == nil {
		err = checkSize(o.path(name), int64(len(data)), size)
	}
	return memory{bytes.NewReader(data)}, damageOf(o.path(name), err)
}

// damageOf returns a manifest.DamageError if the error shows that a published file is missing or was changed.
func damageOf(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &manifest.DamageError{Name: name, Damage: manifest.FileMissing, Detail: ""}
	case errors.Is(err, source.ErrChanged):
		return &manifest.DamageError{Name: name, Damage: manifest.FileCorrupt, Detail: err.Error()}
	}
	return err
}

// memory is a file whose content is in memory.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// wholeBlob is a file that is downloaded as a whole on the first read.
type wholeBlob struct {
	size int64
	load func() (memory, error)
}

func (b *wholeBlob) Size() int64  { return b.size }
func (b *wholeBlob) Close() error { return nil }

func (b *wholeBlob) ReadAt(p []byte, off int64) (int, error) {
	data, err := b.load()
	if err != nil {
		return 0, err
	}
	return data.ReadAt(p, off)
}

// farBlob is a file whose ranges are read on demand.
type farBlob struct {
	home *objects
	*source.Source
}

func (b *farBlob) ReadAt(p []byte, off int64) (int, error) {
	n := min(int64(len(p)), b.Size()-off)
	if off < 0 || n < 0 {
		return 0, fmt.Errorf("%s: offset %d of %d bytes: %w", b.Name(), off, b.Size(), io.EOF)
	}
	data, err := b.View(b.home.life, off, int(n))
	if err != nil {
		return 0, damageOf(b.Name(), err)
	}
	if copy(p, data) < len(p) {
		return len(data), io.EOF
	}
	return len(data), nil
}
