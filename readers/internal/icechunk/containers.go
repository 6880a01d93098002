package icechunk

import (
	"fmt"
	"path/filepath"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// container is the option that says where named containers are.
var container = readers.Option{
	Name: "container", Kind: readers.OptionFiles,
	Help:  "read sources in a container of Icechunk (vcc://NAME/…) from this place, and allow it: `NAME=PLACE`",
	Check: func(text string) error { _, err := containersOf([]string{text}); return err },
	Place: func(text string) string { _, place, _ := strings.Cut(text, "="); return place },
}

// containers are the places of named containers.
type containers map[string]string

// containersOf parses texts of the form NAME=PLACE.
func containersOf(texts []string) (containers, error) {
	out := containers{}
	for _, text := range texts {
		name, place, _ := strings.Cut(text, "=")
		if name == "" || place == "" {
			return nil, fmt.Errorf("%q: want NAME=PLACE, such as archive=/data/files", text)
		}
		if other, twice := out[name]; twice && other != place {
			return nil, fmt.Errorf("the container %s has two places: %s and %s", name, source.Shown(other), source.Shown(place))
		}
		out[name] = place
	}
	return out, nil
}

// scheme begins the locations that are relative to a named container.
const scheme = "vcc://"

// source returns the name of the source at a location.
func (c containers) source(location string) (string, error) {
	rest, isNamed := strings.CutPrefix(location, scheme)
	if !isNamed {
		return sourceName(location), nil
	}
	name, below, _ := strings.Cut(rest, "/")
	place, ok := c[name]
	if !ok {
		return location, fmt.Errorf("values are in the container %s of the repository: say where that is, with --container %s=PLACE: %w", name, name, source.ErrForbidden)
	}
	path, err := source.LocalPath(place)
	if err != nil {
		return sourceName(strings.TrimSuffix(place, "/") + "/" + below), nil
	}
	below = filepath.FromSlash(unescaped(below))
	if !filepath.IsLocal(below) {
		return location, readers.Corruptf("location %.80q leads out of its container", location)
	}
	return filepath.Join(path, below), nil
}
