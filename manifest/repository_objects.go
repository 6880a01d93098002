package manifest

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

	"varve/readers/source"
)

// objects keeps a repository below a prefix of an object store. Drafts are local files, which
// are stored when they are finished. current is replaced on condition of its version, and no
// two states of it are equal:
//
//	{"varve":1,"snapshot":"ID","write":"…"}
//	{"varve":1,"snapshot":"ID","write":"…","sweeping":true}     somebody removes files
//
// A writer reads current before it looks whether the files that it needs are there, and
// before it stores its own; whoever removes files replaces current before that. So a writer
// whose files may have been removed does not replace current any more, however long it slept,
// and no clock has a say in it. See leases for the rest.
type objects struct {
	place  *source.Place
	opener *source.Opener
	life   context.Context // of what is opened

	mu    sync.Mutex
	sweep *sweep // that is under way; nil if there is none
	// small are files that were read whole, so that they are not read again.
	small map[string]*wholeBlob
	held  int64 // bytes of them
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

// storedAtOnce is how many files are stored at a time. Large ones go in parts, several of them
// at a time.
const storedAtOnce = 4

// finish stores drafts. They stay what they are until all of them are stored.
func (o *objects) finish(ctx context.Context, drafts ...named) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(storedAtOnce)
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

func (o *objects) stat(ctx context.Context, name string) (Source, error) {
	id, err := o.place.Stat(ctx, name)
	if err != nil {
		return Source{}, err
	}
	return Source{URL: o.path(name), Size: id.Size, Modified: id.Modified, ETag: id.ETag}, nil
}

// removedAtOnce is how many files are removed at a time.
const removedAtOnce = 16

// remove removes files. Those that go at a time are all gone or count as not gone.
func (o *objects) remove(ctx context.Context, names ...string) (n int, err error) {
	for some := range slices.Chunk(names, removedAtOnce) {
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

// now reads current.
func (o *objects) now(ctx context.Context) (settled, error) {
	data, version, err := o.place.ReadVersion(ctx, currentName, maxPointer)
	if errors.Is(err, fs.ErrNotExist) {
		return settled{}, nil
	}
	return settled{data, version}, err
}

// maxPointer bounds the file current.
const maxPointer = 64 << 10

// swap replaces what settle has seen.
func (o *objects) swap(ctx context.Context, since settled, old, new []byte) error {
	if !sameSnapshot(since.data, old) {
		return ErrConflict
	}
	var p pointer
	if err := json.Unmarshal(new, &p); err != nil {
		return err
	}
	return o.replace(ctx, &p, since.version)
}

// replace stores a state of current that there has never been.
func (o *objects) replace(ctx context.Context, p *pointer, version string) error {
	p.Write = rand.Text()
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	err = o.place.PutIf(ctx, currentName, append(data, '\n'), version)
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

// wholeBytes is how large a file may be to be read with one request.
const wholeBytes = 1 << 20

// open reads small files whole, and of large ones what is asked for, through a cache.
func (o *objects) open(ctx context.Context, name string, size int64) (blob, error) {
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

// heldBytes bounds what is kept of small files.
const heldBytes = 64 << 20

// whole is a small file, which is read when a byte of it is, and kept.
func (o *objects) whole(name string, size int64) *wholeBlob {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b := o.small[name]; b != nil && b.size == size {
		return b
	}
	if o.held += size; o.held > heldBytes {
		clear(o.small)
		o.held = size
	}
	b := &wholeBlob{size: size}
	b.load = sync.OnceValues(func() (memory, error) {
		m, err := o.loadWhole(name, size)
		if err != nil { // which the next one may not meet
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
		o.held -= b.size
	}
}

func (o *objects) loadWhole(name string, size int64) (memory, error) {
	data, err := o.place.Read(o.life, name, max(2*size, wholeBytes))
	if err == nil {
		err = checkSize(o.path(name), int64(len(data)), size)
	}
	return memory{bytes.NewReader(data)}, damageOf(o.path(name), err)
}

// damageOf says of a file that was published, and cannot be read as that, what is wrong with
// it.
func damageOf(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &DamageError{name, Missing, ""}
	case errors.Is(err, source.ErrChanged):
		return &DamageError{name, Altered, err.Error()}
	}
	return err
}

// memory is a file that was read.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// wholeBlob is a file that is read when a byte of it is.
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

// farBlob is a file of which ranges are read.
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
