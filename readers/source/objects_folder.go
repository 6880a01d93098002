package source

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"sync"
	"time"

	"varve/readers/source/internal/object"
)

// objectFolder is the folder of the keys that begin with a prefix.
type objectFolder struct {
	*bucket
	prefix string // empty, or ends with a slash

	mu sync.Mutex
	// listed holds, by key of a folder, the names in folders that were listed completely. Opening a missing object in
	// such a folder needs no request.
	listed map[string]map[string]kinds
}

// kinds says whether a name is an object, a folder, or both.
type kinds struct{ object, folder bool }

// maxListed is the maximum number of folders that are remembered, and of names in each.
const maxListed = 1000

func (f *objectFolder) Identity() Identity { return Identity{} }

func (f *objectFolder) Close() error { return nil }

func (f *objectFolder) ReadAt(_ context.Context, p []byte, _ int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, io.EOF
}

// OpenKey opens an object below the folder.
func (f *objectFolder) OpenKey(ctx context.Context, key string) (Ranges, error) {
	if f.lacks(key) {
		return nil, &fs.PathError{Op: "open", Path: f.root + f.prefix + key, Err: fs.ErrNotExist}
	}
	r, err := f.open(ctx, f.prefix+key, nil)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// lacks reports whether a listing has shown that the object does not exist.
func (f *objectFolder) lacks(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for folder, rest := "", key; ; {
		name, below, deeper := strings.Cut(rest, "/")
		if names, ok := f.listed[folder]; ok {
			if is := names[name]; deeper && !is.folder || !deeper && !is.object {
				return true
			}
		}
		if !deeper {
			return false
		}
		folder, rest = path.Join(folder, name), below
	}
}

// List yields the objects and folders directly in a folder. It leaves out keys that are not valid paths: keys with empty
// parts, and the empty objects whose keys end with a slash, which some tools create as folders.
func (f *objectFolder) List(ctx context.Context, key string) iter.Seq2[Entry, error] {
	prefix := f.prefix
	if key != "" {
		prefix += key + "/"
	}
	return func(yield func(Entry, error) bool) {
		names := map[string]kinds{}
		for o, err := range f.list(ctx, prefix) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			e, ok := entryOf(o, prefix)
			if !ok {
				continue
			}
			if f.note(o); len(names) <= maxListed {
				is := names[e.Name]
				names[e.Name] = kinds{is.object || !e.Folder, is.folder || e.Folder}
			}
			if !yield(e, nil) {
				return
			}
		}
		f.remember(key, names)
	}
}

// remember records the names of a folder that was listed completely.
func (f *objectFolder) remember(key string, names map[string]kinds) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed == nil || len(f.listed) >= maxListed {
		f.listed = map[string]map[string]kinds{}
	}
	if len(names) <= maxListed {
		f.listed[key] = names
	}
}

// note remembers the identity of an object, if its ETag is strong enough for a condition.
func (f *objectFolder) note(o object.Entry) {
	id := Identity{Size: o.Size, ETag: o.ETag, Modified: o.Modified.Truncate(time.Second)} // headers have whole seconds
	if !o.Folder && id.strong() {
		f.opener.stores.note(f.root+o.Key, id)
	}
}

// entryOf returns the Entry of a listed object or folder, named relative to prefix. ok is false if it is not a valid path.
func entryOf(o object.Entry, prefix string) (Entry, bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(o.Key, prefix), "/")
	if !fs.ValidPath(name) || name == "." || !o.Folder && strings.HasSuffix(o.Key, "/") {
		return Entry{}, false
	}
	return Entry{Name: name, Folder: o.Folder, Size: o.Size, Modified: o.Modified}, true
}

// Glob yields the objects and folders that match a pattern such as s3://bucket/model/20??/*.nc, in the order of their path
// components. As in path.Match, wildcards do not match slashes. An object whose key is the pattern itself is the only match.
func (o *Opener) Glob(ctx context.Context, pattern string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		b, key, err := o.bucket(ctx, pattern)
		if err == nil {
			err = b.glob(ctx, key, yield)
		}
		if err != nil && err != errStopped {
			yield(Entry{}, err)
		}
	}
}

func (b *bucket) glob(ctx context.Context, pattern string, yield func(Entry, error) bool) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%s: %w", b.root+pattern, err)
	}
	page, err := b.page(ctx, &object.Query{Prefix: pattern, Most: 1})
	if err != nil {
		return err
	}
	for _, e := range page.Entries {
		if e.Key == pattern {
			yield(b.entry(e), nil)
			return nil
		}
	}
	return b.match(ctx, "", pattern, yield)
}

// match yields the matches of a pattern below the folder `before`.
func (b *bucket) match(ctx context.Context, before, pattern string, yield func(Entry, error) bool) error {
	part, rest, deeper := strings.Cut(pattern, "/")
	for deeper && !hasMeta(part) {
		before += part + "/"
		part, rest, deeper = strings.Cut(rest, "/")
	}
	plain := part
	if i := strings.IndexAny(part, meta); i >= 0 {
		plain = part[:i]
	}
	for e, err := range b.list(ctx, before+plain) {
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(e.Key, before), "/")
		if is, _ := path.Match(part, name); !is || name == "" || deeper && !e.Folder {
			continue // glob has checked the pattern, so the error is always nil
		}
		switch {
		case deeper && rest != "":
			err = b.match(ctx, e.Key, rest, yield)
		case !e.Folder && strings.HasSuffix(e.Key, "/"):
			continue // an empty object that a tool created as a folder
		case !yield(b.entry(e), nil):
			err = errStopped
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// meta are the characters that make a name a pattern.
const meta = `*?[\`

func hasMeta(s string) bool { return strings.ContainsAny(s, meta) }

func (b *bucket) entry(e object.Entry) Entry {
	return Entry{Name: b.root + e.Key, Folder: e.Folder, Size: e.Size, Modified: e.Modified}
}
