package source

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"varve/readers/source/internal/object"
)

// Place is a prefix of an object store, below which objects are read and written:
//
//	s3://bucket/model/sst.varve/tables/refs-ab12.parquet
//	├───────── its name ───────┤├──────── key ─────────┤
//
// It may be used by any number of goroutines. Whether the store heeds conditions, without
// which two writers could both believe that they were first, is for Check to see.
type Place struct {
	*bucket
	prefix string      // ends with a slash, or is that of the whole bucket
	sums   atomic.Bool // ETags are sums of contents

	parts       sync.Mutex
	partsHeeded bool // conditions are heeded of objects in parts too
}

// ErrConflict marks the error of storing an object on a condition that does not hold.
var ErrConflict = errors.New("the object is not the one that it was to replace")

// Place returns the place of a name such as s3://bucket/prefix. It asks nobody for anything.
func (o *Opener) Place(ctx context.Context, name string) (*Place, error) {
	b, key, err := o.bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	key = strings.TrimSuffix(key, "/")
	if key == "" {
		return nil, fmt.Errorf("%s: want a name in the bucket, such as %sdata.varve: %w", name, b.root, errors.ErrUnsupported)
	}
	return &Place{bucket: b, prefix: key + "/"}, checkKey(name, key)
}

// checkKey refuses keys that no path of a folder can name.
func checkKey(name, key string) error {
	if parts := strings.Split(key, "/"); slices.Contains(parts, "") || slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return fmt.Errorf("%s: a name with empty parts, or with . or .. for one, cannot be written to: %w", name, errors.ErrUnsupported)
	}
	return nil
}

// PlaceOf returns the place that an object of a name such as s3://bucket/prefix/file.json is
// in, and its key there. It asks nobody for anything.
func (o *Opener) PlaceOf(ctx context.Context, name string) (*Place, string, error) {
	b, key, err := o.bucket(ctx, name)
	if err != nil {
		return nil, "", err
	}
	at := strings.LastIndexByte(key, '/') + 1
	return &Place{bucket: b, prefix: key[:at]}, key[at:], checkKey(name, key)
}

// Name returns what the place is called, or an object in it.
func (p *Place) Name(key string) string { return strings.TrimSuffix(p.root+p.prefix+key, "/") }

// Read reads all of an object, of at most so many bytes.
func (p *Place) Read(ctx context.Context, key string, most int64) ([]byte, error) {
	content, _, err := p.read(ctx, key, most)
	return content, err
}

// ReadVersion reads all of an object that PutIf stored, with the version that it takes.
//
// Some stores keep contents and ETags apart, and may tell the ETag of a newer content than
// the one they send; who replaced that would replace what he has not seen. Where Check has
// found that ETags are sums of contents that is noticed, and the object read again.
func (p *Place) ReadVersion(ctx context.Context, key string, most int64) (content []byte, version string, err error) {
	const longest = 5 * time.Second
	for pause := 10 * time.Millisecond; pause < longest; pause *= 2 {
		content, version, err = p.read(ctx, key, most)
		if err != nil || !p.sums.Load() || isOfParts(version) || version == sumTag(content) {
			return content, version, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
	return nil, "", fmt.Errorf("%s: the store tells the ETag %s of other content than it sends, time and again; if it was encrypted in another way than now, copy it onto itself", p.Name(key), version)
}

// isOfParts reports whether a version is the ETag of an object that went in parts, which is no
// sum of its content: "3858f62230ac3c915f300c664312c11f-9".
func isOfParts(version string) bool { return strings.Contains(version, "-") }

// sumTag is the ETag of a content where that is its MD5.
func sumTag(content []byte) string { return fmt.Sprintf("\"%x\"", md5.Sum(content)) }

// read reads an object once.
func (p *Place) read(ctx context.Context, key string, most int64) (content []byte, version string, err error) {
	address, err := p.service.Address(p.bucket.name, p.prefix+key)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", p.Name(key), err)
	}
	r := p.remote(p.Name(key), address)
	defer r.shut()
	err = r.persist(ctx, most, func(ctx context.Context) error {
		return r.ask(ctx, nil, func(a *answer) (err error) {
			content, err = a.document(most)
			version = p.service.Version(a.Header)
			return err
		})
	})
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", r.name, hideBucket(err))
	}
	return content, version, nil
}

// hideBucket keeps a bucket that is not there from looking like an object that is not.
func hideBucket(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.reason == "NoSuchBucket" || status.reason == "ContainerNotFound") {
		return fmt.Errorf("%s: there is no such bucket", status)
	}
	return err
}

// Open opens an object of a known size that never changes, and asks for nothing before the
// first byte is read.
func (p *Place) Open(key string, size int64) (*Source, error) {
	r, err := p.open(context.Background(), p.prefix+key, &Identity{Size: size})
	if err != nil {
		return nil, err
	}
	return newSource(r.name, r, p.opener.cache), nil
}

// Stat tells what is known of an object without reading it.
func (p *Place) Stat(ctx context.Context, key string) (id Identity, err error) {
	err = p.head(ctx, key, func(a *answer) error {
		if a.ContentLength < 0 {
			return wrongf("the server does not say how large the object is: %w", errors.ErrUnsupported)
		}
		id = a.identity(a.ContentLength)
		return nil
	})
	return id, err
}

// Version tells the version of an object, as Replace takes it: empty if there is none.
func (p *Place) Version(ctx context.Context, key string) (version string, err error) {
	err = p.head(ctx, key, func(a *answer) error {
		if version = p.service.Version(a.Header); version == "" {
			return wrongf("the server does not tell the version of the object: %w", errors.ErrUnsupported)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return version, err
}

func (p *Place) head(ctx context.Context, key string, use func(*answer) error) error {
	address, err := p.service.Address(p.bucket.name, p.prefix+key)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name(key), err)
	}
	return p.send(ctx, &sending{Request: object.NewRequest(http.MethodHead, address), key: key, use: use})
}

// List yields the objects that lie directly in a folder, and the folders in it.
func (p *Place) List(ctx context.Context, folder string) iter.Seq2[Entry, error] {
	prefix := p.prefix
	if folder != "" {
		prefix += folder + "/"
	}
	return func(yield func(Entry, error) bool) {
		for o, err := range p.list(ctx, prefix) {
			if err != nil {
				yield(Entry{}, hideBucket(err))
				return
			}
			if e, ok := entryOf(o, prefix); ok && !yield(e, nil) {
				return
			}
		}
	}
}

// Walk yields the keys of all objects that begin with some text, however deep they lie.
func (p *Place) Walk(ctx context.Context, start string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for o, err := range p.entries(ctx, object.Query{Prefix: p.prefix + start, Deep: true}) {
			if err != nil {
				yield("", hideBucket(err))
				return
			}
			if !yield(strings.TrimPrefix(o.Key, p.prefix), nil) {
				return
			}
		}
	}
}

// Remove removes an object. That it was not there, not every store says.
func (p *Place) Remove(ctx context.Context, key string) error {
	return p.send(ctx, &sending{Request: p.service.Remove(p.bucket.name, p.prefix+key), key: key})
}

// maxReplaced bounds objects that are to be read back with their versions.
const maxReplaced = 1 << 20

// PutIf is Replace of a small object, which can be read back.
func (p *Place) PutIf(ctx context.Context, key string, content []byte, version string) error {
	if len(content) > maxReplaced {
		return fmt.Errorf("%s: %d bytes are more than the %d of an object that may be replaced", p.Name(key), len(content), maxReplaced)
	}
	return p.Replace(ctx, key, bytes.NewReader(content), int64(len(content)), version)
}

// Replace stores an object in place of a version that ReadVersion or Version told, or, where that is
// empty, where there is none; else the error is ErrConflict. One that is larger than PartBytes
// goes in parts. Who stores contents that are nobody else's is not told of a conflict with
// himself, when a request was done and its answer lost.
func (p *Place) Replace(ctx context.Context, key string, content io.ReaderAt, size int64, version string) error {
	c := &object.Condition{Version: version}
	var err error
	if size <= p.opener.opts.PartBytes {
		err = p.putOnce(ctx, key, io.NewSectionReader(content, 0, size), c)
	} else if err = p.checkParts(ctx, key); err == nil {
		err = p.upload(key, content, size, c).run(ctx)
	}
	if !isConflict(err, version) {
		return err
	}
	same, failed := p.holds(ctx, key, content, size)
	switch {
	case failed != nil:
		return fmt.Errorf("%w; and whether it was stored is not known: %w", err, failed)
	case same:
		return nil
	}
	return fmt.Errorf("%s: %w", p.Name(key), ErrConflict)
}

// holds reports whether an object has a content.
func (p *Place) holds(ctx context.Context, key string, content io.ReaderAt, size int64) (bool, error) {
	id, err := p.Stat(ctx, key)
	if errors.Is(err, fs.ErrNotExist) || err == nil && id.Size != size {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	src, err := p.Open(key, size)
	if err != nil {
		return false, err
	}
	same, err := equal(ctx, src, content, size)
	if errors.Is(err, ErrChanged) {
		err = nil // it is another by now
	}
	return same, errors.Join(err, src.Close())
}

// equal compares all of a source with what it may hold.
func equal(ctx context.Context, src *Source, content io.ReaderAt, size int64) (bool, error) {
	want := make([]byte, min(size, maxReplaced))
	for at := int64(0); at < size; at += int64(len(want)) {
		want = want[:min(int64(len(want)), size-at)]
		if _, err := content.ReadAt(want, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		got, err := src.View(ctx, at, len(want))
		if err != nil || !bytes.Equal(got, want) {
			return false, err
		}
	}
	return true, nil
}

// isConflict reports whether a store said that a condition does not hold. To Azure an object
// that is there already is a conflict, and to Amazon one that somebody else stores at that
// moment; one that is to be replaced and is gone is missing.
func isConflict(err error, version string) bool {
	var status *statusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.code {
	case http.StatusPreconditionFailed:
		return true
	case http.StatusConflict:
		return status.reason == "BlobAlreadyExists" || status.reason == "ConditionalRequestConflict"
	case http.StatusNotFound:
		return version != "" && status.reason != "NoSuchBucket" && status.reason != "ContainerNotFound"
	}
	return false
}

// Check sees whether the store heeds the conditions of PutIf, by storing an object that is
// there, and by replacing a version that is not the newest. One that takes either is
// errors.ErrUnsupported: on it, two writers could both win. The object, of which there is
// none yet, is left behind; its contents are nobody else's.
func (p *Place) Check(ctx context.Context, key, content string) error {
	if err := p.PutIf(ctx, key, []byte(content), ""); err != nil {
		return p.refused(err)
	}
	if err := p.PutIf(ctx, key, []byte(content+" again"), ""); !errors.Is(err, ErrConflict) {
		return p.ignores(err, "a second object where there is to be none (If-None-Match: *)")
	}
	stored, version, err := p.ReadVersion(ctx, key, maxReplaced)
	if err != nil {
		return err
	}
	p.sums.Store(version == sumTag(stored))
	if version == "" {
		return p.ignores(nil, "objects without telling their versions (ETag)")
	}
	if err := p.PutIf(ctx, key, []byte(content+" replaced"), version); err != nil {
		return p.refused(err)
	}
	if err := p.PutIf(ctx, key, []byte(content+" late"), version); !errors.Is(err, ErrConflict) {
		return p.ignores(err, "an object in place of a version that is no longer there (If-Match)")
	}
	return nil
}

// checkParts sees, once, whether the store heeds conditions of objects that go in parts: they
// have to hold when the object is made of them, and not only when they are begun.
func (p *Place) checkParts(ctx context.Context, key string) error {
	p.parts.Lock()
	defer p.parts.Unlock()
	if p.partsHeeded {
		return nil
	}
	key += ".check-" + rand.Text()
	late, first := strings.NewReader("late"), strings.NewReader("first")
	u := p.upload(key, late, late.Size(), &object.Condition{})
	u.ready = func() error { return p.Put(ctx, key, first, first.Size()) }
	err := u.run(ctx)
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	removed := p.Remove(removing, key)
	if !isConflict(err, "") {
		return errors.Join(p.ignores(err, "an object in parts where there is to be none (If-None-Match: *)"), removed)
	}
	p.partsHeeded = removed == nil || errors.Is(removed, fs.ErrNotExist)
	if p.partsHeeded {
		return nil
	}
	return removed
}

// refused says more of a store that does not know of conditions at all.
func (p *Place) refused(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusNotImplemented || status.reason == "NotImplemented") {
		return fmt.Errorf("%w: the store knows no conditions, without which two writers could both win: %w", err, errors.ErrUnsupported)
	}
	return err
}

// ignores is the error of a store that took what it should not have, unless it failed in
// another way.
func (p *Place) ignores(err error, what string) error {
	if err != nil {
		return p.refused(err)
	}
	at := p.root
	if u, err := p.service.Address(p.bucket.name, ""); err == nil {
		at = u.Scheme + "://" + u.Host
	}
	return fmt.Errorf("%s: the store at %s takes %s: it does not heed conditions, so that two writers could both win: %w",
		p.Name(""), at, what, errors.ErrUnsupported)
}
