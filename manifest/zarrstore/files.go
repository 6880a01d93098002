package zarrstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"varve/codec"
	"varve/manifest/internal/home"
	"varve/readers/source"
)

// files stores the files of an array: its documents and its chunks. Readers see every file complete, before or after a write.
type files struct {
	home.Home
	how home.How // how chunks are written
}

// openFiles returns the storage of the array with this name.
func openFiles(ctx context.Context, name string, o *Options) (*files, error) {
	how := home.Whole
	if o.Sync {
		how = home.Durable
	}
	if source.IsObject(name) {
		p, err := home.OpenPrefix(ctx, name, o.Opener)
		if err != nil {
			return nil, err
		}
		return &files{p, how}, nil
	}
	h, err := home.Open(ctx, name)
	return &files{h, how}, err
}

// claimKey is a file that exists while a process creates an array.
const claimKey = ".varve-create"

// create claims a place that has no files. Of two concurrent calls one succeeds. The caller removes the claim when the documents
// are written.
func (f *files) create(ctx context.Context) error {
	if err := f.claim(ctx); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: another process creates an array there; if none does, one was stopped: remove the file", err)
		}
		return err
	}
	for e, err := range f.List(ctx, "") {
		if err == nil && e.Name != claimKey {
			err = fmt.Errorf("%s is not empty (it has %s): %w", f.Name(""), e.Name, fs.ErrExist)
		}
		if err != nil {
			return errors.Join(err, f.removeClaim(ctx))
		}
	}
	return nil
}

// claim creates the file claimKey, which must not exist. In an object store it also checks that the store evaluates conditions.
// The content of a claim is unique, so that a repeated request can tell its own claim from that of another process.
func (f *files) claim(ctx context.Context) error {
	p, ok := f.Home.(*home.Prefix)
	if !ok {
		return errors.Join(f.Put(ctx, claimKey, nil, home.Flushed), f.Settle())
	}
	text := rand.Text()
	err := p.Check(ctx, claimKey, text)
	if errors.Is(err, source.ErrConflict) {
		return fmt.Errorf("%s: %w", f.Name(claimKey), fs.ErrExist)
	}
	if err != nil {
		// The claim is removed if it was stored before something else failed, but not if it is another's.
		now, failed := f.Read(context.WithoutCancel(ctx), claimKey, maxDocument)
		if failed == nil && bytes.HasPrefix(now, []byte(text)) {
			err = errors.Join(err, f.removeClaim(ctx))
		}
	}
	return err
}

// removeClaim removes the claim even if ctx has ended.
func (f *files) removeClaim(ctx context.Context) error {
	return f.remove(context.WithoutCancel(ctx), claimKey)
}

// maxDocument limits the size of documents.
const maxDocument = 64 << 20

func (f *files) remove(ctx context.Context, keys ...string) error {
	_, err := f.Remove(ctx, keys...)
	return err
}

// removeFolders removes folders that have no files.
func (f *files) removeFolders() {
	if local, ok := f.Home.(*home.Folder); ok {
		local.RemoveFolders()
	}
}

// chunkFile is a stored chunk that is open for reading.
type chunkFile interface {
	codec.Reader
	Close() error
}

// open opens a chunk. A missing one is nil.
func (f *files) open(ctx context.Context, key string) (chunk chunkFile, err error) {
	if p, ok := f.Home.(*home.Prefix); ok {
		chunk, err = p.OpenLatest(ctx, key)
	} else if file, failed := f.Open(ctx, key, -1); failed != nil {
		err = failed
	} else {
		chunk = localChunk{file}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return chunk, nil
}

// localChunk is a chunk's file. Only the requested ranges of it are read.
type localChunk struct{ home.File }

// ReadRanges implements codec.Reader.
func (c localChunk) ReadRanges(ctx context.Context, ranges []codec.Range, out [][]byte) error {
	for i, r := range ranges {
		if err := ctx.Err(); err != nil {
			return err
		}
		out[i] = make([]byte, r.Length) // no longer than the file
		if _, err := c.ReadAt(out[i], r.Offset); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// readChunk returns the stored bytes of a chunk, or nil if it is not stored.
func (f *files) readChunk(ctx context.Context, key string) (data []byte, err error) {
	err = f.useChunk(ctx, key, func(c chunkFile) error {
		out := make([][]byte, 1)
		if err := c.ReadRanges(ctx, []codec.Range{{Length: c.Size()}}, out); err != nil {
			return err
		}
		if data = out[0]; data == nil {
			data = []byte{} // stored, but empty
		}
		return nil
	})
	return data, err
}

// maxRereads is how often a chunk that is replaced while it is read is read again.
const maxRereads = 10

// useChunk calls use with an open chunk, unless it is not stored. If the chunk is replaced meanwhile, it
// calls use again with the new one.
func (f *files) useChunk(ctx context.Context, key string, use func(chunkFile) error) error {
	for n := 0; ; n++ {
		c, err := f.open(ctx, key)
		if c == nil || err != nil {
			return err
		}
		err = errors.Join(use(c), c.Close())
		if !errors.Is(err, source.ErrChanged) || n == maxRereads {
			return err
		}
	}
}
