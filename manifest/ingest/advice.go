package ingest

import (
	"errors"
	"path"
	"slices"
	"strings"

	"varve/manifest/scan"
)

// matchOthers adds to a *scan.BrokenError the pattern that the names of all readable sources match: the ending that
// they share. Match chooses files in folders only, so there is none if the user named a broken source, or gave a
// pattern already.
func (s *Sources) matchOthers(err error, names []string) error {
	var broken *scan.BrokenError
	if !errors.As(err, &broken) || s.Match != "" || slices.ContainsFunc(s.Names, func(name string) bool { return strings.ContainsAny(name, "*?[@") }) {
		return err
	}
	isBroken := make(map[string]bool, len(broken.Broken))
	for _, b := range broken.Broken {
		if slices.Contains(s.Names, b.URL) {
			return err
		}
		isBroken[b.URL] = true
	}
	ending := ""
	for _, name := range names {
		switch own := path.Ext(baseOf(name)); {
		case isBroken[name]:
		case own == "" || ending != "" && own != ending || strings.ContainsAny(own, `*?[\`):
			return err
		default:
			ending = own
		}
	}
	if ending != "" {
		broken.Match = "*" + ending
	}
	return err
}

// matches reports whether a name matches a pattern, which must be valid.
func matches(pattern, name string) bool {
	is, err := path.Match(pattern, name)
	return is && err == nil
}
