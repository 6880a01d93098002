package source

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"varve/readers/source/internal/object"
)

// Put stores an object, and replaces any existing one. An object larger than Options.PartBytes is stored in parts, which are
// removed if Put fails.
func (p *Place) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if size <= p.opener.opts.PartBytes {
		_, err := p.putOnce(ctx, key, io.NewSectionReader(content, 0, size), nil)
		return err
	}
	return p.upload(key, content, size, nil).run(ctx)
}

// sizedContent is content of known size that can be read several times.
type sizedContent interface {
	io.ReaderAt
	Size() int64
}

// putOnce stores an object with one request. It returns the object's version, or "" if the store does not send it.
func (p *Place) putOnce(ctx context.Context, key string, content sizedContent, c *object.Condition) (version string, err error) {
	sum, err := sumOf(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Name(key), err)
	}
	q := p.service.Put(&object.Put{Bucket: p.bucket.name, Key: p.prefix + key, MD5: sum, If: c})
	err = p.send(ctx, &sending{Request: q, key: key, content: content, use: func(a *answer) error {
		version = p.service.Version(a.Header)
		return nil
	}})
	return version, err
}

// sumOf returns the MD5 digest of the content.
func sumOf(content sizedContent) ([]byte, error) {
	sum := md5.New()
	_, err := io.Copy(sum, io.NewSectionReader(content, 0, content.Size()))
	return sum.Sum(nil), err
}

// sending is a request to the place, and the handling of its answer.
type sending struct {
	*object.Request
	key     string              // key of the object, for messages
	content sizedContent        // may be nil
	pause   time.Duration       // additional time until the server begins its answer
	after   int64               // bytes that the server may process before it answers, for the time limit
	use     func(*answer) error // called with an answer of success; may be nil
	also    int                 // a further status that means success, besides 2xx
}

// length returns the length of the body.
func (s *sending) length() int64 {
	n := int64(len(s.Before) + len(s.After))
	if s.content != nil {
		n += s.content.Size()
	}
	return n
}

// body returns a reader of the body, from its beginning.
func (s *sending) body() io.Reader {
	parts := []io.Reader{bytes.NewReader(s.Before)}
	if s.content != nil {
		parts = append(parts, io.NewSectionReader(s.content, 0, s.content.Size()))
	}
	return io.MultiReader(append(parts, bytes.NewReader(s.After))...)
}

// patience is the factor by which writes may stall longer than reads: stores answer writes more slowly.
const patience = 3

// send makes a request, and repeats it until it succeeds or fails permanently. It does not follow redirects, so that data is
// not written to another server.
func (p *Place) send(ctx context.Context, s *sending) error {
	r := p.remote(p.Name(s.key), s.URL)
	defer r.shut()
	r.host = newHostLimit() // a lease must not wait behind reads of sources
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	err := r.persist(ctx, max(s.length(), s.after), func(ctx context.Context) error { return r.deliver(ctx, s) })
	if err == nil {
		return nil
	}
	if why := p.service.Unsigned(); why != "" && errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w (%s)", err, why)
	}
	return fmt.Errorf("%s: %w", r.name, hideBucket(err))
}

// deliver makes a request once.
func (r *remote) deliver(ctx context.Context, s *sending) error {
	ctx, watch := watched(ctx, patience*r.opts.Stall+s.pause)
	defer watch.stop()
	req, err := http.NewRequestWithContext(ctx, s.Method, s.URL.String(), nil)
	if err != nil {
		return err
	}
	if n := s.length(); n > 0 {
		req.ContentLength = n
		// net/http and the S3 transport read the body again from its start if they repeat the request.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(io.TeeReader(s.body(), watch)), nil }
		req.Body, _ = req.GetBody() // the function above never fails
	}
	for name, values := range s.Header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "varve")
	resp, err := r.client.Do(req)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer resp.Body.Close()
	a := &answer{Response: resp, body: io.TeeReader(resp.Body, watch)}
	if resp.StatusCode/100 != 2 && resp.StatusCode != s.also {
		return causeOf(ctx, a.failure())
	}
	if s.use != nil {
		if err := s.use(a); err != nil {
			return causeOf(ctx, err)
		}
	}
	a.drain()
	return nil
}

// upload stores an object in parts.
type upload struct {
	*Place
	key        string
	content    io.ReaderAt
	size, each int64             // bytes of the object, of a part
	when       *object.Condition // nil: replace any existing object
	before     Identity          // identity of the existing object
	ready      func() error      // called after the upload is begun; may be nil
	session    *object.Session
}

// upload returns an upload that is not yet begun.
func (p *Place) upload(key string, content io.ReaderAt, size int64, when *object.Condition) *upload {
	return &upload{Place: p, key: key, content: content, size: size, each: partBytes(p.opener.opts.PartBytes, size), when: when}
}

// mostParts is the maximum number of parts of an object. The limit of the stores is 10,000.
const mostParts = 9000

// partBytes returns the size of parts of an object, at least `least`.
func partBytes(least, size int64) int64 {
	if size/mostParts < least {
		return least
	}
	const unit = 256 << 10 // Google requires multiples of it
	return (size/mostParts/unit + 1) * unit
}

// run stores the object.
func (u *upload) run(ctx context.Context) (err error) {
	// settle needs the old identity to recognize whether the object was replaced.
	if u.before, err = u.Stat(ctx, u.key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	put := &object.Put{Bucket: u.bucket.name, Key: u.prefix + u.key, If: u.when}
	if err := u.begin(ctx, put); err != nil {
		return err
	}
	if u.ready != nil {
		if err := u.ready(); err != nil {
			u.abort(ctx)
			return err
		}
	}
	if u.session.Ordered {
		err = u.inOrder(ctx)
	} else {
		err = u.together(ctx)
	}
	if err = u.settle(ctx, err); err == nil {
		return nil
	}
	u.abort(ctx)
	return err
}

// soon is the time limit for cleaning up.
const soon = 10 * time.Second

// abort removes the parts of a failed upload. It ignores errors: most stores can be configured to remove such parts after some
// time.
func (u *upload) abort(ctx context.Context) {
	if u.session.Abort == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon) // also after an interrupt
	defer cancel()
	_ = u.send(ctx, &sending{Request: u.session.Abort, key: u.key, also: sessionGone})
}

// sessionGone is the status of Google's answer to aborting an upload.
const sessionGone = 499

// maxSession is the maximum size of a store's answer to beginning an upload.
const maxSession = 64 << 10

// begin begins the upload and sets u.session.
func (u *upload) begin(ctx context.Context, put *object.Put) (err error) {
	q := u.service.Begin(put)
	if q == nil {
		u.session, err = u.service.Session(put, nil, nil)
		return err
	}
	return u.send(ctx, &sending{Request: q, key: u.key, use: func(a *answer) error {
		body, err := io.ReadAll(io.LimitReader(a.body, maxSession))
		if err != nil {
			return err
		}
		if u.session, err = u.service.Session(put, a.Header, body); err != nil {
			return wrongf("%w", err)
		}
		return nil
	}})
}

// part returns the request that stores part n, which begins at offset off.
func (u *upload) part(n int, off int64) (*sending, error) {
	part := &object.Part{Number: n, Offset: off, Length: min(u.each, u.size-off), Size: u.size}
	content := io.NewSectionReader(u.content, off, part.Length)
	sum, err := sumOf(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.Name(u.key), err)
	}
	part.MD5 = sum
	return &sending{Request: u.session.Part(part), key: u.key, content: content}, nil
}

// maxConcurrentParts is the number of parts that are sent at a time. Each may be in memory.
const maxConcurrentParts = 8

// together sends the parts in parallel, then completes the object.
func (u *upload) together(ctx context.Context) error {
	tags := make([]string, (u.size+u.each-1)/u.each)
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(min(u.opener.opts.Parallel, maxConcurrentParts))
	for n := range tags {
		group.Go(func() error {
			s, err := u.part(n, int64(n)*u.each)
			if err != nil {
				return err
			}
			s.use = func(a *answer) error {
				tags[n] = a.Header.Get("ETag")
				return nil
			}
			return u.send(within, s)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	const longest = 10 * time.Minute // Amazon may take minutes to assemble a large object
	return u.send(ctx, &sending{Request: u.session.Done(tags), key: u.key, pause: longest, after: u.size, use: done})
}

// done returns the error in an answer with a status of success. Amazon begins the answer before it knows the result.
func done(a *answer) error {
	if a.complaint().Code == "" {
		return nil
	}
	return &statusError{code: http.StatusInternalServerError, reason: a.complaint().word(), after: -1}
}

// settle returns nil if the object was stored although err is not nil: if the answer to the last request was lost, repeating
// the request fails, because the upload no longer exists.
func (u *upload) settle(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if u.when != nil { // another writer's object may have the same size, so compare the content
		if same, failed := u.holds(ctx, u.key, u.content, u.size); same && failed == nil {
			return nil
		}
		return err
	}
	if id, failed := u.Stat(ctx, u.key); failed == nil && id.Size == u.size && id != u.before {
		return nil
	}
	return err
}

// inOrder sends the parts one after another. Each answer contains the number of bytes that the store has stored.
func (u *upload) inOrder(ctx context.Context) error {
	for n, off := 0, int64(0); off < u.size; n++ {
		s, err := u.part(n, off)
		if err != nil {
			return err
		}
		next := off + s.content.Size()
		s.also = http.StatusPermanentRedirect
		s.use = func(a *answer) error {
			if a.StatusCode == http.StatusPermanentRedirect {
				next, err = stored(a.Header.Get("Range"))
			}
			return err
		}
		if err := u.send(ctx, s); err != nil {
			return err
		}
		if next <= off || next > u.size {
			return fmt.Errorf("%s: after a part at offset %d, the store reports %d of %d stored bytes", u.Name(u.key), off, next, u.size)
		}
		off = next
	}
	return nil
}

// stored returns the number of stored bytes in a Range header such as "bytes=0-16777215".
func stored(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	var last int64
	if _, err := fmt.Sscanf(text, "bytes=0-%d", &last); err != nil || last < 0 {
		return 0, wrongf("the server reports the stored range %q, must be like bytes=0-99", text)
	}
	return last + 1, nil
}
