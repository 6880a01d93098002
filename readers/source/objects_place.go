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

	"golang.org/x/sync/errgroup"

	"varve/readers/source/internal/object"
)

// Place is a prefix in an object store below which objects are read and written:
//
//	s3://bucket/model/sst.varve/tables/refs-ab12.parquet
//	├───────── its name ───────┤├──────── key ─────────┤
//
// Any number of goroutines may use it. Conditional writes need a store that evaluates conditions; otherwise two writers
// could both believe that they were first. Check tests this.
type Place struct {
	*bucket
	prefix      string      // ends with a slash, or is empty for the whole bucket
	hasSumETags atomic.Bool // ETags are MD5 digests of contents

	hasNoBatches atomic.Bool // many objects cannot be removed with one request

	parts          sync.Mutex
	isPartsChecked bool // the store evaluates conditions of objects that are stored in parts
}

// ErrConflict marks the error of storing an object whose condition does not hold: another writer was faster.
var ErrConflict = errors.New("the object is not the version that it should replace")

// Place returns the Place of a name such as s3://bucket/prefix. It makes no requests.
func (o *Opener) Place(ctx context.Context, name string) (*Place, error) {
	b, key, err := o.bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	key = strings.TrimSuffix(key, "/")
	if key == "" {
		return nil, fmt.Errorf("%s: a whole bucket cannot be written; add a prefix, such as %sdata.varve: %w", name, b.root, errors.ErrUnsupported)
	}
	return &Place{bucket: b, prefix: key + "/"}, checkKey(name, key)
}

// checkKey returns an error for keys that are not valid paths of files.
func checkKey(name, key string) error {
	if parts := strings.Split(key, "/"); slices.Contains(parts, "") || slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return fmt.Errorf("%s: cannot be written, because a part between slashes is empty, . or ..: %w", name, errors.ErrUnsupported)
	}
	return nil
}

// PlaceOf returns the Place that contains an object such as s3://bucket/prefix/file.json, and the object's key in it. It makes
// no requests.
func (o *Opener) PlaceOf(ctx context.Context, name string) (*Place, string, error) {
	b, key, err := o.bucket(ctx, name)
	if err != nil {
		return nil, "", err
	}
	at := strings.LastIndexByte(key, '/') + 1
	return &Place{bucket: b, prefix: key[:at]}, key[at:], checkKey(name, key)
}

// Name returns the full name of an object in the place, or of the place itself if key is empty.
func (p *Place) Name(key string) string { return strings.TrimSuffix(p.root+p.prefix+key, "/") }

// Read returns the content of an object. More than `most` bytes are an error.
func (p *Place) Read(ctx context.Context, key string, most int64) ([]byte, error) {
	content, _, err := p.read(ctx, key, most)
	return content, err
}

// ReadVersion returns the content of an object that PutIf stored, and its version for a later PutIf. More than `most` bytes
// are an error.
//
// Some stores keep contents and ETags separately, and may send the ETag of a newer content than the one they send. A writer
// with that ETag would replace content that it has not read. If Check has found that ETags are digests of contents,
// ReadVersion detects this and reads again.
func (p *Place) ReadVersion(ctx context.Context, key string, most int64) (content []byte, version string, err error) {
	const longest = 5 * time.Second
	for pause := 10 * time.Millisecond; pause < longest; pause *= 2 {
		content, version, err = p.read(ctx, key, most)
		if err != nil || !p.hasSumETags.Load() || isOfParts(version) || version == sumTag(content) {
			return content, version, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
	return nil, "", fmt.Errorf("%s: the store sends the ETag %s, which does not match the content, for longer than %s; if the object's encryption differs from the bucket's, copy the object onto itself", p.Name(key), version, longest)
}

// isOfParts reports whether a version is the ETag of an object that was stored in parts, such as
// "3858f62230ac3c915f300c664312c11f-9". Such an ETag is not a digest of the content.
func isOfParts(version string) bool { return strings.Contains(version, "-") }

// sumTag returns the ETag of a content if ETags are MD5 digests.
func sumTag(content []byte) string { return fmt.Sprintf("\"%x\"", md5.Sum(content)) }

// read reads an object once.
func (p *Place) read(ctx context.Context, key string, most int64) (content []byte, version string, err error) {
	address, err := p.service.Address(p.bucket.name, p.prefix+key)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", p.Name(key), err)
	}
	r := p.remote(p.Name(key), address)
	defer r.shut()
	r.host = newHostLimit() // as for send
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

// hideBucket replaces the error of a missing bucket, so that it is not fs.ErrNotExist like the error of a missing object.
func hideBucket(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.reason == "NoSuchBucket" || status.reason == "ContainerNotFound") {
		return fmt.Errorf("%s: the bucket does not exist", status)
	}
	return err
}

// Open opens an object of known size that never changes. It makes no request before the first read.
func (p *Place) Open(key string, size int64) (*Source, error) {
	r, err := p.open(context.Background(), p.prefix+key, &Identity{Size: size})
	if err != nil {
		return nil, err
	}
	return newSource(r.name, r, p.opener.cache), nil
}

// OpenLatest opens the current version of an object. Small objects are read by the same request. If the object is replaced
// before everything is read, a later read returns ErrChanged.
func (p *Place) OpenLatest(ctx context.Context, key string) (*Source, error) {
	r, err := p.openLatest(ctx, p.prefix+key)
	if err != nil {
		return nil, hideBucket(err)
	}
	return newSource(r.name, r, p.opener.cache), nil
}

// Stat returns the identity of an object.
func (p *Place) Stat(ctx context.Context, key string) (id Identity, err error) {
	err = p.head(ctx, key, func(a *answer) error {
		if a.ContentLength < 0 {
			return wrongf("the server does not send the size of the object: %w", errors.ErrUnsupported)
		}
		id = a.identity(a.ContentLength)
		return nil
	})
	return id, err
}

// Version returns the version of an object for Replace, or "" if the object does not exist.
func (p *Place) Version(ctx context.Context, key string) (version string, err error) {
	err = p.head(ctx, key, func(a *answer) error {
		if version = p.service.Version(a.Header); version == "" {
			return wrongf("the server does not send the version of the object: %w", errors.ErrUnsupported)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return version, err
}

// head makes a HEAD request and calls use with the answer.
func (p *Place) head(ctx context.Context, key string, use func(*answer) error) error {
	address, err := p.service.Address(p.bucket.name, p.prefix+key)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name(key), err)
	}
	return p.send(ctx, &sending{Request: object.NewRequest(http.MethodHead, address), key: key, use: use})
}

// List yields the objects and folders directly in a folder.
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

// Walk yields the keys of all objects whose keys begin with start, at any depth.
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

// Remove removes an object. Not every store returns an error if the object does not exist.
func (p *Place) Remove(ctx context.Context, key string) error {
	return p.send(ctx, &sending{Request: p.service.Remove(p.bucket.name, p.prefix+key), key: key})
}

// How objects are removed: up to maxRemoved with one request, if the store can; otherwise removedAtOnce requests at a time.
const (
	maxRemoved    = 1000
	removedAtOnce = 16
)

// RemoveAll removes objects in this order. Missing ones count as removed. It returns their number, also with an error: if one
// of several objects that are removed together fails, none of these counts.
func (p *Place) RemoveAll(ctx context.Context, keys []string) (n int, err error) {
	for len(keys) > 0 {
		some := keys[:min(len(keys), maxRemoved)]
		rest := some
		if len(some) > 1 && !p.hasNoBatches.Load() {
			if rest, err = p.removeBatch(ctx, some); err != nil {
				return n, err
			}
		}
		if len(rest) == len(some) { // the store has no request for many
			some = some[:min(len(some), removedAtOnce)]
			rest = some
		}
		if err := p.removeEach(ctx, rest); err != nil {
			return n, err
		}
		n += len(some)
		keys = keys[len(some):]
	}
	return n, nil
}

// removeBatch removes objects with one request. It returns those that the store did not remove: all if it has no such request.
func (p *Place) removeBatch(ctx context.Context, keys []string) (rest []string, err error) {
	full := make([]string, len(keys))
	for i, key := range keys {
		full[i] = p.prefix + key
	}
	q := p.service.RemoveAll(p.bucket.name, full)
	if q == nil {
		p.hasNoBatches.Store(true)
		return keys, nil
	}
	var failed []string
	const longest = time.Minute // a store may take so long for 1,000 objects before it answers
	err = p.send(ctx, &sending{Request: q, pause: longest, use: func(a *answer) error {
		body, err := a.document(maxPageBytes)
		if err == nil {
			failed, err = p.service.Unremoved(body)
		}
		return err
	}})
	var status *statusError
	switch {
	case errors.As(err, &status) && status.code/100 != 5 || errors.As(err, &status) && status.code == http.StatusNotImplemented:
		// Servers with a part of Amazon's protocol may not know the request. If it was refused for another reason, so
		// are requests for one object, with an error that names it.
		p.hasNoBatches.Store(true)
		return keys, nil
	case err != nil:
		return nil, err
	}
	for _, key := range failed {
		rest = append(rest, strings.TrimPrefix(key, p.prefix))
	}
	return rest, nil
}

// removeEach removes each object with a request.
func (p *Place) removeEach(ctx context.Context, keys []string) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(removedAtOnce)
	for _, key := range keys {
		group.Go(func() error {
			if err := p.Remove(within, key); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

// maxReplaced is the maximum size of objects that are read back with their versions.
const maxReplaced = 1 << 20

// PutIf is Replace for a small object, which ReadVersion can read back.
func (p *Place) PutIf(ctx context.Context, key string, content []byte, version string) error {
	if len(content) > maxReplaced {
		return fmt.Errorf("%s: an object with a version may have at most %d bytes (this one has %d)", p.Name(key), maxReplaced, len(content))
	}
	_, err := p.Replace(ctx, key, bytes.NewReader(content), int64(len(content)), version)
	return err
}

// Replace stores an object if its current version, from ReadVersion or Version, is the given one; "" means that the object
// must not exist. Otherwise the error is ErrConflict. An object larger than Options.PartBytes is stored in parts.
//
// It returns the new version, or "" if the store did not send it.
//
// If an answer is lost, the repeated request reports a conflict with the first one. Replace then compares the content, so
// contents should be unique to their writer.
func (p *Place) Replace(ctx context.Context, key string, content io.ReaderAt, size int64, version string) (now string, err error) {
	c := &object.Condition{Version: version}
	if size <= p.opener.opts.PartBytes {
		now, err = p.putOnce(ctx, key, io.NewSectionReader(content, 0, size), c)
	} else if err = p.checkParts(ctx, key); err == nil {
		err = p.upload(key, content, size, c).run(ctx)
	}
	if !isConflict(err, version) {
		return now, err
	}
	// The conflict may be with an earlier attempt of this call, whose answer was lost.
	same, failed := p.holds(ctx, key, content, size)
	switch {
	case failed != nil:
		return "", fmt.Errorf("%w; it is not known whether the object was stored: %w", err, failed)
	case same:
		return "", nil
	}
	return "", fmt.Errorf("%s: %w", p.Name(key), ErrConflict)
}

// holds reports whether an object has the given content.
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
	if errors.Is(err, ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		err = nil // another writer has replaced or removed it
	}
	return same, errors.Join(err, src.Close())
}

// equal reports whether a source of the given size has the given content.
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

// isConflict reports whether err means that the condition does not hold. Besides status 412, Azure sends 409 for an existing
// object, and Amazon 409 for an object that another request is storing at the same time. All send 404 if the version to
// replace was removed.
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

// Check tests whether the store evaluates the conditions of PutIf. It stores an object that already exists, and replaces a
// version that is not current; both must fail. If one succeeds, the error is errors.ErrUnsupported, because two writers could
// both succeed. The object must not exist before, remains afterwards, and content must be unique to the caller.
//
// Each of the four requests has a content of its own, so that a lost answer cannot hide which of them the store executed.
func (p *Place) Check(ctx context.Context, key, content string) error {
	first := strings.NewReader(content)
	version, err := p.Replace(ctx, key, first, first.Size(), "")
	if err != nil {
		return p.refused(err)
	}
	if err := p.contradict(ctx, key, content+" again", ""); !errors.Is(err, ErrConflict) {
		return p.ignores(err, "a second object although none may exist (If-None-Match: *)")
	}
	if version == "" {
		if _, version, err = p.ReadVersion(ctx, key, maxReplaced); err != nil {
			return err
		}
	}
	// Some stores and encryption modes use other ETags, which cannot be compared with contents.
	p.hasSumETags.Store(version == sumTag([]byte(content)))
	if version == "" {
		return p.ignores(nil, "objects, but does not send their versions (ETag)")
	}
	now := []byte(content + " replaced")
	err = p.PutIf(ctx, key, now, version)
	if errors.Is(err, ErrConflict) { // perhaps an answer to PUT has a version in another form than an answer to GET
		if _, version, err = p.ReadVersion(ctx, key, maxReplaced); err == nil {
			err = p.PutIf(ctx, key, now, version)
		}
	}
	if err != nil {
		return p.refused(err)
	}
	if err := p.contradict(ctx, key, content+" late", version); !errors.Is(err, ErrConflict) {
		return p.ignores(err, "an object in place of a version that is no longer current (If-Match)")
	}
	return nil
}

// contradict stores an object on a condition that does not hold, so that the result should be ErrConflict.
func (p *Place) contradict(ctx context.Context, key, content, version string) error {
	_, err := p.putOnce(ctx, key, strings.NewReader(content), &object.Condition{Version: version})
	if isConflict(err, version) {
		return ErrConflict
	}
	return err
}

// checkParts tests, once, whether the store evaluates conditions of objects that are stored in parts. It must evaluate them
// when the object is completed, not only when it is begun.
func (p *Place) checkParts(ctx context.Context, key string) error {
	p.parts.Lock()
	defer p.parts.Unlock()
	if p.isPartsChecked {
		return nil
	}
	key += ".check-" + rand.Text()
	late, first := strings.NewReader("late"), strings.NewReader("first")
	u := p.upload(key, late, late.Size(), &object.Condition{})
	// The object appears between the beginning and the completion of the upload, so the completion must fail.
	u.ready = func() error { return p.Put(ctx, key, first, first.Size()) }
	err := u.run(ctx)
	// The test object is removed even if ctx has ended.
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	removed := p.Remove(removing, key)
	if !isConflict(err, "") {
		return errors.Join(p.ignores(err, "an object in parts although none may exist (If-None-Match: *)"), removed)
	}
	p.isPartsChecked = removed == nil || errors.Is(removed, fs.ErrNotExist)
	if p.isPartsChecked {
		return nil
	}
	return removed
}

// refused adds an explanation to the error of a store that does not implement conditions.
func (p *Place) refused(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusNotImplemented || status.reason == "NotImplemented") {
		return fmt.Errorf("%w: the store does not implement conditional writes, so two writers could both succeed: %w", err, errors.ErrUnsupported)
	}
	return err
}

// ignores returns the error of a store that stored an object although the condition did not hold. If err is not nil, the store
// failed for another reason, and ignores returns that.
func (p *Place) ignores(err error, stored string) error {
	if err != nil {
		return p.refused(err)
	}
	at := p.root
	if u, err := p.service.Address(p.bucket.name, ""); err == nil {
		at = u.Scheme + "://" + u.Host
	}
	return fmt.Errorf("%s: the store at %s accepts %s: it does not evaluate conditions, so two writers could both succeed: %w",
		p.Name(""), at, stored, errors.ErrUnsupported)
}
