package planner

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// corrected lists faults of earlier versions that affect stored manifests. Each has the first
// generation without the fault, and a function that reports whether a manifest may have it.
var corrected = []struct {
	fault      report.Fault
	generation int
	mayHave    func(s *manifest.Snapshot, o *plan.Options) bool
}{
	{report.UnnamedAxes, 1, hasUnnamedAxes},
	{report.LargeIntegers, 1, hasLargeIntegers},
	{report.PaddedValues, 1, func(_ *manifest.Snapshot, o *plan.Options) bool { return o.Pad == plan.PadFill }},
	{report.InvalidNames, 1, hasInvalidName},
}

// Faults returns the faults that a manifest may have because an earlier version built it.
func Faults(s *manifest.Snapshot) (faults []report.Fault) {
	opts := &plan.Options{}
	if len(s.Options) > 0 && json.Unmarshal(s.Options, opts) != nil {
		return nil // an append reports that these options are invalid
	}
	for _, c := range corrected {
		if s.Generation < c.generation && c.mayHave(s, opts) {
			faults = append(faults, c.fault)
		}
	}
	return faults
}

// hasUnnamedAxes reports whether an array from several files has two unnamed dimensions.
func hasUnnamedAxes(s *manifest.Snapshot, _ *plan.Options) bool {
	return s.Sources > 1 && slices.ContainsFunc(s.Arrays, func(a manifest.Array) bool {
		numbered := slices.DeleteFunc(slices.Clone(a.Dims), func(d string) bool { return !strings.HasPrefix(path.Base(d), "phony_dim_") })
		return len(numbered) > 1
	})
}

// hasLargeIntegers reports whether a coordinate has integers that may be 2^63 or more.
func hasLargeIntegers(s *manifest.Snapshot, _ *plan.Options) bool {
	return slices.ContainsFunc(s.Arrays, func(a manifest.Array) bool {
		t := a.Schema.DataType.Type()
		return t.Kind == codec.Uint && t.Size == 8 && slices.Equal(a.Dims, []string{a.Path})
	})
}

// hasInvalidName reports whether an array's name contains the replacement character for invalid
// UTF-8.
func hasInvalidName(s *manifest.Snapshot, _ *plan.Options) bool {
	return slices.ContainsFunc(s.Arrays, func(a manifest.Array) bool { return strings.ContainsRune(a.Path, '\uFFFD') })
}
