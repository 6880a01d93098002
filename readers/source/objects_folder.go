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

// objectFolder is what the keys have in common that begin with a prefix.
type objectFolder struct {
	*bucket
	prefix string // empty, or ends with a slash

	mu sync.Mutex
	// listed are the names in folders that were listed to the end, so that one who looks
	// for this and that in them need not ask.
	listed map[string]map[string]kinds
}

// kinds says what a name is, which can be an object and a folder.
type kinds struct{ object, folder bool }

// maxListed bounds the names of a folder that are remembered.
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

// lacks reports whether a listing has shown that there is no such object.
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

// List yields what lies directly in a folder. What no path of a folder can name is left out:
// the objects that stand for folders, and keys with empty parts.
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

// note keeps the version of an object, where the listing tells it well enough to be a
// condition of reading.
func (f *objectFolder) note(o object.Entry) {
	id := Identity{Size: o.Size, ETag: o.ETag, Modified: o.Modified.Truncate(time.Second)} // as headers tell it
	if !o.Folder && id.strong() {
		f.opener.stores.note(f.root+o.Key, id)
	}
}

// entryOf is an entry of a listing by its name in the folder.
func entryOf(o object.Entry, prefix string) (Entry, bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(o.Key, prefix), "/")
	if !fs.ValidPath(name) || name == "." || !o.Folder && strings.HasSuffix(o.Key, "/") {
		return Entry{}, false
	}
	return Entry{Name: name, Folder: o.Folder, Size: o.Size, Modified: o.Modified}, true
}

// Glob yields the names of the objects and folders that match a pattern, such as
// s3://bucket/model/20??/*.nc, in the order of their parts. As in path.Match, what stands
// for any characters does not stand for slashes. An object that has the pattern for its key
// is the only match.
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

// match walks the parts of a pattern, of which those before are folders that are there.
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
			continue // the pattern was found to be one
		}
		switch {
		case deeper && rest != "":
			err = b.match(ctx, e.Key, rest, yield)
		case !e.Folder && strings.HasSuffix(e.Key, "/"):
			continue // it stands for a folder
		case !yield(b.entry(e), nil):
			err = errStopped
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// meta are the characters that make a pattern.
const meta = `*?[\`

func hasMeta(s string) bool { return strings.ContainsAny(s, meta) }

func (b *bucket) entry(e object.Entry) Entry {
	return Entry{Name: b.root + e.Key, Folder: e.Folder, Size: e.Size, Modified: e.Modified}
}
