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
	labels map[string]int // for each label of up to depth elements, the number of files whose names end in it
	depth  int            // the number of path elements up to which labels are counted
}

// NewSources returns the sources with these names, which must be in natural order.
func NewSources(names []string) *Sources { return &Sources{names: names} }

// Names returns the names. The caller must not change them.
func (s *Sources) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Range is a range of adjacent sources: the numbers of the first and the last.
type Range [2]int32

// Files is a set of files. It is stored as ranges of sources, so that findings about all files of a large
// archive take little memory.
type Files struct {
	sources *Sources
	ranges  []Range
	own     bool // the sources are these files only, and not the files of a plan
}

// Files returns the files with given numbers, which are indices into Names. It sorts places.
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

// Named returns a set of files by name, for findings without a plan.
func Named(names ...string) Files {
	if len(names) == 0 {
		return Files{}
	}
	return Files{sources: NewSources(names), ranges: []Range{{0, int32(len(names) - 1)}}, own: true}
}

// Union returns the files of both sets. Both must have the same sources.
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

// All yields the names of the files in natural order.
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

// Runs returns the first and the last name of each range of adjacent files.
func (f Files) Runs() (runs [][2]string) {
	for _, r := range f.ranges {
		runs = append(runs, [2]string{f.sources.names[r[0]], f.sources.names[r[1]]})
	}
	return runs
}

// Ranges returns the ranges as numbers of sources.
func (f Files) Ranges() []Range { return f.ranges }

// Label returns the shortest end of a file's name that identifies it among the sources: its base name, or more
// path elements. For files without a plan it returns the whole name.
func (f Files) Label(name string) string {
	if f.own {
		return name
	}
	return f.sources.Label(name)
}

// Label returns the shortest end of a file's name that identifies it among the sources: its base name, or more
// path elements.
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

// count returns how many names end in a label with the given number of elements.
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
			// Only names that share their last elements need one more. A whole name has no more elements.
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

// lastElements returns the last n elements of a path or URL, and whether it has no more elements.
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

// mostNames is the number of files above which JSON has ranges of sources instead of names.
const mostNames = 1000

// InRanges reports whether JSON has ranges of sources instead of names.
func (f Files) InRanges() bool { return !f.own && f.Len() > mostNames }

// MarshalJSON encodes a list of names. For more than 1,000 files, it encodes a list of ranges: pairs of the first
// and the last source number.
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

// String returns the names in brackets.
func (f Files) String() string { return fmt.Sprint(slices.Collect(f.All())) }

// Equal reports whether two sets hold the same files.
func (f Files) Equal(g Files) bool {
	if f.sources == g.sources {
		return slices.Equal(f.ranges, g.ranges)
	}
	return slices.Equal(slices.Collect(f.All()), slices.Collect(g.All()))
}
