package relocate

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve/manifest"
	"varve/readers/source"
)

// Move maps an old place to a new one. A place is the path or URL of a folder, a prefix, a host with its scheme,
// or a single source. Patterns are not allowed.
type Move struct{ From, To string }

// MoveError is returned for moves that contradict each other, match no source, or give a source an invalid name.
type MoveError struct{ Says string }

// Error returns Says.
func (e *MoveError) Error() string { return e.Says }

func refuse(format string, args ...any) error { return &MoveError{fmt.Sprintf(format, args...)} }

// moves are sorted by length, the longest first: the first one that contains a source applies.
type moves []*move

type move struct {
	from, to  place
	sources   int64 // number of sources that it moves
	renames   bool  // some of them get another name
	keepQuery []string
}

// place is a Move's From or To without its final slash; the root is empty.
type place struct {
	text  string // in the form in which the manifest records sources
	whole string // text with secrets that are not recorded, such as a signature
	isURL bool   // names are percent-encoded
	local bool
	// foreign is text as a path of another operating system, on which the manifest may have been built.
	foreign   string
	isForeign bool
}

// newMoves returns the moves of a manifest that stores the parameters of URLs in keepQuery.
func newMoves(list []Move, keepQuery []string) (moves, error) {
	var all moves
	for _, given := range list {
		from, err := newPlace(given.From, keepQuery)
		if err != nil {
			return nil, err
		}
		to, err := newPlace(given.To, keepQuery)
		if err != nil {
			return nil, err
		}
		m := &move{from: from, to: to, keepQuery: keepQuery}
		if err := m.refuseSame(); err != nil && !from.isURL {
			return nil, err
		}
		if slices.ContainsFunc(all, func(m *move) bool { return m.from.text == from.text }) {
			return nil, refuse("%s is moved twice", shownPlace(from))
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b *move) int { return cmp.Compare(len(b.from.text), len(a.from.text)) })
	return all, nil
}

// refuseSame returns an error if the sources of a move keep their names. In its own place, a source only loses parameters of its
// URL that may be secrets, which an older varve stored.
func (m *move) refuseSame() error {
	if m.renames || m.from.text != m.to.text {
		return nil
	}
	return manifest.WithRemedy(refuse("%s is the current location of the sources; to use files that have changed there, build again", shownPlace(m.from)), "build/force", "")
}

// shownPlace returns a place as users write it.
func shownPlace(p place) string {
	switch {
	case !p.local:
		return p.text
	case len(p.text) == len(filepath.VolumeName(p.text)):
		return filepath.FromSlash(p.text + "/")
	}
	return filepath.FromSlash(p.text)
}

func newPlace(name string, keepQuery []string) (place, error) {
	if name == "" {
		return place{}, refuse("a place is empty; name a folder, a prefix or a file")
	}
	if path, err := source.LocalPath(name); err == nil {
		foreign, isForeign := foreignPath(path)
		if path, err = filepath.Abs(path); err != nil {
			return place{}, err
		}
		path = strings.TrimSuffix(filepath.ToSlash(path), "/")
		return place{text: path, whole: path, local: true, foreign: foreign, isForeign: isForeign}, nil
	}
	u, err := source.ParseURL(name)
	if err != nil {
		return place{}, refuse("%s: %v", source.Shown(name), err)
	}
	if source.IsObject(name) {
		text := strings.TrimSuffix(source.Shown(name), "/")
		return place{text: text, whole: text}, nil
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" || u.Fragment != "" {
			return place{}, refuse("%s: want scheme://host/path, without a fragment", source.Shown(name))
		}
		return place{text: strings.TrimSuffix(source.Stored(name, keepQuery), "/"), whole: name, isURL: true}, nil
	}
	return place{}, refuse("%s: varve cannot read sources at %s://", source.Shown(name), u.Scheme)
}

// foreignPath returns a path of another operating system with slashes, and without a final slash. On Windows, a name
// that begins with one slash can also be a Unix path.
func foreignPath(name string) (folder string, ok bool) {
	above := ""
	switch {
	case filepath.Separator == '/' && manifest.IsWindowsPath(name):
		if name = manifest.ToSlash(name); strings.HasPrefix(name, "//") {
			above = "/" // of a server
		}
	case filepath.Separator == '/' || !strings.HasPrefix(name, "/") || strings.HasPrefix(name, "//"):
		return "", false
	}
	return above + strings.TrimSuffix(path.Clean(name), "/"), true
}

// below returns the part of a recorded name that follows a place, with its first slash.
func (p place) below(name string) (rest string, ok bool) {
	if p.isForeign {
		if _, ok := foreignPath(name); ok {
			return cut(manifest.ToSlash(name), p.foreign, filepath.Separator == '/')
		}
	}
	if p.local {
		name = filepath.ToSlash(name)
	}
	return cut(name, p.text, p.local && filepath.Separator != '/')
}

// cut removes a folder from the start of a name. Windows paths ignore case.
func cut(name, folder string, windows bool) (rest string, ok bool) {
	n := len(folder)
	if n > len(name) || name[:n] != folder && (!windows || !strings.EqualFold(name[:n], folder)) {
		return "", false
	}
	rest = name[n:]
	return rest, rest == "" || rest[0] == '/'
}

// find returns the move that applies to a recorded name, and the rest of the name, with the steps of a packed file. m is nil if
// no move applies.
func (all moves) find(name string) (m *move, rest string) {
	outer, steps := source.CutPacked(name)
	for _, m := range all {
		if rest, ok := m.from.below(outer); ok {
			return m, rest + steps
		}
	}
	return nil, ""
}

// name returns the new name of a source, with and without secrets. rest is its name below the old place.
func (m *move) name(rest string) (whole, shown string, err error) {
	if outer, steps := source.CutPacked("." + rest); steps != "" {
		if whole, shown, err = m.name(outer[1:]); err != nil {
			return "", "", err
		}
		return whole + steps, shown + steps, nil
	}
	if m.from.isURL && strings.Contains(rest, "?") {
		// An older varve stored secrets too, which must not reach the new place.
		if clean, ok := strings.CutPrefix(source.Stored(m.from.text+rest, m.keepQuery), m.from.text); ok {
			rest = clean
		}
	}
	if rest, err = m.spell(rest); err != nil {
		return "", "", err
	}
	base, query, asked := strings.Cut(m.to.whole, "?")
	if !m.to.isURL {
		base, query, asked = m.to.whole, "", false
	}
	whole = base + rest
	if rest != "" {
		whole = strings.TrimSuffix(base, "/") + rest
	}
	if asked {
		whole += "?" + query
	}
	if m.to.local {
		if whole = filepath.FromSlash(whole); rest == "" {
			whole = shownPlace(m.to)
		}
		return whole, whole, nil
	}
	return whole, source.Stored(whole, m.keepQuery), nil
}

// spell converts a relative name to the spelling of the new place: percent-encoded in URLs.
func (m *move) spell(rest string) (string, error) {
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		plain := part
		if m.from.isURL && !m.to.isURL {
			var err error
			if plain, err = url.PathUnescape(part); err != nil || strings.ContainsAny(part, "?#") || strings.ContainsAny(plain, "/\x00") {
				return "", refuse("%s%s: there is no such name at %s", m.from.text, rest, shownPlace(m.to))
			}
		}
		if m.to.local && filepath.Separator != '/' && strings.ContainsAny(plain, `\:*?"<>|`) {
			return "", refuse("%s%s: there is no such name at %s", m.from.text, rest, shownPlace(m.to))
		}
		if plain == "." || plain == ".." || plain == "" && i > 0 && m.to.local {
			return "", refuse("%s%s: no name at %s has %q between slashes", m.from.text, rest, shownPlace(m.to), plain)
		}
		if m.to.isURL && !m.from.isURL {
			plain = url.PathEscape(part)
		}
		parts[i] = plain
	}
	return strings.Join(parts, "/"), nil
}

// moved returns the new name of a path, or the same path if no move applies.
func (all moves) moved(name string) string {
	m, rest := all.find(name)
	if m == nil {
		return name
	}
	if _, shown, err := m.name(rest); err == nil {
		return shown
	}
	return name
}

// places returns the destinations of all moves.
func (all moves) places() (places []string) {
	for _, m := range all {
		place := shownPlace(m.to)
		if m.to.isURL {
			place, _, _ = strings.Cut(place, "?")
		}
		places = append(places, place)
	}
	return places
}

// String describes the moves in one line.
func (all moves) String() string {
	if len(all) > 1 {
		return fmt.Sprintf("from %d places", len(all))
	}
	return fmt.Sprintf("from %s to %s", printable(shownPlace(all[0].from)), printable(shownPlace(all[0].to)))
}

// printable quotes a name with control characters.
func printable(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
