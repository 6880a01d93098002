package hdf5

import (
	"errors"
	"fmt"
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
	case l.kind == linkHard:
		if o := t.byAddr[l.addr]; o != nil {
			return o, nil
		}
		return nil, readers.Corruptf("%q of %s leads to what cannot be read", l.name, group.Path)
	case l.kind == linkSoft:
		return t.lookup(group, l.path, steps+1)
	case l.kind == linkExternal:
		return nil, newElsewhere(l.file, l.path)
	}
	return nil, unsupported("%q of %s is a link of user-defined type %d", l.name, group.Path, l.kind)
}

// Lookup returns the object at a path, through soft links.
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
		i := slices.IndexFunc(from.members, func(l link) bool { return l.name == part })
		if i < 0 {
			return nil, readers.Corruptf("%s has no member %q, which %q needs", from.Path, part, path)
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
