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

// otherFileError is the error of a path that leads into another file.
type otherFileError struct{ file, path string }

func newOtherFileError(file string, parts ...string) *otherFileError {
	parts = strings.Split(strings.TrimRight(strings.Join(parts, "/"), "\x00"), "/")
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == "." })
	return &otherFileError{file, "/" + strings.Join(parts, "/")}
}

func (e *otherFileError) Error() string {
	return fmt.Sprintf("is the object %s in file %q", e.path, e.file)
}

// Unwrap returns ErrUnsupported, because a Tree does not follow paths into other files.
func (e *otherFileError) Unwrap() error { return errors.ErrUnsupported }

// follow returns the target of a link in a group.
func (t *Tree) follow(group *Object, l link, steps int) (*Object, error) {
	switch {
	case steps > maxLinksFollowed:
		return nil, readers.Corruptf("more than %d links in a row", maxLinksFollowed)
	case l.kind == linkDamaged:
		return nil, t.file.locate(join(group.Path, l.name), l.err)
	case l.kind == linkHard:
		if o := t.byAddr[l.addr]; o != nil {
			return o, nil
		}
		if i := slices.IndexFunc(t.Objects, func(o *Object) bool { return o.Addr == l.addr && o.Err != nil }); i >= 0 {
			return nil, t.Objects[i].Err
		}
		return nil, readers.Corruptf("link %q of %s: its target cannot be read", l.name, group.Path)
	case l.kind == linkSoft:
		return t.lookup(group, l.path, steps+1)
	case l.kind == linkExternal:
		return nil, newOtherFileError(l.file, l.path)
	}
	return nil, unsupported("link %q of %s has the user-defined type %d", l.name, group.Path, l.kind)
}

// Lookup returns the object at a path, and follows soft links. It returns fs.ErrNotExist if there
// is none, and no unreadable object is on the path.
func (t *Tree) Lookup(path string) (*Object, error) { return t.lookup(t.Root, path, 0) }

// lookup follows a path that starts at a group.
func (t *Tree) lookup(from *Object, path string, steps int) (*Object, error) {
	// Some writers store the NUL at the end of a soft link.
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
			return nil, readers.Corruptf("%s is not a group, but the path %q contains its member %q", from.Path, path, part)
		}
		i := slices.IndexFunc(from.members, func(l link) bool { return l.name == part })
		// The member may be in the part of the group that cannot be read.
		if i < 0 && from.Err != nil {
			return nil, from.Err
		}
		if i < 0 {
			return nil, fmt.Errorf("%s has no member %q, which the path %q contains: %w", from.Path, part, path, fs.ErrNotExist)
		}
		next, err := t.follow(from, from.members[i], steps)
		if away, ok := err.(*otherFileError); ok {
			return nil, newOtherFileError(away.file, append([]string{away.path}, parts[k+1:]...)...)
		}
		if err != nil {
			return nil, err
		}
		from = next
	}
	return from, nil
}

// dataset returns the dataset with a name, or nil if it does not exist. Only then does libhdf5 use
// fill values for a part of a virtual dataset.
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
		return nil, readers.Corruptf("%s is not a dataset", o.Path)
	}
	return o, nil
}
