package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"varve/readers/source/internal/azure"
	"varve/readers/source/internal/gcs"
	"varve/readers/source/internal/object"
	"varve/readers/source/internal/s3"
)

// stores are the object stores that an Opener has been asked for: no configuration is read
// and nobody is called before the first name of a kind.
type stores struct {
	mu   sync.Mutex
	made map[string]object.Store
	// noted are objects that listings described lately, so that opening one costs nothing.
	noted map[string]Identity
}

func (s *stores) service(ctx context.Context, scheme string) (object.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if service := s.made[scheme]; service != nil {
		return service, nil
	}
	service, err := newService(ctx, scheme)
	if err != nil {
		return nil, err
	}
	if s.made == nil {
		s.made = map[string]object.Store{}
	}
	s.made[scheme] = service
	return service, nil
}

func newService(ctx context.Context, scheme string) (object.Store, error) {
	switch scheme {
	case "s3":
		return s3.New(ctx)
	case "gs":
		return gcs.New()
	case "az":
		return azure.New()
	}
	return nil, fmt.Errorf("%s:// is no object store: %w", scheme, errors.ErrUnsupported)
}

// maxNoted bounds what is remembered of listings.
const maxNoted = 10_000

func (s *stores) note(name string, id Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noted == nil || len(s.noted) >= maxNoted {
		s.noted = map[string]Identity{}
	}
	s.noted[name] = id
}

func (s *stores) lookup(name string) (Identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.noted[name]
	return id, ok
}

// IsObject reports whether a name is that of an object, a prefix or a bucket in an object
// store. Such names are what they say: nothing in them is percent-encoded.
func IsObject(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "s3", "gs", "az":
		return true
	}
	return false
}

// ParseURL returns the parts of a URL. The path of one in an object store is its key,
// whatever characters that has.
func ParseURL(name string) (*url.URL, error) {
	if !IsObject(name) {
		return url.Parse(name)
	}
	scheme, bucket, key, err := object.Split(name)
	if err != nil {
		return nil, err
	}
	return &url.URL{Scheme: scheme, Host: bucket, Path: "/" + key}, nil
}

// bucket is where objects are.
type bucket struct {
	opener  *Opener
	service object.Store
	name    string // of the bucket
	root    string // what is before each key: "s3://bucket/"
}

func (o *Opener) bucket(ctx context.Context, name string) (*bucket, string, error) {
	scheme, at, key, err := object.Split(name)
	if err != nil {
		return nil, "", err
	}
	service, err := o.stores.service(ctx, scheme)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	return &bucket{o, service, at, scheme + "://" + at + "/"}, key, nil
}

// openObject opens an object or, where keys go on behind the name, a folder.
func openObject(ctx context.Context, o *Opener, name string, id *Identity) (string, Ranges, error) {
	b, key, err := o.bucket(ctx, name)
	if err != nil {
		return "", nil, err
	}
	if key == "" || strings.HasSuffix(key, "/") {
		if id != nil {
			return "", nil, fmt.Errorf("%s: is a folder, not an object", name)
		}
		f := &objectFolder{bucket: b, prefix: key}
		return strings.TrimSuffix(b.root+key, "/"), f, nil
	}
	r, err := b.open(ctx, key, id)
	if errors.Is(err, fs.ErrNotExist) {
		if has, err := b.has(ctx, key+"/"); err == nil && has {
			return b.root + key, &objectFolder{bucket: b, prefix: key + "/"}, nil
		}
	}
	if err != nil {
		return "", nil, err
	}
	return r.name, r, nil
}

// open opens an object, in the version that is given or that a listing has just told of.
func (b *bucket) open(ctx context.Context, key string, id *Identity) (*remote, error) {
	address, err := b.service.Address(b.name, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.root+key, err)
	}
	r := b.remote(b.root+key, address)
	if id == nil {
		if noted, ok := b.opener.stores.lookup(r.name); ok {
			id = &noted
		}
	}
	if id != nil {
		r.id = *id
		return r, nil
	}
	if err := r.discover(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.name, err), r.Close())
	}
	return r, nil
}

// remote is a file on the store's server. Errors call it by its name and not by the address.
func (b *bucket) remote(name string, address *url.URL) *remote {
	r := newRemote(b.opener, address)
	r.name, r.hint = name, b.service.Hint
	r.client.Transport = b.service.Transport(b.name, r.client.Transport)
	r.single.add(address.Host) // no object store sends several ranges
	return r
}

// The most that a page of a listing may have, and all pages without an object in them.
const (
	maxPageBytes  = 32 << 20
	maxEmptyPages = 1000
)

// page reads a page of a listing.
func (b *bucket) page(ctx context.Context, q *object.Query) (*object.Page, error) {
	q.Bucket = b.name
	address, err := b.service.ListAddress(q)
	if err != nil {
		return nil, err
	}
	r := b.remote(b.root+q.Prefix, address)
	defer r.shut()
	var body []byte
	err = r.persist(ctx, 0, func(ctx context.Context) error {
		return r.ask(ctx, nil, func(a *answer) (err error) {
			body, err = a.document(maxPageBytes)
			return err
		})
	})
	var page *object.Page
	if err == nil {
		page, err = b.service.ParsePage(body, q)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: listing: %w", r.name, err)
	}
	return page, nil
}

// document reads a body of no known length.
func (a *answer) document(most int64) ([]byte, error) {
	if a.StatusCode != http.StatusOK {
		return nil, a.failure()
	}
	if err := a.plain(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(a.body, most+1))
	if err != nil {
		return nil, &cut{len(body), max(len(body), int(a.ContentLength)), err}
	}
	if int64(len(body)) > most {
		return nil, wrongf("the server sent more than %d bytes", most)
	}
	return body, nil
}

// list yields objects and folders whose keys begin with a prefix, as far as the next slash.
func (b *bucket) list(ctx context.Context, prefix string) iter.Seq2[object.Entry, error] {
	return b.entries(ctx, object.Query{Prefix: prefix})
}

// entries yields what is on all pages.
func (b *bucket) entries(ctx context.Context, of object.Query) iter.Seq2[object.Entry, error] {
	return func(yield func(object.Entry, error) bool) {
		q := &of
		for empty := 0; ; {
			page, err := b.page(ctx, q)
			if empty++; err == nil && len(page.Entries) > 0 {
				empty = 0
			}
			if empty > maxEmptyPages {
				err = fmt.Errorf("%s%s: listing: %d pages in a row have nothing on them", b.root, of.Prefix, empty)
			}
			if err != nil {
				yield(object.Entry{}, err)
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q = &object.Query{Prefix: of.Prefix, Deep: of.Deep, After: page.Next}
		}
	}
}

// has reports whether any key begins with a prefix.
func (b *bucket) has(ctx context.Context, prefix string) (bool, error) {
	page, err := b.page(ctx, &object.Query{Prefix: prefix, Most: 1})
	return err == nil && len(page.Entries) > 0, err
}
