package plan

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
)

// mended lists faults of earlier versions that affect stored manifests. Each has the first
// generation without the fault, and a function that reports whether a manifest may have it.
var mended = []struct {
	in    int
	holds func(s *manifest.Snapshot, o *Options) bool
	says  string
}{
	{1, holdsUnnamed, "took axes that files have no name for by their numbers, which are those of other axes in other files"},
	{1, holdsWords, "put whole numbers from 2^63 on in front of all others"},
	{1, func(_ *manifest.Snapshot, o *Options) bool { return o.Pad == PadFill }, "did not hold narrower files to the values of the widest when shorter files were padded with fill"},
	{1, holdsReplaced, "found no values of variables whose names are not UTF-8"},
}

// Mended describes the faults that a manifest may have because an earlier version built it.
func Mended(s *manifest.Snapshot) (says []string) {
	opts := &Options{}
	if len(s.Options) > 0 && json.Unmarshal(s.Options, opts) != nil {
		return nil // an append refuses these options
	}
	for _, m := range mended {
		if s.Generation < m.in && m.holds(s, opts) {
			says = append(says, m.says)
		}
	}
	return says
}

// holdsUnnamed reports whether an array from several files has two unnamed dimensions.
func holdsUnnamed(s *manifest.Snapshot, _ *Options) bool {
	return s.Sources > 1 && slices.ContainsFunc(s.Arrays, func(a manifest.Array) bool {
		numbered := slices.DeleteFunc(slices.Clone(a.Dims), func(d string) bool { return !strings.HasPrefix(path.Base(d), "phony_dim_") })
		return len(numbered) > 1
	})
}

// holdsWords reports whether a coordinate has whole numbers that may be 2^63 or more.
func holdsWords(s *manifest.Snapshot, _ *Options) bool {
	return slices.ContainsFunc(s.Arrays, func(a manifest.Array) bool {
		t := a.Schema.DataType.Type()
		return t.Kind == codec.Uint && t.Size == 8 && slices.Equal(a.Dims, []string{a.Path})
	})
}

// holdsReplaced reports whether an array's name contains the replacement character for invalid
// UTF-8.
func holdsReplaced(s *manifest.Snapshot, _ *Options) bool {
	return slices.ContainsFunc(s.Arrays, func(a manifest.Array) bool { return strings.ContainsRune(a.Path, '\uFFFD') })
}
