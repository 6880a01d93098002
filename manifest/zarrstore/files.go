package zarrstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"

	"varve/codec"
	"varve/readers/source"
)

// files stores the files of an array: its documents and its chunks. Keys are relative and separated by
// slashes. Readers see every file complete, before or after a write.
type files interface {
	// name returns the name of a file, or of the array if key is empty, for messages.
	name(key string) string
	// claim creates the file claimKey, which must not exist. Of two concurrent calls one succeeds; the
	// error of the other is fs.ErrExist.
	claim(ctx context.Context) error
	// top yields the names directly below the array, in any order.
	top(ctx context.Context) iter.Seq2[string, error]
	// document returns a document and its version. A missing one is an fs.ErrNotExist.
	document(ctx context.Context, key string) (data []byte, version string, err error)
	// replaceDocument replaces a version of a document, or creates it if the version is empty. It
	// returns the new version. The document survives a power failure. If it has another version, the
	// error is source.ErrConflict. Folders have no versions: they replace any document.
	replaceDocument(ctx context.Context, key string, data []byte, version string) (string, error)
	// open opens a chunk. A missing one is nil.
	open(ctx context.Context, key string) (chunkFile, error)
	// put writes a chunk, or replaces it.
	put(ctx context.Context, key string, data []byte) error
	// remove removes a file, if it exists.
	remove(ctx context.Context, key string) error
	// walk yields the keys of all files, in any order.
	walk(ctx context.Context) iter.Seq2[string, error]
	// removeFolders removes folders that have no files.
	removeFolders()
	close() error
}

// chunkFile is a stored chunk that is open for reading.
type chunkFile interface {
	codec.Reader
	Close() error
}

// claimKey is a file that exists while a process creates an array.
const claimKey = ".varve-create"

// openFiles returns the storage of the array with this name.
func openFiles(ctx context.Context, name string, o *Options) (files, error) {
	if source.IsObject(name) {
		return openObjects(ctx, name, o.Opener)
	}
	if err := source.CheckWritable(name); err != nil {
		return nil, err
	}
	return newFolder(name, o.Sync), nil
}

// createFiles claims a place that has no files. The caller removes the claim when the documents are written.
func createFiles(ctx context.Context, f files) error {
	if err := f.claim(ctx); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: another process creates an array there; if none does, one was stopped: remove the file", err)
		}
		return err
	}
	for name, err := range f.top(ctx) {
		if err == nil && name != claimKey {
			err = fmt.Errorf("%s is not empty (it has %s): %w", f.name(""), path.Base(name), fs.ErrExist)
		}
		if err != nil {
			return errors.Join(err, removeClaim(ctx, f))
		}
	}
	return nil
}

// removeClaim removes the claim even if ctx has ended.
func removeClaim(ctx context.Context, f files) error {
	return f.remove(context.WithoutCancel(ctx), claimKey)
}

// readChunk returns the stored bytes of a chunk, or nil if it is not stored.
func readChunk(ctx context.Context, f files, key string) (data []byte, err error) {
	err = useChunk(ctx, f, key, func(c chunkFile) error {
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
func useChunk(ctx context.Context, f files, key string, use func(chunkFile) error) error {
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
