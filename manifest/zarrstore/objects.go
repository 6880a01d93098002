package zarrstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"varve/readers/source"
)

// objects stores an array below a prefix of an object store.
type objects struct {
	place *source.Place
	own   *source.Opener // closed with the array; nil if the caller gave one
}

func openObjects(ctx context.Context, name string, opener *source.Opener) (*objects, error) {
	o := &objects{}
	if opener == nil {
		o.own = source.NewOpener(nil)
		opener = o.own
	}
	var err error
	if o.place, err = opener.Place(ctx, name); err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func (o *objects) name(key string) string { return o.place.Name(key) }

func (o *objects) close() error {
	if o.own == nil {
		return nil
	}
	return o.own.Close()
}

// claim also checks that the store evaluates conditions. The content of a claim is unique, so that a
// repeated request can tell its own claim from that of another process. Two documents may be equal.
func (o *objects) claim(ctx context.Context) error {
	text := rand.Text()
	err := o.place.Check(ctx, claimKey, text)
	if errors.Is(err, source.ErrConflict) {
		return fmt.Errorf("%s: %w", o.name(claimKey), fs.ErrExist)
	}
	if err != nil {
		// The claim is removed if it was stored before something else failed, but not if it is another's.
		now, failed := o.place.Read(context.WithoutCancel(ctx), claimKey, maxDocument)
		if failed == nil && bytes.HasPrefix(now, []byte(text)) {
			err = errors.Join(err, removeClaim(ctx, o))
		}
	}
	return err
}

func (o *objects) top(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range o.place.List(ctx, "") {
			if !yield(e.Name, err) {
				return
			}
		}
	}
}

// maxDocument limits the size of documents.
const maxDocument = 64 << 20

func (o *objects) document(ctx context.Context, key string) ([]byte, string, error) {
	return o.place.ReadVersion(ctx, key, maxDocument)
}

func (o *objects) replaceDocument(ctx context.Context, key string, data []byte, version string) (string, error) {
	if err := o.place.Replace(ctx, key, bytes.NewReader(data), int64(len(data)), version); err != nil {
		return "", err
	}
	now, version, err := o.document(ctx, key)
	if err == nil && !bytes.Equal(now, data) {
		err = fmt.Errorf("%s: %w", o.name(key), source.ErrConflict)
	}
	return version, err
}

func (o *objects) open(ctx context.Context, key string) (chunkFile, error) {
	src, err := o.place.OpenLatest(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return src, nil
}

func (o *objects) put(ctx context.Context, key string, data []byte) error {
	return o.place.Put(ctx, key, bytes.NewReader(data), int64(len(data)))
}

func (o *objects) remove(ctx context.Context, key string) error {
	if err := o.place.Remove(ctx, key); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (o *objects) walk(ctx context.Context) iter.Seq2[string, error] { return o.place.Walk(ctx, "") }

func (o *objects) removeFolders() {} // object stores have none
