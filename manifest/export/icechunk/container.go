package icechunk

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"varve/readers/source"
)

// Container is a named folder or prefix of sources. References to the sources in it are relative: vcc://NAME/PATH. So a
// reader can say where the sources are now, and the repository stays as it is.
type Container struct{ Name, Prefix string }

var containerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// named is a container in the form of Icechunk.
type named struct{ name, prefix string }

// containersOf checks containers, and returns them so that the longest prefix comes first.
func containersOf(given []Container) (out []named, err error) {
	for _, c := range given {
		if !containerName.MatchString(c.Name) {
			return nil, fmt.Errorf("container %q: want a name of letters, digits, and the characters . _ -", c.Name)
		}
		prefix := c.Prefix
		if !source.IsURL(prefix) {
			if prefix, err = filepath.Abs(prefix); err != nil {
				return nil, err
			}
		}
		inside, err := location(strings.TrimSuffix(prefix, "/") + "/x")
		if err != nil {
			return nil, fmt.Errorf("container %s: %w", c.Name, err)
		}
		// Icechunk compares prefixes with unescaped names.
		if prefix = strings.TrimSuffix(inside, "x"); strings.Contains(prefix, "%") {
			return nil, fmt.Errorf("container %s: %s has characters that are escaped in URLs: choose a folder above them", c.Name, source.Shown(c.Prefix))
		}
		for _, other := range out {
			if other.name == c.Name || other.prefix == prefix {
				return nil, fmt.Errorf("containers %s and %s have the same name or the same prefix", other.name, c.Name)
			}
		}
		out = append(out, named{c.Name, prefix})
	}
	slices.SortFunc(out, func(a, b named) int { return len(b.prefix) - len(a.prefix) })
	return out, nil
}

// reference returns the location in a reference to a source, and includes the source in what readers have to allow.
func (r *reach) reference(where string) string {
	for i, c := range r.named {
		below, ok := strings.CutPrefix(where, c.prefix)
		if !ok {
			continue
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.used == nil {
			r.used = make([]bool, len(r.named))
		}
		r.used[i] = true
		return "vcc://" + c.name + "/" + below
	}
	r.add(where)
	return where
}
