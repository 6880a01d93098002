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

// Put stores an object, whatever was there. One that is larger than PartBytes goes in parts,
// which are given up if it fails.
func (p *Place) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if size <= p.opener.opts.PartBytes {
		return p.putOnce(ctx, key, io.NewSectionReader(content, 0, size), nil)
	}
	return p.upload(key, content, size, nil).run(ctx)
}

// sized is content of a known size that can be read again.
type sized interface {
	io.ReaderAt
	Size() int64
}

// putOnce stores an object with one request.
func (p *Place) putOnce(ctx context.Context, key string, content sized, c *object.Condition) error {
	sum, err := sumOf(content)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name(key), err)
	}
	q := p.service.Put(&object.Put{Bucket: p.bucket.name, Key: p.prefix + key, MD5: sum, If: c})
	return p.send(ctx, &sending{Request: q, key: key, content: content})
}

func sumOf(content sized) ([]byte, error) {
	sum := md5.New()
	_, err := io.Copy(sum, io.NewSectionReader(content, 0, content.Size()))
	return sum.Sum(nil), err
}

// sending is a request that changes something, or only asks.
type sending struct {
	*object.Request
	key     string              // in the place
	content sized               // nil for none
	pause   time.Duration       // that the server may make before it answers
	after   int64               // bytes that it may have to see to before it does
	use     func(*answer) error // takes an answer that says it was done; nil for nobody
	also    int                 // a status that says so, beside 200 and the like
}

// length is that of the body.
func (s *sending) length() int64 {
	n := int64(len(s.Before) + len(s.After))
	if s.content != nil {
		n += s.content.Size()
	}
	return n
}

// body is the body from its beginning.
func (s *sending) body() io.Reader {
	parts := []io.Reader{bytes.NewReader(s.Before)}
	if s.content != nil {
		parts = append(parts, io.NewSectionReader(s.content, 0, s.content.Size()))
	}
	return io.MultiReader(append(parts, bytes.NewReader(s.After))...)
}

// patience is how much longer a request may take to be answered than one to bring something.
const patience = 3

// send makes a request until it is done, or fails in a way that will not pass. Redirects are
// not followed: what is written goes where it was meant to go.
func (p *Place) send(ctx context.Context, s *sending) error {
	r := p.remote(p.Name(s.key), s.URL)
	defer r.shut()
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
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(io.TeeReader(s.body(), watch)), nil }
		req.Body, _ = req.GetBody() // it never fails
	}
	for name, values := range s.Header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "varve")
	resp, err := r.client.Do(req)
	if err != nil {
		return because(ctx, err)
	}
	defer resp.Body.Close()
	a := &answer{Response: resp, body: io.TeeReader(resp.Body, watch)}
	if resp.StatusCode/100 != 2 && resp.StatusCode != s.also {
		return because(ctx, a.failure())
	}
	if s.use != nil {
		if err := s.use(a); err != nil {
			return because(ctx, err)
		}
	}
	a.drain()
	return nil
}

// upload is an object that goes in parts.
type upload struct {
	*Place
	key        string
	content    io.ReaderAt
	size, each int64
	when       *object.Condition // nil: whatever was there is replaced
	before     Identity          // of what was there
	ready      func() error      // is called when an upload is begun; nil for nobody
	session    *object.Session
}

func (p *Place) upload(key string, content io.ReaderAt, size int64, when *object.Condition) *upload {
	return &upload{Place: p, key: key, content: content, size: size, each: partBytes(p.opener.opts.PartBytes, size), when: when}
}

// mostParts is how many parts an object may have, with some to spare.
const mostParts = 9000

// partBytes is how large parts are.
func partBytes(least, size int64) int64 {
	if size/mostParts < least {
		return least
	}
	const unit = 256 << 10 // as Google wants it
	return (size/mostParts/unit + 1) * unit
}

func (u *upload) run(ctx context.Context) (err error) {
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

// soon is how long cleaning up may take.
const soon = 10 * time.Second

// abort gives the parts up. What a store does not hear of, it forgets by itself, if its owner
// has set it up so.
func (u *upload) abort(ctx context.Context) {
	if u.session.Abort == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	_ = u.send(ctx, &sending{Request: u.session.Abort, key: u.key, also: sessionGone})
}

// sessionGone is what Google answers to who gives up an upload.
const sessionGone = 499

// maxSession bounds what a store says of an upload that begins.
const maxSession = 64 << 10

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

// part is the n-th part, from an offset on.
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

// together sends parts several at a time, and then has an object made of them.
func (u *upload) together(ctx context.Context) error {
	tags := make([]string, (u.size+u.each-1)/u.each)
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(u.opener.opts.Parallel)
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
	const longest = 10 * time.Minute
	return u.send(ctx, &sending{Request: u.session.Done(tags), key: u.key, pause: longest, after: u.size, use: done})
}

// done looks for an error in an answer that was begun before it was known.
func done(a *answer) error {
	if a.complaint().Code == "" {
		return nil
	}
	return &statusError{code: http.StatusInternalServerError, reason: a.complaint().word(), after: -1}
}

// settle looks whether a new object is there all the same: the last request may have been done
// and its answer lost, after which there is no such upload any more.
func (u *upload) settle(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if u.when != nil { // somebody else's may be as large
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

// inOrder sends parts behind one another. The store says how far it has got.
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
			return fmt.Errorf("%s: of %d bytes the store has taken %d, and then %d", u.Name(u.key), u.size, off, next)
		}
		off = next
	}
	return nil
}

// stored reads how much of an upload is stored: "bytes=0-16777215".
func stored(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	var last int64
	if _, err := fmt.Sscanf(text, "bytes=0-%d", &last); err != nil || last < 0 {
		return 0, wrongf("the server has stored the range %q, which does not begin at 0", text)
	}
	return last + 1, nil
}
