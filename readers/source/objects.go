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

// stores holds the object stores that an Opener uses. A store is created for the first name with its scheme, so that the
// configuration of unused stores is not read.
type stores struct {
	mu   sync.Mutex
	made map[string]object.Store // by scheme, or by bucket if the access file has an entry for it
	// noted holds the identities of objects in recent listings, so that opening them needs no request.
	noted map[string]Identity
}

// service returns the store of a bucket.
func (o *Opener) service(ctx context.Context, scheme, bucket string) (object.Store, error) {
	key := scheme
	var settings *s3.Settings
	if scheme == "s3" {
		var err error
		if settings, err = o.bucketSettings(bucket); err != nil {
			return nil, err
		}
		if settings != nil {
			key += "://" + bucket
		}
	}
	s := &o.stores
	s.mu.Lock()
	defer s.mu.Unlock()
	if service := s.made[key]; service != nil {
		return service, nil
	}
	service, err := newService(ctx, scheme, settings)
	if err != nil {
		return nil, err
	}
	if s.made == nil {
		s.made = map[string]object.Store{}
	}
	s.made[key] = service
	return service, nil
}

func newService(ctx context.Context, scheme string, settings *s3.Settings) (object.Store, error) {
	switch scheme {
	case "s3":
		return s3.New(ctx, settings)
	case "gs":
		return gcs.New()
	case "az":
		return azure.New()
	}
	if own := registeredStore(scheme); own != nil {
		return own, nil
	}
	return nil, fmt.Errorf("%s:// is not an object store, must be s3://, gs:// or az://: %w", scheme, errors.ErrUnsupported)
}

// maxNoted is the maximum number of remembered identities.
const maxNoted = 10_000

// note remembers the identity of an object.
func (s *stores) note(name string, id Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Starting over is enough: an identity that is not remembered costs one request.
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

// IsObject reports whether name is an object, a prefix or a bucket in an object store: s3://, gs://, az://, or a scheme of
// RegisterStore. Such names are
// never percent-encoded.
func IsObject(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "s3", "gs", "az":
		return true
	}
	return registeredStore(strings.ToLower(scheme)) != nil
}

// ParseURL parses a URL. For an object store, the path is the key with its characters unchanged.
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

// bucket is a bucket of an object store.
type bucket struct {
	opener  *Opener
	service object.Store
	name    string
	root    string // the beginning of its objects' names: "s3://bucket/"
}

// bucket returns the bucket and the key of a name.
func (o *Opener) bucket(ctx context.Context, name string) (*bucket, string, error) {
	scheme, at, key, err := object.Split(name)
	if err != nil {
		return nil, "", err
	}
	service, err := o.service(ctx, scheme, at)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	return &bucket{o, service, at, scheme + "://" + at + "/"}, key, nil
}

// openObject opens an object, or a folder if keys continue after the name with a slash. It also returns the name without a
// trailing slash.
func openObject(ctx context.Context, o *Opener, name string, id *Identity) (string, Ranges, error) {
	b, key, err := o.bucket(ctx, name)
	if err != nil {
		return "", nil, err
	}
	if key == "" || strings.HasSuffix(key, "/") {
		if id != nil {
			return "", nil, fmt.Errorf("%s: it is a folder, not an object", name)
		}
		f := &objectFolder{bucket: b, prefix: key}
		return strings.TrimSuffix(b.root+key, "/"), f, nil
	}
	r, err := b.open(ctx, key, id)
	if errors.Is(err, fs.ErrNotExist) {
		// The name may be a folder without its final slash.
		if has, err := b.has(ctx, key+"/"); err == nil && has {
			return b.root + key, &objectFolder{bucket: b, prefix: key + "/"}, nil
		}
	}
	if err != nil {
		return "", nil, err
	}
	return r.name, r, nil
}

// open opens an object. If its version is known, from id or from a recent listing, it makes no request.
func (b *bucket) open(ctx context.Context, key string, id *Identity) (*remote, error) {
	if id == nil {
		if noted, ok := b.opener.stores.lookup(b.root + key); ok {
			id = &noted
		}
	}
	if id == nil {
		return b.openLatest(ctx, key)
	}
	address, err := b.service.Address(b.name, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.root+key, err)
	}
	r := b.remote(b.root+key, address)
	r.id = *id
	return r, nil
}

// openLatest opens the current version of an object.
func (b *bucket) openLatest(ctx context.Context, key string) (*remote, error) {
	address, err := b.service.Address(b.name, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.root+key, err)
	}
	r := b.remote(b.root+key, address)
	if err := r.discover(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.name, err), r.Close())
	}
	return r, nil
}

// remote returns the remote for an address on the store's server. Its errors contain name, not the address.
func (b *bucket) remote(name string, address *url.URL) *remote {
	r := newRemote(b.opener, address)
	r.name, r.hint = name, func(*url.URL) string { return b.service.Hint() }
	r.client.Transport = b.service.Transport(b.name, r.client.Transport)
	r.single.add(address.Host) // no object store sends several ranges
	return r
}

// The maximum size of a page of a listing, and the maximum number of consecutive empty pages.
const (
	maxPageBytes  = 32 << 20
	maxEmptyPages = 1000
)

// page requests and parses a page of a listing.
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

// document reads a body of unknown length, at most `most` bytes.
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
		return nil, wrongf("the server sent more than %d bytes, the limit", most)
	}
	return body, nil
}

// list yields the objects and folders whose keys begin with a prefix. Keys with a further slash are folders.
func (b *bucket) list(ctx context.Context, prefix string) iter.Seq2[object.Entry, error] {
	return b.entries(ctx, object.Query{Prefix: prefix})
}

// entries yields the entries of all pages of a listing.
func (b *bucket) entries(ctx context.Context, of object.Query) iter.Seq2[object.Entry, error] {
	return func(yield func(object.Entry, error) bool) {
		q := &of
		for empty := 0; ; {
			page, err := b.page(ctx, q)
			if empty++; err == nil && len(page.Entries) > 0 {
				empty = 0
			}
			if empty > maxEmptyPages {
				err = fmt.Errorf("%s%s: listing: %d consecutive pages are empty, the limit is %d", b.root, of.Prefix, empty, maxEmptyPages)
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
