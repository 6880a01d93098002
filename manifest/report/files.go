package report

import (
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"varve/manifest"
)

// Sources are the names of all files of a plan, in their natural order: a2.nc before a10.nc.
type Sources struct {
	names []string

	mu     sync.Mutex
	labels map[string]int // the number of files whose names end in a label, up to depth
	depth  int            // the most elements of the labels that have been counted
}

// NewSources returns sources of names, which have to be in their natural order.
func NewSources(names []string) *Sources { return &Sources{names: names} }

// Names returns the names. The caller must not change them.
func (s *Sources) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Range is a run of sources that follow one another, both ends included.
type Range [2]int32

// Files is a set of files, kept as runs of sources: findings on all files of an archive, one for each
// array, cost next to nothing.
type Files struct {
	sources *Sources
	ranges  []Range
	own     bool // the sources are of these files only
}

// Files returns the files at some places among the sources. It sorts places.
func (s *Sources) Files(places []int32) Files {
	slices.Sort(places)
	f := Files{sources: s}
	for _, p := range places {
		if n := len(f.ranges); n > 0 && p <= f.ranges[n-1][1]+1 {
			f.ranges[n-1][1] = p
			continue
		}
		f.ranges = append(f.ranges, Range{p, p})
	}
	return f
}

// Named returns a set of files by their names, which belong to no plan.
func Named(names ...string) Files {
	if len(names) == 0 {
		return Files{}
	}
	return Files{sources: NewSources(names), ranges: []Range{{0, int32(len(names) - 1)}}, own: true}
}

// Union returns the files of both sets, which have to be of the same sources.
func (f Files) Union(g Files) Files {
	if f.sources == nil {
		return g
	}
	all := append(slices.Clone(f.ranges), g.ranges...)
	slices.SortFunc(all, func(a, b Range) int { return int(a[0] - b[0]) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	f.ranges = out
	return f
}

// Len returns the number of files.
func (f Files) Len() int64 {
	n := int64(0)
	for _, r := range f.ranges {
		n += int64(r[1]-r[0]) + 1
	}
	return n
}

// All returns the names of the files in their natural order.
func (f Files) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range f.ranges {
			for i := r[0]; i <= r[1]; i++ {
				if !yield(f.sources.names[i]) {
					return
				}
			}
		}
	}
}

// Runs returns the first and the last file of each run of files that follow one another.
func (f Files) Runs() (runs [][2]string) {
	for _, r := range f.ranges {
		runs = append(runs, [2]string{f.sources.names[r[0]], f.sources.names[r[1]]})
	}
	return runs
}

// Ranges returns the runs as places among the sources.
func (f Files) Ranges() []Range { return f.ranges }

// Label returns the shortest end of a file's name that no other source has: its base name, or more. Files that
// belong to no plan are shown by their whole names.
func (f Files) Label(name string) string {
	if f.own {
		return name
	}
	return f.sources.Label(name)
}

// Label returns the shortest end of a file's name that no other source has: its base name, or more.
func (s *Sources) Label(name string) string {
	if s == nil {
		return Base(name)
	}
	for depth := 1; ; depth++ {
		label, whole := lastElements(name, depth)
		if whole || s.count(label, depth) < 2 {
			return label
		}
	}
}

// count returns how many sources end in a label of so many elements.
func (s *Sources) count(label string, depth int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labels == nil {
		s.labels = map[string]int{}
	}
	for s.depth < depth {
		s.depth++
		for _, name := range s.names {
			end, whole := lastElements(name, s.depth)
			// Names that agree so far are counted again with one more element. A whole name is shown as it is.
			if s.depth > 1 && !whole {
				if shorter, _ := lastElements(name, s.depth-1); s.labels[shorter] < 2 {
					continue
				}
			}
			s.labels[end]++
		}
	}
	return s.labels[label]
}

// lastElements returns the last elements of a path or URL, and whether that is all of it.
func lastElements(name string, n int) (end string, whole bool) {
	slashed := strings.TrimRight(manifest.ToSlash(name), "/")
	at := len(slashed)
	for range n {
		if at = strings.LastIndexByte(slashed[:at], '/'); at < 0 {
			return name, true
		}
	}
	return slashed[at+1:], at == 0
}

// Base returns the last element of a path or URL.
func Base(name string) string {
	return path.Base(strings.TrimRight(manifest.ToSlash(name), "/"))
}

// mostNames is the number of files above which JSON holds ranges of sources.
const mostNames = 1000

// InRanges reports whether JSON holds ranges of sources and not names.
func (f Files) InRanges() bool { return !f.own && f.Len() > mostNames }

// MarshalJSON implements json.Marshaler: a list of names or, of more than 1,000 files, a list of pairs of
// source numbers, both ends included.
func (f Files) MarshalJSON() ([]byte, error) {
	if f.InRanges() {
		return json.Marshal(f.ranges)
	}
	names := slices.Collect(f.All())
	if names == nil {
		names = []string{}
	}
	return json.Marshal(names)
}

// String lists the names.
func (f Files) String() string { return fmt.Sprint(slices.Collect(f.All())) }

// Equal reports whether two sets hold the same files.
func (f Files) Equal(g Files) bool {
	if f.sources == g.sources {
		return slices.Equal(f.ranges, g.ranges)
	}
	return slices.Equal(slices.Collect(f.All()), slices.Collect(g.All()))
}
