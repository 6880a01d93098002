package hdf5

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve/readers"
)

const maxLinksFollowed = 16

// elsewhere is the error of a path that leads into another file.
type elsewhere struct{ file, path string }

func newElsewhere(file string, parts ...string) *elsewhere {
	parts = strings.Split(strings.TrimRight(strings.Join(parts, "/"), "\x00"), "/")
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == "." })
	return &elsewhere{file, "/" + strings.Join(parts, "/")}
}

func (e *elsewhere) Error() string { return fmt.Sprintf("is %s of the file %q", e.path, e.file) }

// Unwrap says that nobody here follows it.
func (e *elsewhere) Unwrap() error { return errors.ErrUnsupported }

// follow returns the object that a link of a group leads to.
func (t *Tree) follow(group *Object, l link, steps int) (*Object, error) {
	switch {
	case steps > maxLinksFollowed:
		return nil, readers.Corruptf("more than %d links lead from one to another", maxLinksFollowed)
	case l.kind == linkDamaged:
		return nil, t.file.locate(join(group.Path, l.name), l.err)
	case l.kind == linkHard:
		if o := t.byAddr[l.addr]; o != nil {
			return o, nil
		}
		if i := slices.IndexFunc(t.Objects, func(o *Object) bool { return o.Addr == l.addr && o.Err != nil }); i >= 0 {
			return nil, t.Objects[i].Err
		}
		return nil, readers.Corruptf("%q of %s leads to what cannot be read", l.name, group.Path)
	case l.kind == linkSoft:
		return t.lookup(group, l.path, steps+1)
	case l.kind == linkExternal:
		return nil, newElsewhere(l.file, l.path)
	}
	return nil, unsupported("%q of %s is a link of user-defined type %d", l.name, group.Path, l.kind)
}

// Lookup returns the object at a path, through soft links. Where there is none, and nothing
// that cannot be read is on the way, the error is fs.ErrNotExist.
func (t *Tree) Lookup(path string) (*Object, error) { return t.lookup(t.Root, path, 0) }

// lookup follows a path from a group.
func (t *Tree) lookup(from *Object, path string, steps int) (*Object, error) {
	path = strings.TrimRight(path, "\x00")
	if strings.HasPrefix(path, "/") {
		from = t.Root
	}
	parts := strings.Split(path, "/")
	for k, part := range parts {
		if part == "" || part == "." {
			continue
		}
		if from.Kind != GroupObject {
			return nil, readers.Corruptf("%s is no group, and %q needs a member %q of it", from.Path, path, part)
		}
		i := slices.IndexFunc(from.members, func(l link) bool { return l.name == part })
		if i < 0 && from.Err != nil {
			return nil, from.Err
		}
		if i < 0 {
			return nil, fmt.Errorf("%s has no member %q, which %q needs: %w", from.Path, part, path, fs.ErrNotExist)
		}
		next, err := t.follow(from, from.members[i], steps)
		if away, ok := err.(*elsewhere); ok {
			return nil, newElsewhere(away.file, append([]string{away.path}, parts[k+1:]...)...)
		}
		if err != nil {
			return nil, err
		}
		from = next
	}
	return from, nil
}

// dataset returns the dataset of a name, or nil if nothing has the name: only then has a part
// of a virtual dataset no values, to libhdf5.
func (t *Tree) dataset(name string) (*Object, error) {
	o, err := t.Lookup(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case o.Err != nil:
		return nil, o.Err
	case o.Kind != DatasetObject:
		return nil, readers.Corruptf("%s is no dataset", o.Path)
	}
	return o, nil
}
