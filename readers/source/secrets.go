package source

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Shown returns a name in the form for messages: without the user and password of a URL, and without the parameters of its
// query that are not known to select data. They may be secrets, and are only sent to the URL's host.
func Shown(name string) string { return Stored(name, nil) }

// Stored returns a name in the form for manifests: Shown, but also with the parameters in keep.
func Stored(name string, keep []string) string {
	if outer, steps := CutPacked(name); steps != "" {
		return Stored(outer, keep) + steps
	}
	switch {
	case isHTTP(name):
		if u, err := parseURL(name); err == nil {
			return withoutSecrets(u, keep).String()
		}
		return withoutUser(name)
	case IsObject(name):
		if u, err := ParseURL(name); err == nil {
			return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")
		}
	}
	return name
}

// Secrets returns the names of the parameters of a source that Stored leaves out, sorted. A name in a manifest of an older varve
// may have some.
func Secrets(name string, keep []string) []string {
	if !strings.Contains(name, "?") {
		return nil
	}
	outer := Outer(name)
	u, err := url.Parse(outer)
	if err != nil || !isHTTP(outer) {
		return nil
	}
	return differing(u, withoutSecrets(u, keep))
}

// isHTTP reports whether a name is a URL of an HTTP server.
func isHTTP(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// selectors are the parameters that are known to select data, in lower case, by the servers that document them. A name that
// ends with an underscore is a prefix. docs/reference/sources.md has the same table.
var selectors = map[string][]string{
	"Amazon S3":            {"versionid"},
	"Google Cloud Storage": {"alt", "generation"},
	"Azure Blob Storage":   {"snapshot", "versionid"},
	"OPeNDAP":              {"dap4.ce"},
	"THREDDS": {"accept", "addlatlon", "disablellsubset", "disableprojsubset", "east", "horizstride", "latitude", "longitude", "north", "south",
		"stns", "subset", "temporal", "time", "time_duration", "time_end", "time_start", "timestride", "var", "vertcoord", "vertstride", "west"},
	"OGC":    {"bbox", "coverage", "coverageid", "crs", "format", "request", "service", "subset", "time", "version"},
	"NOMADS": {"all_lev", "all_var", "bottomlat", "dir", "file", "leftlon", "lev_", "rightlon", "subregion", "toplat", "var_"},
}

// A constraint of OPeNDAP or ERDDAP is a parameter without a name: variables with at least one index range, or a comparison.
var (
	projection = regexp.MustCompile(`^[A-Za-z_][\w.]*(\[[\w:().+ -]*\])*(,[A-Za-z_][\w.]*(\[[\w:().+ -]*\])*)*$`)
	comparison = regexp.MustCompile(`^[A-Za-z_][\w.]*(<|>|<=|>=|!=)[\w:.+-]+$`)
)

// Nameless is the name of parameters without a name or without a value, such as ?TEXT, in lists of names: the text may be a
// secret.
const Nameless = "?"

// parameter is a parameter of a query as a URL has it, such as api%5Fkey=x.
type parameter string

// name returns the decoded name of a parameter, or Nameless.
func (p parameter) name() string {
	name, value, _ := strings.Cut(string(p), "=")
	if value == "" || name == "" {
		return Nameless
	}
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return name
}

// isIn reports whether keep has the parameter.
func (p parameter) isIn(keep []string) bool {
	name, _, _ := strings.Cut(string(p), "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return slices.ContainsFunc(keep, func(k string) bool { return strings.EqualFold(k, name) || strings.EqualFold(k, p.name()) })
}

// selects reports whether the parameter is known to select data.
func (p parameter) selects() bool {
	plain, err := url.QueryUnescape(string(p))
	if err != nil {
		return false
	}
	if comparison.MatchString(plain) || strings.Contains(plain, "[") && projection.MatchString(plain) {
		return true
	}
	name, value, _ := strings.Cut(plain, "=")
	name = strings.ToLower(name)
	// Some servers also end a parameter at a semicolon, so the rest would be another one.
	if name == "" || value == "" || strings.Contains(value, ";") && name != "dap4.ce" {
		return false
	}
	for _, list := range selectors {
		if slices.ContainsFunc(list, func(s string) bool { return s == name || strings.HasSuffix(s, "_") && strings.HasPrefix(name, s) }) {
			return true
		}
	}
	return false
}

// parameters returns the parameters of a URL.
func parameters(u *url.URL) (list []parameter) {
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if part != "" {
			list = append(list, parameter(part))
		}
	}
	return list
}

// withoutSecrets returns a URL without user and password, and only with the parameters that select data or are in keep.
func withoutSecrets(u *url.URL, keep []string) *url.URL {
	clean := *u
	clean.User, clean.Fragment = nil, ""
	var left []string
	for _, p := range parameters(u) {
		if p.selects() || p.isIn(keep) {
			left = append(left, string(p))
		}
	}
	if clean.RawQuery = strings.Join(left, "&"); clean.RawQuery == "" && u.RawQuery != "" {
		clean.ForceQuery = false
	}
	return &clean
}

// secrets remembers whole URLs by their shown or stored form, so that opening that form again uses the secrets.
type secrets struct {
	mu     sync.Mutex
	stored map[string]*url.URL // of Remember
	shown  map[string]*url.URL
}

// find returns the whole URL of which u may be the shown or stored form, and a name for messages. It remembers a URL that has
// secrets.
func (s *secrets) find(u *url.URL) (whole *url.URL, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = u.String()
	if known := s.stored[name]; known != nil {
		return known, name
	}
	if known := s.shown[name]; known != nil {
		return known, name
	}
	if shown := withoutSecrets(u, nil).String(); shown != name {
		if s.shown == nil {
			s.shown = map[string]*url.URL{}
		}
		s.shown[shown], name = u, shown
	}
	return u, name
}

// SameNameError says that two URLs have the same stored name, because they differ only in parameters that are not stored.
type SameNameError struct {
	Name       string   // as it would be stored
	Parameters []string // the names of the parameters that differ, sorted
}

// Error names the parameters.
func (e *SameNameError) Error() string {
	return fmt.Sprintf("%s: two sources would have this name: their URLs differ only in parameters that are not stored (%s)", e.Name, strings.Join(e.Parameters, ", "))
}

// Remember returns the name under which a manifest stores a source: Stored, with the parameters in keep. From then on, o opens
// that name with the whole URL. The error is a SameNameError if o remembers another URL by that name.
func (o *Opener) Remember(name string, keep []string) (string, error) {
	if outer, steps := CutPacked(name); steps != "" {
		outer, err := o.Remember(outer, keep)
		return outer + steps, err
	}
	if !isHTTP(name) {
		return Stored(name, keep), nil
	}
	u, err := parseURL(name)
	if err != nil {
		return withoutUser(name), nil // opening it returns the error
	}
	s, stored := &o.secrets, withoutSecrets(u, keep).String()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.stored[stored]; known != nil {
		if differ := differing(known, u); len(differ) > 0 {
			return stored, &SameNameError{stored, differ}
		}
	}
	// Archives have millions of URLs without secrets, and these need no memory.
	if u.RawQuery != "" || u.User != nil {
		if s.stored == nil {
			s.stored = map[string]*url.URL{}
		}
		s.stored[stored] = u
	}
	return stored, nil
}

// Remembers reports whether a name is one that Remember returned, of a URL with a query or a user.
func (o *Opener) Remembers(stored string) bool {
	o.secrets.mu.Lock()
	defer o.secrets.mu.Unlock()
	return o.secrets.stored[Outer(stored)] != nil
}

// differing returns the names of the parameters in which two URLs differ, sorted.
func differing(a, b *url.URL) (names []string) {
	of, in := parameters(a), parameters(b)
	for _, p := range slices.Concat(of, in) {
		if !slices.Contains(of, p) || !slices.Contains(in, p) {
			names = append(names, p.name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// NotStored returns the names of the parameters that the URL of a remembered source has, and its stored name has not, sorted.
func (o *Opener) NotStored(stored string) []string {
	stored = Outer(stored)
	o.secrets.mu.Lock()
	whole := o.secrets.stored[stored]
	o.secrets.mu.Unlock()
	if whole == nil {
		return nil
	}
	u, err := url.Parse(stored)
	if err != nil {
		return nil // not reached: it is the text of a URL
	}
	return differing(whole, u)
}
